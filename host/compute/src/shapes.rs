//! The networks that are compiled: shapes are type parameters, so a shape chosen at run time must be one of a list, and each
//! adds to the build time. For linear attention the shape is a value, and only the capacity for features is a type parameter.

use crate::capacity::{DIM, RNN_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT, SOFTMAX_LAYERS};
use crate::group::{self, LaneGroup, SeedGroup};
use crate::level::{self, SimdLevel, WithScalar};
use crate::recipe::{AttentionKind, LayerSharing, NetworkKind, Recipe};
use ictd_core::scalar::{Lanes8, Scalar};
use ictd_core::training::{
    self, LayerInput, LinearNetwork, LinearShape, Network as _, Parameters as _, SoftmaxNetwork,
};
use ictd_core::{Error, Result};

type Rnn<S> = training::Rnn<S, { 2 * RNN_DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;

/// Returns an RNN's values of queries in a context ([`group::values`]); missing parameters are 0.
pub fn rnn_values(
    input: LayerInput,
    parameters: &[f32],
    features: &[f32],
    rewards: &[f32],
    gamma: f32,
    queries: &[f32],
) -> Result<Vec<f32>> {
    let mut network = Rnn::<Lanes8>::zeros(input);
    let numbers = network.parameters_mut().numbers_mut();
    numbers.zip(parameters).for_each(|(to, from)| *to = Lanes8::splat(*from));
    group::values(&mut network, RNN_DIM, features, rewards, gamma, queries)
}

/// Returns a group of at most [`SimdLevel::lanes`] seeds, which train in parallel with a level's instructions. Returns
/// [`Error::OutOfRange`] for a shape that is not compiled (see [`Recipe::check`]) and if this machine lacks the instructions,
/// and other errors of the core.
pub fn group(level: SimdLevel, recipe: &Recipe, seeds: &[u64]) -> Result<Box<dyn SeedGroup>> {
    let expected = "a level that this machine has instructions for";
    let refused = Err(Error::OutOfRange { parameter: "level", expected });
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
        let GroupFactory { recipe, seeds } = self;
        type Softmax<S> = SoftmaxNetwork<S, 9, SOFTMAX_LAYERS, SOFTMAX_LAYERS, SHORT_CONTEXT>;
        let depth = recipe.layers;
        match (recipe.network, recipe.attention, recipe.layer_sharing, recipe.dim) {
            // A smaller capacity for few features keeps the features of a task close together in memory.
            (NetworkKind::Transformer, AttentionKind::Linear, _, 1..=4) => {
                linear::<S, 4, 9>(recipe, seeds)
            }
            (NetworkKind::Transformer, AttentionKind::Linear, _, 5..=DIM) => {
                linear::<S, DIM, { 2 * DIM + 1 }>(recipe, seeds)
            }
            (NetworkKind::Transformer, AttentionKind::Softmax, sharing, 4) => {
                let stored = if sharing == LayerSharing::Sequential { depth } else { 1 };
                let network = Softmax::<S>::zeros(stored, depth)?;
                LaneGroup::<S, _, 4, 9>::boxed(recipe, network, seeds)
            }
            (NetworkKind::Rnn, _, _, RNN_DIM) => {
                let network = Rnn::<S>::zeros(recipe.rnn_input);
                LaneGroup::<S, _, RNN_DIM, 9>::boxed(recipe, network, seeds)
            }
            _ => Err(Error::OutOfRange { parameter: "dim", expected: "a compiled shape" }),
        }
    }
}

/// Returns a group with linear attention of any shape, with room for D features. Not inlined: it builds a trainer of this
/// capacity on the stack.
#[inline(never)]
fn linear<S: Scalar<Element = f32>, const D: usize, const K: usize>(
    recipe: &Recipe,
    seeds: &[u64],
) -> Result<Box<dyn SeedGroup>> {
    let stored = if recipe.layer_sharing == LayerSharing::Sequential { recipe.layers } else { 1 };
    let shape = LinearShape::new(recipe.dim, stored, recipe.layers);
    let shape = LinearShape {
        trace_decay: recipe.trace_decay as f32,
        gain: recipe.gain.unwrap_or(shape.gain),
        ..shape
    };
    let network = LinearNetwork::<S, Vec<S>>::zeros(shape, |len| vec![S::ZERO; len])?;
    LaneGroup::<S, _, D, K>::boxed(recipe, network, seeds)
}
