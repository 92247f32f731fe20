//! The sufficient statistic of a context: all that a linear transformer needs of it.

use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// The statistic that a linear transformer needs of its context: G_0 = Z_0 M Z_0^T, (K, K), and 1/n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistic<S: Scalar, const K: usize> {
    /// G_0.
    pub g: SMatrix<S, K, K>,
    /// 1/n, the normalisation of eq. "Z_l update".
    pub inverse_len: S,
}
