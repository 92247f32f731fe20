//! The kernels, in the order of the table of digests.

mod primitives;
mod streaming;
mod training;
mod universal;

use super::{Digest, DigestCase};
use crate::error::Result;
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::transition::Transition;
use nalgebra::SMatrix;

/// Returns all kernels, on scalars S (`f32` or lanes of it): the digests are the same for each S.
pub fn kernels<S: Scalar<Element = f32>>() -> [DigestCase<S>; 18] {
    let kernel = |name, run, about| DigestCase { name, about, seeds: 16, run };
    let linear = kernel("linear_forward", streaming::linear, "dense linear layers, both forms");
    [
        kernel("random_streams", primitives::random_streams, "streams, floats, integers, choices"),
        kernel("elementary", primitives::elementary, "elementary functions; subnormal numbers"),
        kernel("stored_model", primitives::stored_model, "the bytes of stored models, f32 and f64"),
        kernel("tasks", primitives::tasks, "values and paths of the tasks, f32 and f64"),
        DigestCase { seeds: 32, ..linear },
        kernel("softmax_forward", streaming::softmax, "dense softmax transformers"),
        kernel("streaming_contexts", streaming::contexts, "growing, forgetting, sliding"),
        kernel("episodes", streaming::episodes, "terminal marks, cumulants, stored contexts"),
        kernel("value_functions", streaming::device, "a device's context and model"),
        kernel("theorem_1_form", universal::theorem_1, "layers that iterate TD, from contexts"),
        kernel("universal", universal::universal, "the model that ships"),
        kernel("classical", universal::classical, "online TD, LSTD; features of a signal"),
        kernel("predictor", universal::predictor, "predictions, bands, surprises, bytes"),
        kernel("linear_training", training::linear, "two short runs, losses and checkpoints"),
        kernel("any_shape_training", training::any_shape, "a trace; contexts that grow; discounts"),
        kernel("softmax_training", training::softmax, "a short run of softmax attention"),
        kernel("rnn_training", training::rnn, "a short run of the recurrent network"),
        kernel("cart_pole_training", training::cart_pole, "short runs on CartPole"),
    ]
}

/// One run: lane i has seed `first` + i, and a digest of its own.
pub(super) struct DigestRun<S: Scalar> {
    pub(super) first: u64,
    pub(super) digests: S::PerLane<Digest>,
}

impl<S: Scalar<Element = f32>> DigestRun<S> {
    fn number(&mut self, x: S) {
        for (i, digest) in self.digests.as_mut().iter_mut().enumerate() {
            digest.number(x.lane(i));
        }
    }

    fn numbers<'a>(&mut self, numbers: impl IntoIterator<Item = &'a S>) {
        numbers.into_iter().for_each(|x| self.number(*x));
    }

    fn seed(&self, lane: usize) -> u64 {
        self.first.wrapping_add(lane as u64)
    }

    /// Returns the seeds' streams of random numbers, from their beginning.
    fn draws(&self) -> LaneRngs<S> {
        LaneRngs { streams: S::per_lane(|lane| Rng::new(self.seed(lane))) }
    }

    /// Runs a program that does no arithmetic in lanes for one seed after the other.
    fn each(&mut self, mut program: impl FnMut(&mut Rng, &mut Digest) -> Result<()>) -> Result<()> {
        let mut draws = self.draws();
        let lanes = draws.streams.as_mut().iter_mut().zip(self.digests.as_mut());
        lanes.into_iter().try_for_each(|(rng, digest)| program(rng, digest))
    }
}

struct LaneRngs<S: Scalar> {
    streams: S::PerLane<Rng>,
}

impl<S: Scalar<Element = f32>> LaneRngs<S> {
    fn layer<const K: usize>(&mut self) -> Layer<S, K> {
        Layer { p: self.matrix(), q: self.matrix() }
    }

    fn transition<const D: usize>(&mut self) -> Transition<S, D> {
        Transition { phi: self.matrix(), reward: self.number(), phi_next: self.matrix() }
    }

    fn number(&mut self) -> S {
        let mut x = S::ZERO;
        for (i, rng) in self.streams.as_mut().iter_mut().enumerate() {
            x.set_lane(i, rng.uniform_in(-1.0, 1.0));
        }
        x
    }

    fn matrix<const R: usize, const C: usize>(&mut self) -> SMatrix<S, R, C> {
        let mut m = zeros::<S, R, C>();
        for x in m.data.0.as_flattened_mut() {
            *x = self.number();
        }
        m
    }
}

fn append<R: Real, const A: usize, const B: usize>(digest: &mut Digest, m: &SMatrix<R, A, B>) {
    m.iter().for_each(|x| digest.number(*x));
}
