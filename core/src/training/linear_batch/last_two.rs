//! The last two layers, a and b, of which only the last row of the output is wanted: products with
//! vectors. As G_b = B_a G B_a^T,
//!
//! ```text
//! TF_L = -(z_b + P_b G_b Q_b z_b)[K] = -(z_b[K] + <w, u>)
//! z_b = B_a z      s = Q_b z_b      u = B_a^T s      r = B_a^T p      w = G^T r
//! ```

use super::formed::Step;
use crate::linalg::padded::{
    Onto, Size, add, add_outers, dot, scaled, short_mul_vector, symmetric_outers,
};
use crate::scalar::Scalar;
use crate::training::work::{BatchLayer, Sums, product, products, split};

/// What the last two layers take from the parameters alone, or its adjoint.
pub(super) struct LastRow<'a, S> {
    /// p = P_b^T e_K.
    pub(super) p: &'a mut [S],
    /// P_a^T p.
    p_p: &'a mut [S],
}

impl<'a, S: Scalar> LastRow<'a, S> {
    /// Vectors that it takes.
    pub(super) const VECTORS: usize = 2;

    #[inline(always)]
    pub(super) fn zeros(size: Size, vectors: &'a mut [S]) -> Self {
        vectors.fill(S::ZERO);
        let [p, p_p] = split(vectors, size.rows);
        LastRow { p, p_p }
    }

    #[inline(always)]
    pub(super) fn form(&mut self, size: Size, [a, b]: &[BatchLayer<S>; 2], e_k: &mut [S]) {
        set_e_k(size, e_k, S::ONE);
        b.p.transpose_mul_vector(size, self.p, Onto::Zeros, e_k);
        a.p.transpose_mul_vector(size, self.p_p, Onto::Zeros, self.p);
    }

    /// P-bar of a and b += what `self_bar`, complete after the last window, passes back.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        size: Size,
        self_bar: &LastRow<S>,
        a: &BatchLayer<S>,
        sums: &mut Sums<S>,
        [at_a, at_b]: [usize; 2],
        [e_k, p_bar]: [&mut [S]; 2],
    ) {
        set_e_k(size, e_k, S::ONE);
        short_mul_vector(size, p_bar, Onto::Other(self_bar.p), a.p.m, self_bar.p_p);
        add_outers(size, sums.at(at_a).p, [(&*self.p, &*self_bar.p_p)]);
        add_outers(size, sums.at(at_b).p, [(&*e_k, &*p_bar)]);
    }
}

/// A window's pass through layers a and b, (K) each.
pub(super) struct LastTwo<'a, S> {
    /// Q_a z.
    q_z: &'a mut [S],
    /// G Q_a z.
    g_q_z: &'a mut [S],
    z_b: &'a mut [S],
    /// G^T P_a^T p.
    g_p_p: &'a mut [S],
    r: &'a mut [S],
    w: &'a mut [S],
    s: &'a mut [S],
    /// P_a^T s.
    p_s: &'a mut [S],
    /// G^T P_a^T s.
    g_p_s: &'a mut [S],
    u: &'a mut [S],
    /// Room for the adjoints.
    bars: &'a mut [S],
}

impl<'a, S: Scalar> LastTwo<'a, S> {
    /// Vectors that it takes.
    pub(super) const VECTORS: usize = 10 + 11;

    #[inline(always)]
    pub(super) fn within(size: Size, vectors: &'a mut [S]) -> Self {
        vectors.fill(S::ZERO);
        let (forward, bars) = vectors.split_at_mut(10 * size.rows);
        let [q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u] = split(forward, size.rows);
        LastTwo { q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u, bars }
    }

