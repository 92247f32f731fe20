//! The masks M: which context columns a column attends to, and with which weight.
//!
//! Every mask has zeros in the query's row and column, so the query is never a key. And every mask
//! has a sufficient statistic G = Z M Z^T that grows by one outer product per token
//! ([`Mask::factors`]), with at most two tokens and two numbers of state beside it:
//!
//! | mask | G | state |
//! |---|---|---|
//! | [`Td0`] | sum_j z_j z_j^T | none |
//! | [`TdLambda`] | sum_i z_i e_i^T, e_i = lambda e_{i-1} + z_i | the trace e |
//! | [`MeanCentred`] | sum_j (z_j - mean_{i<=j} z_i) z_j^T | the running mean |
//! | [`Traces`] | that of [`Td0`], and beside it the sums of two traces | both traces |

use crate::beside::{Beside, SecondMoments, TraceSums};
use crate::error::Error;
use crate::scalar::{Scalar, check_lanes};
pub use crate::vector::Vector;
use core::fmt::Debug;

/// A mask M, (n + 1, n + 1), and the recurrence of its statistic.
pub trait Mask<S: Scalar>: Copy + Debug + PartialEq {
    /// The state of the recurrence beside G, for tokens of type V.
    type State<V: Vector<S>>: State<S>;

    /// The sums of a context beside G: second moments, or nothing where G has them itself.
    type Beside<const D: usize, const C: usize>: Beside<S, D, C>;

    /// True if G is symmetric, so that half of it needs to be computed.
    const SYMMETRIC: bool;

    /// True if a window's statistic can lose its oldest token ([`Mask::oldest_factors`]).
    const SLIDES: bool = true;

    /// The mask's code in stored contexts.
    const CODE: u8;

    /// Returns the mask with these trace decays; a mask that has fewer takes 0 in their place.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `lambda`.
    fn of_decays(decays: [S; 2]) -> Result<Self, Error>;

    /// Returns the trace decays, 0 for those that the mask does not have.
    fn decays(&self) -> [S; 2] {
        [S::ZERO; 2]
    }

    /// Returns M\[row, column\] for a context of n tokens (0-based; row or column n is the query's).
    fn entry(&self, row: usize, column: usize, n: usize) -> S;

    /// Returns the outer product (left, right) that the token z adds to G: G += left right^T.
    ///
    /// `retention` is 1 for a growing context; a forgetting one passes the factor by which it
    /// shrinks the past, so that a mean over the past forgets at the same rate.
    fn factors<V: Vector<S>>(&self, state: &mut Self::State<V>, z: &V, retention: S) -> (V, V);

    /// Returns the outer product that G loses when the oldest token of a window goes, which leaves the state,
    /// too; none if there is no token, or no such update ([`Mask::SLIDES`]).
    ///
    /// The window comes newest first; a token of which `ends` is true was the last of its episode.
    fn oldest_factors<'a, V: Vector<S> + 'a>(
        &self,
        _state: &mut Self::State<V>,
        _newest_first: impl Iterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        None
    }
}

/// The state of a mask between tokens; all zeros before the first.
pub trait State<S: Scalar>: Vector<S> {
    /// Starts a trace again at 0, as an episode has ended.
    fn end_episode(&mut self) {}
}

/// The mask of TD(0) (eq. "td0 mask"): the identity on the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Td0;

impl<S: Scalar> Mask<S> for Td0 {
    type State<V: Vector<S>> = ();
    type Beside<const D: usize, const C: usize> = ();
    const SYMMETRIC: bool = true;
    const CODE: u8 = 1;

    fn of_decays(decays: [S; 2]) -> Result<Self, Error> {
        only_zeros(decays, Td0)
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if row == column && row < n { S::ONE } else { S::ZERO }
    }

    #[inline(always)]
    fn factors<V: Vector<S>>(&self, _: &mut (), z: &V, _retention: S) -> (V, V) {
        (*z, *z)
    }

    fn oldest_factors<'a, V: Vector<S> + 'a>(
        &self,
        _: &mut (),
        newest_first: impl Iterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        newest_first.last().map(|(oldest, _)| (*oldest, *oldest))
    }
}

