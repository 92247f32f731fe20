//! The candidates of a stream: the models, online TD and LSTD over their grids, forecasts of a series, the predictor.

use super::series::{Autoregression, SeriesForecaster};
use crate::estimator::{Estimator, Method, Stream, lstd_stream};
use ictd_core::signal::{FeatureScaler, SignalFeatures, SlowAverage};
use ictd_core::{Error, Predictor, UniversalModel};
use std::collections::VecDeque;

/// The step sizes of online TD, divided by the number of features, which [`FeatureScaler`] normalises.
const STEP_SIZES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
const TD_LAMBDAS: [f64; 3] = [0.0, 0.5, 0.9];
/// The ridges of LSTD, in transitions.
const RIDGES: [f64; 3] = [0.03, 0.3, 3.0];
/// The retentions of LSTD per row.
const RETENTIONS: [f64; 3] = [0.99, 0.998, 0.9998];
const LSTD_LAMBDA: f64 = 0.9;
const FEATURES: usize = 32;
/// The retention of the features' root mean squares per row.
const SCALE_RETENTION: f64 = 0.999;
/// The largest number of horizons that are missing values one by one.
const HORIZONS_MISSING: f64 = 10.0;

pub struct Settings {
    /// Models in addition to the pretrained one: name and model, which is used with any discount.
    pub given: Vec<(String, Estimator)>,
    pub retention: f64,
    /// The number of features that are computed from the signal.
    pub d: usize,
    /// The period of `seasonal` in rows; `None` leaves it out.
    pub period: Option<usize>,
}

pub struct Candidate {
    /// The name, which candidates with other settings share.
    pub name: String,
    /// The name of its column: the name, and the settings if several are tried.
    pub column: String,
}

enum Forecaster {
    /// Estimators on the features, normalised if `is_scaled`: so many, whose values a stream returns one after another.
    Stream {
        stream: Box<dyn Stream>,
        is_scaled: bool,
        count: usize,
    },
    Series(SeriesForecaster),
    Predictor,
}

/// The columns after the candidates': the predictor's band, and its surprise.
pub const OF_PREDICTOR: [&str; 3] = ["predictor_low", "predictor_high", "surprise"];

/// Returns all candidates for a discount; the predictor is the last one.
fn candidates(settings: &Settings, gamma: f64) -> Result<(Vec<Candidate>, Vec<Forecaster>), Error> {
    let Settings { given, retention, d, period } = settings;
    let (d, mut all, mut learners) = (*d, Vec::new(), Vec::new());
    let mut add = |name: &str, of: Vec<String>, learner| {
        let column = |of| Candidate { name: name.into(), column: format!("{name}{of}") };
        all.extend(of.into_iter().map(column));
        learners.push(learner);
    };
    let plain = || vec![String::new()];
    let learned = |estimator: &Estimator, retention, is_scaled| -> Result<_, Error> {
        let stream = estimator.with_gamma(gamma)?.stream(d, retention)?;
        Ok(Forecaster::Stream { stream, is_scaled, count: 1 })
    };
    let estimator = |method| Estimator { method, gamma, layers: 1 };
    let shipped = estimator(Method::Universal(Box::new(UniversalModel::<f64>::pretrained(gamma)?)));
    add("universal", plain(), learned(&shipped, Some(*retention), false)?);
    for (name, model) in given {
        add(name, plain(), learned(model, Some(*retention), false)?);
    }
    for lambda in TD_LAMBDAS {
        for step_size in STEP_SIZES {
            let alpha = step_size / d as f64;
            let td = estimator(Method::OnlineTd { lambda, alpha, true_online: false });
            let column = format!(" step_size={step_size:?} lambda={lambda:?}");
            add("td", vec![column], learned(&td, None, true)?);
        }
    }
    for retention in RETENTIONS {
        let column = |ridge| format!(" ridge={ridge:?} retention={retention:?}");
        let stream = lstd_stream(d, gamma, LSTD_LAMBDA, &RIDGES, retention)?;
        let learner = Forecaster::Stream { stream, is_scaled: false, count: RIDGES.len() };
        add("lstd", RIDGES.map(column).into(), learner);
    }
    let mut add_series = |name, series| add(name, plain(), Forecaster::Series(series));
    add_series("ar", SeriesForecaster::Autoregression(Box::new(Autoregression::new())));
    let long = SeriesForecaster::LongAutoregression(Box::new(Autoregression::new()));
    add_series("ar32", long);
    add_series("holt", SeriesForecaster::Holt(None));
    add_series("average", SeriesForecaster::Average(None));
    if let Some(period) = *period {
        add_series("seasonal", SeriesForecaster::Seasonal { period, values: VecDeque::new() });
    }
    add_series("persistence", SeriesForecaster::Latest(0.0));
    add("predictor", plain(), Forecaster::Predictor);
    Ok((all, learners))
}

