//! Random streams that are the same on every platform: xoshiro256++, floats made from integer
//! bits, normals by an own sampler.

use crate::scalar::{Real, exp_f32};
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A random stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

/// The independent streams that one seed opens. Each starts 2^128 draws after the one before it,
/// so what one part draws never moves another part's numbers: metrics never perturb training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RngStream {
    /// Tasks: environments and their trajectories.
    Tasks = 0,
    /// Initial parameters.
    Parameters = 1,
    /// Evaluation: contexts drawn for metrics.
    Evaluation = 2,
    /// A task's discount and the lengths of its contexts in training; its seed is the task's number.
    Schedule = 3,
}

impl Rng {
    /// Returns the first stream of a seed.
    pub fn new(seed: u64) -> Self {
        Rng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Returns one of the streams of a seed.
    pub fn stream(seed: u64, stream: RngStream) -> Self {
        let mut rng = Self::new(seed);
        for _ in 0..stream as u32 {
            rng.0.jump();
        }
        rng
    }

    /// Returns the state, little-endian, for a checkpoint.
    pub fn state(&self) -> [u8; 32] {
        self.0.state()
    }

    /// Returns the stream that continues from a stored [`Rng::state`], or `None` if the state is all zeros, which no stream has.
    pub fn from_state(state: [u8; 32]) -> Option<Self> {
        (state != [0; 32]).then(|| Rng(Xoshiro256PlusPlus::from_seed(state)))
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform number in [0, 1).
    #[inline]
    pub fn uniform<R: Real>(&mut self) -> R {
        R::uniform_from_bits(self.next_u64())
    }

    /// Returns a uniform number in [low, high).
    #[inline]
    pub fn uniform_in<R: Real>(&mut self, low: R, high: R) -> R {
        low + (high - low) * self.uniform::<R>()
    }

    /// Returns a number in [low, high) whose logarithm is uniform; 0 < low <= high.
    pub fn log_uniform(&mut self, low: f32, high: f32) -> f32 {
        exp_f32(self.uniform_in(Real::ln(low), Real::ln(high)))
    }

    /// Returns a uniform integer in 0..bound (bound 0 counts as 1): Lemire's multiply-and-shift, with rejection.
    pub fn below(&mut self, bound: u32) -> u32 {
        debug_assert!(bound > 0);
        let bound = bound.max(1);
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = (self.next_u64() >> 32) * bound as u64;
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }

    /// Returns a standard normal number, by Marsaglia's polar method (one of the pair is kept).
    pub fn normal<R: Real>(&mut self) -> R {
        loop {
            let x = self.uniform_in(-R::ONE, R::ONE);
            let y = self.uniform_in(-R::ONE, R::ONE);
            let s = x * x + y * y;
            if s < R::ONE && s > R::ZERO {
                return x * (R::from_f64(-2.0) * s.ln() / s).sqrt();
            }
        }
    }

    /// Returns an index drawn with the given probabilities, which sum to 1 up to rounding.
    pub fn categorical<R: Real>(&mut self, probabilities: impl IntoIterator<Item = R>) -> usize {
        let u = self.uniform::<R>();
        let mut cumulative = R::ZERO;
        let mut last_positive = 0;
        for (i, p) in probabilities.into_iter().enumerate() {
            if p > R::ZERO {
                cumulative += p;
                last_positive = i;
                if u < cumulative {
                    return i;
                }
            }
        }
        last_positive
    }
}
