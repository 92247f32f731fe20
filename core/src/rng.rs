//! Random streams that are the same on every platform: xoshiro256++, floats made from integer
//! bits, normals by an own sampler.

use crate::bytes::Reader;
use crate::scalar::{Real, exp_f32};

/// A random stream: xoshiro256++ (Blackman and Vigna, 2021), whose state splitmix64 makes of a seed. Its numbers are those of
/// the crate `rand_xoshiro`, whose seeding can panic where a compiler does not unroll it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng([u64; 4]);

/// The polynomial of a jump by 2^128 draws.
const JUMP: [u64; 4] =
    [0x180e_c6d3_3cfd_0aba, 0xd5a6_1266_f0c9_392c, 0xa958_2618_e03f_c9aa, 0x39ab_dc45_29b1_661c];

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
        let mut x = seed;
        Rng([(); 4].map(|()| {
            x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }))
    }

    /// Returns one of the streams of a seed.
    #[inline]
    pub fn stream(seed: u64, stream: RngStream) -> Self {
        let mut rng = Self::new(seed);
        for _ in 0..stream as u32 {
            rng.jump();
        }
        rng
    }

    /// Moves 2^128 draws on. (Inlined, since the host does not optimise this crate: it took half of what a log point costs.)
    #[inline]
    fn jump(&mut self) {
        let mut sum = [0; 4];
        for word in JUMP {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    sum.iter_mut().zip(self.0).for_each(|(sum, s)| *sum ^= s);
                }
                self.next_u64();
            }
        }
        self.0 = sum;
    }

    /// Returns the state, little-endian, for a checkpoint.
    pub fn state(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let words = self.0.iter().flat_map(|word| word.to_le_bytes());
        bytes.iter_mut().zip(words).for_each(|(to, byte)| *to = byte);
        bytes
    }

    /// Returns the stream that continues from a stored [`Rng::state`], or `None` if the state is all zeros, which no stream has.
    pub fn from_state(state: [u8; 32]) -> Option<Self> {
        let mut words = Reader { rest: &state };
        (state != [0; 32]).then(|| Rng([(); 4].map(|()| words.integer(8))))
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.0;
        let (s2_s0, s3_s1) = (s2 ^ s0, s3 ^ s1);
        self.0 = [s0 ^ s3_s1, s1 ^ s2_s0, s2_s0 ^ s1 << 17, s3_s1.rotate_left(45)];
        s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0)
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

/// With rand's traits, its distributions and sequences draw from this stream, too.
impl rand_core::TryRng for Rng {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.next_u64() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.next_u64())
    }

    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Self::Error> {
        rand_core::utils::fill_bytes_via_next_word(dest, || self.try_next_u64())
    }
}
