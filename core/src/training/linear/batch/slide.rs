//! From window t + 1 to window t: one token is gained, one is lost, and the first layer's G and A
//! change by rank two.
//!
//! ```text
//! G_t = G_{t+1} + x x'^T - y y'^T        A_t = P G_t Q = A_{t+1} + (P x) (Q^T x')^T - (P y) (Q^T y')^T
//! ```
//!
//! ([`gained_and_lost`]; the update rounds, and a batch is short.) What G and A pass back, P-bar = sum_t A-bar_t Q^T
//! G_t^T and Q-bar = sum_t G_t^T P^T A-bar_t, follows by Abel summation with C_s = sum_{t >= s} A-bar_t, in just that
//! order of time; the first term comes after window 0:
//!
//! ```text
//! P-bar = C_0 Q^T G_0^T - sum_s C_{s+1} Q^T (G_s - G_{s+1})^T     (Q-bar likewise)
//! ```

use super::layer_pass::LayerPass;
use crate::linalg::any_size::{Addend, add_outers, mul_vectors, scaled, transpose_mul_vectors};
use crate::scalar::Scalar;
use crate::training::Windows;
use crate::training::linear::shape::LinearShape;
use crate::training::linear::workspace::split;
use crate::training::outer_products::gained_and_lost;

/// Vectors that it takes.
pub(super) const VECTORS: usize = 14;

/// A first layer whose map is formed.
pub(super) struct FormedFirstLayer<'a, S> {
    /// P and Q.
    pub(super) parameters: [&'a [S]; 2],
    /// The sums of P-bar and Q-bar.
    pub(super) adjoints: [&'a mut [S]; 2],
    /// C_{t+1}.
    pub(super) c: &'a [S],
}

/// Goes from window t + 1 to window t: changes G and, of a first layer (P, Q) that is formed, A and the sums of the
/// adjoints by the terms of s = t, from C.
#[inline(always)]
pub(super) fn slide<S: Scalar>(
    shape: &LinearShape<S::Element>,
    windows: &Windows<S>,
    t: usize,
    step: &mut LayerPass<S>,
    of_first: Option<FormedFirstLayer<S>>,
    vectors: &mut [S],
) {
    let k = shape.token_len();
    let [x, y, trace_x, trace_y, rest @ ..] = split::<VECTORS, S>(vectors, k);
    let [minus_x, minus_y, p_x, minus_p_y, q_x, q_y, c_q_x, c_q_y, c_p_x, c_p_y] = rest;
    let room = [x, y, trace_x, trace_y];
    let [[x, right_x], [y, right_y]] = gained_and_lost(windows, t, shape.trace(), room, minus_x);
    scaled(minus_y, -S::ONE, y);
    add_outers(k, step.g, [(x, right_x), (&*minus_y, right_y)]);
    let Some(first) = of_first else { return };
    let FormedFirstLayer { parameters: [p, q], adjoints: [p_sum, q_sum], c } = first;
    mul_vectors(k, p, [(p_x, Addend::Zero, x), (minus_p_y, Addend::Zero, minus_y)]);
    transpose_mul_vectors(k, q, [(q_x, Addend::Zero, right_x), (q_y, Addend::Zero, right_y)]);
    add_outers(k, step.a, [(&*p_x, &*q_x), (&*minus_p_y, &*q_y)]);
    scaled(minus_x, -S::ONE, q_x);
    mul_vectors(k, c, [(c_q_x, Addend::Zero, minus_x), (c_q_y, Addend::Zero, q_y)]);
    transpose_mul_vectors(k, c, [(c_p_x, Addend::Zero, p_x), (c_p_y, Addend::Zero, minus_p_y)]);
    add_outers(k, p_sum, [(&*c_q_x, x), (&*c_q_y, y)]);
    scaled(minus_x, -S::ONE, right_x);
    scaled(minus_y, -S::ONE, right_y);
    add_outers(k, q_sum, [(&*minus_x, &*c_p_x), (&*minus_y, &*c_p_y)]);
}
