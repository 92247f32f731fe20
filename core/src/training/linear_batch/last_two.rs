//! The last two layers, a and b, of which only the last row of the output is wanted: products with
//! vectors. As G_b = B_a G B_a^T,
//!
//! ```text
//! TF_L = -(z_b + P_b G_b Q_b z_b)[K] = -(z_b[K] + <w, u>)
//! z_b = B_a z      s = Q_b z_b      u = B_a^T s      r = B_a^T p      w = G r
//! ```

use super::{BatchLayer, LayerSum};
use crate::linalg::padded::{
    Columns, add, add_mul_vector, add_outers, dot, mul_vector, scaled, symmetric_outers,
};
use crate::scalar::Scalar;

/// What the last two layers take from the parameters alone, or its adjoint.
#[derive(Clone, Copy)]
pub(super) struct LastRow<S: Scalar, const R: usize> {
    /// p = P_b^T e_K.
    pub(super) p: [S; R],
    /// P_a^T p.
    p_p: [S; R],
}

impl<S: Scalar, const R: usize> LastRow<S, R> {
    pub(super) const ZEROS: Self = LastRow { p: [S::ZERO; R], p_p: [S::ZERO; R] };

    #[inline(always)]
    pub(super) fn of<const K: usize>([a, b]: [&BatchLayer<S, R, K>; 2]) -> Self {
        let p = b.p.transpose_mul_vector(&e_k::<K, S, R>(S::ONE));
        LastRow { p, p_p: a.p.transpose_mul_vector(&p) }
    }

    /// P-bar of a and b += what `self_bar`, complete after the last window, passes back.
    #[inline(always)]
    pub(super) fn backward<const K: usize>(
        &self,
        self_bar: &LastRow<S, R>,
        a: &BatchLayer<S, R, K>,
        sums: &mut [LayerSum<S, R, K>],
        [at_a, at_b]: [usize; 2],
    ) {
        let p_bar = add_mul_vector(&self_bar.p, &a.p.m, &self_bar.p_p);
        add_outers(&mut sums[at_a].p, [(&self.p, &self_bar.p_p)]);
        add_outers(&mut sums[at_b].p, [(&e_k::<K, S, R>(S::ONE), &p_bar)]);
    }
}

/// A window's pass through layers a and b, (K) each.
pub(super) struct LastTwo<S: Scalar, const R: usize> {
    /// Q_a z.
    q_z: [S; R],
    /// G Q_a z.
    g_q_z: [S; R],
    z_b: [S; R],
    /// G P_a^T p.
    g_p_p: [S; R],
    r: [S; R],
    w: [S; R],
    s: [S; R],
    /// P_a^T s.
    p_s: [S; R],
    /// G P_a^T s.
    g_p_s: [S; R],
    u: [S; R],
}

impl<S: Scalar, const R: usize> LastTwo<S, R> {
    #[inline(always)]
    pub(super) fn forward<const K: usize>(
        [a, b]: [&BatchLayer<S, R, K>; 2],
        row: &LastRow<S, R>,
        g: &Columns<S, R, K>,
        z: &[S; R],
    ) -> Self {
        let g_p_p = mul_vector(g, &row.p_p);
        let q_z = mul_vector(&a.q.m, z);
        let g_q_z = mul_vector(g, &q_z);
        let z_b = add_mul_vector(z, &a.p.m, &g_q_z);
        let r = a.q.add_transpose_mul_vector(&row.p, &g_p_p);
        let w = mul_vector(g, &r);
        let s = mul_vector(&b.q.m, &z_b);
        let p_s = a.p.transpose_mul_vector(&s);
        let g_p_s = mul_vector(g, &p_s);
        let u = a.q.add_transpose_mul_vector(&s, &g_p_s);
        LastTwo { q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u }
    }

    /// TF_L.
    #[inline(always)]
    pub(super) fn value<const K: usize>(&self) -> S {
        -(self.z_b[K - 1] + dot::<K, S, R>(&self.w, &self.u))
    }

    /// From the value's adjoint: adds to those of the parameters; writes H, if it is wanted, and
    /// returns z-bar.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "what a pass has read, and where its adjoints go")]
    pub(super) fn backward<const K: usize>(
        &self,
        v_bar: S,
        [a, b]: [&BatchLayer<S, R, K>; 2],
        row: &LastRow<S, R>,
        g: &Columns<S, R, K>,
        z: &[S; R],
        sums: &mut [LayerSum<S, R, K>],
        [at_a, at_b]: [usize; 2],
        row_bar: &mut LastRow<S, R>,
        h: Option<&mut Columns<S, R, K>>,
    ) -> [S; R] {
        let LastTwo { q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u } = self;
        // w and u.
        let (u_bar, w_bar) = (scaled(-v_bar, w), scaled(-v_bar, u));
        let r_bar = mul_vector(g, &w_bar);
        let g_p_s_bar = mul_vector(&a.q.m, &u_bar);
        let p_s_bar = mul_vector(g, &g_p_s_bar);
        let s_bar = add_mul_vector(&u_bar, &a.p.m, &p_s_bar);
        // r.
        add(&mut row_bar.p, &r_bar);
        let g_p_p_bar = mul_vector(&a.q.m, &r_bar);
        row_bar.p_p = add_mul_vector(&row_bar.p_p, g, &g_p_p_bar);
        // s and z_b.
        let z_b_bar = b.q.add_transpose_mul_vector(&e_k::<K, S, R>(-v_bar), &s_bar);
        let g_q_z_bar = a.p.transpose_mul_vector(&z_b_bar);
        let q_z_bar = mul_vector(g, &g_q_z_bar);
        let z_bar = a.q.add_transpose_mul_vector(&z_b_bar, &q_z_bar);

        add_outers(&mut sums[at_a].p, [(s, &p_s_bar), (&z_b_bar, g_q_z)]);
        add_outers(&mut sums[at_a].q, [(g_p_s, &u_bar), (g_p_p, &r_bar), (&q_z_bar, z)]);
        add_outers(&mut sums[at_b].q, [(&s_bar, z_b)]);
        if let Some(h) = h {
            let g_bars =
                [(r, &w_bar), (&g_p_s_bar, p_s), (&g_p_p_bar, &row.p_p), (&g_q_z_bar, q_z)];
            symmetric_outers(h, g_bars);
        }
        z_bar
    }
}

/// s e_K.
#[inline(always)]
fn e_k<const K: usize, S: Scalar, const R: usize>(s: S) -> [S; R] {
    let mut e_k = [S::ZERO; R];
    e_k[K - 1] = s;
    e_k
}
