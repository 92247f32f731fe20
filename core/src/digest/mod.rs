//! The promise "the same bits everywhere", as something that can be run.
//!
//! A [`DigestCase`] is a part of this crate's work on fixed seeds, whose results all go into one [`Digest`]. Equal digests on
//! two machines mean that every bit of every result was equal.
//!
//! # What the promise covers
//!
//! Every result of this crate's public functions, for the same inputs and the same version of the crate, on every target
//! whose `f32` and `f64` are IEEE 754 binary32 and binary64: with and without a floating-point unit, at any optimisation
//! level, lane width and number of threads, little- or big-endian, 32 or 64 bits wide. It holds because only operations
//! that IEEE 754 fixes are used (`+ - * /`, square root, comparisons, conversions), in one written order; because
//! elementary functions are this crate's own; because Rust never contracts or reassociates; and because no sum is split
//! by width or thread.
//!
//! # What it does not cover
//!
//! - **x87.** `i586` and other targets that compute `f64` in 80-bit registers round twice. (`i686` uses SSE2.)
//! - **Flush-to-zero modes** and other rounding modes. Rust assumes that nobody sets them. NEON on 32-bit ARM, which
//!   always flushes, is not used by Rust for `f32` arithmetic.
//! - **NaN payloads**, which are the machine's choice. Observations, settings and parameters must not be NaN; digests
//!   count every NaN as the same.
//! - **Fused emulation.** An emulator whose separate multiplication and addition are not correctly rounded breaks it
//!   (seen: s390x in release builds).
//! - **Other versions.** A change of a sum's order changes the table of digests, and the changelog says so.
//! - **Your own code** between the calls: what it passes in must be the same bits, too.

mod primitives;
mod streaming;
mod training;
mod universal;

use crate::error::Result;
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::{Real, Scalar};
use crate::transition::Transition;
use core::fmt;
use nalgebra::SMatrix;

/// FNV-1a, 64 bits, over bytes in an order that every platform shares.
///
/// Integers and numbers count as 8 little-endian bytes (whatever the pointer width or endianness),
/// numbers by their bits. Every NaN counts as one NaN, since IEEE 754 leaves its sign and payload to
/// the machine; the two zeros count as different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Digest {
    /// The digest of no bytes.
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    /// Returns the 64 bits.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Appends bytes.
    pub const fn bytes(&mut self, bytes: &[u8]) {
        let (mut hash, mut rest) = (self.0, bytes);
        // Four at a time, for debug builds: the host appends all that it writes.
        while let [a, b, c, d, after @ ..] = rest {
            let ab = ((hash ^ *a as u64).wrapping_mul(PRIME) ^ *b as u64).wrapping_mul(PRIME);
            hash = ((ab ^ *c as u64).wrapping_mul(PRIME) ^ *d as u64).wrapping_mul(PRIME);
            rest = after;
        }
        while let [a, after @ ..] = rest {
            hash = (hash ^ *a as u64).wrapping_mul(PRIME);
            rest = after;
        }
        self.0 = hash;
    }

    /// Appends an integer.
    pub const fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }

    /// Appends a number.
    pub fn number<R: Real>(&mut self, x: R) {
        // Only NaN differs from itself.
        let is_nan = x.partial_cmp(&x).is_none();
        self.word(if is_nan { u64::MAX } else { x.bits() });
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A part of the crate's work, for several seeds; S decides how many seeds advance side by side.
pub struct DigestCase<S: Scalar> {
    /// The name in the table of digests.
    pub name: &'static str,
    /// A line that describes the work.
    pub about: &'static str,
    /// The number of seeds it runs: a multiple of 8, so that every lane width divides it.
    pub seeds: u64,
    run: fn(&mut DigestRun<S>) -> Result<()>,
}

impl<S: Scalar> DigestCase<S> {
    /// Returns the digests of the seeds `first`, `first` + 1, ..., one per lane of S.
    /// It never fails for this crate's kernels; [`crate::Error`] is the type of the functions that they call.
    pub fn seed_digests(&self, first: u64) -> Result<S::PerLane<Digest>> {
        let mut run = DigestRun { first, digests: S::per_lane(|_| Digest::EMPTY) };
        (self.run)(&mut run)?;
        Ok(run.digests)
    }

    /// Returns the digest over all seeds: their own, combined ([`combine`]) in their order.
    /// Returns the errors of [`DigestCase::seed_digests`].
    pub fn digest(&self) -> Result<Digest> {
        let mut all = Digest::EMPTY;
        for first in (0..self.seeds).step_by(S::LANES) {
            self.seed_digests(first)?.as_ref().iter().for_each(|digest| all.word(digest.value()));
        }
        Ok(all)
    }
}

/// Returns one digest of several, in their order.
pub fn combine(digests: impl IntoIterator<Item = Digest>) -> Digest {
    digests.into_iter().fold(Digest::EMPTY, |mut all, digest| {
        all.word(digest.value());
        all
    })
}

fn kernel<S: Scalar>(
    name: &'static str,
    run: fn(&mut DigestRun<S>) -> Result<()>,
    about: &'static str,
) -> DigestCase<S> {
    DigestCase { name, about, seeds: 16, run }
}

/// Returns the kernels that train linear attention: those of a program that trains one seed.
pub fn linear_training_kernels<S: Scalar<Element = f32>>() -> [DigestCase<S>; 3] {
    [
        kernel("linear_training", training::linear, "two short runs, losses and checkpoints"),
        kernel("any_shape_training", training::any_shape, "a trace; contexts that grow; discounts"),
        kernel("cart_pole_training", training::cart_pole, "short runs on CartPole"),
    ]
}

/// Returns the kernels that train.
pub fn training_kernels<S: Scalar<Element = f32>>() -> [DigestCase<S>; 5] {
    let [linear, any_shape, cart_pole] = linear_training_kernels();
    let softmax = kernel("softmax_training", training::softmax, "a short run of softmax attention");
    let rnn = kernel("rnn_training", training::rnn, "a short run of the recurrent network");
    [linear, any_shape, softmax, rnn, cart_pole]
}

/// Returns all kernels, on scalars S (`f32` or lanes of it): the digests are the same for each S.
pub fn kernels<S: Scalar<Element = f32>>() -> [DigestCase<S>; 18] {
    let linear = kernel("linear_forward", streaming::linear, "dense linear layers, both forms");
    let [linear_training, any_shape, softmax, rnn, cart_pole] = training_kernels();
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
        linear_training,
        any_shape,
        softmax,
        rnn,
        cart_pole,
    ]
}

/// One run: lane i has seed `first` + i, and a digest of its own.
struct DigestRun<S: Scalar> {
    first: u64,
    digests: S::PerLane<Digest>,
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
