use super::{Context, Window};
use crate::error::Error;
use crate::mask::{MeanCentred, Td0};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::FeatureVector;

/// The contexts of the average-reward transformer's two heads, fed together.
///
/// ```
/// use ictd_core::context::{AverageRewardContext, Growing};
///
/// let mut context = AverageRewardContext::<2, Growing>::with(Growing);
/// context.observe(&[1.0, 0.5], 0.25, &[0.5, -1.0])?;
/// assert_eq!(context.len(), 1);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AverageRewardContext<const D: usize, W: Window<S>, S: Scalar = f32> {
    /// The context of head 1, whose mask is [`MeanCentred`].
    head1: Context<D, MeanCentred, W, S>,
    /// The context of head 2, whose mask is [`Td0`].
    head2: Context<D, Td0, W, S>,
}

impl<const D: usize, W: Window<S>, S: Scalar> AverageRewardContext<D, W, S> {
    /// Returns an empty context of a window.
    pub const fn with(window: W) -> Self {
        let head1 = Context::<D, MeanCentred, W, S>::with(MeanCentred, window);
        AverageRewardContext { head1, head2: Context::<D, Td0, W, S>::with(Td0, window) }
    }

    /// Does what [`Context::observe`] does, with the same errors.
    pub fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error> {
        self.head1.observe(phi, reward, phi_next)?;
        self.head2.observe(phi, reward, phi_next)
    }

    /// Returns how many transitions the context stands for.
    pub fn len(&self) -> u64 {
        self.head2.len()
    }

    /// Returns true before the first transition.
    pub fn is_empty(&self) -> bool {
        self.head2.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.head1.clear();
        self.head2.clear();
    }

    /// Returns G_0 and 1/n of the two heads, for tokens of size K = 2 D + 2, with the errors of [`Context::statistic`].
    pub fn statistics<const K: usize>(&self) -> Result<[Statistic<S, K>; 2], Error> {
        const {
            assert!(K == 2 * D + 2, "the average-reward setting has tokens of size K = 2 * D + 2");
        }
        Ok([self.head1.statistic(S::ONE, 0)?, self.head2.statistic(S::ONE, 0)?])
    }
}
