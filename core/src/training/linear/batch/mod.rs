//! The loss and gradient of a batch of windows for linear attention: what the trainer spends its
//! time on.
//!
//! The result equals that of [`batch_gradient_by_window`](super::batch_gradient_by_window), the reference in tests, up to
//! rounding, with less work:
//!
//! 1. The windows are walked in reverse time, so v_{t+1} is known when window t is reached and
//!    forward and backward fuse: one window's tape suffices.
//! 2. Neighbouring windows differ by one token gained and one lost: G_0 and A_0 change by rank two,
//!    and so does what A_0 passes back to P and Q ([`slide`]).
//! 3. The last two layers act on vectors only ([`LastTwo`]); those before are formed as matrices
//!    ([`layer_pass`]).
//! 4. 1/n is folded into P once a batch, and what depends on the parameters alone is computed once;
//!    its adjoint is finished after the last window.
//!
//! | letter | meaning | shape |
//! |---|---|---|
//! | P, Q | a layer's parameters, **P times 1/n throughout** | (K, K) |
//! | G | the statistic that a layer meets; symmetric under TD(0)'s mask, not under TD(lambda)'s | (K, K) |
//! | A | P G Q, so that the layer maps every column by B = I + A | (K, K) |
//! | V | B G = G + A G | (K, K) |
//! | U | G B^T; V^T if G is symmetric | (K, K) |
//! | z | the query's column that a layer meets | (K) |
//! | a, b | as an index: the last layer but one, and the last; G and z without one are layer a's | |
//! | p | P_b^T e_K, the last row of P_b | (K) |
//! | C | the sum of A_0-bar over the windows so far | (K, K) |
//! | H | G-bar; if G is symmetric G-bar + G-bar^T, as no more of G-bar is needed | (K, K) |
//! | X-bar | the adjoint of X: the loss's derivative with respect to it | as X |

mod layer_pass;

