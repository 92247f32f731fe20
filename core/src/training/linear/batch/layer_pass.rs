//! The layers of a pass. Those before the last two form their maps B = I + A.
//!
//! ```text
//! A = P G Q      V = G + A G      U = G + G A^T      G' = B G B^T = V + V A^T      z' = B z
//! ```
//!
//! and back, with H = G-bar:
//!
//! ```text
//! A-bar = H U^T + H^T V + z-bar z^T    P-bar += A-bar (G Q)^T      Q-bar += G^T P^T A-bar
//! H <- B^T H B + E, E = P^T A-bar Q^T                              z-bar <- B^T z-bar
//! ```
//!
//! If G is symmetric no more is needed than H = G-bar + G-bar^T, as U is V^T:
//!
//! ```text
//! A-bar = H V + z-bar z^T              H <- B^T H B + E + E^T
//! ```

use crate::linalg::any_size::{
    Addend, Operands, Transposable, add, add_outers, dot, mirror, mul, mul_transpose,
    mul_transpose_symmetric, mul_vectors, scaled, symmetric_outers, transpose_mul,
    transpose_mul_vectors,
};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::training::linear::shape::{copy, last, layer_mut, pieces, split, write_last};
use crate::training::network::{BatchLoss, Valued};

pub(super) struct LayerPass<'a, S> {
    pub(super) g: &'a mut [S],
    pub(super) a: &'a mut [S],
    v: &'a mut [S],
    /// U; empty if G is symmetric.
    u: &'a mut [S],
    pub(super) z: &'a mut [S],
}

pub(super) struct LayerPasses<'a, S> {
    pub(super) k: usize,
    /// The length of one layer's matrices.
    pub(super) len: usize,
    pub(super) matrices: &'a mut [S],
    pub(super) columns: &'a mut [S],
}

impl<S: Scalar> LayerPasses<'_, S> {
    #[inline(always)]
    pub(super) fn pair(&mut self, l: usize) -> (LayerPass<'_, S>, LayerPass<'_, S>) {
        let [matrices, next_matrices] = pieces(self.matrices, self.len, l);
        let [z, next_z] = pieces(self.columns, self.k, l);
        (LayerPass::within(self.k, matrices, z), LayerPass::within(self.k, next_matrices, next_z))
    }

    #[inline(always)]
    pub(super) fn at(&mut self, l: usize) -> LayerPass<'_, S> {
        let ([matrices], [z]) =
            (pieces(self.matrices, self.len, l), pieces(self.columns, self.k, l));
        LayerPass::within(self.k, matrices, z)
    }
}

impl<'a, S: Scalar> LayerPass<'a, S> {
    #[inline(always)]
    fn within(k: usize, matrices: &'a mut [S], z: &'a mut [S]) -> Self {
        let [g, a, v, u] = split(matrices, k * k);
        LayerPass { g, a, v, u, z }
    }

    #[inline(always)]
    pub(super) fn is_symmetric(&self) -> bool {
        self.u.is_empty()
    }

    /// Computes out = onto + G^T x.
    #[inline(always)]
    fn transpose_g_mul_vectors<const M: usize>(&self, k: usize, vectors: [Operands<S>; M]) {
        if self.is_symmetric() {
            mul_vectors(k, self.g, vectors);
        } else {
            transpose_mul_vectors(k, self.g, vectors);
        }
    }

    /// Computes A, and G Q on the way.
    #[inline(always)]
    pub(super) fn form(&mut self, k: usize, [p, q]: [&[S]; 2], g_q: &mut [S]) {
        mul(k, g_q, Addend::Zero, self.g, q);
        mul(k, self.a, Addend::Zero, p, g_q);
    }

    #[inline(always)]
    pub(super) fn forward(&mut self, k: usize, next: &mut LayerPass<S>) {
        mul(k, self.v, Addend::Other(self.g), self.a, self.g);
        if self.is_symmetric() {
            mul_transpose_symmetric(k, next.g, Addend::Other(self.v), self.v, self.a);
        } else {
            mul_transpose(k, self.u, Addend::Other(self.g), self.g, self.a);
            mul_transpose(k, next.g, Addend::Other(self.v), self.v, self.a);
        }
        mul_vectors(k, self.a, [(next.z, Addend::Other(self.z), self.z)]);
    }

