//! The candidates of a stream: the models, online TD and LSTD over their grids, forecasts of a series, 0, the predictor.

use super::series::{Autoregression, HOLT, RETENTION, RIDGE, Series};
use crate::estimator::{Estimator, MAX_FEATURES, Method, Stream};
use ictd_core::signal::{Level, Scale, Signal};
use ictd_core::{Error, Predictor, UniversalModel};
use std::collections::VecDeque;

/// The step sizes of online TD, over the number of features, whose units [`Scale`] takes away.
const STEP_SIZES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// The lambdas of online TD.
const TD_LAMBDAS: [f64; 3] = [0.0, 0.5, 0.9];
/// The ridges of LSTD, in transitions.
const RIDGES: [f64; 3] = [0.03, 0.3, 3.0];
/// The shares of the past that LSTD retains with each row.
const RETENTIONS: [f64; 3] = [0.99, 0.998, 0.9998];
/// The lambda of LSTD.
const LSTD_LAMBDA: f64 = 0.9;
/// The share of the past that the features' root mean squares retain.
const SCALE_RETENTION: f64 = 0.999;

/// A model of the user's.
pub struct Given {
    /// Its name in results: the source as typed.
    pub name: String,
    /// The model, for any discount.
    pub estimator: Estimator,
}

/// An estimator that is tried, by name and settings.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name, which candidates of other settings share.
    pub name: String,
    /// Its settings.
    pub settings: Vec<(&'static str, f64)>,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// On the features, or on the same without units.
    Learned {
        estimator: Estimator,
        retention: Option<f64>,
        is_scaled: bool,
    },
    /// From the cumulant's own past.
    Series(Series),
    Zero,
    Predictor,
}

