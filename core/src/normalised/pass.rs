//! The normalised read without T: layers of ten numbers commute with it.
//!
//! In the units of the context, with M = T^T T / (n + n_0) ([`Metric`]),
//!
//! ```text
//! B_l = I + P_l G_l Q_l M      G_{l+1} = B_l G_l B_l^T      w = -(first d entries of) (B_{L-1} ... B_0)^T e_K
//! ```
//!
//! With three layers the first forms P G Q, a combination of blocks, and every product is one with a vector: O(D^2), where
//! T G T^T takes O(D^3). With more layers the first L - 3 form B and G.

use super::Metric;
use crate::block_matrix::{BlockMatrix, SquareMatrix};
use crate::error::Error;
use crate::layer::{EquivariantLayer, LayerParameters, UniversalLayer, product, transposed};
use crate::scalar::Scalar;
use crate::transformer::Transformer;
use crate::transition::Token;
use crate::value_function::ValueFunction;
use crate::vector::Vector;

/// Layers that form no G.
const LAST: usize = 3;

impl<S: Scalar, const C: usize> Transformer<UniversalLayer<S>, C> {
    /// Returns the value function that at most C layers compute from G(gamma) of a context, where d / (n + d) is
    /// `share`.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if the layers blow up.
    pub(crate) fn value_function<const D: usize>(
        &self,
        share: S,
        g: &BlockMatrix<S, D>,
        metric: &Metric<S, D>,
    ) -> Result<ValueFunction<S, D>, Error> {
        // C is a constant: firmware of a few layers does not hold the way of many.
        let u = if C > LAST && self.depth() > LAST {
            let (mut g, mut product, mut x) = (*g, BlockMatrix::ZERO, BlockMatrix::ZERO);
            product.add_identity();
            for layer in self.pass().take(self.depth() - LAST) {
                let mut b = metric.mul_right(&layer.at(share).p_g_q(&g));
                b.add_identity();
                b.mul_to(&g, &mut x);
                x.mul_transpose_to(&b, &mut g);
                b.mul_to(&product, &mut x);
                product = x;
            }
            let p_g_q = self.layer_from_end(LAST, share).p_g_q(&g);
            let formed = Formed { g: &g, p_g_q: &p_g_q, metric };
            let u = formed.map_transposed(&self.readout_of_last_two(share, &formed));
            product.features_of_transpose_mul_vector(&u).phi
        } else {
            let p_g_q = self.layer_from_end(LAST, share).p_g_q(g);
            let formed = Formed { g, p_g_q: &p_g_q, metric };
            formed.features_of_map_transposed(&self.readout_of_last_two(share, &formed))
        };
        ValueFunction::from_readout(&u)
    }

    /// Returns the last layer (1), or one before it. Fewer layers are the same as more that change nothing.
    #[cfg_attr(target_os = "none", inline(never))]
    fn layer_from_end(&self, count: usize, share: S) -> EquivariantLayer<S> {
        let none = EquivariantLayer::ZERO;
        self.depth().checked_sub(count).map_or(none, |l| self.layer(l).at(share))
    }

    /// (B_{L-1} B_{L-2})^T e_K.
    fn readout_of_last_two<const D: usize>(
        &self,
        share: S,
        before: &Formed<S, D>,
    ) -> Token<S, D, 1> {
        let metric = before.metric;
        let second = self.layer_from_end(2, share);
        let row_of_map = second.row_of_map(metric, &before.row());
        let mut row = before.times_g(true, &row_of_map);
        let read = before.times_g(false, &metric.read(&second.q, &row));
        row.add_scaled(S::ONE, &product(second.p, &read));
        let mut u = self.layer_from_end(1, share).row_of_map(metric, &row);
        let read = before.times_g(true, &product(transposed(second.p), &u));
        u.add_scaled(S::ONE, &metric.read(&transposed(second.q), &read));
        u
    }
}

impl<S: Scalar> EquivariantLayer<S> {
    /// B^T e_K = e_K + M Q^T G^T P^T e_K, of G^T e_K: the last row of P has one entry.
    fn row_of_map<const D: usize>(
        &self,
        metric: &Metric<S, D>,
        row: &Token<S, D, 1>,
    ) -> Token<S, D, 1> {
        let mut out = metric.read(&transposed(self.q).map(|q| self.p[4] * q), row);
        out.rewards[0] += S::ONE;
        out
    }
}

/// B G B^T with B = I + P G Q M.
struct Formed<'a, S, const D: usize> {
    g: &'a BlockMatrix<S, D>,
    p_g_q: &'a BlockMatrix<S, D>,
    metric: &'a Metric<S, D>,
}

impl<S: Scalar, const D: usize> Formed<'_, S, D> {
    /// (B G B^T)^T e_K.
    fn row(&self) -> Token<S, D, 1> {
        let mut row_of_map = self.metric.mul(&self.p_g_q.last_row());
        row_of_map.rewards[0] += S::ONE;
        self.map(&self.g.transpose_mul_vector(&row_of_map))
    }

    /// B G B^T x, or its transposed matrix times x.
    fn times_g(&self, transposed: bool, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        let x = self.map_transposed(x);
        self.map(&if transposed { self.g.transpose_mul_vector(&x) } else { self.g.mul_vector(&x) })
    }

    /// B x.
    #[cfg_attr(target_os = "none", inline(never))]
    fn map(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        self.p_g_q.mul_add(&self.metric.mul(x), x)
    }

    /// B^T x.
    #[cfg_attr(target_os = "none", inline(never))]
    fn map_transposed(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        let mut out = self.metric.mul(&self.p_g_q.transpose_mul_vector(x));
        out.add_scaled(S::ONE, x);
        out
    }

    /// Returns the first D entries of B^T x.
    fn features_of_map_transposed(&self, x: &Token<S, D, 1>) -> [S; D] {
        let mut out = self.p_g_q.features_of_transpose_mul_vector(x).phi;
        self.metric.solve(&mut out);
        out.add_scaled(S::ONE, &x.phi);
        out
    }
}