    /// TF_L.
    #[inline(always)]
    pub(super) fn forward(
        &mut self,
        size: Size,
        [a, b]: &[BatchLayer<S>; 2],
        row: &LastRow<S>,
        step: &Step<S>,
    ) -> S {
        let z = &*step.z;
        product(size, self.q_z, a.q.m, z);
        if step.is_symmetric() {
            let both = [&mut *self.g_p_p, &mut *self.g_q_z];
            step.g_times_both::<false>(size, both, [Onto::Zeros; 2], [row.p_p, self.q_z]);
        } else {
            step.g_t_times(size, self.g_p_p, Onto::Zeros, row.p_p);
            step.g_times(size, self.g_q_z, Onto::Zeros, self.q_z);
        }
        short_mul_vector(size, self.z_b, Onto::Other(z), a.p.m, self.g_q_z);
        a.q.transpose_mul_vector(size, self.r, Onto::Other(row.p), self.g_p_p);
        product(size, self.s, b.q.m, self.z_b);
        a.p.transpose_mul_vector(size, self.p_s, Onto::Zeros, self.s);
        let both = [&mut *self.w, &mut *self.g_p_s];
        step.g_times_both::<true>(size, both, [Onto::Zeros; 2], [self.r, self.p_s]);
        a.q.transpose_mul_vector(size, self.u, Onto::Other(self.s), self.g_p_s);
        -(self.z_b[size.k - 1] + dot(size, self.w, self.u))
    }

    /// From the value's adjoint: adds to those of the parameters; writes H, if it is wanted, and
    /// z-bar.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "what a pass has read, and where its adjoints go")]
    pub(super) fn backward(
        &mut self,
        size: Size,
        v_bar: S,
        [a, b]: &[BatchLayer<S>; 2],
        row: &LastRow<S>,
        step: &Step<S>,
        sums: &mut Sums<S>,
        [at_a, at_b]: [usize; 2],
        row_bar: &mut LastRow<S>,
        h: Option<&mut [S]>,
        z_bar: &mut [S],
    ) {
        let LastTwo { q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u, bars } = self;
        let z = &*step.z;
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
        ] = split(bars, size.rows);
        // w and u.
        scaled(u_bar, -v_bar, w);
        scaled(w_bar, -v_bar, u);
        step.g_times(size, r_bar, Onto::Zeros, w_bar);
        products(size, [&mut *g_p_s_bar, &mut *g_p_p_bar], a.q.m, [u_bar, r_bar]);
        let both = [&mut *p_s_bar, &mut *row_bar.p_p];
        let ontos = [Onto::Zeros, Onto::Itself];
        step.g_times_both::<false>(size, both, ontos, [g_p_s_bar, g_p_p_bar]);
        short_mul_vector(size, s_bar, Onto::Other(u_bar), a.p.m, p_s_bar);
        // r.
        add(row_bar.p, r_bar);
        // s and z_b.
        set_e_k(size, e_k, -v_bar);
        b.q.transpose_mul_vector(size, z_b_bar, Onto::Other(e_k), s_bar);
        a.p.transpose_mul_vector(size, g_q_z_bar, Onto::Zeros, z_b_bar);
        step.g_t_times(size, q_z_bar, Onto::Zeros, g_q_z_bar);
        a.q.transpose_mul_vector(size, z_bar, Onto::Other(z_b_bar), q_z_bar);

        let of_a = sums.at(at_a);
        add_outers(size, of_a.p, [(&**s, &*p_s_bar), (z_b_bar, g_q_z)]);
        add_outers(size, of_a.q, [(&**g_p_s, &*u_bar), (g_p_p, r_bar), (q_z_bar, z)]);
        add_outers(size, sums.at(at_b).q, [(&*s_bar, &**z_b)]);
        if let Some(h) = h {
            let g_bars: [(&[S], &[S]); 4] =
                [(r, w_bar), (p_s, g_p_s_bar), (row.p_p, g_p_p_bar), (g_q_z_bar, q_z)];
            if step.is_symmetric() {
                symmetric_outers(size, h, g_bars);
            } else {
                h.fill(S::ZERO);
                add_outers(size, h, g_bars);
            }
        }
    }
}

/// s e_K.
#[inline(always)]
fn set_e_k<S: Scalar>(size: Size, e_k: &mut [S], s: S) {
    e_k.fill(S::ZERO);
    e_k[size.k - 1] = s;
}
