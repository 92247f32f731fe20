//! The networks that are compiled: shapes are type parameters, so a shape chosen at run time must be one of a list, and each
//! adds to the build time. For linear attention the shape is a value, and only the capacity for features is a type parameter.

use crate::capacity::{
    DIM, FEW, LAYERS, PAPER_DIM, SHORT_CONTEXT, SHORT_TRAJECTORY, SOFTMAX_CONTEXT, SOFTMAX_DIM,
    SOFTMAX_LAYERS, TRAJECTORY, USUAL_DIM, USUAL_LAYERS, USUAL_SOFTMAX_LAYERS,
};
use crate::group::{self, Judge, LaneGroup, SeedGroup};
use crate::level::{self, SimdLevel, WithScalar};
use crate::networks::{AnyRnn, Linear, Rnn};
use crate::recipe::Recipe;
use crate::words::NetworkKind;
use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::scalar::{Lanes8, Scalar};
use ictd_core::training::{LayerInput, LinearNetwork, LinearShape, SoftmaxNetwork};
use ictd_core::{Error, Result};

/// Returns an RNN's values of queries in a context ([`group::values`]), for any number of features; missing parameters are 0.
pub fn rnn_values(
    input: LayerInput,
    parameters: &[f32],
    features: &[f32],
    rewards: &[f32],
    gamma: f32,
    queries: &[f32],
) -> Result<Vec<f32>> {
    let dim = features.len() / (rewards.len() + 1);
    let mut network = AnyRnn::<Lanes8>::zeros(input).with_dim(dim)?;
    group::set(&mut network, parameters);
    group::values(&mut network, dim, features, rewards, gamma, queries)
}

fn is_linear(recipe: &Recipe) -> bool {
    recipe.network == NetworkKind::Transformer && recipe.attention == AttentionKind::Linear
}

/// Returns the largest number of seeds that train faster one after the other than in lanes, most of which they would leave
/// empty; 0 for networks that train in lanes only.
pub fn most_alone(recipe: &Recipe) -> usize {
    let alone = is_linear(recipe) && SimdLevel::OneSeed.is_available();
    if alone { 1 + recipe.dim / 8 } else { 0 }
}

/// Returns true for softmax networks and RNNs of the larger shape, which have one level: each would take as long to compile as
/// the usual shape in all.
fn has_one_level(recipe: &Recipe) -> bool {
    !is_linear(recipe) && !is_usual(recipe)
}

/// Returns the best level of this machine for this number of seeds in lanes.
pub fn level(recipe: &Recipe, seeds: usize) -> SimdLevel {
    if has_one_level(recipe) { SimdLevel::Baseline } else { SimdLevel::for_seeds(seeds) }
}

/// Returns a group of at most [`SimdLevel::lanes`] seeds, which train in parallel with a level's instructions. Returns
/// [`Error::OutOfRange`] for a shape that is not compiled (see [`Recipe::check`]) and if this machine lacks the instructions,
/// or the network the training of one seed, and other errors of the core.
pub fn group(level: SimdLevel, recipe: &Recipe, seeds: &[u64]) -> Result<Box<dyn SeedGroup>> {
    let expected = "a level of this machine; for one seed, of linear attention";
    let refused = Err(Error::OutOfRange { parameter: "level", expected });
    let is_compiled = match level {
        SimdLevel::OneSeed => most_alone(recipe) > 0,
        SimdLevel::Baseline => true,
        _ => !has_one_level(recipe),
    };
    if !is_compiled {
        return refused;
    }
    level::with_scalar(level, GroupFactory { recipe, seeds }).unwrap_or(refused)
}

/// Builds a group of the recipe's shape. The number of stored layers is a value, so that softmax networks with shared and with
/// separate parameters have one type.
struct GroupFactory<'a> {
    recipe: &'a Recipe,
    seeds: &'a [u64],
}

impl WithScalar for GroupFactory<'_> {
    type Output = Result<Box<dyn SeedGroup>>;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output {
        const K: usize = 2 * PAPER_DIM + 1;
        const ANY_K: usize = 2 * SOFTMAX_DIM + 1;
        const C: usize = USUAL_SOFTMAX_LAYERS;
        let GroupFactory { recipe, seeds } = self;
        match (recipe.network, recipe.attention) {
            (NetworkKind::Transformer, AttentionKind::Linear) => linear_group::<S>(recipe, seeds),
            (NetworkKind::Transformer, AttentionKind::Softmax) if is_usual(recipe) => {
                let (network, judge) = softmax::<S, PAPER_DIM, K, C, SHORT_CONTEXT>(recipe)?;
                LaneGroup::<_, _, FEW, SHORT_TRAJECTORY>::boxed(recipe, seeds, network, judge)
            }
            (NetworkKind::Transformer, AttentionKind::Softmax) => {
                let (network, judge) =
                    softmax::<Lanes8, SOFTMAX_DIM, ANY_K, SOFTMAX_LAYERS, SOFTMAX_CONTEXT>(recipe)?;
                LaneGroup::<_, _, DIM, TRAJECTORY>::boxed(recipe, seeds, network, judge)
            }
            (NetworkKind::Rnn, _) if is_usual(recipe) => {
                let judge = group::rnn_judge(Rnn::zeros(recipe.rnn_input));
                let network = Rnn::<S>::zeros(recipe.rnn_input);
                LaneGroup::<_, _, FEW, SHORT_TRAJECTORY>::boxed(recipe, seeds, network, judge)
            }
            (NetworkKind::Rnn, _) => {
                let network = AnyRnn::<Lanes8>::zeros(recipe.rnn_input).with_dim(recipe.dim)?;
                let judge = group::rnn_judge(network.clone());
                LaneGroup::<_, _, DIM, TRAJECTORY>::boxed(recipe, seeds, network, judge)
            }
            (NetworkKind::Transformer, AttentionKind::TwoHead) => {
                Err(Error::OutOfRange { parameter: "attention", expected: "linear or softmax" })
            }
        }
    }

    fn run_alone<S: Scalar<Element = f32>>(self) -> Self::Output {
        linear_group::<S>(self.recipe, self.seeds)
    }
}

