//! The attention of a model: which parameters its layers have, and how a stored model names it.

use crate::error::Result;
use crate::layer::{Layer, LayerParameters, TwoHeadLayer};
use crate::mask::{Mask, only_zeros};
use crate::scalar::Scalar;
use core::fmt::Debug;

/// The attention of a [`Model`](super::Model): [`Linear`] attention under a mask, or the two linear heads of
/// [`AverageReward`]. (The literal equations are behind the feature `research`.)
pub trait AttentionMechanism<S: Scalar, const K: usize>: Copy + Debug + PartialEq {
    /// The parameters of a layer.
    type Layer: LayerParameters<Scalar = S>;

    /// The name of this attention in a stored model.
    const KIND: AttentionKind;

    /// The code of the mask in a stored model, 0 to 15: 0 if the trace decay tells it (TD(0), TD(lambda)), 1 for
    /// [`MeanCentred`](crate::mask::MeanCentred), and a mask's own [`Mask::CODE`] from 8 on. More than 15 does not compile.
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
    /// [`Linear`], under a [`Mask`]: constant memory, a value function in one pass.
    Linear = 1,
    /// Softmax: needs all columns of the prompt (feature `research`).
    Softmax = 2,
    /// The two linear heads of the average-reward setting, [`AverageReward`].
    TwoHead = 3,
}

/// The two heads of average-reward TD: linear attention under [`MeanCentred`](crate::mask::MeanCentred) and under
/// [`Td0`](crate::mask::Td0), on tokens with a memory row (K = 2 d + 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(not(feature = "research"), doc(hidden))]
pub struct AverageReward;

impl<S: Scalar, const K: usize> AttentionMechanism<S, K> for AverageReward {
    type Layer = TwoHeadLayer<S, K>;
    const KIND: AttentionKind = AttentionKind::TwoHead;
    const MASK: u8 = 0;

    fn from_trace_decay(lambda: S) -> Result<Self> {
        only_zeros([lambda], AverageReward)
    }
}

/// Linear attention (eq. "linear attention"): LinAttn(Z; P, Q, M) = P Z M (Z^T Q Z), under a [`Mask`] of this crate or of
/// yours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Linear<M>(pub M);

impl<S: Scalar, const K: usize, M: Mask<S>> AttentionMechanism<S, K> for Linear<M> {
    type Layer = Layer<S, K>;
    const KIND: AttentionKind = AttentionKind::Linear;
    // A stored model tells TD(0) and TD(lambda) by the trace decay, and has room for one of them.
    const MASK: u8 = match M::CODE {
        1 | 2 => 0,
        3 => 1,
        code if code >= 8 => code,
        _ => u8::MAX,
    };

    fn from_trace_decay(lambda: S) -> Result<Self> {
        Ok(Linear(M::from_trace_decays([lambda, S::ZERO])?))
    }

    fn trace_decay(&self) -> S {
        let [lambda, _] = self.0.trace_decays();
        lambda
    }
}
