//! The streaming context: one transition at a time in O(K^2), in memory that does not depend on
//! how many there were.
//!
//! | policy | remembers | statistic |
//! |---|---|---|
//! | [`Growing`] | every transition, equally | blocked, compensated sum: its error does not grow with n |
//! | [`Forgetting`] | the past, shrunk by a factor per transition | G <- retention G + left right^T |
//! | [`Sliding`] | the last N transitions | adds the new, subtracts the dropped, and starts over from sums made by addition alone every N transitions |
//!
//! # Long streams
//!
//! In `f32` a plain sum stops growing at 2^24 equal terms. None of these does: a growing context adds plainly
//! within blocks of 256 transitions, and from block to block with each rounding error kept (TwoSum), so that
//! its error is that of one block: at most 128 units of roundoff, relative to the largest entry. A
//! forgetting context remembers the last 1 / (1 - retention) roundings, a sliding one those since
//! its last sum by addition alone, at most 3 N. The test `context_drift` holds each to a half or less of that,
//! against sums in `f64`, over as many transitions as it is asked for. The count of transitions
//! is a `u64`. A transition too large to be summed ([`Transition::check`]) is refused and leaves no trace, so that
//! a sensor's spike does not spoil a context; sums that leave the range of the scalar all the same (2^32 of
//! the largest transitions, or a trace without decay) are refused when read: [`Error::NonFinite`].
//!
//! Each works with each mask of [`crate::mask`]; the average-reward transformer needs two
//! statistics, one per head ([`TwoHeadContext`]).

mod forgetting;
mod growing;
mod sliding;
mod streaming;
mod sum;

pub use forgetting::Forgetting;
pub use growing::Growing;
pub use sliding::{Sliding, SlidingMask};
pub use streaming::Streaming;

use crate::error::Error;
use crate::mask::{MeanCentred, Td0};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{FeatureVector, Transition};
use nalgebra::SMatrix;

/// A context that transitions stream into.
pub trait Context<S: Scalar, const D: usize, const K: usize> {
    /// Adds the transition (phi, reward, phi').
    ///
    /// # Errors
    /// As [`Transition::check`]; the context stays as it was.
    fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error>;

    /// How many transitions the context stands for: all observed, or those in the window.
    fn len(&self) -> u64;

    /// Forgets everything.
    fn clear(&mut self);

    /// G_0 and 1/n.
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the sums overflowed.
    fn statistic(&self) -> Result<Statistic<S, K>, Error>;

    /// What `read` makes of [`Context::statistic`], lent where it stands: a chip copies nothing.
    ///
    /// # Errors
    /// As [`Context::statistic`].
    #[inline(always)]
    fn read_statistic<T>(&self, read: impl FnOnce(&Statistic<S, K>) -> T) -> Result<T, Error> {
        Ok(read(&self.statistic()?))
    }

    /// Adds the transition from a state with features `phi` to one with features `phi_next`.
    ///
    /// # Errors
    /// As [`Context::observe_transition`].
    #[inline(always)]
    fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error> {
        self.observe_transition(&Transition {
            phi: phi.to_vector(),
            reward,
            phi_next: phi_next.to_vector(),
        })
    }

    /// True before the first transition.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The statistic, unless it is empty or overflowed.
#[inline(always)]
fn checked<S: Scalar, const K: usize>(
    g: SMatrix<S, K, K>,
    len: u64,
    weight: S,
) -> Result<Statistic<S, K>, Error> {
    if len == 0 {
        return Err(Error::Empty { parameter: "context" });
    }
    if !crate::linalg::is_finite(&g) {
        return Err(Error::NonFinite { parameter: "context" });
    }
    Ok(Statistic { g, inverse_len: S::ONE / weight })
}

/// The contexts of the average-reward transformer's two heads, fed together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TwoHeadContext<A, B> {
    /// The context of head 1, with the mask [`MeanCentred`].
    pub head1: A,
    /// The context of head 2, with the mask [`Td0`].
    pub head2: B,
}

/// The growing average-reward context.
pub type GrowingAverageReward<S, const D: usize, const K: usize> =
    TwoHeadContext<Growing<S, D, K, MeanCentred>, Growing<S, D, K, Td0>>;

impl<A, B> TwoHeadContext<A, B> {
    /// Adds the transition from a state with features `phi` to one with features `phi_next`.
    ///
    /// # Errors
    /// As [`Transition::check`]; the context stays as it was.
    pub fn observe<S: Scalar, const D: usize, const K: usize>(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error>
    where
        A: Context<S, D, K>,
        B: Context<S, D, K>,
    {
        self.head1.observe(phi, reward, phi_next)?;
        self.head2.observe(phi, reward, phi_next)
    }

    /// How many transitions the context stands for.
    pub fn len<S: Scalar, const D: usize, const K: usize>(&self) -> u64
    where
        A: Context<S, D, K>,
    {
        self.head1.len()
    }

    /// True before the first transition.
    pub fn is_empty<S: Scalar, const D: usize, const K: usize>(&self) -> bool
    where
        A: Context<S, D, K>,
    {
        self.head1.is_empty()
    }

    /// Forgets everything.
    pub fn clear<S: Scalar, const D: usize, const K: usize>(&mut self)
    where
        A: Context<S, D, K>,
        B: Context<S, D, K>,
    {
        self.head1.clear();
        self.head2.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::TdLambda;

    #[test]
    fn two_heads_count_and_forget_together() -> Result<(), Error> {
        let head1 = Growing::<f32, 1, 4, _>::new(1.0, MeanCentred)?;
        let empty = TwoHeadContext { head1, head2: Growing::<f32, 1, 4, _>::new(1.0, Td0)? };
        let mut context = empty;
        assert!(context.is_empty());
        context.observe(&[1.0], 0.5, &[2.0])?;
        assert_eq!((context.len(), context.head2.len()), (1, 1));
        context.clear();
        assert_eq!(context, empty);
        Ok(())
    }

    #[test]
    fn a_forgetting_context_stands_for_the_sum_of_its_weights() -> Result<(), Error> {
        let mut context = Forgetting::<f64, 1, 3, _>::new(0.9, 0.5, TdLambda::new(0.5)?)?;
        for _ in 0..3 {
            context.observe(&[1.0], 0.5, &[2.0])?;
        }
        assert_eq!((context.len(), context.effective_len()), (3, 1.75));
        assert_eq!(context.statistic()?.inverse_len, 1.0 / 1.75);
        Ok(())
    }
}
