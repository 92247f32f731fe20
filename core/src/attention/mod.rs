//! Attention: one layer's update of the prompt, as the paper writes it, on all columns of Z. It is the reference that the
//! streaming form (see [`crate::transformer`]) is tested against, and for softmax attention the only form.

mod linear;
mod softmax;

pub use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
pub use crate::model::AverageReward;
pub use softmax::SoftmaxAttention;

use crate::error::Error;
use crate::layer::LayerParameters;
use crate::model::AttentionMechanism;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Transformer;

/// An attention mechanism: what a layer with its parameters does to a prompt.
///
/// A [`Mask`] is linear attention under it; [`SoftmaxAttention`] and the two heads of
/// [`AverageReward`] are the others.
pub trait Attention<S: Scalar, const K: usize>: AttentionMechanism<S, K> {
    /// Updates Z <- Z + (1/n) Attn(Z; theta_l), in place, or returns [`Error::Empty`] if the prompt has no context.
    fn apply<const N: usize>(
        &self,
        layer: &Self::Layer,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error>;
}

impl<L: LayerParameters, const C: usize> Transformer<L, C> {
    /// Applies each layer to the prompt and shows Z_1 to Z_L, or returns [`Error::Empty`] if the prompt has no context.
    pub fn forward<const K: usize, const N: usize>(
        &self,
        prompt: &mut Prompt<L::Scalar, K, N>,
        attention: &impl Attention<L::Scalar, K, Layer = L>,
        mut observe_layer: impl FnMut(&Prompt<L::Scalar, K, N>),
    ) -> Result<(), Error> {
        for layer in self.pass() {
            attention.apply(layer, prompt)?;
            observe_layer(prompt);
        }
        Ok(())
    }

    /// Returns TF_L(Z_0) by [`Transformer::forward`] (eq. "tf output convention").
    pub fn value<const K: usize, const N: usize>(
        &self,
        prompt: &Prompt<L::Scalar, K, N>,
        attention: &impl Attention<L::Scalar, K, Layer = L>,
    ) -> Result<L::Scalar, Error> {
        let mut prompt = prompt.clone();
        self.forward(&mut prompt, attention, |_| ())?;
        Ok(prompt.output())
    }
}
