use super::{Context, checked};
use crate::attention::Mask;
use crate::error::Error;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_discount, check_lanes, token};
use nalgebra::SMatrix;

/// The context that forgets exponentially: transition j of n counts with weight
/// retention^(n - j), and n becomes the sum of the weights.
///
/// Retention 1 - 1/h remembers about the last h transitions. Rounding errors are forgotten at the
/// same rate as the data, so they do not accumulate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "S: serde::Serialize, M: serde::Serialize, M::State: serde::Serialize",
        deserialize = "S: serde::Deserialize<'de>, M: serde::Deserialize<'de>, M::State: serde::Deserialize<'de>"
    ))
)]
pub struct Forgetting<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> {
    gamma: S,
    retention: S,
    mask: M,
    state: M::State,
    g: SMatrix<S, K, K>,
    weight: S,
    len: u64,
}

impl<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> Forgetting<S, D, K, M> {
    /// An empty context for a discount gamma in [0, 1) (1 in the average-reward setting) and a
    /// retention in (0, 1).
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma` or `retention`.
    pub fn new(gamma: S, retention: S, mask: M) -> Result<Self, Error> {
        let gamma = check_discount::<S, D, K>(gamma)?;
        let fits = |r| r > Scalar::ZERO && r < Scalar::ONE;
        let retention = check_lanes(retention, "retention", fits, "(0, 1)")?;
        let state = mask.initial_state();
        Ok(Forgetting { gamma, retention, mask, state, g: zeros(), weight: S::ZERO, len: 0 })
    }

    /// The discount gamma.
    pub fn gamma(&self) -> S {
        self.gamma
    }

    /// The sum of the weights: the length that 1/n uses.
    pub fn effective_len(&self) -> S {
        self.weight
    }
}

impl<S: Scalar, const D: usize, const K: usize, M: Mask<S, K>> Context<S, D, K>
    for Forgetting<S, D, K, M>
{
    fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        transition.check()?;
        let z = token::<S, D, K>(transition, self.gamma);
        let (left, right) = self.mask.factors(&mut self.state, &z, self.retention);
        for j in 0..K {
            let right_j = right[j];
            for i in 0..K {
                let g = &mut self.g.data.0[j][i];
                *g = self.retention * *g + left[i] * right_j;
            }
        }
        self.weight = self.retention * self.weight + S::ONE;
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn clear(&mut self) {
        self.state = self.mask.initial_state();
        self.g = zeros();
        self.weight = S::ZERO;
        self.len = 0;
    }

    fn statistic(&self) -> Result<Statistic<S, K>, Error> {
        checked(self.g, self.len, self.weight)
    }
}
