//! Theorem 1's form in O(D^2) a layer: layers that are one iteration of TD each, done as that.
//!
//! With P = eta e_K e_K^T and Q = [X -X 0; Y -Y 0; 0 0 0] a layer changes the reward's row alone, by
//! b^T on phi and -b^T on phi':
//!
//! ```text
//! y = X^T g + Y^T g'        b = (eta / n) y        u += b        g += A^T b        g' += A'^T b
//! ```
//!
//! from g and g', the features' part of the last row of G, A = G_11 - G_21 and A' = G_12 - G_22. Of TD(0)
//! and TD(lambda), X = -C^T, Y = 0, g = sum r e and A^T = sum e (phi - gamma phi')^T: w = -u is the weight
//! vector that batch TD iterates.

use crate::entrywise::Entrywise;
use crate::error::{Error, Result};
use crate::linalg::{dot_arrays, transpose_mul_vector, zeros};
use crate::scalar::Scalar;
use crate::value_function::ValueFunction;
use nalgebra::SMatrix;

/// Returns the value function after `depth` layers with X = x I, Y = 0 and step eta / n: y <- (I + step x A^T) y.
///
/// The first statistic gives the reward's row, the second the features' blocks; with one head they are the same. If JUDGED,
/// an update that has grown a hundredfold from the first layer to the last is refused.
pub(super) fn iterate<S: Scalar, const D: usize, const K: usize, const JUDGED: bool>(
    [rewards, features]: [&SMatrix<S, K, K>; 2],
    x: S,
    step: S,
    depth: usize,
) -> Result<ValueFunction<S, D>> {
    let (mut n, mut y, mut u) = ([[S::ZERO; D]; D], [S::ZERO; D], [S::ZERO; D]);
    let scale = step * x;
    for j in 0..D {
        let column = &features.data.0[j];
        for i in 0..D {
            n[j][i] = scale * (column[i] - column[D + i]);
        }
        n[j][j] += S::ONE;
        y[j] = x * rewards.data.0[j][2 * D];
    }
    let first = y.square();
    for _ in 0..depth {
        // `black_box` keeps LLVM from unrolling the loop, which saves flash.
        core::hint::black_box(&());
        u.add_scaled(S::ONE, &y);
        let b = y;
        for m in 0..D {
            y[m] = dot_arrays(&n[m], &b);
        }
    }
    for u in &mut u {
        *u *= step;
    }
    let excess = y.square() - S::from_f64(1e4) * first;
    if JUDGED && (0..S::LANES).any(|lane| excess.lane(lane) > Scalar::ZERO) {
        return Err(Error::Diverges);
    }
    ValueFunction::from_readout(&u)
}

/// Returns the value function after `depth` layers of Theorem 1's form with any X and Y, from G: b^T and
/// its negative are parts of Q^T (g; g'; 0), so a layer takes two products, O(K^2).
pub(super) fn iterate_preconditioned<S: Scalar, const D: usize, const K: usize>(
    g: &SMatrix<S, K, K>,
    q: &SMatrix<S, K, K>,
    step: S,
    depth: usize,
) -> Result<ValueFunction<S, D>> {
    let (mut u, mut row) = ([S::ZERO; D], zeros::<S, K, 1>());
    for (row, column) in row.iter_mut().zip(&g.data.0) {
        *row = column[K - 1];
    }
    for _ in 0..depth {
        core::hint::black_box(&());
        let y = transpose_mul_vector(q, &row);
        for (u, y) in u.iter_mut().zip(&y) {
            *u += step * *y;
        }
        row.add_scaled(step, &transpose_mul_vector(g, &y));
    }
    ValueFunction::from_readout(&u)
}
