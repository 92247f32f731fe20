//! Attention: one layer's update of the prompt, as the paper writes it.
//!
//! These are the literal equations, on all columns of Z. They are the reference that the
//! streaming form (see [`crate::transformer`]) is tested against, and for softmax attention the only
//! form.

mod average_reward;
mod linear;
mod softmax;

pub use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
pub use average_reward::AverageReward;
pub use softmax::SoftmaxAttention;

use crate::error::Error;
use crate::layer::LayerParameters;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use core::fmt::Debug;

/// An attention mechanism: what a layer with its parameters does to a prompt.
///
/// A [`Mask`] is linear attention under it; [`SoftmaxAttention`] and the two heads of
/// [`AverageReward`] are the others.
///
/// ```
/// use ictd_core::attention::{Attention, SoftmaxAttention, Td0};
/// use ictd_core::linalg::identity;
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{layer::Layer, prompt::Prompt};
///
/// // One context column z = (1, 0) and the query q = (1, 1); P = Q = I.
/// let (z, q) = (SVector::from([1.0, 0.0]), SVector::from([1.0, 1.0]));
/// let prompt = Prompt::<f64, 2, 1>::from_columns(&[z], q)?;
/// let layer = Layer { p: identity(), q: identity() };
/// let mut linear = prompt.clone();
/// Td0.apply(&layer, &mut linear)?;
/// assert_eq!(linear.query(), &SVector::from([2.0, 1.0])); // q + z <z, q>
/// let mut softmax = prompt;
/// SoftmaxAttention.apply(&layer, &mut softmax)?;
/// assert_eq!(softmax.query(), &SVector::from([1.5, 1.0])); // both columns score 1
/// # Ok::<(), ictd_core::Error>(())
/// ```
pub trait Attention<S: Scalar, const K: usize>: Copy + Debug + PartialEq {
    /// The parameters of a layer.
    type Layer: LayerParameters<Scalar = S>;

    /// What a stored model says of its attention.
    const KIND: AttentionKind;

    /// The attention whose mask has this trace decay; one without a trace takes 0 alone.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `lambda`.
    fn of_trace_decay(lambda: S) -> Result<Self, Error>;

    /// The trace decay lambda of the mask, 0 without a trace.
    fn trace_decay(&self) -> S {
        S::ZERO
    }

    /// Z <- Z + (1/n) Attn(Z; theta_l), in place.
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    fn apply<const N: usize>(
        &self,
        layer: &Self::Layer,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error>;
}

/// The attention mechanisms, as a stored model names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AttentionKind {
    /// Linear, under a [`Mask`]: constant memory, a value function in one pass.
    Linear = 1,
    /// [`SoftmaxAttention`]: needs all columns of the prompt.
    Softmax = 2,
    /// The two linear heads of the average-reward setting, [`AverageReward`].
    TwoHead = 3,
}
