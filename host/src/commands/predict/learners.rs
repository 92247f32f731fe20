//! The estimators of a stream of one dimension: the models, online TD and LSTD over their grids.

use crate::error::{Doing, Error};
use crate::model_file::{self, MAX_STORED_LAYERS, StreamingModel, Universal};
use ictd_core::context::{Context, Forgetting};
use ictd_core::layer::Layer;
use ictd_core::mask::TdLambda;
use ictd_core::signal::{Level, Scale, Signal};
use ictd_core::td::{Learner, Lstd, OnlineTd};
use ictd_core::transformer::Transformer;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The step sizes of online TD, over the number of features, whose units [`Scale`] takes away.
const STEP_SIZES: [f64; 4] = [0.01, 0.03, 0.1, 0.3];
/// The lambdas of online TD.
const TD_LAMBDAS: [f64; 3] = [0.0, 0.5, 0.9];
/// The ridges of LSTD, in transitions.
const RIDGES: [f64; 3] = [0.03, 0.3, 3.0];
/// What LSTD retains of the past with each row.
const RETENTIONS: [f64; 3] = [0.99, 0.998, 0.9998];
/// The lambda of LSTD.
const LSTD_LAMBDA: f64 = 0.9;
/// What the features' root mean squares retain.
const SCALE_RETENTION: f64 = 0.999;

/// A model of the user's.
pub(super) struct Given {
    /// What it is called in results: the source as typed.
    pub(super) name: String,
    pub(super) model: StreamingModel,
}

/// What is run on a stream.
pub(super) struct Settings<'a> {
    pub(super) gamma: f64,
    /// The number of features; there may be room for more, which are 0.
    pub(super) d: usize,
    pub(super) retention: f64,
    pub(super) given: &'a [Given],
    /// The features are made of a signal, or there are such columns.
    pub(super) of_signal: bool,
    /// The cumulant is a reward, which is predicted as it is; others are seen from their slow average.
    pub(super) is_reward: bool,
}

/// An estimator, by name and settings.
pub(super) struct Estimator {
    pub(super) name: String,
    pub(super) settings: Map<String, Value>,
}

impl Estimator {
    fn new(name: &str, settings: &[(&str, f64)]) -> Self {
        let settings = settings.iter().map(|(key, x)| ((*key).to_owned(), json!(x))).collect();
        Estimator { name: name.to_owned(), settings }
    }

    /// Its column in predictions.csv: the name, and the settings where there are several.
    pub(super) fn column(&self) -> String {
        let mut column = self.name.clone();
        if ["td", "lstd"].contains(&self.name.as_str()) {
            for (key, value) in &self.settings {
                column.push_str(&format!(" {key}={value}"));
            }
        }
        column
    }
}

/// All estimators, in the order of [`Learners::step`]; persistence and 0 follow them.
pub(super) fn estimators(retention: f64, given: &[Given]) -> Vec<Estimator> {
    let mut all = vec![Estimator::new("universal", &[("retention", retention)])];
    all.extend(given.iter().map(|g| Estimator::new(&g.name, &[("retention", retention)])));
    for lambda in TD_LAMBDAS {
        for step_size in STEP_SIZES {
            all.push(Estimator::new("td", &[("step_size", step_size), ("lambda", lambda)]));
        }
    }
    for retention in RETENTIONS {
        for ridge in RIDGES {
            all.push(Estimator::new("lstd", &[("ridge", ridge), ("retention", retention)]));
        }
    }
    all.extend(["persistence", "zero"].map(|name| Estimator::new(name, &[])));
    all
}

/// Learns from a stream, and predicts.
pub(super) trait Learners: Send {
    /// Takes the next state, (1) or (d), with the cumulant on the way to it (at the start of an episode, where
    /// `follows` is not set, it is but the signal's first value); then appends the prediction of each estimator,
    /// NaN where it has none.
    ///
    /// # Errors
    /// The core's, for numbers that are too large.
    fn step(
        &mut self,
        state: &[f64],
        cumulant: f64,
        follows: bool,
        predictions: &mut Vec<f32>,
    ) -> Result<(), ictd_core::Error>;

    /// The state was the last one, and left with a cumulant, after which nothing follows.
    ///
    /// # Errors
    /// As [`Learners::step`].
    fn terminal(&mut self, cumulant: f64) -> Result<(), ictd_core::Error>;

    /// The episode is cut.
    fn cut(&mut self);
}

type Forgetful<const D: usize> = Context<D, TdLambda<f64>, Forgetting<f64>, f64>;

enum Model<const K: usize> {
    Universal(Box<Universal>),
    Dense(Box<Transformer<Layer<f64, K>, MAX_STORED_LAYERS>>),
}

struct All<const D: usize, const K: usize> {
    gamma: f64,
    d: usize,
    signal: Option<Signal<D, f64>>,
    level: Option<Level<f64>>,
    /// The latest state of the episode, and the same without units.
    phi: Option<([f64; D], [f64; D])>,
    models: Vec<(Model<K>, Forgetful<D>)>,
    scale: Scale<D, f64>,
    td: Vec<Learner<D, OnlineTd<f64>, f64>>,
    /// One context for each retention, read with each ridge.
    lstd: Vec<(Forgetful<D>, Vec<Lstd<f64>>)>,
}

