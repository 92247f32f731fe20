//! The networks that are compiled: shapes live in types, so a shape asked for at run time must be
//! one of a list. Each adds to the build time; of linear attention the shape is a value, and only the room
//! for features is a type.

use crate::capacity::{DIM, RNN_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT, SOFTMAX_LAYERS};
use crate::group::{self, LaneGroup, SeedGroup};
use crate::level::{self, SimdLevel, WithScalar};
use crate::recipe::{AttentionKind, LayerSharing, NetworkKind, Recipe};
use ictd_core::Error;
use ictd_core::scalar::{Lanes8, Scalar};
use ictd_core::training::{
    self, LayerInput, LinearNetwork, LinearShape, Network as _, Parameters as _, SoftmaxNetwork,
};

type Rnn<S> = training::Rnn<S, { 2 * RNN_DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;

/// Returns the value that an RNN with these parameters (missing ones are 0) gives features phi in a context, as
/// [`group::value`] does.
pub fn rnn_value(
    input: LayerInput,
    parameters: &[f32],
    features: &[f32],
    rewards: &[f32],
    gamma: f32,
    phi: &[f32],
) -> Result<f32, Error> {
    let mut network = Rnn::<Lanes8>::zeros(input);
    let numbers = network.parameters_mut().numbers_mut();
    numbers.zip(parameters).for_each(|(to, from)| *to = Lanes8::splat(*from));
    group::value(&mut network, 0, features, rewards, gamma, phi)
}

/// Makes a group of seeds that train side by side, at most [`SimdLevel::lanes`] of them, with the instructions of a level.
/// Errors: [`Error::OutOfRange`] for a shape that is not compiled (see [`Recipe::check`]), and if this machine lacks the
/// instructions; the core's.
pub fn group(
    level: SimdLevel,
    recipe: &Recipe,
    seeds: &[u64],
) -> Result<Box<dyn SeedGroup>, Error> {
    let expected = "a level that this machine has instructions for";
    let refused = Err(Error::OutOfRange { parameter: "level", expected });
    level::with_scalar(level, GroupFactory { recipe, seeds }).unwrap_or(refused)
}

/// Makes a group of the recipe's shape. The number of stored layers is a value, so that softmax networks
/// whose layers share their parameters, and those whose layers do not, are of one type.
struct GroupFactory<'a> {
    recipe: &'a Recipe,
    seeds: &'a [u64],
}

impl WithScalar for GroupFactory<'_> {
    type Output = Result<Box<dyn SeedGroup>, Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output {
        let GroupFactory { recipe, seeds } = self;
        type Softmax<S> = SoftmaxNetwork<S, 9, SOFTMAX_LAYERS, SOFTMAX_LAYERS, SHORT_CONTEXT>;
        let depth = recipe.layers;
        match (recipe.network, recipe.attention, recipe.layer_sharing, recipe.dim) {
            // Room for few features beside that for all: what a task reads of them stays close together.
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

/// Linear attention of any shape, with room for D features. A call of its own: on the stack it makes a trainer
/// with all that room.
#[inline(never)]
fn linear<S: Scalar<Element = f32>, const D: usize, const K: usize>(
    recipe: &Recipe,
    seeds: &[u64],
) -> Result<Box<dyn SeedGroup>, Error> {
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
