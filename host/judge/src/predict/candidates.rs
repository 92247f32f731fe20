//! The candidates of a stream: the models, online TD and LSTD over their grids, forecasts of a series, the predictor.

use super::grids::{RETENTIONS, RIDGES, STEP_SIZES, SignalGrids, TD_LAMBDAS, grids};
use super::series::{Autoregression, SeriesForecaster};
use crate::estimator::{Estimator, Method, Stream};
use ictd_core::signal::SlowAverage;
use ictd_core::{Error, Predictor, UniversalModel};
use std::collections::VecDeque;

/// The largest number of horizons that are missing values one by one.
const HORIZONS_MISSING: f64 = 10.0;

pub struct Settings {
    /// Models in addition to the universal one: name and model, which is used with any discount.
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

/// The columns after the candidates': the predictor's band, and its surprise.
pub const OF_PREDICTOR: [&str; 3] = ["predictor_low", "predictor_high", "surprise"];

pub(super) struct CandidateSet {
    /// In the order of the fields that predict.
    pub(super) candidates: Vec<Candidate>,
    models: Vec<Box<dyn Stream>>,
    grids: Box<dyn SignalGrids>,
    series: Vec<SeriesForecaster>,
    predictor: Predictor<1, f64>,
    gamma: f64,
    /// 1 without `seasonal`.
    period: u64,
    level: SlowAverage<f64>,
}

impl CandidateSet {
    pub(super) fn new(settings: &Settings, gamma: f64) -> Result<Self, Error> {
        let Settings { given, retention, d, period } = settings;
        let model =
            |estimator: &Estimator| estimator.with_gamma(gamma)?.stream(*d, Some(*retention));
        let universal = Method::Universal(Box::new(UniversalModel::<f64>::new(gamma)?));
        let mut candidates = Vec::new();
        let mut add = |name: &str, settings: String| {
            candidates.push(Candidate { name: name.into(), column: format!("{name}{settings}") });
        };
        add("universal", String::new());
        let mut models = vec![model(&Estimator { method: universal, gamma, layers: 1 })?];
        for (name, given) in given {
            add(name, String::new());
            models.push(model(given)?);
        }
        for lambda in TD_LAMBDAS {
            for step_size in STEP_SIZES {
                add("td", format!(" step_size={step_size:?} lambda={lambda:?}"));
            }
        }
        for retention in RETENTIONS {
            for ridge in RIDGES {
                add("lstd", format!(" ridge={ridge:?} retention={retention:?}"));
            }
        }
        let mut series = vec![
            ("ar", SeriesForecaster::Autoregression(Box::new(Autoregression::new()))),
            ("ar32", SeriesForecaster::LongAutoregression(Box::new(Autoregression::new()))),
            ("holt", SeriesForecaster::Holt(None)),
            ("average", SeriesForecaster::Average(None)),
        ];
        if let Some(period) = *period {
            series
                .push(("seasonal", SeriesForecaster::Seasonal { period, values: VecDeque::new() }));
        }
        series.push(("persistence", SeriesForecaster::Latest(0.0)));
        series.iter().for_each(|(name, _)| add(name, String::new()));
        add("predictor", String::new());
        Ok(CandidateSet {
            candidates,
            models,
            grids: grids(gamma, *d)?,
            series: series.into_iter().map(|(_, series)| series).collect(),
            predictor: Predictor::<1, f64>::new([(1.0 / (1.0 - gamma)) as f32])?,
            gamma,
            period: period.unwrap_or(1) as u64,
            level: SlowAverage::new(),
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
        let deviation = self.level.observe(value)?;
        let of_grids = self.grids.observe(value, follows.then_some(deviation))?;
        let [before, now] = self.grids.features();
        // The values are discounted sums of deviations from the level.
        let with_level = |x: f64| self.level.discounted_sum(self.gamma, x) as f32;
        for model in &mut self.models {
            if follows {
                model.observe(before, deviation, Some(now), 1.0)?;
            }
            // Before the first transition every value is 0.
            let value = match model.observed() {
                0 => 0.0,
                _ => model.values(now).map_or(f64::NAN, |values| values[0]),
            };
            predictions.push(with_level(value));
        }
        predictions.extend(of_grids.map(with_level));
        for series in &mut self.series {
            series.observe(Some(value), self.gamma);
            predictions.push(series.discounted_sum(self.gamma) as f32);
        }
        let outlook = self.predictor.observe(value);
        let ([band], surprise) = (outlook.predictions, outlook.surprise);
        let sum = |mean: f64| (mean / (1.0 - self.gamma)) as f32;
        predictions.extend([sum(band.mean), sum(band.low), sum(band.high), surprise]);
        Ok(())
    }

    /// Records that values are missing: the next value does not follow the last one.
    pub(super) fn skip(&mut self, missing: u64) {
        // After many horizons nothing is left but the phase of a period.
        let most = (HORIZONS_MISSING / (1.0 - self.gamma)) as u64 + self.period;
        let missing = missing.min(most + missing.saturating_sub(most) % self.period);
        self.models.iter_mut().for_each(|model| model.end_episode());
        self.grids.end_episode();
        for _ in 0..missing {
            self.predictor.observe(None);
            self.series.iter_mut().for_each(|series| series.observe(None, self.gamma));
        }
    }
}
