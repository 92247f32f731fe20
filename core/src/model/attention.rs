//! The attention of a model: which parameters its layers have, and how a stored model names it.

use crate::error::Result;
use crate::layer::{Layer, LayerParameters, TwoHeadLayer};
use crate::mask::{Mask, MeanCentred, Td0, TdLambda, only_zeros};
use crate::scalar::Scalar;
use core::fmt::Debug;

/// The attention of a [`Model`](super::Model). A [`Mask`] is linear attention under it; [`AverageReward`] has two
/// linear heads. (The literal equations are behind the feature `research`.)
pub trait AttentionMechanism<S: Scalar, const K: usize>: Copy + Debug + PartialEq {
    /// The parameters of a layer.
    type Layer: LayerParameters<Scalar = S>;

    /// The name of this attention in a stored model.
    const KIND: AttentionKind;

    /// The code of the mask in a stored model, 0 to 15: 0 if the trace decay tells it (TD(0), TD(lambda)), 1 for
    /// [`MeanCentred`]; 8 to 15 are free for masks of your own. More than 15 does not compile.
    const MASK: u8;

    /// Returns the attention whose mask has this trace decay, or an error that names `lambda`; one without a trace takes 0
    /// alone.
    fn from_trace_decay(lambda: S) -> Result<Self>;

    /// Returns the trace decay lambda of the mask, 0 without a trace.
    fn trace_decay(&self) -> S {
        S::ZERO
    }
}

/// The attention mechanisms, as a stored model names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum AttentionKind {
    /// Linear, under a [`Mask`]: constant memory, a value function in one pass.
    Linear = 1,
    /// Softmax: needs all columns of the prompt (feature `research`).
    Softmax = 2,
    /// The two linear heads of the average-reward setting, [`AverageReward`].
    TwoHead = 3,
}

/// The two heads of average-reward TD: linear attention under [`MeanCentred`] and under [`Td0`], on
/// tokens with a memory row (K = 2 d + 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AverageReward;

impl<S: Scalar, const K: usize> AttentionMechanism<S, K> for AverageReward {
    type Layer = TwoHeadLayer<S, K>;
    const KIND: AttentionKind = AttentionKind::TwoHead;
    const MASK: u8 = 0;

    fn from_trace_decay(lambda: S) -> Result<Self> {
        only_zeros([lambda], AverageReward)
    }
}

// Not for every mask at once: coherence cannot tell that the other mechanisms are not masks.
macro_rules! linear_attention {
    ($($mask:ty = $code:literal)*) => {$(
        impl<S: Scalar, const K: usize> AttentionMechanism<S, K> for $mask {
            type Layer = Layer<S, K>;
            const KIND: AttentionKind = AttentionKind::Linear;
            const MASK: u8 = $code;

            fn from_trace_decay(lambda: S) -> Result<Self> {
                Mask::from_trace_decays([lambda, S::ZERO])
            }

            fn trace_decay(&self) -> S {
                let [lambda, _] = Mask::<S>::trace_decays(self);
                lambda
            }
        }
    )*};
}

linear_attention!(Td0 = 0 TdLambda<S> = 0 MeanCentred = 1);
