//! The kernels, in the order of the table of digests.

mod forward;
mod streaming;
mod training;
mod words;

use super::{Digest, Kernel, LaneDigests, MAX_LANES, Seeds};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::transition::Transition;
use core::marker::PhantomData;
use nalgebra::SMatrix;

/// How many kernels there are.
pub(super) const COUNT: usize = 16;

/// All kernels, on scalars S (`f32` or lanes of it): the digests are the same for each S.
pub fn kernels<S: Scalar<Element = f32>>() -> [Kernel<S>; COUNT] {
    let kernel = |name, about, seeds, run| Kernel { name, about, seeds, run };
    [
        kernel(
            "random_streams",
            "streams, floats, integers, normals, choices",
            16,
            words::random_streams,
        ),
        kernel(
            "elementary",
            "exp, tanh, sqrt, ln, sin, cos; subnormal numbers",
            16,
            words::elementary,
        ),
        kernel("stored_model", "the bytes of stored models, f32 and f64", 16, words::stored_model),
        kernel(
            "tasks",
            "values, distributions and paths of the tasks, f32 and f64",
            16,
            words::tasks,
        ),
        kernel(
            "linear_forward",
            "dense linear transformers, all columns and streaming",
            32,
            forward::linear,
        ),
        kernel("linear_forward_f64", "the same in f64", 16, forward::linear_f64),
        kernel("softmax_forward", "dense softmax transformers", 16, forward::softmax),
        kernel(
            "td_constructions",
            "TD(0), residual gradient, TD(lambda), and the algorithms",
            16,
            forward::constructions,
        ),
        kernel(
            "average_reward",
            "the two-head construction and its algorithm",
            16,
            forward::average_reward,
        ),
        kernel(
            "streaming_contexts",
            "growing, forgetting, sliding; 600 transitions",
            16,
            streaming::contexts,
        ),
        kernel(
            "episodes",
            "terminal transitions, three cumulants and discounts, stored contexts",
            16,
            streaming::episodes,
        ),
        kernel(
            "value_functions",
            "a device's context and model, 300 transitions",
            16,
            streaming::device,
        ),
        kernel("linear_training", "two short runs, losses and checkpoints", 16, training::linear),
        kernel("softmax_training", "a short run of softmax attention", 16, training::softmax),
        kernel("rnn_training", "a short run of the recurrent network", 16, training::rnn),
        kernel("cart_pole_training", "short runs on CartPole", 16, training::cart_pole),
    ]
}

/// Random numbers, one stream per lane.
struct Draws<S> {
    streams: [Rng; MAX_LANES],
    scalar: PhantomData<S>,
}

impl<S: Scalar<Element = f32>> Seeds<S> {
    fn draws(self) -> Draws<S> {
        let streams = core::array::from_fn(|i| Rng::new(self.first.wrapping_add(i as u64)));
        Draws { streams, scalar: PhantomData }
    }

    /// Runs a program that lanes cannot do (or that has nothing to do with lanes) for one seed
    /// after the other.
    fn each(
        self,
        digests: &mut LaneDigests,
        mut program: impl FnMut(&mut Rng, &mut Digest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (i, digest) in digests.lanes_mut().enumerate().take(S::LANES) {
            program(&mut Rng::new(self.first.wrapping_add(i as u64)), digest)?;
        }
        Ok(())
    }
}

impl<S: Scalar<Element = f32>> Draws<S> {
    fn layer<const K: usize>(&mut self) -> Layer<S, K> {
        Layer { p: self.matrix(), q: self.matrix() }
    }

    fn transition<const D: usize>(&mut self) -> Transition<S, D> {
        Transition { phi: self.matrix(), reward: self.number(), phi_next: self.matrix() }
    }

    /// A number in [-1, 1) per lane.
    fn number(&mut self) -> S {
        let mut x = S::ZERO;
        for (i, rng) in self.streams.iter_mut().enumerate().take(S::LANES) {
            x.set_lane(i, rng.uniform_in(-1.0, 1.0));
        }
        x
    }

    fn matrix<const R: usize, const C: usize>(&mut self) -> SMatrix<S, R, C> {
        let mut m = zeros::<S, R, C>();
        for column in &mut m.data.0 {
            for x in column {
                *x = self.number();
            }
        }
        m
    }
}

/// Appends all entries of a matrix.
fn append<R: Real, const A: usize, const B: usize>(digest: &mut Digest, m: &SMatrix<R, A, B>) {
    for x in m {
        digest.number(*x);
    }
}