use super::shape::{
    LinearShape, TRANSPOSABLE, Workspace, last, last_row, layer, layer_mut, pieces, split,
    statistic, write_last,
};
use crate::linalg::any_size::{
    Addend, Transposable, add, add_outers, dot, mul, mul_transpose, mul_vectors, scaled,
    transpose_mul, transpose_mul_vectors,
};
use crate::scalar::{Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::windows::gained_and_lost;
use crate::training::{Targets, Windows};
use layer_pass::{LastAdjoints, LastTwo, LayerPass, LayerPasses};

kernel! {
    /// Returns the loss of a batch for the layers in `work`, and adds its gradient.
    pub(super) fn batch_gradient as BatchGradient<'a, S: Scalar>(
        shape: &'a LinearShape<S::Element>,
        work: Workspace<'a, S>,
        windows: &'a Windows<'a, S>,
        targets: Targets<'a, S>,
        gradient: &'a mut [S],
    ) -> S {
        let (k, depth, matrix) = (shape.token_len(), shape.depth, shape.token_len().pow(2));
        let inverse_len = S::ONE / S::from_count(windows.context_len() as u64);
        let Workspace { layers, sums, steps, products, columns, matrices, vectors, traces, rest } = work;
        scale_p(matrix, inverse_len, layers);
        sums.fill(S::ZERO);
        vectors.fill(S::ZERO);
        let len = shape.step_matrices() * matrix;
        let mut steps = LayerPasses { k, len, matrices: steps, columns };
        // Layers before the last two; the first of them slides from window to window.
        let formed = depth.saturating_sub(2);
        let first_slides = formed > 0;
        let places = [formed, depth.saturating_sub(1)];
        let [[p_a, q_a], [p_b, q_b]] = places.map(|l| layer(matrix, layers, l));
        let first @ [p_first, q_first] = layer(matrix, layers, 0);

        let [c, h, mut scratch @ ..] = split::<5, S>(matrices, matrix);
        let transposed = split::<TRANSPOSABLE, S>(rest, matrix);
        let [q_first_room, p_a_room, q_a_room, q_b_room] = transposed;
        let q_first = Transposable::new(k, q_first, q_first_room);
        c.fill(S::ZERO);
        let (of_slide, rest) = vectors.split_at_mut_checked(VECTORS * k).unwrap_or_default();
        let (of_pass, rest) =
            rest.split_at_mut_checked(layer_pass::VECTORS * k).unwrap_or_default();
        let [p, p_p, p_bar, p_p_bar, z_bar, w, s] = split(rest, k);
        last_row(k, p_b, p);
        transpose_mul_vectors(k, p_a, [(p_p, Addend::Zero, p)]);
        statistic(shape, windows, windows.count(), steps.at(0).g, of_slide);
        if first_slides {
            steps.at(0).form(k, first, scratch[0]);
        }

        let last_two = LastTwo {
            p_a: Transposable::new(k, p_a, p_a_room),
            q_a: Transposable::new(k, q_a, q_a_room),
            q_b: Transposable::new(k, q_b, q_b_room),
            places,
            p,
            p_p,
        };
        let mut loss = BatchLoss::new(windows, targets);
        for i in loss.passes() {
            let valued = loss.pass(i);
            let mut step = steps.at(0);
            if let Some(t) = valued.t {
                let room = (&mut *of_slide, &mut *traces);
                let first = (p_first, q_first);
                slide(shape, windows, t, &mut step, first_slides, first, sums, c, room);
            }
            valued.window.write_query(step.z);
            for l in 0..formed {
                let (mut step, mut next) = steps.pair(l);
                if l > 0 {
                    let [g_q] = pieces(products, matrix, l - 1);
                    step.form(k, layer(matrix, layers, l), g_q);
                }
                step.forward(k, &mut next);
            }
            let step = steps.at(formed);

            if depth == 1 {
                transpose_mul_vectors(k, step.g, [(w, Addend::Zero, p)]);
                mul_vectors(k, q_b, [(s, Addend::Zero, step.z)]);
                let value = -(last(step.z) + dot(w, s));
                let Some(v_bar) = loss.take(&valued, value) else { continue };
                scaled(z_bar, -v_bar, w);
                let [_, q_sum] = layer_mut(matrix, sums, 0);
                add_outers(k, q_sum, [(&*z_bar, &*step.z)]);
                scaled(z_bar, -v_bar, s);
                mul_vectors(k, step.g, [(w, Addend::Zero, z_bar)]);
                add(p_bar, w);
                continue;
            }
            let adjoints = LastAdjoints {
                sums: &mut *sums,
                p: &mut *p_bar,
                p_p: &mut *p_p_bar,
                z: &mut *z_bar,
                h: first_slides.then_some(&mut *h),
            };
            if !last_two.pass(k, of_pass, &step, &mut loss, &valued, adjoints) {
                continue;
            }
            for l in (1..formed).rev() {
                let [g_q] = pieces(products, matrix, l - 1);
                let (layer, sum) = (layer(matrix, layers, l), layer_mut(matrix, sums, l));
                let layer = (layer, &*g_q);
                steps.at(l).backward(k, layer, sum, h, z_bar, &mut scratch);
            }
            if first_slides {
                steps.at(0).a_bar(k, c, Addend::InPlace, h, z_bar);
            }
        }
        if first_slides {
            let ([p, q], [p_sum, q_sum]) = (first, layer_mut(matrix, sums, 0));
            let (g, [g_q, p_c, ..]) = (steps.at(0).g, scratch);
            mul(k, g_q, Addend::Zero, g, q);
            transpose_mul(k, p_c, Addend::Zero, p, c);
            mul_transpose(k, p_sum, Addend::InPlace, c, g_q);
            transpose_mul(k, q_sum, Addend::InPlace, g, p_c);
        }
        // The adjoints of p and of P_a^T p.
        mul_vectors(k, p_a, [(w, Addend::Other(p_bar), p_p_bar)]);
        let [p_sum, _] = layer_mut(matrix, sums, places[0]);
        add_outers(k, p_sum, [(&*p, &*p_p_bar)]);
        write_last(s, S::ONE);
        let [p_sum, _] = layer_mut(matrix, sums, places[1]);
        add_outers(k, p_sum, [(&*s, &*w)]);
        // The factor that P-bar still lacks.
        scale_p(matrix, inverse_len, sums);
        add(gradient, sums);
        loss.mean()
    }
}

