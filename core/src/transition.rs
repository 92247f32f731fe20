//! A transition of a Markov reward process, seen through features, and the tokens made of it.

use crate::entrywise::entrywise;
use crate::error::{Error, Result};
use crate::linalg::zeros;
use crate::scalar::{Scalar, check_lanes};
use nalgebra::SVector;

/// Features phi(s), (D): an array `[S; D]` or nalgebra's `SVector<S, D>`.
pub trait FeatureVector<S: Scalar, const D: usize> {
    /// Returns the D numbers.
    fn as_array(&self) -> &[S; D];
}

impl<S: Scalar, const D: usize> FeatureVector<S, D> for [S; D] {
    #[inline(always)]
    fn as_array(&self) -> &[S; D] {
        self
    }
}

impl<S: Scalar, const D: usize> FeatureVector<S, D> for SVector<S, D> {
    #[inline(always)]
    fn as_array(&self) -> &[S; D] {
        &self.data.0[0]
    }
}

/// One transition of a Markov reward process, seen through features: (phi, R, phi').
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Transition<S: Scalar, const D: usize> {
    /// phi(S_t): features of the state, (D).
    pub phi: SVector<S, D>,
    /// R_{t+1}: the reward on leaving it.
    pub reward: S,
    /// phi(S_{t+1}): features of the next state, (D).
    pub phi_next: SVector<S, D>,
}

impl<S: Scalar, const D: usize> Transition<S, D> {
    /// Refuses NaN, infinities, and a token's length of 2^48 (2.8e14) or more in `f32`, 2^496 (2e149) in `f64`: a context
    /// can then take 2^32 transitions before its sums overflow.
    /// Returns [`Error::NonFinite`] or [`Error::OutOfRange`], naming `phi`, `reward` or `phi_next`.
    pub fn check(&self) -> Result<()> {
        let (phi, phi_next) = (self.phi.data.0[0], self.phi_next.data.0[0]);
        let token = Token { phi, phi_next, rewards: [self.reward] };
        if token.is_accepted(S::ZERO) { Ok(()) } else { token.refuse(S::ZERO) }
    }
}

/// An unscaled token u = (phi; phi'; r), with the rewards of C cumulants.
///
/// The token of a discount is z = (phi; gamma phi'; r), so Z = S Z_u with S = diag(I, gamma I, 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token<S, const D: usize, const C: usize> {
    /// phi, (D).
    pub phi: [S; D],
    /// phi', (D).
    pub phi_next: [S; D],
    /// r_m, (C).
    pub rewards: [S; C],
}

entrywise!([S: Scalar, const D: usize, const C: usize] S, Token<S, D, C> { phi, phi_next, rewards });

impl<S: Scalar, const D: usize, const C: usize> Token<S, D, C> {
    /// Returns <u, u>.
    #[inline(always)]
    pub(crate) fn square(&self) -> S {
        let mut sum = S::ZERO;
        for i in 0..D {
            sum += self.phi[i] * self.phi[i];
        }
        for i in 0..D {
            sum += self.phi_next[i] * self.phi_next[i];
        }
        for m in 0..C {
            sum += self.rewards[m] * self.rewards[m];
        }
        sum
    }

