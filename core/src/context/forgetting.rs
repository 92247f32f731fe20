use super::largest_reward::LargestReward;
use super::moments::{Moments, Read};
use super::stored::Visit;
use super::{Entries, Sums, Window};
use crate::error::Error;
use crate::mask::{Mask, State, Vector};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::Token;

/// The past is forgotten exponentially: transition j of n counts with weight retention^(n - j), and n
/// becomes the sum of the weights.
///
/// Retention 1 - 1/h remembers about the last h transitions. Rounding errors are forgotten at the
/// same rate as the data, so they do not accumulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting<S: Scalar = f32> {
    retention: S,
}

impl<S: Scalar> Forgetting<S> {
    /// Returns a retention in (0, 1).
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `retention`.
    ///
    /// ```
    /// use ictd_core::context::Forgetting;
    ///
    /// assert_eq!(Forgetting::new(0.99)?.retention(), 0.99);
    /// assert!(Forgetting::new(1.0).is_err());
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    pub fn new(retention: S) -> Result<Self, Error> {
        let fits = |r| r > Scalar::ZERO && r < Scalar::ONE;
        Ok(Forgetting { retention: check_lanes(retention, "retention", fits, "(0, 1)")? })
    }

    /// Does what [`Forgetting::new`] does, in a constant; the caller has checked.
    pub(crate) const fn unchecked(retention: S) -> Self {
        Forgetting { retention }
    }

    /// Returns the factor by which the past shrinks with each transition.
    pub fn retention(&self) -> S {
        self.retention
    }
}

impl<S: Scalar> Window<S> for Forgetting<S> {
    type Sums<M: Mask<S>, const D: usize, const C: usize> = DecayingSums<S, M, D, C>;
    const CODE: u8 = 2;

    fn retention(&self) -> S {
        self.retention
    }

    fn of_retention(retention: S) -> Result<Self, Error> {
        Self::new(retention)
    }
}

/// The sums of a forgetting context: G <- retention G + left right^T.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayingSums<S: Scalar, M: Mask<S>, const D: usize, const C: usize> {
    state: M::State<Token<S, D, C>>,
    largest_reward: LargestReward<S, C>,
    moments: Moments<S, M::Beside<D, C>, D, C>,
    /// The sum of the weights.
    weight: S,
    len: u64,
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> Sums<S, M, D, C>
    for DecayingSums<S, M, D, C>
{
    const EMPTY: Self = DecayingSums {
        state: Vector::ZERO,
        largest_reward: LargestReward::ZERO,
        moments: Moments::ZERO,
        weight: S::ZERO,
        len: 0,
    };

    #[inline(always)]
    fn add(&mut self, mask: &M, retention: S, token: &Token<S, D, C>) {
        let factors = mask.factors(&mut self.state, token, retention);
        self.moments.update(&factors, token, M::SYMMETRIC, |g, left, right| {
            *g = retention * *g + left * right;
        });
        self.largest_reward.shrink(retention);
        self.largest_reward.take(&token.rewards);
        self.weight = retention * self.weight + S::ONE;
        self.len = self.len.saturating_add(1);
    }

    fn end_episode(&mut self) {
        self.state.end_episode();
    }

    fn transitions(&self) -> u64 {
        self.len
    }

    fn weight(&self) -> S {
        self.weight
    }

    fn largest_reward(&self) -> LargestReward<S, C> {
        self.largest_reward
    }

    #[inline(always)]
    fn read<E: Entries<S, D>>(&self, _mask: &M, gamma: S, cumulant: usize, out: E) -> E::Output {
        out.take(&Read { parts: &self.moments, symmetric: M::SYMMETRIC, gamma, cumulant })
    }

    fn fields(&mut self, visit: &mut impl Visit<S>) {
        self.state.numbers(&mut |x| visit.number(x));
        self.largest_reward.numbers(&mut |x| visit.number(x));
        self.moments.numbers(&mut |x| visit.number(x));
        visit.number(&mut self.weight);
        visit.count(&mut self.len, u64::MAX);
    }
}
