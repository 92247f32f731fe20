use super::{Attention, AverageReward};
use crate::error::Result;
use crate::layer::{Layer, TwoHeadLayer};
use crate::linalg::{add_scaled, dot, mul, mul_vector, zeros};
use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// Linear attention (eq. "linear attention"): LinAttn(Z; P, Q, M) = P Z M (Z^T Q Z).
// One impl for each mask: coherence cannot know that the other mechanisms are no masks.
macro_rules! linear_attention {
    ($($mask:ty)*) => {$(
        impl<S: Scalar, const K: usize> Attention<S, K> for $mask {
            /// Computes eq. "Z_l update": Z + (1/n) P Z M (Z^T Q Z).
            fn apply<const N: usize>(
                &self,
                layer: &Layer<S, K>,
                prompt: &mut Prompt<S, K, N>,
            ) -> Result<()> {
                let inverse_len = prompt.inverse_len()?;
                let attended = attend(self, &layer.q, prompt);
                prompt.add_columns(inverse_len, &layer.p, &attended);
                Ok(())
            }
        }
    )*};
}

linear_attention!(Td0 TdLambda<S> MeanCentred);

impl<S: Scalar, const K: usize> Attention<S, K> for AverageReward {
    /// Computes eq. "Z two-head update":
    /// Z + (1/n) W \[LinAttn(Z; P1, Q1, M1); LinAttn(Z; P2, Q2, M2)\].
    fn apply<const N: usize>(
        &self,
        layer: &TwoHeadLayer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<()> {
        let inverse_len = prompt.inverse_len()?;
        let head1 = attend(&MeanCentred, &layer.q1, prompt);
        let head2 = attend(&Td0, &layer.q2, prompt);
        prompt.add_columns(inverse_len, &mul(&layer.w1, &layer.p1), &head1);
        prompt.add_columns(inverse_len, &mul(&layer.w2, &layer.p2), &head2);
        Ok(())
    }
}

/// Computes Z M (Z^T Q Z), column by column: sum_r (Z M)_r (z_r^T Q z_c). The last column of the result is
/// the query's.
fn attend<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S>,
    q: &SMatrix<S, K, K>,
    prompt: &Prompt<S, K, N>,
) -> Prompt<S, K, N> {
    let masked = masked(mask, prompt);
    let mut out = prompt.clone();
    for z_c in out.columns_mut() {
        let q_z = mul_vector(q, z_c);
        let mut sum = zeros();
        for (r, z_r) in prompt.context().iter().enumerate() {
            add_scaled(&mut sum, dot(z_r, &q_z), masked.column(r));
        }
        *z_c = sum;
    }
    out
}

/// Computes Z M: column r is the sum of Z's columns weighted by M's column r (the query's column is 0).
fn masked<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S>,
    prompt: &Prompt<S, K, N>,
) -> Prompt<S, K, N> {
    let n = prompt.context_len();
    let mut out = prompt.clone();
    for (r, column) in out.columns_mut().enumerate() {
        let mut sum = zeros();
        for j in 0..=n {
            let m_jr = mask.entry(j, r, n);
            // Masks are the same in every lane, so this branch does not depend on a lane's value.
            if m_jr != S::ZERO {
                add_scaled(&mut sum, m_jr, prompt.column(j));
            }
        }
        *column = sum;
    }
    out
}
