//! The masks M: the context columns that a column attends to, and their weights.
//!
//! Every mask has zeros in the query's row and column, so the query is never a key. And every mask has a sufficient
//! statistic G = Z M Z^T that grows by one outer product per token ([`Mask::rank_one_update`]); its state is at most two
//! tokens and two numbers:
//!
//! | mask | G | state |
//! |---|---|---|
//! | [`Td0`] | sum_j z_j z_j^T | none |
//! | [`TdLambda`] | sum_i z_i e_i^T, e_i = lambda e_{i-1} + z_i | the trace e |
//! | [`MeanCentred`] | sum_j (z_j - mean_{i<=j} z_i) z_j^T | the running mean |
//! | [`Td0Trace`] | as for [`Td0`], and in addition the sums of a trace | the trace |

use crate::auxiliary::{AuxiliarySums, SecondMoments, TraceSums};
#[doc(hidden)]
pub use crate::entrywise::Entrywise;
use crate::entrywise::entrywise;
use crate::error::Error;
use crate::scalar::{Scalar, check_lanes};
use core::fmt::Debug;

/// A mask M, (n + 1, n + 1), and the recurrence of its statistic.
pub trait Mask<S: Scalar>: Copy + Debug + PartialEq {
    /// The state of the recurrence, for tokens of type V; all zeros before the first.
    type State<V: Entrywise<S>>: Entrywise<S>;

    /// The sums that a context keeps in addition to G: second moments, or nothing if G contains them.
    type Auxiliary<const D: usize, const C: usize>: AuxiliarySums<S, D, C>;

    /// True if G is the Gram matrix sum_j z_j z_j^T, as for TD(0): a context then adds z z^T, keeps the upper triangle, and
    /// uses [`Mask::rank_one_update`] only for the auxiliary sums. It is false if any z z^T has another weight than 1.
    const IS_GRAM: bool = false;

    /// True if a sliding context's statistic can lose its oldest token ([`Mask::rank_one_downdate`]).
    const HAS_DOWNDATE: bool = false;

    /// True if the state is nothing but traces, which start again at 0 with each episode: outer products of transitions may then
    /// have weights ([`Context::observe_weighted`](crate::Context::observe_weighted)).
    const STATE_IS_TRACE: bool = false;

    /// The mask's code in stored contexts and models: 1 to 7 are this crate's, 8 to 15 are free for masks of your own.
    const CODE: u8;

    /// Returns the mask with these trace decays, or [`Error::NonFinite`] or [`Error::OutOfRange`], naming `trace_decay`. A mask that has
    /// fewer takes 0 in their place.
    fn from_trace_decays(decays: [S; 2]) -> Result<Self, Error>;

    /// Returns the trace decays, 0 for those that the mask does not have.
    fn trace_decays(&self) -> [S; 2] {
        [S::ZERO; 2]
    }

    /// Returns M\[row, column\] for a context of n tokens (0-based; row or column n is the query's).
    fn entry(&self, row: usize, column: usize, n: usize) -> S;

    /// Returns the outer product (left, right) that the token z adds to G: G += left right^T.
    ///
    /// `retention` is 1 for a growing context. A forgetting context passes the factor that it applies to the past, so that
    /// a mean over the past forgets at the same rate.
    fn rank_one_update<V: Entrywise<S>>(
        &self,
        state: &mut Self::State<V>,
        z: &V,
        retention: S,
    ) -> (V, V);

    /// Returns the outer product that G loses with the oldest token of a sliding context, and removes that token from the state;
    /// `None` without a token, or if the mask has no such update ([`Mask::HAS_DOWNDATE`]).
    ///
    /// The tokens come newest first; the flag of a token is true if it was the last of its episode.
    fn rank_one_downdate<'a, V: Entrywise<S> + 'a>(
        &self,
        _state: &mut Self::State<V>,
        _newest_first: impl DoubleEndedIterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        None
    }
}

/// The mask of TD(0) (eq. "td0 mask"): the identity on the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Td0;

impl<S: Scalar> Mask<S> for Td0 {
    type State<V: Entrywise<S>> = ();
    type Auxiliary<const D: usize, const C: usize> = ();
    const IS_GRAM: bool = true;
    const HAS_DOWNDATE: bool = true;
    const STATE_IS_TRACE: bool = true;
    const CODE: u8 = 1;