    /// Computes A-bar = onto + H U^T + H^T V + z-bar z^T, from H and z-bar of the next layer.
    #[inline(always)]
    pub(super) fn a_bar(&self, k: usize, a_bar: &mut [S], onto: Addend<S>, h: &[S], z_bar: &[S]) {
        if self.is_symmetric() {
            mul(k, a_bar, onto, h, self.v);
        } else {
            mul_transpose(k, a_bar, onto, h, self.u);
            transpose_mul(k, a_bar, Addend::InPlace, h, self.v);
        }
        add_outers(k, a_bar, [(z_bar, &*self.z)]);
    }

    /// Adds to its parameters' adjoints, from H and z-bar of the next layer, and turns these into its own.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        k: usize,
        ([p, q], g_q): ([&[S]; 2], &[S]),
        [p_sum, q_sum]: [&mut [S]; 2],
        h: &mut [S],
        z_bar: &mut [S],
        [a_bar, product, h_b]: &mut [&mut [S]; 3],
    ) {
        self.a_bar(k, a_bar, Addend::Zero, h, z_bar);
        mul_transpose(k, p_sum, Addend::InPlace, a_bar, g_q);
        // P^T A-bar
        transpose_mul(k, product, Addend::Zero, p, a_bar);
        if self.is_symmetric() {
            mul(k, q_sum, Addend::InPlace, self.g, product);
        } else {
            transpose_mul(k, q_sum, Addend::InPlace, self.g, product);
        }
        let e = a_bar;
        mul_transpose(k, e, Addend::Zero, product, q);

        mul(k, h_b, Addend::Other(h), h, self.a);
        transpose_mul(k, h, Addend::Other(h_b), self.a, h_b);
        if self.is_symmetric() {
            add_symmetric(k, h, e);
        } else {
            add(h, e);
        }
        // z-bar + A^T z-bar.
        let [z_next] = split(product, k);
        transpose_mul_vectors(k, self.a, [(&mut *z_next, Addend::Other(z_bar), z_bar)]);
        copy(z_bar, z_next);
    }
}

/// Computes H += E + E^T for a symmetric H: exactly symmetric again.
#[inline(always)]
fn add_symmetric<S: Scalar>(k: usize, h: &mut [S], e: &[S]) {
    for j in 0..k {
        for i in 0..=j {
            keep_apart::<S>();
            let (upper, lower) = (e.get(j * k + i), e.get(i * k + j));
            if let (Some(h), Some(upper), Some(lower)) = (h.get_mut(j * k + i), upper, lower) {
                *h += *upper + *lower;
            }
        }
    }
    mirror(k, h);
}

pub(super) const VECTORS: usize = 10 + 11;

/// The last two layers, a and b: only the last row of their output is needed, so they take products with
/// vectors. As G_b = B_a G B_a^T,
///
/// ```text
/// TF_L = -(z_b + P_b G_b Q_b z_b)[K] = -(z_b[K] + <w, u>)
/// z_b = B_a z      s = Q_b z_b      u = B_a^T s      r = B_a^T p      w = G^T r
/// ```
///
pub(super) struct LastTwo<'a, S> {
    pub(super) p_a: Transposable<'a, S>,
    pub(super) q_a: Transposable<'a, S>,
    pub(super) q_b: Transposable<'a, S>,
    /// Their places among the layers.
    pub(super) places: [usize; 2],
    /// p, the last row of P_b.
    pub(super) p: &'a [S],
    /// P_a^T p.
    pub(super) p_p: &'a [S],
}

/// The adjoints that the last two layers add to (of all layers' parameters, of p and of P_a^T p), and those that they
/// write: z-bar and, if an earlier layer needs it, H.
pub(super) struct LastAdjoints<'a, S> {
    pub(super) sums: &'a mut [S],
    pub(super) p: &'a mut [S],
    pub(super) p_p: &'a mut [S],
    pub(super) z: &'a mut [S],
    pub(super) h: Option<&'a mut [S]>,
}

