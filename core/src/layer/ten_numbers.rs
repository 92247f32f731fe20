//! Layers of ten numbers as matrices, and their gradients: what the normalised read with its transformation
//! written out, and training, need of them.

use super::equivariant::{product, transposed};
use super::{EquivariantLayer, Layer, LinearLayer, UniversalLayer};
use crate::block_matrix::{BlockMatrix, SquareMatrix};
use crate::linalg::zeros;
use crate::scalar::Scalar;
use crate::transition::{Token, check_token_size};
use crate::vector::Vector;
use nalgebra::SMatrix;

impl<S: Scalar> EquivariantLayer<S> {
    /// P and Q for D features, (K, K) each: the literal form.
    ///
    /// ```
    /// use ictd_core::layer::EquivariantLayer;
    ///
    /// let layer = EquivariantLayer { p: [0.0, 0.0, 0.0, 0.0, 1.0], q: [-0.5, 0.5, 0.0, 0.0, 0.0] };
    /// let td0 = ictd_core::constructions::td0(&ictd_core::constructions::learning_rate::<f64, 3>(0.5));
    /// assert_eq!(layer.dense::<3, 7>(), td0);
    /// ```
    pub fn dense<const D: usize, const K: usize>(&self) -> Layer<S, K> {
        Layer { p: dense::<S, D, K>(&self.p), q: dense::<S, D, K>(&self.q) }
    }

    /// Returns the nearest layer of ten numbers: the mean of each block's diagonal.
    pub fn project<const D: usize, const K: usize>(layer: &Layer<S, K>) -> Self {
        let mut sums = Self::contract::<D, K>(layer);
        means_of_traces(D, &mut sums.p);
        means_of_traces(D, &mut sums.q);
        sums
    }

    /// Returns the gradient with respect to the ten numbers, from that with respect to P and Q.
    pub fn contract<const D: usize, const K: usize>(gradient: &Layer<S, K>) -> Self {
        EquivariantLayer { p: traces::<S, D, K>(&gradient.p), q: traces::<S, D, K>(&gradient.q) }
    }

    /// Returns the numbers in one lane.
    pub fn lane(&self, lane: usize) -> EquivariantLayer<S::Element> {
        EquivariantLayer { p: self.p.map(|x| x.lane(lane)), q: self.q.map(|x| x.lane(lane)) }
    }
}

fn dense<S: Scalar, const D: usize, const K: usize>(x: &[S; 5]) -> SMatrix<S, K, K> {
    check_token_size::<D, K>();
    let mut m = zeros::<S, K, K>();
    write_dense(D, K, x, m.as_mut_slice());
    m
}

fn traces<S: Scalar, const D: usize, const K: usize>(m: &SMatrix<S, K, K>) -> [S; 5] {
    check_token_size::<D, K>();
    let mut x = [S::ZERO; 5];
    add_traces(D, K, m.as_slice(), &mut x);
    x
}

/// Writes the matrix of five numbers for d features, column by column of `rows` >= 2d + 1 numbers.
pub(crate) fn write_dense<S: Scalar>(d: usize, rows: usize, x: &[S], m: &mut [S]) {
    m.fill(S::ZERO);
    for i in 0..d {
        m[i * rows + i] = x[0];
        m[(d + i) * rows + i] = x[1];
        m[i * rows + d + i] = x[2];
        m[(d + i) * rows + d + i] = x[3];
    }
    m[2 * d * rows + 2 * d] = x[4];
}

/// From the traces of blocks to the means of their diagonals.
pub(crate) fn means_of_traces<S: Scalar>(d: usize, x: &mut [S]) {
    let inverse_d = S::ONE / S::from_count(d as u64);
    for x in &mut x[..4] {
        *x = inverse_d * *x;
    }
}

/// Adds to five numbers the trace of each block of such a matrix.
pub(crate) fn add_traces<S: Scalar>(d: usize, rows: usize, m: &[S], x: &mut [S]) {
    for i in 0..d {
        x[0] += m[i * rows + i];
        x[1] += m[(d + i) * rows + i];
        x[2] += m[i * rows + d + i];
        x[3] += m[(d + i) * rows + d + i];
    }
    x[4] += m[2 * d * rows + 2 * d];
}

/// G M for such a matrix M.
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(crate) fn mul_right<S: Scalar, const D: usize>(
    g: &BlockMatrix<S, D>,
    [m1, m2, m3, m4, m5]: [S; 5],
) -> BlockMatrix<S, D> {
    let mut out = BlockMatrix::ZERO;
    for j in 0..D {
        out.phi[j].add_scaled(m1, &g.phi[j]);
        out.phi[j].add_scaled(m3, &g.phi_next[j]);
        out.phi_next[j].add_scaled(m2, &g.phi[j]);
        out.phi_next[j].add_scaled(m4, &g.phi_next[j]);
    }
    out.reward.add_scaled(m5, &g.reward);
    out
}

/// M G for such a matrix M.
#[cfg_attr(not(target_os = "none"), inline(always))]
pub(crate) fn mul_left<S: Scalar, const D: usize>(
    m: [S; 5],
    g: &BlockMatrix<S, D>,
) -> BlockMatrix<S, D> {
    let mut out = *g;
    for column in out.columns_mut() {
        *column = product(m, column);
    }
    out
}

impl<S: Scalar, const D: usize> LinearLayer<BlockMatrix<S, D>> for EquivariantLayer<S> {
    #[inline(always)]
    fn p(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        product(self.p, x)
    }

    #[inline(always)]
    fn p_transposed(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        product(transposed(self.p), x)
    }

    #[inline(always)]
    fn q(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        product(self.q, x)
    }

    #[inline(always)]
    fn q_transposed(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        product(transposed(self.q), x)
    }

    fn last_row_of_p(&self) -> Token<S, D, 1> {
        Token { rewards: [self.p[4]], ..Token::ZERO }
    }

    /// O(K^2): P G Q is a combination of G's blocks.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    fn column_map_to(&self, g: &BlockMatrix<S, D>, inverse_len: S, b: &mut BlockMatrix<S, D>) {
        *b = mul_left(self.p.map(|p| inverse_len * p), &mul_right(g, self.q));
        b.add_identity();
    }
}

impl<S: Scalar> UniversalLayer<S> {
    /// += what the gradient with respect to [`UniversalLayer::at`] passes back.
    pub(crate) fn add_adjoint(&mut self, share: S, gradient: &EquivariantLayer<S>) {
        self.base.p.add_scaled(S::ONE, &gradient.p);
        self.base.q.add_scaled(S::ONE, &gradient.q);
        self.early.p.add_scaled(share, &gradient.p);
        self.early.q.add_scaled(share, &gradient.q);
    }
}