    fn from_trace_decays(decays: [S; 2]) -> Result<Self, Error> {
        only_zeros(decays, Td0)
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if row == column && row < n { S::ONE } else { S::ZERO }
    }

    #[inline(always)]
    fn rank_one_update<V: Entrywise<S>>(&self, _: &mut (), z: &V, _: S) -> (V, V) {
        (*z, *z)
    }

    fn rank_one_downdate<'a, V: Entrywise<S> + 'a>(
        &self,
        _: &mut (),
        mut newest_first: impl DoubleEndedIterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        newest_first.next_back().map(|(oldest, _)| (*oldest, *oldest))
    }
}

/// Returns the mask, which has no trace, if these decays are 0.
pub(crate) fn only_zeros<S: Scalar, const N: usize, M>(
    decays: [S; N],
    mask: M,
) -> Result<M, Error> {
    for decay in decays {
        check_lanes(decay, "trace_decay", |l| l == Scalar::ZERO, "0 without a trace")?;
    }
    Ok(mask)
}

fn check_decay<S: Scalar>(decay: S) -> Result<S, Error> {
    let fits = |l| l >= Scalar::ZERO && l <= Scalar::ONE;
    check_lanes(decay, "trace_decay", fits, "[0, 1]")
}

/// The mask of TD(lambda) (eq. "td lambda mask"): M\[r, c\] = lambda^(r - c) for c <= r < n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdLambda<S: Scalar = f32> {
    pub(crate) trace_decay: S,
}

impl<S: Scalar> TdLambda<S> {
    /// Returns the mask of a trace decay in \[0, 1\] (0 gives TD(0)'s mask), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming
    /// `trace_decay`.
    pub fn new(trace_decay: S) -> Result<Self, Error> {
        Ok(TdLambda { trace_decay: check_decay(trace_decay)? })
    }

    /// Returns the trace decay: the paper's lambda, Sutton and Barto's gamma lambda.
    pub fn trace_decay(&self) -> S {
        self.trace_decay
    }
}

impl<S: Scalar> Mask<S> for TdLambda<S> {
    /// The trace and its compensation, so that a decay of 1 keeps its precision over long streams.
    type State<V: Entrywise<S>> = [V; 2];
    type Auxiliary<const D: usize, const C: usize> = SecondMoments<S, D, C>;
    const HAS_DOWNDATE: bool = true;
    const STATE_IS_TRACE: bool = true;
    const CODE: u8 = 2;

    fn from_trace_decays([trace_decay, none]: [S; 2]) -> Result<Self, Error> {
        only_zeros([none], ())?;
        Self::new(trace_decay)
    }

    fn trace_decays(&self) -> [S; 2] {
        [self.trace_decay, S::ZERO]
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if column <= row && row < n {
            power(self.trace_decay, (row - column) as u64)
        } else {
            S::ZERO
        }
    }

    #[inline(always)]
    fn rank_one_update<V: Entrywise<S>>(
        &self,
        [e, compensation]: &mut [V; 2],
        z: &V,
        _: S,
    ) -> (V, V) {
        V::zip3(e, compensation, z, |e, compensation, z| {
            let decayed = self.trace_decay * *e;
            *compensation *= self.trace_decay;
            *e = add_compensated(decayed, z, compensation);
        });
        (*z, *e)
    }

    /// G loses (sum_r lambda^r z_r) z_0^T over the tokens of z_0's episode; the trace loses its
    /// remaining part of z_0.
    fn rank_one_downdate<'a, V: Entrywise<S> + 'a>(
        &self,
        [trace, _]: &mut [V; 2],
        newest_first: impl DoubleEndedIterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        let (mut ahead, mut oldest) = (V::ZERO, None);
        // lambda^(n-1) while the episode of z_0 is the current one, 0 after it.
        let mut decay = S::ONE;
        for (z, ends) in newest_first {
            if oldest.is_some() {
                decay *= self.trace_decay;
            }
            if ends {
                (ahead, decay) = (V::ZERO, S::ZERO);
            }
            let mut sum = *z;
            sum.add_scaled(self.trace_decay, &ahead);
            (ahead, oldest) = (sum, Some(*z));
        }
        let oldest = oldest?;
        trace.add_scaled(-decay, &oldest);
        Some((ahead, oldest))
    }
}

/// The mask of the first head of average-reward TD (eq. "two-head mask"):
/// M^(1) = (I - U diag(1, 1/2, .., 1/(n+1))) M^(2), which replaces each token by its difference
/// from the mean of the tokens up to it. (M^(2), of the second head, is [`Td0`].)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub struct MeanCentred;

