//! Attention: one layer's update of the prompt, as the paper writes it.
//!
//! These are the literal equations, on all columns of Z. They are the reference that the
//! streaming form (see [`crate::transformer`]) is tested against, and for softmax attention the only
//! form.

mod linear;
mod softmax;

pub use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
pub use linear::LinearAttention;
pub(crate) use linear::attend as linear_attend;
pub use softmax::SoftmaxAttention;

use crate::error::Error;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Layer;

/// An attention mechanism: what a layer with parameters (P, Q) does to a prompt.
///
/// ```
/// use ictd_core::attention::{Attention, LinearAttention, SoftmaxAttention, Td0};
/// use ictd_core::linalg::identity;
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{prompt::Prompt, transformer::Layer};
///
/// // One context column z = (1, 0) and the query q = (1, 1); P = Q = I.
/// let (z, q) = (SVector::from([1.0, 0.0]), SVector::from([1.0, 1.0]));
/// let prompt = Prompt::<f64, 2, 1>::from_columns(&[z], q)?;
/// let layer = Layer { p: identity(), q: identity() };
/// let mut linear = prompt.clone();
/// LinearAttention(Td0).apply(&layer, &mut linear)?;
/// assert_eq!(linear.query(), &SVector::from([2.0, 1.0])); // q + z <z, q>
/// let mut softmax = prompt;
/// SoftmaxAttention.apply(&layer, &mut softmax)?;
/// assert_eq!(softmax.query(), &SVector::from([1.5, 1.0])); // both columns score 1
/// # Ok::<(), ictd_core::Error>(())
/// ```
pub trait Attention<S: Scalar, const K: usize> {
    /// Z <- Z + (1/n) Attn(Z; P, Q), in place.
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    fn apply<const N: usize>(
        &self,
        layer: &Layer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error>;
}
