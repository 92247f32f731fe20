//! The paper's constructions: with these parameters each layer of a forward pass is an iteration of an algorithm
//! of [`crate::td::updates`].

use crate::layer::{Layer, TwoHeadLayer};
use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::transition::check_token_size;
use nalgebra::SMatrix;

/// Returns alpha I, the preconditioner of plain batch TD with learning rate alpha, (D, D). Which alpha converges:
/// [`crate::td`](crate::td#step-sizes).
pub fn scaled_identity<S: Scalar, const D: usize>(alpha: S) -> SMatrix<S, D, D> {
    crate::linalg::identity::<S, D>().map(|x| alpha * x)
}

fn unit<S: Scalar, const K: usize>(row: usize, column: usize) -> SMatrix<S, K, K> {
    let mut m = zeros();
    m[(row, column)] = S::ONE;
    m
}

/// Returns the matrix whose (D, D) blocks of features are multiples of C^T: \[\[upper left, upper right\], ..\].
fn blocks<S: Scalar, const D: usize, const K: usize>(
    c: &SMatrix<S, D, D>,
    multiples: [[i8; 2]; 2],
) -> SMatrix<S, K, K> {
    check_token_size::<D, K>();
    let mut m = zeros();
    for (row, multiples) in multiples.into_iter().enumerate() {
        for (column, multiple) in multiples.into_iter().enumerate() {
            for i in 0..D {
                for j in 0..D {
                    m[(row * D + i, column * D + j)] = match multiple {
                        0 => S::ZERO,
                        1 => c[(j, i)],
                        _ => -c[(j, i)],
                    };
                }
            }
        }
    }
    m
}

/// Returns Theorem 1's layer (eq. "Z_0 P Q TD define"), which performs one iteration of preconditioned
/// batch TD(0), for any C_l, (D, D).
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T  C^T  0 ]
///     [ 0  1 ]          [   0    0   0 ]
/// ```
pub fn td0<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    Layer { p: unit(2 * D, 2 * D), q: blocks(c, [[-1, 1], [0, 0]]) }
}

/// Returns the layer of the corollary for one layer (eq. "pq one layer"): with w_0 = 0 the bootstrap term vanishes, so
/// Q needs no upper-right block.
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T  0  0 ]
///     [ 0  1 ]          [   0   0  0 ]
/// ```
pub fn one_layer<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    Layer { p: unit(2 * D, 2 * D), q: blocks(c, [[-1, 0], [0, 0]]) }
}

/// Returns the layer of the corollary for TD(lambda): Theorem 1's. The mask [`TdLambda`](crate::attention::TdLambda) has
/// the eligibility trace.
pub fn td_lambda<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    td0(c)
}

/// Returns the layer of the corollary for the (naive) residual gradient (eq. "P and Q def RG"), for any C_l, (D, D).
///
/// ```text
/// P = [ 0  0 ]      Q = [ -C^T   C^T  0 ]
///     [ 0  1 ]          [  C^T  -C^T  0 ]
///                       [   0     0   0 ]
/// ```
pub fn residual_gradient<S: Scalar, const D: usize, const K: usize>(
    c: &SMatrix<S, D, D>,
) -> Layer<S, K> {
    Layer { p: unit(2 * D, 2 * D), q: blocks(c, [[-1, 1], [1, -1]]) }
}

/// Returns the layer of preconditioned TD, which every layer of a transformer shares: each performs one iteration of batch TD
/// whose step l has the preconditioner C_l = alpha (I - beta Sigma)^l, with the context's own second moment Sigma. The theorem
/// and its proof: [`crate::td::preconditioned`].
///
/// ```text
/// P = [        0          0  0 ]      Q = [ -alpha I  alpha I  0 ]
///     [ -beta / alpha I   0  0 ]          [     0        0     0 ]
///     [        0          0  1 ]          [     0        0     0 ]
/// ```
pub fn preconditioned_td<S: Scalar, const D: usize, const K: usize>(
    alpha: S,
    beta: S,
) -> Layer<S, K> {
    let mut layer = td0(&scaled_identity::<S, D>(alpha));
    for i in 0..D {
        layer.p[(D + i, i)] = -beta / alpha;
    }
    layer
}

/// Returns the two-head layer of the average-reward theorem (eqs. "two-head P matrices", "two-head Q and W"),
/// which performs one iteration of average-reward TD, for any C_l, (D, D), with K = 2 D + 2.
///
/// Head 1 writes the reward row's part of the TD error, centred by its mask; head 2 that of the current weights, from the
/// memory row; W adds both into the memory row. (The paper prints W with 2 d + 1 rows; it must have 2 d + 2.)
pub fn average_reward<S: Scalar, const D: usize, const K: usize>(
    c: &SMatrix<S, D, D>,
) -> TwoHeadLayer<S, K> {
    const {
        assert!(K == 2 * D + 2, "the average-reward construction has K = 2 * D + 2");
    }
    let (reward, memory) = (2 * D, 2 * D + 1);
    let q = blocks(c, [[-1, 1], [0, 0]]);
    TwoHeadLayer {
        p1: unit(reward, reward),
        q1: q,
        w1: unit(memory, reward),
        p2: unit(memory, memory),
        q2: q,
        w2: unit(memory, memory),
    }
}