impl Candidate {
    fn new(name: &str, settings: &[(&'static str, f64)], rule: Rule) -> Self {
        Candidate { name: name.to_owned(), settings: settings.to_vec(), rule }
    }

    /// Returns the name of its column: the name, and the settings where there are several.
    pub fn column(&self) -> String {
        let mut column = self.name.clone();
        if ["td", "lstd"].contains(&self.name.as_str()) {
            for (key, x) in &self.settings {
                column.push_str(&format!(" {key}={x:?}"));
            }
        }
        column
    }
}

/// The columns beside the candidates': the predictor's band, and its surprise.
pub const OF_PREDICTOR: [&str; 3] = ["predictor_low", "predictor_high", "surprise"];

/// Returns all candidates for d features; `retention` is that of the models' contexts. The predictor is the last one.
///
/// # Errors
/// None but the core's refusal of a discount, which is 0 here.
pub fn candidates(
    retention: f64,
    given: &[Given],
    d: usize,
    period: Option<usize>,
) -> Result<Vec<Candidate>, Error> {
    let estimator = |method| Estimator { method, gamma: 0.0, layers: 1 };
    let shipped = estimator(Method::Universal(Box::new(UniversalModel::<f64>::universal(0.0)?)));
    let models = std::iter::once(("universal", &shipped));
    let models = models.chain(given.iter().map(|g| (g.name.as_str(), &g.estimator)));
    let mut all: Vec<_> = models
        .map(|(name, model)| {
            let (estimator, retention) = (model.clone(), Some(retention));
            let rule = Rule::Learned { estimator, retention, is_scaled: false };
            Candidate::new(name, &[("retention", retention.unwrap_or(1.0))], rule)
        })
        .collect();
    for lambda in TD_LAMBDAS {
        for step_size in STEP_SIZES {
            let alpha = step_size / d as f64;
            let estimator = estimator(Method::OnlineTd { lambda, alpha, true_online: false });
            let rule = Rule::Learned { estimator, retention: None, is_scaled: true };
            let settings = [("step_size", step_size), ("lambda", lambda)];
            all.push(Candidate::new("td", &settings, rule));
        }
    }
    for retention in RETENTIONS {
        for ridge in RIDGES {
            let estimator = estimator(Method::Lstd { lambda: LSTD_LAMBDA, ridge });
            let rule = Rule::Learned { estimator, retention: Some(retention), is_scaled: false };
            all.push(Candidate::new("lstd", &[("ridge", ridge), ("retention", retention)], rule));
        }
    }
    let [level, trend] = HOLT;
    let least_squares = [("retention", RETENTION), ("ridge", RIDGE)];
    let autoregression = Series::Autoregression(Box::new(Autoregression::new()));
    let mut add = |name, settings: &[_], rule| all.push(Candidate::new(name, settings, rule));
    add("persistence", &[], Rule::Series(Series::Latest(0.0)));
    add("average", &[], Rule::Series(Series::Average(None)));
    add("holt", &[("level", level), ("trend", trend)], Rule::Series(Series::Holt(None)));
    add("ar", &least_squares, Rule::Series(autoregression));
    if let Some(period) = period {
        let rule = Rule::Series(Series::Seasonal { period, values: VecDeque::new() });
        add("seasonal", &[("period", period as f64)], rule);
    }
    add("zero", &[], Rule::Zero);
    add("predictor", &[], Rule::Predictor);
    Ok(all)
}

/// Makes features of a state.
struct Features {
    d: usize,
    signal: Option<Signal<MAX_FEATURES, f64>>,
    scale: Scale<MAX_FEATURES, f64>,
}

impl Features {
    /// Takes the state, one signal or all features, and replaces the features, and the same without units.
    fn observe(&mut self, state: &[f64], [phi, scaled]: &mut [Vec<f64>; 2]) -> Result<(), Error> {
        let mut features = [0.0; MAX_FEATURES];
        match &mut self.signal {
            Some(signal) => {
                let (made, _) = signal.observe(state[0])?;
                features[..self.d].copy_from_slice(&made[..self.d]);
            }
            None => features[..self.d].copy_from_slice(state),
        }
        phi.clear();
        phi.extend_from_slice(&features[..self.d]);
        scaled.clear();
        scaled.extend_from_slice(&self.scale.scaled(&features)[..self.d]);
        Ok(())
    }
}

/// The part of a candidate that learns.
enum Learner {
    Stream { stream: Box<dyn Stream>, is_scaled: bool },
    Series(Series),
    Zero,
    Predictor,
}

/// All candidates on one stream.
pub(super) struct Learners {
    gamma: f64,
    features: Features,
    /// A cumulant other than a reward is seen from its slow average.
    level: Option<Level<f64>>,
    /// The latest state and the one before, each as features and as the same without units.
    now: [Vec<f64>; 2],
    before: [Vec<f64>; 2],
    /// The latest state is of this episode.
    has_state: bool,
    learners: Vec<Learner>,
    predictor: Predictor,
    values: Vec<f64>,
}

impl Learners {
    pub(super) fn new(
        candidates: &[Candidate],
        gamma: f64,
        d: usize,
        is_signal: bool,
        is_reward: bool,
    ) -> Result<Self, Error> {
        let learner = |candidate: &Candidate| {
            Ok(match &candidate.rule {
                Rule::Learned { estimator, retention, is_scaled } => {
                    let stream = estimator.with_gamma(gamma)?.stream(d, *retention)?;
                    Learner::Stream { stream, is_scaled: *is_scaled }
                }
                Rule::Series(series) => Learner::Series(series.clone()),
                Rule::Zero => Learner::Zero,
                Rule::Predictor => Learner::Predictor,
            })
        };
        let signal = is_signal.then(Signal::new);
        Ok(Learners {
            gamma,
            features: Features { d, signal, scale: Scale::new(SCALE_RETENTION)? },
            level: (!is_reward).then(Level::new),
            now: Default::default(),
            before: Default::default(),
            has_state: false,
            learners: candidates.iter().map(learner).collect::<Result<_, Error>>()?,
            predictor: Predictor::new([(1.0 / (1.0 - gamma)) as f32])?,
            values: Vec::new(),
        })
    }

    /// Takes the next state, with the cumulant on the way to it (at the start of an episode, where `follows` is not
    /// set, it is but the signal's first value); then appends what each candidate predicts, NaN where it has nothing,
    /// and [`OF_PREDICTOR`]. `sample` is the latest cumulant, if one has come since the last step.
    pub(super) fn step(
        &mut self,
        state: &[f64],
        cumulant: f64,
        follows: bool,
        sample: Option<f64>,
        predictions: &mut Vec<f32>,
    ) -> Result<(), Error> {
        std::mem::swap(&mut self.now, &mut self.before);
        self.features.observe(state, &mut self.now)?;
        let cumulant = match &mut self.level {
            Some(level) => level.observe(cumulant)?,
            None => cumulant,
        };
        let outlook = self.predictor.observe(sample.map(|x| x as f32));
        let ([[band]], [surprise]) = (outlook.predictions, outlook.surprise);
        let sum = |mean: f32| (f64::from(mean) / (1.0 - self.gamma)) as f32;
        let is_transition = std::mem::replace(&mut self.has_state, true) && follows;
        for learner in &mut self.learners {
            let x = match learner {
                Learner::Stream { stream, is_scaled } => {
                    let at = usize::from(*is_scaled);
                    if is_transition {
                        stream.observe(&self.before[at], cumulant, Some(&self.now[at]))?;
                    }
                    self.values.clear();
                    // Before the first transition every value is 0.
                    let x = match stream.values(&self.now[at], &mut self.values) {
                        Ok(()) => self.values.first().copied().unwrap_or(f64::NAN),
                        Err(_) if stream.is_empty() => 0.0,
                        Err(_) => f64::NAN,
                    };
                    self.level.map_or(x, |level| level.discounted_sum(self.gamma, x)) as f32
                }
                Learner::Series(series) => {
                    series.observe(sample, self.gamma);
                    series.discounted_sum(self.gamma) as f32
                }
                Learner::Zero => 0.0,
                Learner::Predictor => sum(band.mean),
            };
            predictions.push(x);
        }
        predictions.extend([sum(band.low), sum(band.high), surprise]);
        Ok(())
    }

    /// A sample is missing; the episode is cut.
    pub(super) fn skip(&mut self) {
        self.cut();
        self.predictor.observe(None);
        for learner in &mut self.learners {
            if let Learner::Series(series) = learner {
                series.observe(None, self.gamma);
            }
        }
    }

    /// The state was the last one, and left with a cumulant, after which nothing follows.
    pub(super) fn terminal(&mut self, cumulant: f64) -> Result<(), Error> {
        let level = &self.level;
        let cumulant = level.map_or(cumulant, |level| level.of_deviations(self.gamma, cumulant));
        for learner in &mut self.learners {
            if let (Learner::Stream { stream, is_scaled }, true) = (learner, self.has_state) {
                stream.observe(&self.now[usize::from(*is_scaled)], cumulant, None)?;
            }
        }
        self.cut();
        Ok(())
    }

    /// The episode is cut.
    pub(super) fn cut(&mut self) {
        self.has_state = false;
        if let Some(signal) = &mut self.features.signal {
            signal.end_episode();
        }
        for learner in &mut self.learners {
            if let Learner::Stream { stream, .. } = learner {
                stream.end_episode();
            }
        }
    }
}
