use super::{Attention, Mask};
use crate::error::Error;
use crate::linalg::{add_scaled, dot, mul_vector, zeros};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::transformer::Layer;
use nalgebra::SMatrix;

/// Linear attention (eq. "linear attention"): LinAttn(Z; P, Q, M) = P Z M (Z^T Q Z).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinearAttention<M>(
    /// The mask M.
    pub M,
);

impl<S: Scalar, const K: usize, M: Mask<S, K>> Attention<S, K> for LinearAttention<M> {
    /// Eq. "Z_l update": Z + (1/n) P Z M (Z^T Q Z).
    fn apply<const N: usize>(
        &self,
        layer: &Layer<S, K>,
        prompt: &mut Prompt<S, K, N>,
    ) -> Result<(), Error> {
        let inverse_len = prompt.inverse_len()?;
        let attended = attend(&self.0, &layer.q, prompt);
        prompt.add_columns(inverse_len, &layer.p, &attended);
        Ok(())
    }
}

/// Z M (Z^T Q Z), column by column: sum_r (Z M)_r (z_r^T Q z_c). The last column of the result is
/// the query's.
pub(crate) fn attend<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S, K>,
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

/// Z M: column r is the sum of Z's columns weighted by M's column r (the query's column is 0).
fn masked<S: Scalar, const K: usize, const N: usize>(
    mask: &impl Mask<S, K>,
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