impl<S: Scalar> State<S> for () {}

/// Returns the mask, which has no trace, if these decays are 0.
pub(crate) fn only_zeros<S: Scalar, const N: usize, M>(
    decays: [S; N],
    mask: M,
) -> Result<M, Error> {
    for decay in decays {
        check_lanes(decay, "lambda", |l| l == Scalar::ZERO, "0 without a trace")?;
    }
    Ok(mask)
}

/// Returns a trace decay in \[0, 1\].
fn check_decay<S: Scalar>(decay: S) -> Result<S, Error> {
    let fits = |l| l >= Scalar::ZERO && l <= Scalar::ONE;
    check_lanes(decay, "lambda", fits, "[0, 1]")
}

/// The mask of TD(lambda) (eq. "td lambda mask"): M\[r, c\] = lambda^(r - c) for c <= r < n.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TdLambda<S: Scalar = f32> {
    lambda: S,
}

impl<S: Scalar> TdLambda<S> {
    /// Returns a trace decay in [0, 1]; 0 gives TD(0)'s mask.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `lambda`.
    pub fn new(lambda: S) -> Result<Self, Error> {
        Ok(TdLambda { lambda: check_decay(lambda)? })
    }

    /// Does what [`TdLambda::new`] does, in a constant; the caller has checked.
    pub(crate) const fn unchecked(lambda: S) -> Self {
        TdLambda { lambda }
    }

    /// Returns the trace decay.
    pub fn lambda(&self) -> S {
        self.lambda
    }
}

/// Two tokens that the end of an episode sets to 0: both traces of [`Traces`], e_i = decay e_{i-1} + z_i with e_{-1} = 0,
/// or that of [`TdLambda`] with its compensation, so that lambda = 1 keeps its precision over long streams.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoTokens<V> {
    first: V,
    second: V,
}

impl<S: Scalar, V: Vector<S>> Vector<S> for TwoTokens<V> {
    const ZERO: Self = TwoTokens { first: V::ZERO, second: V::ZERO };

    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        V::zip(&mut a.first, &mut b.first, &z.first, &mut f);
        V::zip(&mut a.second, &mut b.second, &z.second, f);
    }
}

impl<S: Scalar, V: Vector<S>> State<S> for TwoTokens<V> {
    fn end_episode(&mut self) {
        *self = Self::ZERO;
    }
}

impl<S: Scalar> Mask<S> for TdLambda<S> {
    type State<V: Vector<S>> = TwoTokens<V>;
    type Beside<const D: usize, const C: usize> = SecondMoments<S, D, C>;
    const SYMMETRIC: bool = false;
    const CODE: u8 = 2;

    fn of_decays([lambda, none]: [S; 2]) -> Result<Self, Error> {
        only_zeros([none], ())?;
        Self::new(lambda)
    }

    fn decays(&self) -> [S; 2] {
        [self.lambda, S::ZERO]
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        if column <= row && row < n { power(self.lambda, (row - column) as u64) } else { S::ZERO }
    }

    #[inline(always)]
    fn factors<V: Vector<S>>(&self, trace: &mut TwoTokens<V>, z: &V, _retention: S) -> (V, V) {
        V::zip(&mut trace.first, &mut trace.second, z, |e, compensation, z| {
            let decayed = self.lambda * *e;
            *compensation *= self.lambda;
            *e = add_compensated(decayed, z, compensation);
        });
        (*z, trace.first)
    }

