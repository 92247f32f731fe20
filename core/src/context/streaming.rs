use super::{Context, Growing};
use crate::attention::Td0;
use crate::error::Error;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{FeatureVector, Transition};

/// The context of a device: every transition observed, with TD(0)'s mask, in constant memory.
///
/// It is [`Growing`] with methods of its own, so that firmware needs no trait in scope; as
/// [`crate::Context`] it takes the feature dimension alone.
///
/// ```
/// let mut context = ictd_core::Context::<2>::new(0.9)?;
/// context.observe(&[1.0, 0.5], 0.25, &[0.5, -1.0])?;
/// assert_eq!(context.len(), 1);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Streaming<S: Scalar, const D: usize, const K: usize>(Growing<S, D, K, Td0>);

impl<S: Scalar, const D: usize, const K: usize> Streaming<S, D, K> {
    /// An empty context for a discount gamma in [0, 1).
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `gamma`.
    pub fn new(gamma: S) -> Result<Self, Error> {
        Ok(Streaming(Growing::new(gamma, Td0)?))
    }

    /// Adds the transition from a state with features `phi`, (D), to one with features `phi_next`:
    /// O(K^2) operations, however many came before.
    ///
    /// # Errors
    /// As [`Transition::check`]; the context stays as it was.
    // One copy of the unrolled sums in the firmware; inlined elsewhere, for vector instructions.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error> {
        self.0.observe(phi, reward, phi_next)
    }

    /// The discount gamma.
    pub fn gamma(&self) -> S {
        self.0.gamma()
    }

    /// n, the number of transitions observed.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// True before the first transition.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<S: Scalar, const D: usize, const K: usize> Context<S, D, K> for Streaming<S, D, K> {
    fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        self.0.observe_transition(transition)
    }

    fn len(&self) -> u64 {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    #[inline(always)]
    fn statistic(&self) -> Result<Statistic<S, K>, Error> {
        self.0.statistic()
    }

    #[inline(always)]
    fn read_statistic<T>(&self, read: impl FnOnce(&Statistic<S, K>) -> T) -> Result<T, Error> {
        self.0.read_statistic(read)
    }
}