impl<S: Scalar> LastTwo<'_, S> {
    /// Passes a window through both layers. Takes TF_L to the loss, and backpropagates its adjoint; returns false if it
    /// has none.
    #[inline(always)]
    pub(super) fn pass(
        &self,
        k: usize,
        vectors: &mut [S],
        step: &LayerPass<S>,
        loss: &mut BatchLoss<S>,
        valued: &Valued<S>,
        adjoints: LastAdjoints<S>,
    ) -> bool {
        let LastTwo { p_a, q_a, q_b, places: [at_a, at_b], p, p_p } = *self;
        let LastAdjoints { sums, p: p_bar, p_p: p_p_bar, z: z_bar, h } = adjoints;
        let z = &*step.z;
        let (forward, bars) = vectors.split_at_mut_checked(10 * k).unwrap_or_default();
        // Products are named by their factors: p_s is P_a^T s.
        let [q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u] = split(forward, k);
        q_a.mul_vectors(k, [(q_z, Addend::Zero, z)]);
        if step.is_symmetric() {
            mul_vectors(k, step.g, [(g_p_p, Addend::Zero, p_p), (g_q_z, Addend::Zero, q_z)]);
        } else {
            transpose_mul_vectors(k, step.g, [(g_p_p, Addend::Zero, p_p)]);
            mul_vectors(k, step.g, [(g_q_z, Addend::Zero, q_z)]);
        }
        p_a.mul_vectors(k, [(z_b, Addend::Other(z), g_q_z)]);
        q_a.transpose_mul_vectors(k, [(r, Addend::Other(p), g_p_p)]);
        q_b.mul_vectors(k, [(s, Addend::Zero, z_b)]);
        p_a.transpose_mul_vectors(k, [(p_s, Addend::Zero, s)]);
        step.transpose_g_mul_vectors(k, [(w, Addend::Zero, r), (g_p_s, Addend::Zero, p_s)]);
        q_a.transpose_mul_vectors(k, [(u, Addend::Other(s), g_p_s)]);
        let Some(v_bar) = loss.take(valued, -(last(z_b) + dot(w, u))) else { return false };

        let [
            u_bar,
            w_bar,
            r_bar,
            g_p_s_bar,
            p_s_bar,
            s_bar,
            g_p_p_bar,
            z_b_bar,
            g_q_z_bar,
            q_z_bar,
            e_k,
        ] = split(bars, k);
        // w and u.
        scaled(u_bar, -v_bar, w);
        scaled(w_bar, -v_bar, u);
        mul_vectors(k, step.g, [(r_bar, Addend::Zero, w_bar)]);
        q_a.mul_vectors(k, [(g_p_s_bar, Addend::Zero, u_bar), (g_p_p_bar, Addend::Zero, r_bar)]);
        let onto_p_p = (p_p_bar, Addend::InPlace, &*g_p_p_bar);
        mul_vectors(k, step.g, [(p_s_bar, Addend::Zero, g_p_s_bar), onto_p_p]);
        p_a.mul_vectors(k, [(s_bar, Addend::Other(u_bar), p_s_bar)]);
        // r.
        add(p_bar, r_bar);
        // s and z_b.
        write_last(e_k, -v_bar);
        q_b.transpose_mul_vectors(k, [(z_b_bar, Addend::Other(e_k), s_bar)]);
        p_a.transpose_mul_vectors(k, [(g_q_z_bar, Addend::Zero, z_b_bar)]);
        step.transpose_g_mul_vectors(k, [(q_z_bar, Addend::Zero, g_q_z_bar)]);
        q_a.transpose_mul_vectors(k, [(z_bar, Addend::Other(z_b_bar), q_z_bar)]);

        let [p_sum, q_sum] = layer_mut(k * k, sums, at_a);
        add_outers(k, p_sum, [(s, p_s_bar), (z_b_bar, g_q_z)]);
        add_outers(k, q_sum, [(g_p_s, u_bar), (g_p_p, r_bar), (q_z_bar, z)]);
        let [_, q_sum] = layer_mut(k * k, sums, at_b);
        add_outers(k, q_sum, [(s_bar, z_b)]);
        if let Some(h) = h {
            let g_bars: [(&[S], &[S]); 4] =
                [(r, w_bar), (p_s, g_p_s_bar), (p_p, g_p_p_bar), (g_q_z_bar, q_z)];
            if step.is_symmetric() {
                symmetric_outers(k, h, g_bars);
            } else {
                h.fill(S::ZERO);
                add_outers(k, h, g_bars);
            }
        }
        true
    }
}
