use super::Context;
use super::sum::BlockedSum;
use crate::attention::Mask;
use crate::error::Error;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_discount, token};

/// The context of all transitions observed, with equal weight.
///
/// It keeps its precision over streams of any length: G is summed in blocks with compensation, so
/// that its rounding error does not grow with the number of transitions. K must be below 256 (at most 127
/// features), else the build fails.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "S: serde::Serialize, M: serde::Serialize, M::State: serde::Serialize",
        deserialize = "S: serde::Deserialize<'de>, M: serde::Deserialize<'de>, M::State: serde::Deserialize<'de>"
    ))
)]
pub struct Growing<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> {
    gamma: S,
    mask: M,
    state: M::State,
    sum: BlockedSum<S, K>,
    len: u64,
}

impl<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> Growing<S, D, K, M> {
    /// An empty context for a discount gamma in [0, 1); in the average-reward setting
    /// (K = 2 D + 2) gamma is 1.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`.
    pub fn new(gamma: S, mask: M) -> Result<Self, Error> {
        let gamma = check_discount::<S, D, K>(gamma)?;
        let state = mask.initial_state();
        Ok(Growing { gamma, mask, state, sum: BlockedSum::new(), len: 0 })
    }

    /// The discount gamma.
    pub fn gamma(&self) -> S {
        self.gamma
    }
}

impl<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> Context<S, D, K>
    for Growing<S, D, K, M>
{
    #[inline(always)]
    fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        transition.check()?;
        let z = token::<S, D, K>(transition, self.gamma);
        let (left, right) = self.mask.factors(&mut self.state, &z, S::ONE);
        self.sum.add_outer(&left, &right, M::SYMMETRIC);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn clear(&mut self) {
        self.state = self.mask.initial_state();
        self.sum = BlockedSum::new();
        self.len = 0;
    }

    #[inline(always)]
    fn statistic(&self) -> Result<Statistic<S, K>, Error> {
        self.read_statistic(|statistic| *statistic)
    }

    #[inline(always)]
    fn read_statistic<T>(&self, read: impl FnOnce(&Statistic<S, K>) -> T) -> Result<T, Error> {
        if self.len == 0 {
            return Err(Error::Empty { parameter: "context" });
        }
        let inverse_len = S::ONE / S::from_count(self.len);
        let mut statistic = Statistic { g: zeros(), inverse_len };
        if !self.sum.value_to(M::SYMMETRIC, &mut statistic.g) {
            return Err(Error::NonFinite { parameter: "context" });
        }
        Ok(read(&statistic))
    }
}
