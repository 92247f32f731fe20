use super::LayerParameters;
use crate::block_matrix::BlockMatrix;
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::transition::Token;
use crate::vector::Vector;

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

/// Returns the numbers of the transposed matrix.
pub(crate) fn transposed<S: Copy>([m1, m2, m3, m4, m5]: [S; 5]) -> [S; 5] {
    [m1, m3, m2, m4, m5]
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
    /// The numbers that are added while the context is short; zeros for a layer that does not change.
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
