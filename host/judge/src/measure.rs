//! Measures parameters from files: their element-wise metrics, and their values on fresh tasks.

use crate::estimator::{Estimator, Method};
use crate::parameters::{LayerParameters, MAX_STORED_LAYERS};
use compute::capacity::{DIM, FEW};
use compute::log::Matrices;
use ictd_core::attention::{SoftmaxAttention, TdLambda};
use ictd_core::metrics::{BatchTdComparison, ElementwiseMetrics, EvaluationStates, batch_td};
use ictd_core::model::AttentionKind;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transition::query_token;
use ictd_core::value_function::ValueFunction;
use ictd_core::{Error, Result};
use nalgebra::SVector;

pub const STATES: usize = 32;
pub const CONTEXT: usize = 256;
/// The step of central differences, whose error in `f64` is about 1e-9 here.
const STEP: f64 = 1e-5;

/// Returns P and Q of a layer, with their element-wise metrics.
pub fn matrices(layer: &LayerParameters) -> Matrices {
    let k = layer.p.len().isqrt();
    let columns =
        |m: &[f32]| -> Vec<f64> { (0..m.len()).map(|at| m[at % k * k + at / k].into()).collect() };
    let element = ElementwiseMetrics::from_columns(k, &columns(&layer.p), &columns(&layer.q));
    Matrices { p: layer.p.clone(), q: layer.q.clone(), element }
}

/// Returns the mean and the largest absolute value of a matrix's entries other than the expected ones, over that of its largest
/// entry, where the matrix is the mean of a sample of seeds'.
pub fn others_beside_largest(seeds: &[Vec<f64>], sample: &[usize], expected: &[bool]) -> [f64; 2] {
    let mut mean = vec![0.0; expected.len()];
    for seed in sample {
        for (sum, x) in mean.iter_mut().zip(&seeds[*seed]) {
            *sum += x / sample.len() as f64;
        }
    }
    let size = |largest: f64, x: &f64| largest.max(x.abs());
    let others = || mean.iter().zip(expected).filter(|(_, is)| !**is).map(|(x, _)| x);
    let largest = mean.iter().fold(0.0, size);
    let (count, sum) = others().fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + x.abs()));
    [sum / count / largest, others().fold(0.0, size) / largest]
}

/// Compares a trained transformer with batch TD on a fresh Boyan's chain of at most [`STATES`] states and a fresh context of at
/// most [`CONTEXT`] transitions: VD, IWS and SS. Batch TD has learning rate alpha, and as many iterations as there are layers.
/// Returns the core's error for tasks that cannot be drawn, for iterates that overflow, and for another method.
pub fn against_batch_td(
    estimator: &Estimator,
    alpha: f64,
    [context, states]: [usize; 2],
    seed: u64,
) -> Result<BatchTdComparison<f64>> {
    match &estimator.method {
        Method::Trained { parameters, .. } if parameters.feature_dimension() <= FEW => {
            compare::<FEW, 17>(estimator, alpha, [context, states], seed)
        }
        _ => compare::<DIM, 65>(estimator, alpha, [context, states], seed),
    }
}

fn compare<const D: usize, const K: usize>(
    estimator: &Estimator,
    alpha: f64,
    [context, states]: [usize; 2],
    seed: u64,
) -> Result<BatchTdComparison<f64>> {
    let Estimator { ref method, gamma, layers } = *estimator;
    let Method::Trained { parameters, attention } = method else {
        return Err(Error::Mismatch { parameter: "method" });
    };
    let transformer = parameters.transformer::<f64, K, MAX_STORED_LAYERS>(layers)?;
    let mut rng = Rng::new(seed);
    let d = parameters.feature_dimension();
    let chain: Mrp<f64, D, STATES> = boyan_chain(states, d, &mut rng)?;
    let transitions = chain.trajectory::<CONTEXT>(context, &mut rng)?;
    let states = EvaluationStates::from_mrp(&chain)?.with_dim(d);
    let nothing = SVector::zeros();
    let mut prompt = Prompt::<f64, K, CONTEXT>::discounted(&transitions, gamma, &nothing)?;
    let statistic = Statistic::from_prompt(&prompt, &TdLambda::new(parameters.trace_decay)?)?;
    let v_td = batch_td::<f64, D, K>(&statistic, alpha, layers)?;
    if *attention == AttentionKind::Linear {
        let v_tf = ValueFunction::from_readout(transformer.readout(&statistic).as_slice())?;
        return Ok(states.compare(&states.sample_linear(&v_tf), &v_tf.weights, &v_td));
    }
    let mut value = |phi: &SVector<f64, D>| {
        prompt.query = query_token(phi);
        transformer.value(&prompt, &SoftmaxAttention).unwrap_or(f64::NAN)
    };
    let sample = states.sample(|phi| {
        let slope = |i| {
            let (mut up, mut down) = (*phi, *phi);
            up[i] += STEP;
            down[i] -= STEP;
            (value(&up) - value(&down)) / (2.0 * STEP)
        };
        let gradient = SVector::from_iterator((0..D).map(slope));
        Ok((value(phi), gradient))
    })?;
    Ok(states.compare(&sample, &states.implicit_weights(&sample.values)?, &v_td))
}