#[inline(always)]
fn scale_p<S: Scalar>(matrix: usize, s: S, layers: &mut [S]) {
    let mut rest = layers;
    while let Some((p, others)) = rest.split_at_mut_checked(matrix) {
        for x in p {
            *x = s * *x;
        }
        rest = others.get_mut(matrix..).unwrap_or_default();
    }
}

const VECTORS: usize = 14;

/// Goes from window t + 1 to window t: one token is gained, one is lost, and the first layer's G and A
/// change by rank two.
///
/// ```text
/// G_t = G_{t+1} + x x'^T - y y'^T        A_t = P G_t Q = A_{t+1} + (P x) (Q^T x')^T - (P y) (Q^T y')^T
/// ```
///
/// ([`gained_and_lost`]; the update rounds, and a batch is short.) What G and A pass back, P-bar = sum_t A-bar_t Q^T
/// G_t^T and Q-bar = sum_t G_t^T P^T A-bar_t, follows by Abel summation with C_s = sum_{t >= s} A-bar_t, in just that
/// order of time; the first term comes after window 0:
///
/// ```text
/// P-bar = C_0 Q^T G_0^T - sum_s C_{s+1} Q^T (G_s - G_{s+1})^T     (Q-bar likewise)
/// ```
///
/// If the first layer, P and Q, is formed, its part of `sums` takes P-bar and Q-bar from C_{t+1}.
#[inline(always)]
fn slide<S: Scalar>(
    shape: &LinearShape<S::Element>,
    windows: &Windows<S>,
    t: usize,
    step: &mut LayerPass<S>,
    is_formed: bool,
    (p, q): (&[S], Transposable<S>),
    sums: &mut [S],
    c: &[S],
    (vectors, traces): (&mut [S], &mut [S]),
) {
    let k = shape.token_len();
    let [x, y, trace_x, z, rest @ ..] = split::<VECTORS, S>(vectors, k);
    let [minus_x, minus_y, p_x, minus_p_y, q_x, q_y, c_q_x, c_q_y, c_p_x, c_p_y] = rest;
    let room = [x, y, trace_x, z];
    let [[x, right_x], [y, right_y]] = gained_and_lost(windows, t, shape.trace(), room, traces);
    scaled(minus_y, -S::ONE, y);
    add_outers(k, step.g, [(x, right_x), (&*minus_y, right_y)]);
    if !is_formed {
        return;
    }
    let [p_sum, q_sum] = layer_mut(k * k, sums, 0);
    mul_vectors(k, p, [(p_x, Addend::Zero, x), (minus_p_y, Addend::Zero, minus_y)]);
    q.transpose_mul_vectors(k, [(q_x, Addend::Zero, right_x), (q_y, Addend::Zero, right_y)]);
    add_outers(k, step.a, [(&*p_x, &*q_x), (&*minus_p_y, &*q_y)]);
    scaled(minus_x, -S::ONE, q_x);
    mul_vectors(k, c, [(c_q_x, Addend::Zero, minus_x), (c_q_y, Addend::Zero, q_y)]);
    transpose_mul_vectors(k, c, [(c_p_x, Addend::Zero, p_x), (c_p_y, Addend::Zero, minus_p_y)]);
    add_outers(k, p_sum, [(&*c_q_x, x), (&*c_q_y, y)]);
    scaled(minus_x, -S::ONE, right_x);
    scaled(minus_y, -S::ONE, right_y);
    add_outers(k, q_sum, [(&*minus_x, &*c_p_x), (&*minus_y, &*c_p_y)]);
}