/// The learners of a stream with at most D features.
pub(super) fn learners<const D: usize, const K: usize, const A: usize>(
    settings: &Settings,
) -> Result<Box<dyn Learners>, Error> {
    let gamma = settings.gamma;
    let window = |retention| Forgetting::new(retention).doing("--retention");
    let context = |mask: TdLambda<f64>, retention| -> Result<Forgetful<D>, Error> {
        Ok(Context::with(mask, window(retention)?))
    };
    let universal = |model: Universal| -> Result<_, Error> {
        let context = context(*model.mask(), settings.retention)?;
        Ok((Model::Universal(Box::new(model)), context))
    };
    let mut models = vec![universal(model_file::shipped(gamma)?)?];
    for given in settings.given {
        models.push(match &given.model {
            StreamingModel::Universal(model) => {
                universal(model_file::converted(model, gamma, |x| x).doing("--model")?)?
            }
            StreamingModel::Dense { parameters, depth } => {
                let file = Path::new(&given.name);
                let transformer = model_file::transformer_of(file, parameters, *depth)?;
                let mask = TdLambda::new(parameters.lambda).doing("--model")?;
                (Model::Dense(Box::new(transformer)), context(mask, settings.retention)?)
            }
        });
    }
    let mut td = Vec::new();
    for lambda in TD_LAMBDAS {
        for step_size in STEP_SIZES {
            let td_of =
                OnlineTd::new(gamma, lambda, step_size / settings.d as f64).doing("online TD")?;
            td.push(td_of.context());
        }
    }
    let ridges: Result<Vec<_>, _> =
        RIDGES.iter().map(|ridge| Lstd::new(gamma, LSTD_LAMBDA, *ridge)).collect();
    let ridges = ridges.doing("LSTD")?;
    let mut lstd = Vec::new();
    for retention in RETENTIONS {
        lstd.push((context(*ridges[0].mask(), retention)?, ridges.clone()));
    }
    Ok(Box::new(All::<D, K> {
        gamma,
        d: settings.d,
        signal: settings.of_signal.then(Signal::new),
        level: (!settings.is_reward).then(Level::new),
        phi: None,
        models,
        scale: Scale::new(SCALE_RETENTION).doing("the features' scale")?,
        td,
        lstd,
    }))
}

impl<const D: usize, const K: usize> All<D, K> {
    fn contexts(&mut self) -> impl Iterator<Item = &mut Forgetful<D>> {
        self.models.iter_mut().map(|(_, c)| c).chain(self.lstd.iter_mut().map(|(c, _)| c))
    }

    fn value(&self, model: &Model<K>, context: &Forgetful<D>, phi: &[f64; D]) -> Option<f64> {
        match model {
            Model::Universal(model) => Some(model.value_function(context).ok()?.at(phi)),
            Model::Dense(transformer) => {
                let statistic = context.statistic::<K>(self.gamma, 0).ok()?;
                Some(transformer.value_function::<D>(&statistic).ok()?.at(phi))
            }
        }
    }
}

impl<const D: usize, const K: usize> Learners for All<D, K> {
    fn step(
        &mut self,
        state: &[f64],
        cumulant: f64,
        follows: bool,
        predictions: &mut Vec<f32>,
    ) -> Result<(), ictd_core::Error> {
        let made = self.signal.as_mut().map(|signal| signal.observe(state[0])).transpose()?;
        let features = made.as_ref().map_or(state, |(features, _)| features);
        let mut phi = [0.0; D];
        phi[..self.d].copy_from_slice(&features[..self.d]);
        let cumulant = match &mut self.level {
            Some(level) => level.observe(cumulant)?,
            None => cumulant,
        };
        let scaled = self.scale.scaled(&phi);
        if let (Some((before, scaled_before)), true) = (self.phi, follows) {
            for context in self.contexts() {
                context.observe(&before, cumulant, &phi)?;
            }
            for td in &mut self.td {
                td.observe(&scaled_before, cumulant, &scaled)?;
            }
        }
        self.phi = Some((phi, scaled));
        // Before the first transition every value is 0.
        let value = |x: Option<f64>, is_new: bool| {
            let x = x.unwrap_or(if is_new { 0.0 } else { f64::NAN });
            self.level.map_or(x, |level| level.discounted_sum(self.gamma, x))
        };
        for (model, context) in &self.models {
            let x = value(self.value(model, context, &phi), context.is_empty());
            predictions.push(x as f32);
        }
        for td in &self.td {
            let x = td.algorithm().value_function(td).ok().map(|v| v.at(&scaled));
            predictions.push(value(x, td.is_empty()) as f32);
        }
        for (context, ridges) in &self.lstd {
            for lstd in ridges {
                let x = lstd.value_function(context).ok().map(|v| v.at(&phi));
                predictions.push(value(x, context.is_empty()) as f32);
            }
        }
        Ok(())
    }

    fn terminal(&mut self, cumulant: f64) -> Result<(), ictd_core::Error> {
        let cumulant =
            self.level.map_or(cumulant, |level| level.of_deviations(self.gamma, cumulant));
        if let Some((phi, scaled)) = self.phi {
            for context in self.contexts() {
                context.observe_terminal(&phi, cumulant)?;
            }
            for td in &mut self.td {
                td.observe_terminal(&scaled, cumulant)?;
            }
        }
        self.cut();
        Ok(())
    }

    fn cut(&mut self) {
        self.phi = None;
        self.contexts().for_each(Context::end_episode);
        self.td.iter_mut().for_each(Learner::end_episode);
        if let Some(signal) = &mut self.signal {
            signal.end_episode();
        }
    }
}
