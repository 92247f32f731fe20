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