    /// G loses (sum_r lambda^r z_r) z_0^T over the tokens of z_0's episode; the trace loses what it
    /// still has of z_0.
    fn oldest_factors<'a, V: Vector<S> + 'a>(
        &self,
        trace: &mut TwoTokens<V>,
        newest_first: impl Iterator<Item = (&'a V, bool)>,
    ) -> Option<(V, V)> {
        let (mut ahead, mut oldest) = (V::ZERO, None);
        // lambda^(n-1) while the episode of z_0 is the current one, 0 after it.
        let mut decay = S::ONE;
        for (z, ends) in newest_first {
            if oldest.is_some() {
                decay *= self.lambda;
            }
            if ends {
                (ahead, decay) = (V::ZERO, S::ZERO);
            }
            let mut sum = *z;
            sum.add_scaled(self.lambda, &ahead);
            (ahead, oldest) = (sum, Some(*z));
        }
        let oldest = oldest?;
        trace.first.add_scaled(-decay, &oldest);
        Some((ahead, oldest))
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
pub struct RunningMean<S, V> {
    /// The mean and its compensation.
    mean: TwoTokens<V>,
    /// The weight and its compensation.
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
    type State<V: Vector<S>> = RunningMean<S, V>;
    type Beside<const D: usize, const C: usize> = SecondMoments<S, D, C>;
    const SYMMETRIC: bool = false;
    /// Every running mean of a window changes when its first token goes: no update in O(K^2).
    const SLIDES: bool = false;
    const CODE: u8 = 3;

    fn of_decays(decays: [S; 2]) -> Result<Self, Error> {
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
    fn factors<V: Vector<S>>(&self, state: &mut RunningMean<S, V>, z: &V, retention: S) -> (V, V) {
        let [weight, compensation] = &mut state.weight;
        *compensation *= retention;
        let decayed = retention * *weight;
        *weight = add_compensated(decayed, S::ONE, compensation);
        let share = S::ONE / *weight;
        let TwoTokens { first: mean, second: compensation } = &mut state.mean;
        V::zip(mean, compensation, z, |mean, compensation, z| {
            let step = share * (z - *mean);
            *mean = add_compensated(*mean, step, compensation);
        });
        (z.minus(mean), *z)
    }
}

impl<S: Scalar, V: Vector<S>> Vector<S> for RunningMean<S, V> {
    const ZERO: Self = RunningMean { mean: TwoTokens::ZERO, weight: [S::ZERO; 2] };

    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        TwoTokens::zip(&mut a.mean, &mut b.mean, &z.mean, &mut f);
        Vector::zip(&mut a.weight, &mut b.weight, &z.weight, f);
    }
}

impl<S: Scalar, V: Vector<S>> State<S> for RunningMean<S, V> {}

/// TD(0)'s mask, with the sums of two eligibility traces beside its statistic: what the
/// [universal model](crate::universal) reads, which solves for TD's fixed point with three lambdas and finds out from the
/// context which of them is right.
///
/// In the paper's terms each lambda is a head with a mask of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traces<S: Scalar = f32> {
    pub(crate) low: S,
    pub(crate) high: S,
}

impl<S: Scalar> Traces<S> {
    /// Returns the mask of two traces, of which the first decays faster. A decay is gamma lambda; both are
    /// in \[0, 1\].
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `lambda`.
    pub fn new(low: S, high: S) -> Result<Self, Error> {
        Ok(Traces { low: check_decay(low)?, high: check_decay(high)? })
    }
}

impl<S: Scalar> Mask<S> for Traces<S> {
    type State<V: Vector<S>> = TwoTokens<V>;
    type Beside<const D: usize, const C: usize> = TraceSums<S, D, C>;
    const SYMMETRIC: bool = true;
    /// No state tells what a trace still holds of the oldest token: a window's sums are made anew.
    const SLIDES: bool = false;
    const CODE: u8 = 4;

    fn of_decays([low, high]: [S; 2]) -> Result<Self, Error> {
        Self::new(low, high)
    }

    fn decays(&self) -> [S; 2] {
        [self.low, self.high]
    }

    fn entry(&self, row: usize, column: usize, n: usize) -> S {
        Td0.entry(row, column, n)
    }

    /// Returns the traces; G itself, which is symmetric, needs the token alone.
    #[inline(always)]
    fn factors<V: Vector<S>>(&self, traces: &mut TwoTokens<V>, z: &V, _retention: S) -> (V, V) {
        V::zip(&mut traces.first, &mut traces.second, z, |low, high, z| {
            *low = self.low * *low + z;
            *high = self.high * *high + z;
        });
        (traces.first, traces.second)
    }
}

/// Returns x^n, by repeated squaring.
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
