//! What imported parameters look like, and what they compute on tasks that they have not seen.

use crate::error::{Doing, Error};
use crate::formats::parameters::{Attention, LayerParameters, Parameters};
use crate::model_file;
use ictd_core::attention::{SoftmaxAttention, TdLambda};
use ictd_core::metrics::comparison::{Comparison, EvaluationStates};
use ictd_core::metrics::elements::Elements;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{FiniteTask, FiniteTasks, Task};
use ictd_core::td::td0;
use ictd_core::transition::query_token;
use ictd_core::value_function::ValueFunction;
use nalgebra::SVector;
use std::path::Path;

/// The most states and the longest context of the tasks.
pub(super) const STATES: usize = 32;
pub(super) const CONTEXT: usize = 256;

/// A complete transformer, and the tasks to try it on.
pub(super) struct Settings<'a> {
    pub(super) file: &'a Path,
    pub(super) parameters: &'a Parameters,
    pub(super) attention: Attention,
    pub(super) depth: usize,
    pub(super) gamma: f64,
    pub(super) lambda: f64,
    pub(super) alpha: f64,
    pub(super) context: usize,
    pub(super) states: usize,
}

/// The element-wise metrics of a layer.
pub(super) fn elements(layer: &LayerParameters) -> Elements<f64> {
    let k = layer.p.len().isqrt();
    let columns =
        |m: &[f32]| -> Vec<f64> { (0..m.len()).map(|at| m[at % k * k + at / k].into()).collect() };
    Elements::of_columns(k, &columns(&layer.p), &columns(&layer.q))
}

/// VD, IWS and SS against batch TD on a fresh Boyan's chain and a fresh context.
pub(super) fn compare<const D: usize, const K: usize, const A: usize>(
    settings: &Settings,
    seed: u64,
) -> Result<Comparison<f64>, Error> {
    let transformer =
        model_file::transformer_of::<K>(settings.file, settings.parameters, settings.depth)?;
    let mut rng = Rng::new(seed);
    let tasks = FiniteTasks::<STATES> { kind: FiniteTask::BoyanChain, states: settings.states };
    let d = settings.parameters.feature_dimension();
    let chain = tasks.draw_of_dim::<f64, D>(d, settings.gamma, &mut rng).doing("--states")?;
    let transitions = chain.trajectory::<CONTEXT>(settings.context, &mut rng).doing("--context")?;
    let states = EvaluationStates::of(&chain).doing("the stationary distribution")?.with_dim(d);
    let prompt =
        Prompt::<f64, K, CONTEXT>::discounted(&transitions, settings.gamma, &SVector::zeros())
            .doing("the prompt")?;
    let mask = TdLambda::new(settings.lambda).doing("the model")?;
    let statistic = Statistic::of_prompt(&prompt, &mask).doing("the prompt")?;
    // Batch TD(lambda) has the trace on the left, G on the right.
    let transposed = Statistic { g: statistic.g.transpose(), ..statistic };
    let v_td = td0::value_function::<f64, D, K>(&transposed, settings.alpha, settings.depth)
        .doing("batch TD (lower --alpha)")?;
    match settings.attention {
        Attention::Linear => {
            let readout = transformer.readout(&statistic);
            let weights = SVector::from_fn(|i, _| -readout[i]);
            Ok(states.compare_linear(&ValueFunction { weights }, &v_td))
        }
        Attention::Softmax => {
            let mut prompt = prompt;
            let mut value = |phi: &SVector<f64, D>| {
                prompt.set_query(query_token(phi));
                transformer.value(&prompt, &SoftmaxAttention).unwrap_or(f64::NAN)
            };
            // Central differences: in f64 they are exact to about 1e-9 here.
            const STEP: f64 = 1e-5;
            let sample = states.sample(|phi| {
                let slope = |i| {
                    let (mut up, mut down) = (*phi, *phi);
                    up[i] += STEP;
                    down[i] -= STEP;
                    (value(&up) - value(&down)) / (2.0 * STEP)
                };
                let gradient = SVector::from_iterator((0..D).map(slope));
                Ok((value(phi), gradient))
            });
            let sample = sample.doing("the sample")?;
            states.compare(&sample, &v_td).doing("the implicit weights")
        }
    }
}
