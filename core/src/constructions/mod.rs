//! The paper's constructions: parameters with which a forward pass is, layer by layer, an algorithm
//! of [`crate::td`]. The files of the two folders bear the same names.

mod average_reward;
mod residual_gradient;
mod td0;
mod td_lambda;

pub use average_reward::average_reward;
pub use residual_gradient::residual_gradient;
pub use td_lambda::td_lambda;
pub use td0::{one_layer, td0};

use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::transition::check_token_size;
use nalgebra::SMatrix;

/// The matrix with a 1 at (row, column) and zeros elsewhere.
fn unit<S: Scalar, const K: usize>(row: usize, column: usize) -> SMatrix<S, K, K> {
    let mut m = zeros();
    m[(row, column)] = S::ONE;
    m
}

/// Writes s C^T into the (D, D) block of `m` at block row and block column.
fn set_block<S: Scalar, const D: usize, const K: usize>(
    m: &mut SMatrix<S, K, K>,
    block_row: usize,
    block_column: usize,
    s: S,
    c: &SMatrix<S, D, D>,
) {
    check_token_size::<D, K>();
    for i in 0..D {
        for j in 0..D {
            m[(block_row * D + i, block_column * D + j)] = s * c[(j, i)];
        }
    }
}

/// alpha I, the preconditioner of plain batch TD with learning rate alpha, (D, D).
pub fn learning_rate<S: Scalar, const D: usize>(alpha: S) -> SMatrix<S, D, D> {
    crate::linalg::scale(alpha, &crate::linalg::identity())
}
