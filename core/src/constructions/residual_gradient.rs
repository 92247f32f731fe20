use super::{set_block, unit};
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// The corollary for the (naive) residual gradient (eq. "P and Q def RG"), for any C_l, (D, D).
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T   C^T  0 ]
///     [ 0  1 ]          [  C^T  -C^T  0 ]
///                       [   0     0   0 ]
/// ```
///
/// Its iteration is [`crate::td::residual_gradient::update`].
pub fn residual_gradient<S: Scalar, const D: usize, const K: usize>(
    c: &SMatrix<S, D, D>,
) -> Layer<S, K> {
    let mut q = zeros();
    set_block(&mut q, 0, 0, -S::ONE, c);
    set_block(&mut q, 0, 1, S::ONE, c);
    set_block(&mut q, 1, 0, S::ONE, c);
    set_block(&mut q, 1, 1, -S::ONE, c);
    Layer { p: unit(2 * D, 2 * D), q }
}