/// Returns true for a shape that is trained, or of linear attention measured, with less memory.
fn is_usual(recipe: &Recipe) -> bool {
    let longest = recipe.context_range.map_or(recipe.context_length, |span| span.0[1] + 1);
    match recipe.attention {
        _ if recipe.network == NetworkKind::Rnn => recipe.dim == PAPER_DIM,
        AttentionKind::Softmax => {
            let short = recipe.layers <= USUAL_SOFTMAX_LAYERS && longest <= SHORT_CONTEXT;
            recipe.dim == PAPER_DIM && short
        }
        _ => recipe.dim <= USUAL_DIM && recipe.layers <= USUAL_LAYERS,
    }
}

/// Returns the size in bytes of the stack that [`group()`] and its methods need; the memory is reserved, not used.
pub fn stack(recipe: &Recipe) -> usize {
    if is_usual(recipe) && is_small(recipe) { 64 << 20 } else { 512 << 20 }
}

/// Returns true for tasks that train with less memory.
fn is_small(recipe: &Recipe) -> bool {
    recipe.dim <= FEW && recipe.trainer_settings().check(SHORT_TRAJECTORY).is_ok()
}

fn linear_group<S: Scalar<Element = f32>>(
    recipe: &Recipe,
    seeds: &[u64],
) -> Result<Box<dyn SeedGroup>> {
    const PAPER_K: usize = 2 * PAPER_DIM + 1;
    const USUAL_K: usize = 2 * USUAL_DIM + 1;
    const K: usize = 2 * DIM + 1;
    // The judge's network has lanes of its own.
    let (network, judged) = (linear(recipe)?, linear(recipe)?);
    let judge = match is_usual(recipe) {
        true if recipe.dim <= PAPER_DIM => {
            group::linear_judge::<PAPER_DIM, PAPER_K, USUAL_LAYERS>(judged)
        }
        true => group::linear_judge::<USUAL_DIM, USUAL_K, USUAL_LAYERS>(judged),
        false => group::linear_judge::<DIM, K, LAYERS>(judged),
    };
    // A smaller capacity for few features keeps the features of a task close together in memory.
    if is_small(recipe) {
        LaneGroup::<S, _, FEW, SHORT_TRAJECTORY>::boxed(recipe, seeds, network, judge)
    } else {
        LaneGroup::<S, _, DIM, TRAJECTORY>::boxed(recipe, seeds, network, judge)
    }
}

fn softmax<
    S: Scalar<Element = f32>,
    const D: usize,
    const K: usize,
    const L: usize,
    const N: usize,
>(
    recipe: &Recipe,
) -> Result<(SoftmaxNetwork<S, K, L, L, N>, Judge)> {
    let (stored, depth) = (stored(recipe), recipe.layers);
    let judge = SoftmaxNetwork::<_, K, L, L, N>::zeros(stored, depth)?.with_dim(recipe.dim)?;
    let network = SoftmaxNetwork::zeros(stored, depth)?.with_dim(recipe.dim)?;
    Ok((network, group::softmax_judge::<D, _, _, _, _>(judge)))
}

fn stored(recipe: &Recipe) -> usize {
    if recipe.layer_sharing == LayerSharing::Sequential { recipe.layers } else { 1 }
}

fn linear<S: Scalar<Element = f32>>(recipe: &Recipe) -> Result<Linear<S>> {
    let shape = LinearShape::new(recipe.dim, stored(recipe), recipe.layers);
    let shape = LinearShape {
        trace_decay: (recipe.trace_decay != 0.0).then_some(recipe.trace_decay as f32),
        gain: recipe.gain.unwrap_or(shape.gain),
        ..shape
    };
    let work_len = if S::LANES == 1 { shape.work_len_alone() } else { shape.work_len() };
    LinearNetwork::new(shape, vec![S::ZERO; shape.parameter_len()], vec![S::ZERO; work_len])
}
