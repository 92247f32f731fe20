use super::linear::attend;
use super::{Attention, AttentionKind};
use crate::error::Error;
use crate::layer::TwoHeadLayer;
use crate::linalg::mul;
use crate::mask::{MeanCentred, Td0};
use crate::prompt::Prompt;
use crate::scalar::Scalar;

/// The two heads of average-reward TD: linear attention under [`MeanCentred`] and under [`Td0`], on
/// tokens with a memory row (K = 2 d + 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AverageReward;

impl<S: Scalar, const K: usize> Attention<S, K> for AverageReward {
    type Layer = TwoHeadLayer<S, K>;
    const KIND: AttentionKind = AttentionKind::TwoHead;

    fn of_trace_decay(lambda: S) -> Result<Self, Error> {
        crate::mask::only_zero(lambda, AverageReward)
    }

    /// Eq. "Z two-head update":
    /// Z + (1/n) W \[LinAttn(Z; P1, Q1, M1); LinAttn(Z; P2, Q2, M2)\].
    fn apply<const N: usize>(
        &self,
        layer: &TwoHeadLayer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error> {
        let inverse_len = prompt.inverse_len()?;
        let head1 = attend(&MeanCentred, &layer.q1, prompt);
        let head2 = attend(&Td0, &layer.q2, prompt);
        prompt.add_columns(inverse_len, &mul(&layer.w1, &layer.p1), &head1);
        prompt.add_columns(inverse_len, &mul(&layer.w2, &layer.p2), &head2);
        Ok(())
    }
}
