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
//! 3. The last two layers act on vectors only ([`last_two`]); those before are formed as matrices
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

mod last_two;
mod layer_pass;
mod slide;

use super::shape::LinearShape;
use super::workspace::{Workspace, last_row, layer, layer_mut, split, statistic, step_matrices};
use crate::linalg::any_size::{
    Addend, add, add_outers, dot, mul, mul_transpose, mul_vectors, scaled, transpose_mul,
    transpose_mul_vectors,
};
use crate::scalar::{Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::{Targets, Windows};
use last_two::{Adjoints, last_two};
use layer_pass::LayerPasses;
use slide::FormedFirstLayer;

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
        let Workspace { layers, sums, steps, columns, matrices, vectors } = work;
        scale_p(matrix, inverse_len, layers);
        sums.fill(S::ZERO);
        vectors.fill(S::ZERO);
        let len = step_matrices(shape) * matrix;
        let mut steps = LayerPasses { k, len, matrices: steps, columns };
        // Layers before the last two; the first of them slides from window to window.
        let formed = depth.saturating_sub(2);
        let first_slides = formed > 0;
        let last = [formed, depth - 1];
        let ab @ [[p_a, _], [p_b, q_b]] = last.map(|l| layer(matrix, layers, l));
        let first = layer(matrix, layers, 0);

        let [c, h, mut scratch @ ..] = split::<5, S>(matrices, matrix);
        c.fill(S::ZERO);
        let (of_slide, rest) = vectors.split_at_mut(slide::VECTORS * k);
        let (of_pass, rest) = rest.split_at_mut(last_two::VECTORS * k);
        let [p, p_p, p_bar, p_p_bar, z_bar, w, s] = split(rest, k);
        last_row(k, p_b, p);
        transpose_mul_vectors(k, p_a, [(p_p, Addend::Zero, p)]);
        statistic(shape, windows, windows.count(), steps.at(0).g, of_slide);
        if first_slides {
            steps.at(0).form(k, first, scratch[0]);
        }

        let mut loss = BatchLoss::new(windows, targets);
        for i in loss.passes() {
            let of = loss.pass(i);
            let mut step = steps.at(0);
            if let Some(t) = of.t {
                let of_first = first_slides.then(|| FormedFirstLayer {
                    parameters: first,
                    adjoints: layer_mut(matrix, sums, 0),
                    c,
                });
                slide::slide(shape, windows, t, &mut step, of_first, of_slide);
            }
            of.window.write_query(step.z);
            for l in 0..formed {
                let (mut step, mut next) = steps.pair(l);
                if l > 0 {
                    step.form(k, layer(matrix, layers, l), scratch[0]);
                }
                step.forward(k, &mut next);
            }
            let step = steps.at(formed);

            if depth == 1 {
                transpose_mul_vectors(k, step.g, [(w, Addend::Zero, p)]);
                mul_vectors(k, q_b, [(s, Addend::Zero, step.z)]);
                let value = -(step.z[k - 1] + dot(w, s));
                let Some(v_bar) = loss.take(&of, value) else { continue };
                scaled(z_bar, -v_bar, w);
                let [_, q_sum] = layer_mut(matrix, sums, 0);
                add_outers(k, q_sum, [(&*z_bar, &*step.z)]);
                scaled(z_bar, -v_bar, s);
                mul_vectors(k, step.g, [(w, Addend::Zero, z_bar)]);
                add(p_bar, w);
                continue;
            }
            let adjoints = Adjoints {
                sums,
                layers: last,
                p: p_bar,
                p_p: p_p_bar,
                h: first_slides.then_some(&mut *h),
                z: z_bar,
            };
            if !last_two(k, of_pass, &ab, [p, p_p], &step, (&mut loss, &of), adjoints) {
                continue;
            }
            for l in (1..formed).rev() {
                let (layer, sum) = (layer(matrix, layers, l), layer_mut(matrix, sums, l));
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
        let [p_sum, _] = layer_mut(matrix, sums, last[0]);
        add_outers(k, p_sum, [(&*p, &*p_p_bar)]);
        s.fill(S::ZERO);
        s[k - 1] = S::ONE;
        let [p_sum, _] = layer_mut(matrix, sums, last[1]);
        add_outers(k, p_sum, [(&*s, &*w)]);
        // The factor that P-bar still lacks.
        scale_p(matrix, inverse_len, sums);
        add(gradient, sums);
        loss.mean()
    }
}

#[inline(always)]
fn scale_p<S: Scalar>(matrix: usize, s: S, layers: &mut [S]) {
    for layer in layers.chunks_exact_mut(2 * matrix) {
        for x in &mut layer[..matrix] {
            *x = s * *x;
        }
    }
}
