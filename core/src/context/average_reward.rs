use super::{Context, Growing, Window};
use crate::error::{Error, StoredError};
use crate::mask::{MeanCentred, Td0};
use crate::scalar::{Real, Scalar};
use crate::statistic::Statistic;
use crate::stored::count;
use crate::transition::FeatureVector;

/// The contexts of the average-reward transformer's two heads, fed together.
///
/// ```
/// use ictd_core::context::AverageRewardContext;
///
/// let mut context = AverageRewardContext::<2>::new();
/// context.observe(&[1.0, 0.5], 0.25, &[0.5, -1.0])?;
/// assert_eq!(context.len(), 1);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AverageRewardContext<const D: usize, W: Window<S> = Growing, S: Scalar = f32> {
    /// Of head 1, whose mask is [`MeanCentred`].
    head1: Context<D, MeanCentred, W, S>,
    /// Of head 2, whose mask is [`Td0`].
    head2: Context<D, Td0, W, S>,
}

impl<const D: usize, S: Scalar> AverageRewardContext<D, Growing, S> {
    /// An empty context that remembers every transition.
    pub const fn new() -> Self {
        Self::with(Growing)
    }
}

impl<const D: usize, S: Scalar> Default for AverageRewardContext<D, Growing, S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const D: usize, W: Window<S>, S: Scalar> AverageRewardContext<D, W, S> {
    /// An empty context of a window.
    pub const fn with(window: W) -> Self {
        let head1 = Context::<D, MeanCentred, W, S>::with(MeanCentred, window);
        AverageRewardContext { head1, head2: Context::<D, Td0, W, S>::with(Td0, window) }
    }

    /// The same context, which from now on refuses larger numbers: [`Context::with_limit`].
    /// Errors: as [`Context::with_limit`].
    pub fn with_limit(self, limit: S) -> Result<Self, Error> {
        let head1 = self.head1.with_limit(limit)?;
        Ok(AverageRewardContext { head1, head2: self.head2.with_limit(limit)? })
    }

    /// Adds the transition from a state with features `phi`, (D), to one with features `phi_next`.
    /// Errors: as [`Context::observe`]; the context stays as it was.
    pub fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error> {
        self.head1.observe(phi, reward, phi_next)?;
        self.head2.observe(phi, reward, phi_next)
    }

    /// How many transitions the context stands for.
    pub fn len(&self) -> u64 {
        self.head2.len()
    }

    /// True before the first transition.
    pub fn is_empty(&self) -> bool {
        self.head2.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.head1.clear();
        self.head2.clear();
    }

    /// G_0 and 1/n of the two heads, for tokens of size K = 2 D + 2.
    /// Errors: as [`Context::statistic`].
    pub fn statistics<const K: usize>(&self) -> Result<[Statistic<S, K>; 2], Error> {
        const {
            assert!(K == 2 * D + 2, "the average-reward setting has tokens of size K = 2 * D + 2");
        }
        Ok([self.head1.statistic(S::ONE, 0)?, self.head2.statistic(S::ONE, 0)?])
    }
}

impl<const D: usize, W: Window<R>, R: Real> AverageRewardContext<D, W, R> {
    /// How many bytes the stored context takes at the moment.
    pub fn byte_len(&self) -> usize {
        self.head1.byte_len() + self.head2.byte_len()
    }

    /// Writes the two contexts, one after the other, each as [`Context::write`] does.
    /// Errors: as [`Context::write`].
    pub fn write<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Error> {
        let (found, expected) = (count(buffer), self.byte_len() as u32);
        let bytes =
            buffer.get_mut(..self.byte_len()).ok_or(StoredError::Length { found, expected })?;
        let (of_head1, of_head2) = bytes.split_at_mut(self.head1.byte_len());
        self.head1.write(of_head1)?;
        self.head2.write(of_head2)?;
        Ok(bytes)
    }

    /// Reads a stored context.
    /// Errors: as [`Context::from_bytes`]; [`Error::Mismatch`] if the two are not of one stream.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let (head1, rest) = Context::<D, MeanCentred, W, R>::from_prefix(bytes)?;
        let head2 = Context::<D, Td0, W, R>::from_bytes(rest)?;
        if head1.len() != head2.len() {
            return Err(Error::Mismatch { parameter: "number of transitions of the two heads" });
        }
        Ok(AverageRewardContext { head1, head2 })
    }
}
