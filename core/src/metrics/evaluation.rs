//! A trained transformer against batch TD, in one context.

use super::comparison::{Comparison, EvaluationStates};
use crate::attention::Td0;
use crate::error::Error;
use crate::gradient::softmax;
use crate::layer::Layer;
use crate::linalg::{add_outer, to_f64, transpose, zeros};
use crate::mask::{Mask, Vector};
use crate::prompt::Prompt;
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::td::td0;
use crate::transformer::Transformer;
use crate::transition::query_token;
use crate::value_function::ValueFunction;

/// VD, IWS and SS of a linear transformer against L iterations of batch TD with learning rate alpha,
/// in the context of a prompt (its query does not matter), both under one mask: TD(0)'s, or TD(lambda)'s.
///
/// Computed in `f64` whatever R is: near the end of a training VD is the difference of two nearly
/// equal functions, and would be rounding in `f32`.
///
/// # Errors
/// [`Error::Empty`] without context, [`Error::NonFinite`] if batch TD or a layer blows up.
pub fn compare_linear_transformer<
    R: Real,
    const D: usize,
    const K: usize,
    const C: usize,
    const N: usize,
    const M: usize,
>(
    transformer: &Transformer<Layer<R, K>, C>,
    mask: &impl Mask<f64>,
    alpha: R,
    prompt: &Prompt<R, K, N>,
    states: &EvaluationStates<R, D, M>,
) -> Result<Comparison<R>, Error> {
    let statistic = statistic_of(prompt, mask)?;
    let mut layers = [Layer { p: zeros::<f64, K, K>(), q: zeros() }; C];
    let stored = transformer.layers();
    for (to, from) in layers.iter_mut().zip(stored) {
        *to = Layer { p: to_f64(&from.p), q: to_f64(&from.q) };
    }
    let wide = Transformer::<_, C>::from_stored(layers, stored.len(), transformer.depth())?;
    let v_tf = ValueFunction::from_readout(wide.readout(&statistic).as_slice())?;
    compare_with_batch_td(&v_tf, &statistic, alpha, transformer.depth(), states)
}

/// As [`compare_linear_transformer`], of any linear value function v_TF against `depth` iterations of batch TD.
///
/// # Errors
/// As [`compare_linear_transformer`].
pub fn compare_value_function<
    R: Real,
    const D: usize,
    const K: usize,
    const N: usize,
    const M: usize,
>(
    v_tf: &ValueFunction<f64, D>,
    mask: &impl Mask<f64>,
    alpha: R,
    depth: usize,
    prompt: &Prompt<R, K, N>,
    states: &EvaluationStates<R, D, M>,
) -> Result<Comparison<R>, Error> {
    compare_with_batch_td(v_tf, &statistic_of(prompt, mask)?, alpha, depth, states)
}

fn statistic_of<R: Real, const K: usize, const N: usize>(
    prompt: &Prompt<R, K, N>,
    mask: &impl Mask<f64>,
) -> Result<Statistic<f64, K>, Error> {
    if prompt.context_len() == 0 {
        return Err(Error::Empty { parameter: "context" });
    }
    let mut g = zeros::<f64, K, K>();
    let mut state = Vector::ZERO;
    for z in prompt.context() {
        let (left, right) = mask.factors(&mut state, &to_f64(z), 1.0);
        add_outer(&mut g, &left, &right);
    }
    Ok(Statistic { g, inverse_len: 1.0 / prompt.context_len() as f64 })
}

fn compare_with_batch_td<R: Real, const D: usize, const K: usize, const M: usize>(
    v_tf: &ValueFunction<f64, D>,
    statistic: &Statistic<f64, K>,
    alpha: R,
    depth: usize,
    states: &EvaluationStates<R, D, M>,
) -> Result<Comparison<R>, Error> {
    // Batch TD(lambda)'s A = sum e (phi - gamma phi')^T has the trace on the left, G on the right.
    let statistic = Statistic { g: transpose(&statistic.g), ..*statistic };
    let v_td = td0::value_function::<f64, D, K>(&statistic, alpha.to_f64(), depth)?;
    let wide = states.in_f64().compare_linear(v_tf, &v_td);
    Ok(Comparison {
        vd: R::from_f64(wide.vd),
        iws: R::from_f64(wide.iws),
        ss: R::from_f64(wide.ss),
    })
}

/// VD, IWS and SS of a softmax transformer against L iterations of (linear) batch TD with learning
/// rate alpha, in the context of a prompt (its query does not matter). L is also the capacity for
/// layers in the pass.
///
/// # Errors
/// [`Error::Empty`] without context, [`Error::CapacityExceeded`] if the transformer is deeper than L,
/// [`Error::NonFinite`] if batch TD blows up, [`Error::Singular`] if the features of the states do
/// not span d dimensions.
pub fn compare_softmax_transformer<
    R: Real,
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
    const M: usize,
>(
    transformer: &Transformer<Layer<R, K>, C>,
    alpha: R,
    prompt: &Prompt<R, K, N>,
    states: &EvaluationStates<R, D, M>,
) -> Result<Comparison<R>, Error> {
    let statistic = Statistic::of_prompt(prompt, &Td0)?;
    let v_td = td0::value_function::<R, D, K>(&statistic, alpha, transformer.depth())?;
    let mut prompt = prompt.clone();
    let v_tf = states.sample(|phi| {
        prompt.set_query(query_token(phi));
        let gradient = softmax::value_and_gradient::<R, K, C, L, N>(transformer, &prompt)?;
        Ok((gradient.value, gradient.query_features()))
    })?;
    states.compare(&v_tf, &v_td)
}
