use super::{set_block, unit};
use crate::layer::Layer;
use crate::linalg::zeros;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// Theorem 1 (eq. "Z_0 P Q TD define"): the layer that performs one iteration of preconditioned
/// batch TD(0), for any C_l, (D, D).
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T  C^T  0 ]
///     [ 0  1 ]          [   0    0   0 ]
/// ```
///
/// Its iteration is [`crate::td::td0::update`].
pub fn td0<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    let mut q = zeros();
    set_block(&mut q, 0, 0, -S::ONE, c);
    set_block(&mut q, 0, 1, S::ONE, c);
    Layer { p: unit(2 * D, 2 * D), q }
}

/// The corollary for one layer (eq. "pq one layer"): with w_0 = 0 the bootstrap term vanishes, so
/// Q needs no upper-right block.
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T  0  0 ]
///     [ 0  1 ]          [   0   0  0 ]
/// ```
pub fn one_layer<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    let mut q = zeros();
    set_block(&mut q, 0, 0, -S::ONE, c);
    Layer { p: unit(2 * D, 2 * D), q }
}