    /// Returns false for what [`Transition::check`] refuses, or has a number larger than the limit (0: no limit).
    #[inline(always)]
    pub(crate) fn is_accepted(&self, limit: S) -> bool {
        let parts = [self.phi.as_slice(), &self.phi_next, &self.rewards];
        // One comparison suffices: a sum of squares keeps NaN and infinities.
        can_be_summed(self.square())
            && (limit == S::ZERO || parts.into_iter().all(|part| all_within(part, limit)))
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn refuse(&self, limit: S) -> Result<()> {
        let parts =
            [("phi", self.phi.as_slice()), ("reward", &self.rewards), ("phi_next", &self.phi_next)];
        let mut square = S::ZERO;
        for (parameter, part) in parts {
            refuse_part(parameter, part, &mut square, limit)?;
        }
        // Only rounding rejects it: `is_accepted` sums in another order. Report the last part.
        Err(Error::OutOfRange { parameter: "phi_next", expected: TOKEN_LENGTH })
    }
}

/// Refuses a part of a token; `square` is that of the parts before it. (A call, for a chip's flash.)
#[inline(never)]
fn refuse_part<S: Scalar>(
    parameter: &'static str,
    part: &[S],
    square: &mut S,
    limit: S,
) -> Result<()> {
    for x in part {
        *square += *x * *x;
    }
    let expected = if !part.iter().all(|x| x.is_finite()) {
        return Err(Error::NonFinite { parameter });
    } else if !can_be_summed(*square) {
        TOKEN_LENGTH
    } else if limit != S::ZERO && !all_within(part, limit) {
        "the limit"
    } else {
        return Ok(());
    };
    Err(Error::OutOfRange { parameter, expected })
}

/// Returns true if no number, in any lane, is larger than the limit.
fn all_within<S: Scalar>(part: &[S], limit: S) -> bool {
    let is_within = |x: &S| (0..S::LANES).all(|lane| x.abs().lane(lane) <= limit.lane(lane));
    part.iter().all(is_within)
}

const TOKEN_LENGTH: &str = "a length below 2.8e14 (f64: 2e149)";

/// Returns true if 2^32 such squares can be added up.
#[inline(always)]
fn can_be_summed<S: Scalar>(square: S) -> bool {
    (square * S::from_f64(4_294_967_296.0)).is_finite()
}

/// Refuses to compile unless K fits D: 2 D + 1 (discounted) or 2 D + 2 (average reward).
#[inline(always)]
pub(crate) const fn check_token_size<const D: usize, const K: usize>() {
    const {
        assert!(
            D >= 1 && (K == 2 * D + 1 || K == 2 * D + 2),
            "token size K does not fit the feature dimension D: write K = 2 * D + 1 \
             (discounted), or K = 2 * D + 2 (average reward, with its memory row)"
        );
    }
}

pub(crate) fn check_gamma<S: Scalar>(gamma: S) -> Result<S> {
    let fits = |g| g >= Scalar::ZERO && g < Scalar::ONE;
    check_lanes(gamma, "gamma", fits, "[0, 1)")
}

/// Returns gamma as the prompt uses it: checked, and 1 for the average-reward prompt.
pub(crate) fn check_discount<S: Scalar, const D: usize, const K: usize>(gamma: S) -> Result<S> {
    check_token_size::<D, K>();
    if K == 2 * D + 1 {
        return check_gamma(gamma);
    }
    check_lanes(gamma, "gamma", |g| g == Scalar::ONE, "1 in the average-reward setting")
}

/// Returns a context token z_j = (phi_{j-1}; gamma phi_j; R_j), (K); with K = 2 D + 2 and gamma = 1 the average-reward
/// token (phi_{j-1}; phi_j; R_j; 0), whose last row is memory.
#[cfg_attr(not(feature = "research"), doc(hidden))]
#[inline(always)]
pub fn token<S: Scalar, const D: usize, const K: usize>(
    transition: &Transition<S, D>,
    gamma: S,
) -> SVector<S, K> {
    check_token_size::<D, K>();
    let mut z = zeros::<S, K, 1>();
    for i in 0..D {
        z[i] = transition.phi[i];
        z[D + i] = gamma * transition.phi_next[i];
    }
    z[2 * D] = transition.reward;
    z
}

/// Returns the query token (phi; 0; 0), (K).
#[cfg_attr(not(feature = "research"), doc(hidden))]
#[inline(always)]
pub fn query_token<S: Scalar, const D: usize, const K: usize>(
    phi: &SVector<S, D>,
) -> SVector<S, K> {
    check_token_size::<D, K>();
    let mut z = zeros::<S, K, 1>();
    for i in 0..D {
        z[i] = phi[i];
    }
    z
}