pub(super) struct CandidateSet {
    pub(super) candidates: Vec<Candidate>,
    learners: Vec<Forecaster>,
    gamma: f64,
    d: usize,
    /// 1 without `seasonal`.
    period: u64,
    signal: SignalFeatures<FEATURES, f64>,
    scale: FeatureScaler<FEATURES, f64>,
    level: SlowAverage<f64>,
    /// The features of the latest state and of the one before, each as they are and normalised.
    now: [[f64; FEATURES]; 2],
    before: [[f64; FEATURES]; 2],
    predictor: Predictor<1, f64>,
}

impl CandidateSet {
    pub(super) fn new(settings: &Settings, gamma: f64) -> Result<Self, Error> {
        let (candidates, learners) = candidates(settings, gamma)?;
        Ok(CandidateSet {
            candidates,
            learners,
            gamma,
            d: settings.d,
            period: settings.period.unwrap_or(1) as u64,
            signal: SignalFeatures::new(),
            scale: FeatureScaler::new(SCALE_RETENTION)?,
            level: SlowAverage::new(),
            now: Default::default(),
            before: Default::default(),
            predictor: Predictor::<1, f64>::new([(1.0 / (1.0 - gamma)) as f32])?,
        })
    }

    /// Observes the next value, which may follow the last one; then appends each candidate's prediction (NaN if it has none)
    /// and the columns [`OF_PREDICTOR`].
    pub(super) fn step(
        &mut self,
        value: f64,
        follows: bool,
        predictions: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let (mut features, d) = ([0.0; FEATURES], self.d);
        features[..d].copy_from_slice(&self.signal.observe(value)?.0[..d]);
        self.before = std::mem::replace(&mut self.now, [features, self.scale.scaled(&features)]);
        let deviation = self.level.observe(value)?;
        let outlook = self.predictor.observe(value);
        let ([band], surprise) = (outlook.predictions, outlook.surprise);
        let sum = |mean: f64| (mean / (1.0 - self.gamma)) as f32;
        for learner in &mut self.learners {
            predictions.push(match learner {
                Forecaster::Stream { stream, is_scaled, count } => {
                    let at = usize::from(*is_scaled);
                    if follows {
                        let [before, now] = [&self.before, &self.now].map(|of| &of[at][..d]);
                        stream.observe(before, deviation, Some(now), 1.0)?;
                    }
                    let values = stream.values(&self.now[at][..d]).unwrap_or_default();
                    // Before the first transition every value is 0.
                    let is_first = stream.observed() == 0;
                    let value = |i| values.get(i).copied().unwrap_or(f64::NAN);
                    let x = |i| if is_first { 0.0 } else { value(i) };
                    let sum = |i| self.level.discounted_sum(self.gamma, x(i)) as f32;
                    predictions.extend((0..*count).map(sum));
                    continue;
                }
                Forecaster::Series(series) => {
                    series.observe(Some(value), self.gamma);
                    series.discounted_sum(self.gamma) as f32
                }
                Forecaster::Predictor => sum(band.mean),
            });
        }
        predictions.extend([sum(band.low), sum(band.high), surprise]);
        Ok(())
    }

    /// Records that values are missing: the next value does not follow the last one.
    pub(super) fn skip(&mut self, missing: u64) {
        // After many horizons nothing is left but the phase of a period.
        let most = (HORIZONS_MISSING / (1.0 - self.gamma)) as u64 + self.period;
        let missing = missing.min(most + missing.saturating_sub(most) % self.period);
        self.signal.end_episode();
        (0..missing).for_each(|_| _ = self.predictor.observe(None));
        for learner in &mut self.learners {
            match learner {
                Forecaster::Stream { stream, .. } => stream.end_episode(),
                Forecaster::Series(series) => {
                    (0..missing).for_each(|_| series.observe(None, self.gamma));
                }
                Forecaster::Predictor => {}
            }
        }
    }
}
