//! The last two layers, a and b: only the last row of their output is needed, so they take products with
//! vectors. As G_b = B_a G B_a^T,
//!
//! ```text
//! TF_L = -(z_b + P_b G_b Q_b z_b)[K] = -(z_b[K] + <w, u>)
//! z_b = B_a z      s = Q_b z_b      u = B_a^T s      r = B_a^T p      w = G^T r
//! ```

use super::layer_pass::LayerPass;
use crate::linalg::any_size::{
    Addend, add, add_outers, dot, mul_vectors, scaled, symmetric_outers, transpose_mul_vectors,
};
use crate::scalar::Scalar;
use crate::training::linear::shape::{layer_mut, split};
use crate::training::network::{BatchLoss, Valued};

/// Vectors that it takes.
pub(super) const VECTORS: usize = 10 + 11;

/// Passes a window through layers a and b. Takes TF_L to the loss, and backpropagates its adjoint; returns false if it has
/// none. `+=` of the parameters of all layers, where a and b have the given places, and of p and P_a^T p; z-bar and H are
/// written, H if an earlier layer needs it.
#[inline(always)]
pub(super) fn last_two<S: Scalar>(
    k: usize,
    vectors: &mut [S],
    [[p_a, q_a], [_, q_b]]: &[[&[S]; 2]; 2],
    [p, p_p]: [&[S]; 2],
    step: &LayerPass<S>,
    (loss, of): (&mut BatchLoss<S>, &Valued<S>),
    (sums, [at_a, at_b]): (&mut [S], [usize; 2]),
    [p_bar, p_p_bar, z_bar]: [&mut [S]; 3],
    h: Option<&mut [S]>,
) -> bool {
    let z = &*step.z;
    let (forward, bars) = vectors.split_at_mut(10 * k);
    // Products are named by their factors: p_s is P_a^T s.
    let [q_z, g_q_z, z_b, g_p_p, r, w, s, p_s, g_p_s, u] = split(forward, k);
    mul_vectors(k, q_a, [(q_z, Addend::Zero, z)]);
    if step.is_symmetric() {
        mul_vectors(k, step.g, [(g_p_p, Addend::Zero, p_p), (g_q_z, Addend::Zero, q_z)]);
    } else {
        transpose_mul_vectors(k, step.g, [(g_p_p, Addend::Zero, p_p)]);
        mul_vectors(k, step.g, [(g_q_z, Addend::Zero, q_z)]);
    }
    mul_vectors(k, p_a, [(z_b, Addend::Other(z), g_q_z)]);
    transpose_mul_vectors(k, q_a, [(r, Addend::Other(p), g_p_p)]);
    mul_vectors(k, q_b, [(s, Addend::Zero, z_b)]);
    transpose_mul_vectors(k, p_a, [(p_s, Addend::Zero, s)]);
    transpose_mul_vectors(k, step.g, [(w, Addend::Zero, r), (g_p_s, Addend::Zero, p_s)]);
    transpose_mul_vectors(k, q_a, [(u, Addend::Other(s), g_p_s)]);
    let Some(v_bar) = loss.take(of, -(z_b[k - 1] + dot(w, u))) else { return false };

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
    mul_vectors(k, q_a, [(g_p_s_bar, Addend::Zero, u_bar), (g_p_p_bar, Addend::Zero, r_bar)]);
    let onto_p_p = (p_p_bar, Addend::InPlace, &*g_p_p_bar);
    mul_vectors(k, step.g, [(p_s_bar, Addend::Zero, g_p_s_bar), onto_p_p]);
    mul_vectors(k, p_a, [(s_bar, Addend::Other(u_bar), p_s_bar)]);
    // r.
    add(p_bar, r_bar);
    // s and z_b.
    e_k.fill(S::ZERO);
    e_k[k - 1] = -v_bar;
    transpose_mul_vectors(k, q_b, [(z_b_bar, Addend::Other(e_k), s_bar)]);
    transpose_mul_vectors(k, p_a, [(g_q_z_bar, Addend::Zero, z_b_bar)]);
    transpose_mul_vectors(k, step.g, [(q_z_bar, Addend::Zero, g_q_z_bar)]);
    transpose_mul_vectors(k, q_a, [(z_bar, Addend::Other(z_b_bar), q_z_bar)]);

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