/// The mean of the tokens so far, and their total weight. Both are summed with compensation: otherwise the mean of a million
/// tokens would be off by 500 roundings of `f32`, and the weight would stop growing at 2^24.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub struct RunningMean<S, V> {
    mean: [V; 2],
    weight: [S; 2],
}

/// Returns sum + x, and leaves in `compensation` what rounding lost of x (Kahan).
#[inline(always)]
fn add_compensated<S: Scalar>(sum: S, x: S, compensation: &mut S) -> S {
    let y = x + *compensation;
    let new = sum + y;
    *compensation = y - (new - sum);
    new
}

impl<S: Scalar> Mask<S> for MeanCentred {
    type State<V: Entrywise<S>> = RunningMean<S, V>;
    type Auxiliary<const D: usize, const C: usize> = SecondMoments<S, D, C>;
    // No update when a sliding context's first token goes, in O(K^2): every running mean changes.
    const CODE: u8 = 3;

    fn from_trace_decays(decays: [S; 2]) -> Result<Self, Error> {
        only_zeros(decays, MeanCentred)
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if column >= n || row > column {
            return S::ZERO;
        }
        let share = S::ONE / S::from_count(column as u64 + 1);
        if row == column { S::ONE - share } else { -share }
    }

    #[inline(always)]
    fn rank_one_update<V: Entrywise<S>>(
        &self,
        state: &mut RunningMean<S, V>,
        z: &V,
        retention: S,
    ) -> (V, V) {
        let [weight, compensation] = &mut state.weight;
        *compensation *= retention;
        let decayed = retention * *weight;
        *weight = add_compensated(decayed, S::ONE, compensation);
        let share = S::ONE / *weight;
        let [mean, compensation] = &mut state.mean;
        V::zip3(mean, compensation, z, |mean, compensation, z| {
            let step = share * (z - *mean);
            *mean = add_compensated(*mean, step, compensation);
        });
        let mut centred = *z;
        centred.add_scaled(-S::ONE, mean);
        (centred, *z)
    }
}

entrywise!([S: Scalar, V: Entrywise<S>] S, RunningMean<S, V> { mean, weight });

/// TD(0)'s mask, with the sums of an eligibility trace in addition to its statistic. The
/// [universal model](crate::universal) reads them: it solves for TD's fixed point with two lambdas and decides from the
/// context which of them is right.
///
/// In the paper's terms each lambda is a head with a mask of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Td0Trace<S: Scalar = f32> {
    pub(crate) trace_decay: S,
}

impl<S: Scalar> Td0Trace<S> {
    /// Returns the mask of a trace decay, gamma lambda, in \[0, 1\], or [`Error::NonFinite`] or [`Error::OutOfRange`], naming
    /// `trace_decay`.
    pub fn new(trace_decay: S) -> Result<Self, Error> {
        Ok(Td0Trace { trace_decay: check_decay(trace_decay)? })
    }
}

impl<S: Scalar> Mask<S> for Td0Trace<S> {
    /// The trace, e_i = decay e_{i-1} + z_i with e_{-1} = 0.
    type State<V: Entrywise<S>> = [V; 1];
    type Auxiliary<const D: usize, const C: usize> = TraceSums<S, D, C>;
    const IS_GRAM: bool = true;
    const STATE_IS_TRACE: bool = true;
    // A sliding context's sums are recomputed: the state does not say what a trace still holds of the oldest token.
    const CODE: u8 = 6;

    fn from_trace_decays([trace_decay, none]: [S; 2]) -> Result<Self, Error> {
        only_zeros([none], ())?;
        Self::new(trace_decay)
    }

    fn trace_decays(&self) -> [S; 2] {
        [self.trace_decay, S::ZERO]
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        Td0.entry(row, column, n)
    }

    /// Returns the trace and the token. G itself needs only the token.
    #[inline(always)]
    fn rank_one_update<V: Entrywise<S>>(&self, [trace]: &mut [V; 1], z: &V, _: S) -> (V, V) {
        V::zip(trace, z, |trace, z| *trace = self.trace_decay * *trace + z);
        (*trace, *z)
    }
}

/// Returns x^n, by repeated squaring.
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub fn power<S: Scalar>(x: S, n: u64) -> S {
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
