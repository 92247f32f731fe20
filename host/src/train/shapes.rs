//! The networks that are compiled: shapes live in types, so a shape asked for at run time must be
//! one of a list. Each adds to the build time; a new one is a line in `of_width` and in [`Train::dims`].

use super::capacity::{LAYERS, RNN_DIM, RNN_HIDDEN, RNN_LAYERS, SHORT_CONTEXT, SOFTMAX_LAYERS};
use super::group::{Group, Lanes};
use super::options::{Attention, Mode, Model, Train};
use super::schedule::Width;
use crate::dispatch::{self, Level, WithScalar};
use ictd_core::Error;
use ictd_core::rnn::LayerInput;
use ictd_core::rnn::parameter_columns;
use ictd_core::scalar::Scalar;
use ictd_core::training::SoftmaxNetwork;
use ictd_core::training::{LinearNetwork, RnnNetwork};
use nalgebra::SVector;

/// An RNN in training.
type Rnn<S> = RnnNetwork<
    S,
    RNN_DIM,
    { 2 * RNN_DIM + 2 },
    RNN_HIDDEN,
    RNN_LAYERS,
    { parameter_columns(2 * RNN_DIM + 2, RNN_HIDDEN, RNN_LAYERS) },
    SHORT_CONTEXT,
>;

/// The value that an RNN with these parameters gives features phi in a context.
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
    let network: Rnn<f32> = super::group::rnn(input, parameters);
    super::group::value(&network, features, rewards, gamma, phi)
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
/// [`Error::OutOfRange`] for a shape that is not compiled (see [`Train::check`]), and the core's
/// refusals.
pub fn group(options: &Train, width: usize, seeds: &[u64]) -> Result<Box<dyn Group>, Error> {
    group_at(options, Level::for_lanes(width), width, seeds)
}

/// As [`group`], with the instructions of a given level.
///
/// # Errors
/// [`Error::OutOfRange`] also if the level has no registers of that width ([`dispatch::available`]).
pub fn group_at(
    options: &Train,
    level: Level,
    width: usize,
    seeds: &[u64],
) -> Result<Box<dyn Group>, Error> {
    let accepted = "a number of lanes that this machine has instructions for";
    let refused = Err(Error::OutOfRange { parameter: "lanes", accepted });
    dispatch::with_scalar(level, width, OfShape { options, seeds }).unwrap_or(refused)
}

/// Makes a group of the options' shape.
struct OfShape<'a> {
    options: &'a Train,
    seeds: &'a [u64],
}

impl WithScalar for OfShape<'_> {
    type Output = Result<Box<dyn Group>, Error>;

    fn run<S: Scalar<Element = f32>>(self) -> Self::Output {
        of_width::<S>(self.options, self.seeds)
    }
}

fn of_width<S>(options: &Train, seeds: &[u64]) -> Result<Box<dyn Group>, Error>
where
    S: Scalar<Element = f32> + 'static,
{
    let depth = options.layers;
    macro_rules! linear {
        ($d:literal, auto) => {{
            let network = LinearNetwork::<S, $d, { 2 * $d + 1 }, 1, LAYERS>::autoregressive(depth)?;
            Lanes::<S, _, $d>::boxed(options, network, seeds)
        }};
        ($d:literal, sequential) => {{
            let network =
                LinearNetwork::<S, $d, { 2 * $d + 1 }, LAYERS, LAYERS>::sequential(depth)?;
            Lanes::<S, _, $d>::boxed(options, network, seeds)
        }};
    }
    match (options.model, options.attention, options.mode, options.dim) {
        (Model::Transformer, Attention::Linear, Mode::Auto, 2) => linear!(2, auto),
        (Model::Transformer, Attention::Linear, Mode::Auto, 4) => linear!(4, auto),
        (Model::Transformer, Attention::Linear, Mode::Auto, 8) => linear!(8, auto),
        (Model::Transformer, Attention::Linear, Mode::Sequential, 4) => linear!(4, sequential),
        (Model::Transformer, Attention::Softmax, Mode::Auto, 4) => {
            type Softmax<S> = SoftmaxNetwork<S, 4, 9, 1, SOFTMAX_LAYERS, SHORT_CONTEXT>;
            Lanes::<S, _, 4>::boxed(options, Softmax::<S>::autoregressive(depth)?, seeds)
        }
        (Model::Transformer, Attention::Softmax, Mode::Sequential, 4) => {
            type Softmax<S> =
                SoftmaxNetwork<S, 4, 9, SOFTMAX_LAYERS, SOFTMAX_LAYERS, SHORT_CONTEXT>;
            Lanes::<S, _, 4>::boxed(options, Softmax::<S>::sequential(depth)?, seeds)
        }
        (Model::Rnn, .., RNN_DIM) => {
            let network = Rnn::<S>::new(options.rnn_input.into());
            Lanes::<S, _, RNN_DIM>::boxed(options, network, seeds)
        }
        _ => Err(Error::OutOfRange { parameter: "dim", accepted: "a compiled shape" }),
    }
}
