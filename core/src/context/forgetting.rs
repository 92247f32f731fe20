use super::bytes::{ShownField, StoredField, sums_of_stream};
use super::moments::{EntrySource, Moments};
use super::{Memory, MemorySums, take_largest};
use crate::error::Error;
use crate::mask::{Entrywise, Mask, MaskState};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::Token;

/// The past is forgotten exponentially: transition j of n counts with weight retention^(n - j), and n becomes the sum of
/// the weights. Retention 1 - 1/h remembers about the last h transitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forgetting<S: Scalar = f32> {
    retention: S,
}

impl<S: Scalar> Forgetting<S> {
    /// Returns the window of a retention in (0, 1), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming `retention`.
    pub fn new(retention: S) -> Result<Self, Error> {
        let fits = |r| r > Scalar::ZERO && r < Scalar::ONE;
        Ok(Forgetting { retention: check_lanes(retention, "retention", fits, "(0, 1)")? })
    }
}

impl<S: Scalar> Memory<S> for Forgetting<S> {
    type Sums<M: Mask<S>, const D: usize, const C: usize> = DecayingSums<S, M, D, C>;
    const CODE: u8 = 2;

    fn retention(&self) -> S {
        self.retention
    }

    fn from_retention(retention: S) -> Result<Self, Error> {
        Self::new(retention)
    }
}

/// The sums of a forgetting context: G <- retention G + left right^T.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayingSums<S: Scalar, M: Mask<S>, const D: usize, const C: usize> {
    state: M::State<Token<S, D, C>>,
    max_abs_rewards: [S; C],
    moments: Moments<S, M::Auxiliary<D, C>, D, C>,
    /// The sum of the weights.
    weight: S,
    len: u64,
}

impl<S: Scalar, M: Mask<S>, const D: usize, const C: usize> MemorySums<S, M, D, C>
    for DecayingSums<S, M, D, C>
{
    const EMPTY: Self = DecayingSums {
        state: Entrywise::ZERO,
        max_abs_rewards: [S::ZERO; C],
        moments: Moments::ZERO,
        weight: S::ZERO,
        len: 0,
    };

    #[inline(always)]
    fn add(&mut self, mask: &M, retention: S, token: &Token<S, D, C>, rewards: &[S; C]) {
        let (left, right) = mask.rank_one_update(&mut self.state, token, retention);
        self.moments.update([&left, &right, token], M::IS_TD0, |g, left, right| {
            *g = retention * *g + left * right;
        });
        for largest in &mut self.max_abs_rewards {
            *largest *= retention;
        }
        take_largest(&mut self.max_abs_rewards, rewards);
        self.weight = retention * self.weight + S::ONE;
        self.len = self.len.saturating_add(1);
    }

    fn effective_len(&self) -> S {
        self.weight
    }

    #[inline(always)]
    fn parts(&self, _mask: &M) -> impl EntrySource<S, M::Auxiliary<D, C>, D, C> {
        &self.moments
    }

    sums_of_stream!(state, max_abs_rewards, moments, weight; len: u64::MAX => |n| n);
}
