//! The networks that are compiled: shapes live in types, so a shape asked for at run time must be
//! one of a list. Each adds to the build time; of linear attention the shape is a value, and only the room
//! for features is a type.

use crate::capacity::{
    DIM, RNN_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT, SOFTMAX_LAYERS, TWO_HEAD_DIM,
};
use crate::dispatch::{self, Level, WithScalar};
use crate::group::{Group, Lanes};
use crate::recipe::{Attention, Mode, Model, ParameterSet as Set, Recipe};
use crate::schedule::Width;
use crate::tasks::AnyTasks;
use ictd_core::Error;
use ictd_core::rnn::LayerInput;
use ictd_core::scalar::Scalar;
use ictd_core::training::{
    AnyLinear, Network, ParameterSet, Parameters, RnnNetwork, SoftmaxNetwork, TwoHeads,
};
use nalgebra::SVector;

/// An RNN in training.
type Rnn<S> = RnnNetwork<S, RNN_DIM, { 2 * RNN_DIM + 2 }, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT>;

/// The value that an RNN with these parameters (missing ones are 0) gives features phi in a context.
///
/// # Errors
/// As [`super::group::value`].
pub fn rnn_value(
    input: LayerInput,
    parameters: &[f32],
    features: &[SVector<f32, RNN_DIM>],
    rewards: &[f32],
    gamma: f32,
    phi: &SVector<f32, RNN_DIM>,
) -> Result<f32, Error> {
    let mut network = Rnn::<f32>::new(input);
    let numbers = Network::<f32, RNN_DIM>::parameters_mut(&mut network).numbers_mut();
    numbers.zip(parameters).for_each(|(to, from)| *to = *from);
    super::group::value(&mut network, features, rewards, gamma, phi)
}

/// The numbers of lanes that groups may have on this machine, with the time of a task relative to
/// each other (measured on linear attention, L = 3).
pub fn widths() -> Vec<Width> {
    let width = |lanes, cost| Width { lanes, cost };
    match Level::detect() {
        Level::Avx512 => vec![width(16, 4.8), width(8, 2.6), width(1, 0.7)],
        Level::Avx2 => vec![width(8, 2.6), width(1, 0.7)],
        Level::Baseline if cfg!(target_arch = "x86_64") => vec![width(4, 2.0)],
        Level::Baseline => vec![width(4, 2.0), width(1, 0.7)],
    }
}

/// Seeds that train side by side: `width` is one of [`widths`], `seeds` at most as many.
///
/// # Errors
/// [`Error::OutOfRange`] for a shape that is not compiled (see [`Recipe::check`]), and the core's
/// refusals.
pub fn group(recipe: &Recipe, width: usize, seeds: &[u64]) -> Result<Box<dyn Group>, Error> {
    group_on(recipe, &AnyTasks::new(recipe), width, seeds)
}

/// As [`group`], on given tasks.
///
/// # Errors
/// As there.
pub fn group_on(
    recipe: &Recipe,
    tasks: &AnyTasks,
    width: usize,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    group_of(recipe, tasks, Level::for_lanes(width), width, seeds)
}

/// As [`group`], with the instructions of a given level.
///
/// # Errors
/// [`Error::OutOfRange`] also if the level has no registers of that width ([`dispatch::available`]).
pub fn group_at(
    recipe: &Recipe,
    level: Level,
    width: usize,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    group_of(recipe, &AnyTasks::new(recipe), level, width, seeds)
}

fn group_of(
    recipe: &Recipe,
    tasks: &AnyTasks,
    level: Level,
    width: usize,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    let accepted = "a number of lanes that this machine has instructions for";
    let refused = Err(Error::OutOfRange { parameter: "lanes", accepted });
    dispatch::with_scalar(level, width, OfShape { recipe, tasks, seeds }).unwrap_or(refused)
}

/// Makes a group of the recipe's shape. The number of stored layers is a value, so that softmax networks
/// whose layers share their parameters, and those whose layers do not, are of one type.
struct OfShape<'a> {
    recipe: &'a Recipe,
    tasks: &'a AnyTasks,
    seeds: &'a [u64],
}

impl WithScalar for OfShape<'_> {
    type Output = Result<Box<dyn Group>, Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output {
        let OfShape { recipe, tasks, seeds } = self;
        type Softmax<S> = SoftmaxNetwork<S, 4, 9, SOFTMAX_LAYERS, SOFTMAX_LAYERS, SHORT_CONTEXT>;
        let depth = recipe.layers;
        if recipe.heads == 2 {
            return two_heads::<S>(recipe, tasks, seeds);
        }
        match (recipe.model, recipe.attention, recipe.mode, recipe.dim) {
            // Room for few features beside that for all: what a task reads of them stays close together.
            (Model::Transformer, Attention::Linear, _, 1..=4) => {
                linear::<S, 4, 9>(recipe, tasks, seeds)
            }
            (Model::Transformer, Attention::Linear, _, 5..=DIM) => {
                linear::<S, DIM, { 2 * DIM + 1 }>(recipe, tasks, seeds)
            }
            (Model::Transformer, Attention::Softmax, mode, 4) => {
                let network = match mode {
                    Mode::Autoregressive => Softmax::<S>::autoregressive(depth)?,
                    Mode::Sequential => Softmax::<S>::sequential(depth)?,
                };
                Lanes::<S, _, 4>::boxed(recipe, tasks, network, seeds)
            }
            (Model::Rnn, _, _, RNN_DIM) => {
                let network = Rnn::<S>::new(recipe.rnn_input.into());
                Lanes::<S, _, RNN_DIM>::boxed(recipe, tasks, network, seeds)
            }
            _ => Err(Error::OutOfRange { parameter: "dim", accepted: "a compiled shape" }),
        }
    }
}

/// Two heads of linear attention, likewise.
#[inline(never)]
fn two_heads<S: Scalar<Element = f32>>(
    recipe: &Recipe,
    tasks: &AnyTasks,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    let stored = if recipe.mode == Mode::Sequential { recipe.layers } else { 1 };
    let zeros = |len| vec![S::ZERO; len];
    let network = TwoHeads::<S, _, TWO_HEAD_DIM>::new(recipe.dim, stored, recipe.layers, zeros)?;
    Lanes::<S, _, TWO_HEAD_DIM>::boxed(recipe, tasks, network, seeds)
}

/// Linear attention of any shape, with room for D features. A call of its own: on the stack it makes a trainer
/// with all that room.
#[inline(never)]
fn linear<S: Scalar<Element = f32>, const D: usize, const K: usize>(
    recipe: &Recipe,
    tasks: &AnyTasks,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    let stored = if recipe.mode == Mode::Sequential { recipe.layers } else { 1 };
    let zeros = |len| vec![S::ZERO; len];
    let network = AnyLinear::<S, _, D, K>::new(recipe.dim, stored, recipe.layers, zeros)?;
    let network = network.with_lambda(recipe.lambda as f32, zeros)?;
    let network = network.with_parameters(
        match recipe.parameters {
            Set::Full => ParameterSet::Full,
            Set::Equivariant => ParameterSet::Equivariant,
        },
        zeros,
    )?;
    let network = match recipe.gain {
        Some(gain) => network.with_initial_gain(gain)?,
        None => network,
    };
    let network = match recipe.prior_count() {
        Some(prior_count) => network.normalised(prior_count as f32)?,
        None => network,
    };
    Lanes::<S, _, D>::boxed(recipe, tasks, network, seeds)
}
