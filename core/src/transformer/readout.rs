//! The weights that layers of linear attention read out of a statistic: dense layers by products of their maps, and layers of
//! Theorem 1's form, each an iteration of TD, in O(D^2).
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

use super::Transformer;
use crate::chip::{not_unrolled, rolled};
use crate::error::{Error, Result};
use crate::layer::Layer;
use crate::linalg::{
    arrays::add_scaled, dot_arrays, identity, mul_to, mul_vector, transpose, transpose_mul_vector,
    zeros,
};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

impl<S: Scalar, const K: usize, const C: usize> Transformer<Layer<S, K>, C> {
    /// Returns (B_{L-1} ... B_0)^T e_K, the vector u with TF_L = -<u, z_q> for every query column z_q.
    ///
    /// The last two layers act on vectors only. For the layer before them B is formed, but its B G B^T is applied factor by
    /// factor; for the layers before that G, B and their product are formed.
    pub fn readout(&self, statistic: &Statistic<S, K>) -> SVector<S, K> {
        let Statistic { g, inverse_len } = statistic;
        match self.depth.checked_sub(3) {
            None => self.last_two_layers(g, *inverse_len, None),
            Some(0) => {
                let mut b = zeros();
                self.layers[0].column_map_to(g, *inverse_len, &mut b);
                transpose_mul_vector(&b, &self.last_two_layers(g, *inverse_len, Some(&b)))
            }
            Some(formed) => self.deep_readout(g, *inverse_len, formed),
        }
    }

    /// Returns the readout of more than three layers; the first `formed` layers form G, B and their product.
    #[inline(never)]
    fn deep_readout(&self, g: &SMatrix<S, K, K>, inverse_len: S, formed: usize) -> SVector<S, K> {
        let (mut g, mut b, mut identity, mut zeros) = (*g, zeros(), identity(), zeros());
        // References, which swap without a copy.
        let (mut product, mut other) = (&mut identity, &mut zeros);
        let mut layers = self.pass();
        for layer in layers.by_ref().take(formed) {
            layer.column_map_to(&g, inverse_len, &mut b);
            mul_to(&b, &g, other);
            mul_to(other, &transpose(&b), &mut g);
            mul_to(&b, product, other);
            core::mem::swap(&mut product, &mut other);
        }
        layers.next().unwrap_or(&self.layers[0]).column_map_to(&g, inverse_len, &mut b);
        let u = self.last_two_layers(&g, inverse_len, Some(&b));
        transpose_mul_vector(product, &transpose_mul_vector(&b, &u))
    }

    /// Returns (B_{L-1} B_{L-2})^T e_K, or B_0^T e_K of a single layer, from G_{L-2} = B G B^T with the
    /// B and G of the layer before (no B: G itself).
    #[inline(never)]
    fn last_two_layers(
        &self,
        g: &SMatrix<S, K, K>,
        inverse_len: S,
        b: Option<&SMatrix<S, K, K>>,
    ) -> SVector<S, K> {
        let times_g = |x: &_| match b {
            None => mul_vector(g, x),
            Some(b) => mul_vector(b, &mul_vector(g, &transpose_mul_vector(b, x))),
        };
        let times_g_transposed = |x: &_| match b {
            None => transpose_mul_vector(g, x),
            Some(b) => mul_vector(b, &transpose_mul_vector(g, &transpose_mul_vector(b, x))),
        };
        // x + (1/n) a
        let plus = |x: &SVector<S, K>, a: &SVector<S, K>| {
            let mut out = *x;
            add_scaled(&mut out.data.0[0], inverse_len, &a.data.0[0]);
            out
        };
        let mut layers = self.pass().rev();
        let (mut e_k, mut p) = (zeros::<S, K, 1>(), zeros::<S, K, 1>());
        e_k[K - 1] = S::ONE;
        let Some(last) = layers.next() else { return e_k };
        for j in 0..K {
            p[j] = last.p.data.0[j][K - 1];
        }
        let Some(before) = layers.next() else {
            return plus(&e_k, &transpose_mul_vector(&last.q, &times_g_transposed(&p)));
        };
        let b_x = |x: &_| plus(x, &mul_vector(&before.p, &times_g(&mul_vector(&before.q, x))));
        let b_transposed_x = |x: &_| {
            let read = times_g_transposed(&transpose_mul_vector(&before.p, x));
            plus(x, &transpose_mul_vector(&before.q, &read))
        };
        // G_{L-1}^T p = B_{L-2} G_{L-2}^T B_{L-2}^T p
        let read = b_x(&times_g_transposed(&b_transposed_x(&p)));
        b_transposed_x(&plus(&e_k, &transpose_mul_vector(&last.q, &read)))
    }
}

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
    let first = dot_arrays(&y, &y);
    for _ in rolled(depth) {
        not_unrolled();
        add_scaled(&mut u, S::ONE, &y);
        let b = y;
        for m in 0..D {
            y[m] = dot_arrays(&n[m], &b);
        }
    }
    for u in &mut u {
        *u *= step;
    }
    if JUDGED && has_grown(dot_arrays(&y, &y), first) {
        return Err(Error::Diverges);
    }
    ValueFunction::from_readout(&u)
}

/// Returns true if an update, given by its square, is more than a hundred times as long as the first one, in any lane.
#[inline(always)]
pub(crate) fn has_grown<S: Scalar>(last: S, first: S) -> bool {
    let excess = last - S::from_f64(1e4) * first;
    (0..S::LANES).any(|lane| excess.lane(lane) > Scalar::ZERO)
}

/// Returns the value function after `depth` layers of Theorem 1's form with any X and Y, from G: b^T and
/// its negative are parts of Q^T (g; g'; 0), so a layer takes two products, O(K^2).
pub(super) fn iterate_any_c<S: Scalar, const D: usize, const K: usize>(
    g: &SMatrix<S, K, K>,
    q: &SMatrix<S, K, K>,
    step: S,
    depth: usize,
) -> Result<ValueFunction<S, D>> {
    let (mut u, mut row) = ([S::ZERO; D], zeros::<S, K, 1>());
    for (row, column) in row.iter_mut().zip(&g.data.0) {
        *row = column[K - 1];
    }
    for _ in rolled(depth) {
        let y = transpose_mul_vector(q, &row);
        for (u, y) in u.iter_mut().zip(&y) {
            *u += step * *y;
        }
        add_scaled(&mut row.data.0[0], step, &transpose_mul_vector(g, &y).data.0[0]);
    }
    ValueFunction::from_readout(&u)
}
