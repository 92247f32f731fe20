//! One task of Figure 1, its contexts, and the errors of a model's values after each.

use super::{Demo, Method, TaskKind, TaskRow, Trajectory};
use crate::model_file::{self, MAX_STORED_LAYERS, StreamingModel};
use ictd_core::constructions;
use ictd_core::context::{Context, Growing};
use ictd_core::mask::{Mask, Td0, TdLambda};
use ictd_core::rng::Rng;
use ictd_core::tasks::{self, Mrp, Task as _};
use ictd_core::transformer::Transformer;
use nalgebra::SVector;

/// The most states that fit a task's fixed capacity.
pub(super) const STATES: usize = 32;

/// What one task gives.
#[derive(Default)]
pub struct OneTask {
    /// The error at each context length.
    pub rows: Vec<TaskRow>,
    /// The error of predicting 0 everywhere.
    pub of_zero: f64,
}

/// The errors at a context length.
pub fn errors_at(per_task: &[OneTask], n: usize) -> impl Iterator<Item = f64> + Clone {
    let rows = per_task.iter().flat_map(|task| &task.rows);
    rows.filter(move |r| r.context_length == n).map(|r| r.msve)
}

/// What a method gives on a task of its own seed.
pub(super) fn one_task<const D: usize, const K: usize, const A: usize>(
    options: &Demo,
    model: &Method,
    index: usize,
    seed: u64,
) -> Result<OneTask, ictd_core::Error> {
    let mut rng = Rng::new(seed);
    let span = (options.max_states - options.min_states + 1) as u32;
    let states = options.min_states + rng.below(span) as usize;
    let gamma = options.gamma;
    let task: Mrp<f64, D, STATES> = match options.task {
        TaskKind::Mdp => tasks::random_mdp(states, options.actions, gamma, &mut rng)?,
        TaskKind::Loop => {
            let threshold = rng.uniform_in(0.1, 0.9);
            tasks::loop_mrp(states, threshold, gamma, &mut rng)?
        }
        TaskKind::Boyan => tasks::boyan_chain_representable(states, gamma, &mut rng)?,
    };
    let judged = Judged { options, index, task: &task };
    match model {
        Method::Constructed => {
            let alpha = constructions::learning_rate::<f64, D>(options.alpha);
            let layer = constructions::td0::<f64, D, K>(&alpha);
            let layers = Transformer::<_, 1>::autoregressive(layer, options.layers)?;
            judged.rows(Td0, &mut rng, |context| {
                let value = layers.value_function::<D>(&context.statistic::<K>(gamma, 0)?)?;
                Ok(SVector::from_fn(|s, _| value.at(&task.feature_map()[s])))
            })
        }
        Method::Model(StreamingModel::Universal(model)) => {
            judged.rows(*model.mask(), &mut rng, |context| {
                let value = model.value_function(context)?;
                Ok(SVector::from_fn(|s, _| value.at(&task.feature_map()[s])))
            })
        }
        Method::Model(StreamingModel::Dense { parameters, depth }) => {
            let layers = model_file::transformer::<f64, K, MAX_STORED_LAYERS>(parameters, *depth)?;
            judged.rows(TdLambda::new(parameters.lambda)?, &mut rng, |context| {
                let value = layers.value_function::<D>(&context.statistic::<K>(gamma, 0)?)?;
                Ok(SVector::from_fn(|s, _| value.at(&task.feature_map()[s])))
            })
        }
    }
}

/// A task, and how it is judged.
struct Judged<'a, const D: usize> {
    options: &'a Demo,
    index: usize,
    task: &'a Mrp<f64, D, STATES>,
}

impl<const D: usize> Judged<'_, D> {
    /// The errors of the values that a model gives the states after each context.
    fn rows<M: Mask<f64>>(
        &self,
        mask: M,
        rng: &mut Rng,
        values: impl Fn(&Context<D, M, Growing, f64>) -> Result<SVector<f64, STATES>, ictd_core::Error>,
    ) -> Result<OneTask, ictd_core::Error> {
        let Judged { options, index, task } = *self;
        let d = task.stationary_distribution()?;
        let v = task.true_value(options.gamma)?;
        let mut context = Context::<D, M, _, f64>::with(mask, Growing);
        let mut state = task.initial_state(rng);
        let of_zero = task.msve(&d, &SVector::zeros(), &v);
        let mut rows = Vec::new();
        for n in options.context_lengths() {
            if options.trajectory == Trajectory::Fresh {
                context.clear();
                state = task.initial_state(rng);
            }
            while context.len() < n as u64 {
                context.observe_transition(&task.transition(&mut state, rng))?;
            }
            let msve = task.msve(&d, &values(&context)?, &v);
            rows.push(TaskRow { task: index, states: task.states(), context_length: n, msve });
        }
        Ok(OneTask { rows, of_zero })
    }
}
