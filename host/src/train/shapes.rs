//! The networks that are compiled: shapes live in types, so a shape asked for at run time must be
//! one of a list. Each adds to the build time; a new one is a line in `of_width` and in `dims`.

use super::group::{Group, Lanes};
use super::options::{Attention, Mode, Model, Train};
use super::schedule::Width;
use super::tasks::AnyTasks;
use crate::dispatch::Level;
use ictd_core::Error;
#[cfg(feature = "more-shapes")]
use ictd_core::rnn::LayerInput;
use ictd_core::rnn::parameter_columns;
#[cfg(not(target_arch = "x86_64"))]
use ictd_core::scalar::Lanes4;
use ictd_core::scalar::Scalar;
#[cfg(target_arch = "x86_64")]
use ictd_core::scalar::{Lanes8, Lanes16};
#[cfg(feature = "more-shapes")]
use ictd_core::training::SoftmaxNetwork;
use ictd_core::training::{LinearNetwork, RnnNetwork};
use nalgebra::SVector;

/// The capacity for layers.
pub const LAYERS: usize = 4;
/// The capacity for the states of a finite task.
pub const STATES: usize = 32;
/// The capacity for CartPole's tiles.
pub const TILES: usize = 324;
/// The capacity for a trajectory: n + windows + 2 feature vectors.
pub const TRAJECTORY: usize = 512;
/// The capacity for the context of softmax attention and of an RNN, which keep all of it.
pub const SHORT_CONTEXT: usize = 64;
/// The capacity for the layers of a softmax transformer.
pub const SOFTMAX_LAYERS: usize = 4;
/// Layers of an RNN.
pub const RNN_LAYERS: usize = 3;
/// Hidden units in each layer of an RNN.
pub const RNN_HIDDEN: usize = 4;
/// The feature dimension of an RNN.
pub const RNN_DIM: usize = 4;

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
    parameters: &[f32],
    features: &[SVector<f32, RNN_DIM>],
    rewards: &[f32],
    gamma: f32,
    phi: &SVector<f32, RNN_DIM>,
) -> Result<f32, Error> {
    let network: Rnn<f32> = super::group::rnn(parameters);
    super::group::value(&network, features, rewards, gamma, phi)
}

/// What the options ask for, in words, and the feature dimensions it is compiled for.
pub fn dims(options: &Train) -> (&'static str, &'static [usize]) {
    match (options.model, options.attention, options.mode) {
        (Model::Rnn, ..) => ("an RNN", more(&[RNN_DIM])),
        (_, Attention::Softmax, Mode::Auto) => ("softmax attention", more(&[4])),
        (_, Attention::Softmax, Mode::Sequential) => ("sequential softmax attention", &[]),
        (_, Attention::Linear, Mode::Auto) if cfg!(feature = "more-shapes") => {
            ("linear attention", &[4, 8])
        }
        (_, Attention::Linear, Mode::Auto) => ("linear attention", &[4]),
        (_, Attention::Linear, Mode::Sequential) => ("sequential linear attention", more(&[4])),
    }
}

/// Dimensions that are compiled with the feature `more-shapes` only.
fn more(dims: &'static [usize]) -> &'static [usize] {
    if cfg!(feature = "more-shapes") { dims } else { &[] }
}

/// The numbers of lanes that groups may have on this machine, with the time of a task relative to
/// each other (measured on linear attention, L = 3).
pub fn widths() -> Vec<Width> {
    let width = |lanes, cost| Width { lanes, cost };
    if cfg!(not(target_arch = "x86_64")) {
        return vec![width(4, 2.0), width(1, 0.7)];
    }
    match Level::detect() {
        Level::Avx512 => vec![width(16, 4.8), width(8, 2.6), width(1, 0.7)],
        Level::Avx2 => vec![width(8, 2.6), width(1, 0.7)],
        Level::Baseline => vec![width(8, 8.0)],
    }
}

/// Seeds that train side by side: `width` is one of [`widths`], `seeds` at most as many.
///
/// # Errors
/// [`Error::OutOfRange`] for a shape that is not compiled (see [`Train::check`]), and the core's
/// refusals.
pub fn group(options: &Train, width: usize, seeds: &[u64]) -> Result<Box<dyn Group>, Error> {
    match width {
        #[cfg(target_arch = "x86_64")]
        16 => of_width::<Lanes16>(options, seeds),
        #[cfg(target_arch = "x86_64")]
        8 => of_width::<Lanes8>(options, seeds),
        #[cfg(not(target_arch = "x86_64"))]
        4 => of_width::<Lanes4>(options, seeds),
        _ => of_width::<f32>(options, seeds),
    }
}

fn of_width<S>(options: &Train, seeds: &[u64]) -> Result<Box<dyn Group>, Error>
where
    S: Scalar<Element = f32> + 'static,
{
    let depth = options.layers;
    #[allow(unused_macro_rules)]
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
        (Model::Transformer, Attention::Linear, Mode::Auto, 4) => linear!(4, auto),
        #[cfg(feature = "more-shapes")]
        (Model::Transformer, Attention::Linear, Mode::Sequential, 4) => linear!(4, sequential),
        #[cfg(feature = "more-shapes")]
        (Model::Transformer, Attention::Linear, Mode::Auto, 8) => linear!(8, auto),
        #[cfg(feature = "more-shapes")]
        (Model::Transformer, Attention::Softmax, Mode::Auto, 4) => {
            type Softmax<S> = SoftmaxNetwork<S, 4, 9, 1, SOFTMAX_LAYERS, SHORT_CONTEXT>;
            Lanes::<S, _, 4>::boxed(options, Softmax::<S>::autoregressive(depth)?, seeds)
        }
        #[cfg(feature = "more-shapes")]
        (Model::Rnn, .., RNN_DIM) => {
            Lanes::<S, _, RNN_DIM>::boxed(options, Rnn::<S>::new(LayerInput::Current), seeds)
        }
        _ => Err(Error::OutOfRange { parameter: "dim", accepted: "a compiled shape" }),
    }
}

/// The distribution that the options ask for.
pub(super) fn tasks(options: &Train) -> AnyTasks {
    AnyTasks::new(options)
}
