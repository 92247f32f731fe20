//! The sufficient statistic of a context: all that a linear transformer needs of it.

use crate::error::Error;
use crate::linalg::zeros;
use crate::mask::{Mask, Vector};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// What a linear transformer needs of its context: G_0 = Z_0 M Z_0^T, (K, K), and 1/n.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Statistic<S: Scalar, const K: usize> {
    /// G_0.
    pub g: SMatrix<S, K, K>,
    /// 1/n, the normalisation of eq. "Z_l update".
    pub inverse_len: S,
}

impl<S: Scalar, const K: usize> Statistic<S, K> {
    /// The statistic of a prompt's context under a mask.
    ///
    /// # Errors
    /// [`Error::Empty`] if the prompt has no context.
    pub fn of_prompt<const N: usize>(
        prompt: &Prompt<S, K, N>,
        mask: &impl Mask<S>,
    ) -> Result<Self, Error> {
        let inverse_len = prompt.inverse_len()?;
        let mut g = zeros();
        let mut state = Vector::ZERO;
        for z in prompt.context() {
            let (left, right) = mask.factors(&mut state, z, S::ONE);
            crate::linalg::add_outer(&mut g, &left, &right);
        }
        Ok(Statistic { g, inverse_len })
    }
}
