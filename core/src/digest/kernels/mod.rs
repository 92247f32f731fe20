//! The kernels, in the order of the table of digests.

mod classical;
mod forward;
mod streaming;
mod training;
mod universal;
mod words;

use super::{Digest, Kernel, MAX_LANES, Run};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::{columns_mut, zeros};
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::transition::Transition;
use core::marker::PhantomData;
use nalgebra::SMatrix;

/// How many kernels there are.
pub(super) const COUNT: usize = 22;

/// All kernels, on scalars S (`f32` or lanes of it): the digests are the same for each S.
pub fn kernels<S: Scalar<Element = f32>>() -> [Kernel<S>; COUNT] {
    let kernel = |name, run, about| Kernel { name, about, seeds: 16, run };
    let linear = Kernel {
        seeds: 32,
        ..kernel("linear_forward", forward::linear, "dense linear layers, literal and streaming")
    };
    [
        kernel("random_streams", words::random_streams, "streams, floats, integers, choices"),
        kernel("elementary", words::elementary, "elementary functions; subnormal numbers"),
        kernel("stored_model", words::stored_model, "the bytes of stored models, f32 and f64"),
        kernel("tasks", words::tasks, "values and paths of the tasks, f32 and f64"),
        linear,
        kernel("linear_forward_f64", forward::linear_f64, "the same in f64"),
        kernel("softmax_forward", forward::softmax, "dense softmax transformers"),
        kernel("td_constructions", forward::constructions, "the algorithms, as layers and as such"),
        kernel("average_reward", forward::average_reward, "two heads, as layer and algorithm"),
        kernel("streaming_contexts", streaming::contexts, "growing, forgetting, sliding"),
        kernel("episodes", streaming::episodes, "terminal marks, cumulants, stored contexts"),
        kernel("value_functions", streaming::device, "a device's context and model"),
        kernel("theorem_1_form", universal::theorem_1, "layers that iterate TD, from contexts"),
        kernel(
            "universal",
            universal::universal,
            "ten numbers a layer, normalised; their gradient",
        ),
        kernel("classical", classical::classical, "online TD, LSTD; features of a signal"),
        kernel("nexting", universal::nexting, "predictions of several signals, in turn"),
        kernel("linear_training", training::linear, "two short runs, losses and checkpoints"),
        kernel("any_shape_training", training::any_shape, "a trace; contexts that grow; discounts"),
        kernel("training_without_units", training::without_units, "ten numbers a layer, and dense"),
        kernel("softmax_training", training::softmax, "a short run of softmax attention"),
        kernel("rnn_training", training::rnn, "a short run of the recurrent network"),
        kernel("cart_pole_training", training::cart_pole, "short runs on CartPole"),
    ]
}

/// Random numbers, one stream per lane.
struct Draws<S> {
    streams: [Rng; MAX_LANES],
    scalar: PhantomData<S>,
}

impl<S: Scalar<Element = f32>> Run<'_, S> {
    fn draws(&self) -> Draws<S> {
        let streams = core::array::from_fn(|i| Rng::new(self.first.wrapping_add(i as u64)));
        Draws { streams, scalar: PhantomData }
    }

    /// Runs a program that lanes cannot do (or that has nothing to do with lanes) for one seed
    /// after the other.
    fn each(
        &mut self,
        mut program: impl FnMut(&mut Rng, &mut Digest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (i, digest) in self.digests.lanes_mut().enumerate().take(S::LANES) {
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
        for x in columns_mut(&mut m).as_flattened_mut() {
            *x = self.number();
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
