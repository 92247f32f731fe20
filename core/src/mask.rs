//! The masks M: which context columns a column attends to, and with which weight.
//!
//! Every mask has zeros in the query's row and column, so the query is never a key. And every mask
//! has a sufficient statistic G = Z M Z^T that grows by one outer product per token
//! ([`Mask::factors`]), with at most 2 K + 2 numbers of state beside it:
//!
//! | mask | G | state |
//! |---|---|---|
//! | [`Td0`] | sum_j z_j z_j^T | none |
//! | [`TdLambda`] | sum_i z_i e_i^T, e_i = lambda e_{i-1} + z_i | the trace e |
//! | [`MeanCentred`] | sum_j (z_j - mean_{i<=j} z_i) z_j^T | the running mean |

use crate::error::Error;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use core::fmt::Debug;
use nalgebra::SVector;

/// A mask M, (n + 1, n + 1), and the recurrence of its statistic.
pub trait Mask<S: Scalar, const K: usize>: Copy + Debug + PartialEq {
    /// What the recurrence remembers beside G.
    type State: Copy + Debug + PartialEq;

    /// True if G is symmetric, so that half of it needs to be computed.
    const SYMMETRIC: bool;

    /// M\[row, column\] for a context of n tokens (0-based; row or column n is the query's).
    fn entry(&self, row: usize, column: usize, n: usize) -> S;

    /// The state before the first token.
    fn initial_state(&self) -> Self::State;

    /// The outer product (left, right) that the token z adds to G: G += left right^T.
    ///
    /// `retention` is 1 for a growing context; a forgetting one passes the factor by which it
    /// shrinks the past, so that a mean over the past forgets at the same rate.
    fn factors(
        &self,
        state: &mut Self::State,
        z: &SVector<S, K>,
        retention: S,
    ) -> (SVector<S, K>, SVector<S, K>);
}

/// The mask of TD(0) (eq. "td0 mask"): the identity on the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Td0;

impl<S: Scalar, const K: usize> Mask<S, K> for Td0 {
    type State = ();
    const SYMMETRIC: bool = true;

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if row == column && row < n { S::ONE } else { S::ZERO }
    }

    fn initial_state(&self) {}

    #[inline(always)]
    fn factors(
        &self,
        _: &mut (),
        z: &SVector<S, K>,
        _retention: S,
    ) -> (SVector<S, K>, SVector<S, K>) {
        (*z, *z)
    }
}

/// The mask of TD(lambda) (eq. "td lambda mask"): M\[r, c\] = lambda^(r - c) for c <= r < n.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TdLambda<S: Scalar> {
    lambda: S,
}

impl<S: Scalar> TdLambda<S> {
    /// A trace decay in [0, 1]; 0 gives TD(0)'s mask.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `lambda`.
    pub fn new(lambda: S) -> Result<Self, Error> {
        for lane in 0..S::LANES {
            let l = lambda.lane(lane);
            if !l.is_finite() {
                return Err(Error::NonFinite { parameter: "lambda" });
            }
            if !(l >= Scalar::ZERO && l <= Scalar::ONE) {
                return Err(Error::OutOfRange { parameter: "lambda", accepted: "[0, 1]" });
            }
        }
        Ok(TdLambda { lambda })
    }

    /// The trace decay.
    pub fn lambda(&self) -> S {
        self.lambda
    }
}

/// The eligibility trace over tokens, e_i = lambda e_{i-1} + z_i with e_{-1} = 0, summed with
/// compensation so that lambda = 1 keeps its precision over long streams.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trace<S: Scalar, const K: usize> {
    pub(crate) e: SVector<S, K>,
    pub(crate) compensation: SVector<S, K>,
}

impl<S: Scalar, const K: usize> Mask<S, K> for TdLambda<S> {
    type State = Trace<S, K>;
    const SYMMETRIC: bool = false;

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if column <= row && row < n { power(self.lambda, row - column) } else { S::ZERO }
    }

    fn initial_state(&self) -> Trace<S, K> {
        Trace { e: zeros(), compensation: zeros() }
    }

    #[inline(always)]
    fn factors(
        &self,
        trace: &mut Trace<S, K>,
        z: &SVector<S, K>,
        _retention: S,
    ) -> (SVector<S, K>, SVector<S, K>) {
        for i in 0..K {
            let decayed = self.lambda * trace.e[i];
            trace.compensation[i] *= self.lambda;
            trace.e[i] = add_compensated(decayed, z[i], &mut trace.compensation[i]);
        }
        (*z, trace.e)
    }
}

/// The mask of the first head of average-reward TD (eq. "two-head mask"):
/// M^(1) = (I - U diag(1, 1/2, .., 1/(n+1))) M^(2), which replaces each token by its difference
/// from the mean of the tokens up to it. (M^(2), of the second head, is [`Td0`].)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MeanCentred;

/// The mean of the tokens so far, and the weight it stands for, both summed with compensation:
/// plainly, the mean of a million tokens would be 500 roundings of `f32` off, and the weight would
/// stop counting at 2^24.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RunningMean<S: Scalar, const K: usize> {
    mean: SVector<S, K>,
    mean_compensation: SVector<S, K>,
    weight: S,
    weight_compensation: S,
}

/// sum + x, and in `compensation` what the rounding left over of x (Kahan).
#[inline(always)]
fn add_compensated<S: Scalar>(sum: S, x: S, compensation: &mut S) -> S {
    let y = x + *compensation;
    let new = sum + y;
    *compensation = y - (new - sum);
    new
}

impl<S: Scalar, const K: usize> Mask<S, K> for MeanCentred {
    type State = RunningMean<S, K>;
    const SYMMETRIC: bool = false;

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if column >= n || row > column {
            return S::ZERO;
        }
        let share = S::ONE / S::from_count(column as u64 + 1);
        if row == column { S::ONE - share } else { -share }
    }

    fn initial_state(&self) -> RunningMean<S, K> {
        RunningMean {
            mean: zeros(),
            mean_compensation: zeros(),
            weight: S::ZERO,
            weight_compensation: S::ZERO,
        }
    }

    #[inline(always)]
    fn factors(
        &self,
        state: &mut RunningMean<S, K>,
        z: &SVector<S, K>,
        retention: S,
    ) -> (SVector<S, K>, SVector<S, K>) {
        state.weight_compensation *= retention;
        let decayed = retention * state.weight;
        state.weight = add_compensated(decayed, S::ONE, &mut state.weight_compensation);
        let share = S::ONE / state.weight;
        let mut centred = zeros::<S, K, 1>();
        for i in 0..K {
            let step = share * (z[i] - state.mean[i]);
            let mean = add_compensated(state.mean[i], step, &mut state.mean_compensation[i]);
            state.mean[i] = mean;
            centred[i] = z[i] - mean;
        }
        (centred, *z)
    }
}

/// x^n by repeated squaring.
fn power<S: Scalar>(x: S, n: usize) -> S {
    let (mut result, mut square, mut n) = (S::ONE, x, n);
    while n > 0 {
        if n & 1 == 1 {
            result *= square;
        }
        square *= square;
        n >>= 1;
    }
    result
}
