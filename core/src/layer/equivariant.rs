use super::{LayerParameters, LinearLayer};
use crate::block_matrix::{BlockMatrix, SquareMatrix};
use crate::layer::Layer;
use crate::linalg::{keep_apart, zeros};
use crate::scalar::Scalar;
use crate::transition::{Token, check_token_size};
use crate::vector::Vector;
use nalgebra::SMatrix;

/// A layer of ten numbers, which mean the same for every feature dimension:
///
/// ```text
/// P = [ p1 I  p2 I   0 ]      Q = [ q1 I  q2 I   0 ]
///     [ p3 I  p4 I   0 ]          [ q3 I  q4 I   0 ]
///     [  0     0    p5 ]          [  0     0    q5 ]
/// ```
///
/// These are the matrices that commute with every change of the features' signs and order, and with every
/// rotation of them: where the tasks do not change under those, training never leaves them, and the network
/// does not care in which orthonormal basis its features are written. TD(0) with step size alpha is
/// p5 = 1, q1 = -alpha, q2 = alpha (Theorem 1).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EquivariantLayer<S> {
    /// p1 to p5; p5 is the paper's eta.
    pub p: [S; 5],
    /// q1 to q5.
    pub q: [S; 5],
}

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

    /// The nearest layer of ten numbers: the mean of each block's diagonal.
    pub fn project<const D: usize, const K: usize>(layer: &Layer<S, K>) -> Self {
        let mut sums = Self::contract::<D, K>(layer);
        means_of_traces(D, &mut sums.p);
        means_of_traces(D, &mut sums.q);
        sums
    }

    /// The gradient with respect to the ten numbers, from that with respect to P and Q.
    pub fn contract<const D: usize, const K: usize>(gradient: &Layer<S, K>) -> Self {
        EquivariantLayer { p: traces::<S, D, K>(&gradient.p), q: traces::<S, D, K>(&gradient.q) }
    }

    /// The numbers in one lane.
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

/// The product of such a matrix with a column.
#[inline(always)]
pub(crate) fn product<S: Scalar, const D: usize>(
    [m1, m2, m3, m4, m5]: [S; 5],
    x: &Token<S, D, 1>,
) -> Token<S, D, 1> {
    let mut out = *x;
    for i in 0..D {
        out.phi[i] = m1 * x.phi[i] + m2 * x.phi_next[i];
        out.phi_next[i] = m3 * x.phi[i] + m4 * x.phi_next[i];
    }
    out.rewards[0] = m5 * x.rewards[0];
    out
}

/// The numbers of the transposed matrix.
pub(crate) fn transposed<S: Copy>([m1, m2, m3, m4, m5]: [S; 5]) -> [S; 5] {
    [m1, m3, m2, m4, m5]
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

impl<S: Scalar> EquivariantLayer<S> {
    /// P G Q, O(K^2): a combination of G's blocks.
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(crate) fn p_g_q<const D: usize>(&self, g: &BlockMatrix<S, D>) -> BlockMatrix<S, D> {
        let ([p1, p2, p3, p4, p5], [q1, q2, q3, q4, q5]) = (self.p, self.q);
        let rows = |x, x_next| [p1 * x + p2 * x_next, p3 * x + p4 * x_next];
        let columns = |x, x_next| [q1 * x + q3 * x_next, q2 * x + q4 * x_next];
        let mut reward = product(self.p, &g.reward);
        reward.scale(q5);
        // Columns that are there: zeros would be a call on a chip.
        let mut out = BlockMatrix { phi: [reward; D], phi_next: [reward; D], reward };
        for j in 0..D {
            let (phi, phi_next) = (&g.phi[j], &g.phi_next[j]);
            for i in 0..D {
                keep_apart::<S>();
                let [x11, x12] = columns(phi.phi[i], phi_next.phi[i]);
                let [x21, x22] = columns(phi.phi_next[i], phi_next.phi_next[i]);
                [out.phi[j].phi[i], out.phi[j].phi_next[i]] = rows(x11, x21);
                [out.phi_next[j].phi[i], out.phi_next[j].phi_next[i]] = rows(x12, x22);
            }
            let [x1, x2] = columns(phi.rewards[0], phi_next.rewards[0]);
            (out.phi[j].rewards[0], out.phi_next[j].rewards[0]) = (p5 * x1, p5 * x2);
        }
        out
    }
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

impl<S: Scalar> LayerParameters for EquivariantLayer<S> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P", "Q"];
    const ZERO: Self = EquivariantLayer { p: [S::ZERO; 5], q: [S::ZERO; 5] };

    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        [self.p.as_slice(), &self.q].into_iter()
    }

    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        [self.p.as_mut_slice(), &mut self.q].into_iter()
    }
}

/// Ten numbers that move from one layer to another while a context grows: theta = base + d / (n + d) early, for d
/// features after n transitions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UniversalLayer<S> {
    /// Those of a long context.
    pub base: EquivariantLayer<S>,
    /// What is added while it is short; zeros for a layer that does not change.
    pub early: EquivariantLayer<S>,
}

impl<S: Scalar> UniversalLayer<S> {
    /// Each number changed.
    pub fn map<T>(self, f: impl Fn(S) -> T + Copy) -> UniversalLayer<T> {
        let ten =
            |layer: EquivariantLayer<S>| EquivariantLayer { p: layer.p.map(f), q: layer.q.map(f) };
        UniversalLayer { base: ten(self.base), early: ten(self.early) }
    }

    /// base + share early.
    pub fn at(&self, share: S) -> EquivariantLayer<S> {
        let mut layer = self.base;
        layer.p.add_scaled(share, &self.early.p);
        layer.q.add_scaled(share, &self.early.q);
        layer
    }

    /// += what the gradient with respect to [`UniversalLayer::at`] passes back.
    pub(crate) fn add_adjoint(&mut self, share: S, gradient: &EquivariantLayer<S>) {
        self.base.p.add_scaled(S::ONE, &gradient.p);
        self.base.q.add_scaled(S::ONE, &gradient.q);
        self.early.p.add_scaled(share, &gradient.p);
        self.early.q.add_scaled(share, &gradient.q);
    }
}

impl<S: Scalar> LayerParameters for UniversalLayer<S> {
    type Scalar = S;
    const NAMES: &'static [&'static str] = &["P", "Q", "early P", "early Q"];
    const ZERO: Self =
        UniversalLayer { base: EquivariantLayer::ZERO, early: EquivariantLayer::ZERO };

    fn matrices(&self) -> impl Iterator<Item = &[S]> {
        self.base.matrices().chain(self.early.matrices())
    }

    fn matrices_mut(&mut self) -> impl Iterator<Item = &mut [S]> {
        self.base.matrices_mut().chain(self.early.matrices_mut())
    }
}
