//! The loss and gradient of a batch of windows for linear attention: what the trainer spends its
//! time on.
//!
//! The same numbers as [`batch_gradient_by_window`](super::batch_gradient_by_window) up to rounding
//! (the reference that it is tested against), with less work:
//!
//! 1. The windows are walked in reverse time, so v_{t+1} is known when window t is reached and
//!    forward and backward fuse: one window's tape suffices.
//! 2. Neighbouring windows differ by one token gained and one lost: G_0 and A_0 change by rank two,
//!    and so does what A_0 passes back to P and Q ([`slide`]).
//! 3. The last two layers act on vectors only ([`last_two`]); those before are formed as matrices
//!    ([`formed`]).
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
//!
//! K and the number of layers are values: there is one kernel for all shapes, and where it computes is handed to
//! it ([`Work`]).

mod formed;
mod last_two;
mod slide;

use super::shape::LinearShape;
use super::work::{Work, pair, pair_mut, scale_p, split, step_matrices};
use crate::linalg::any_size::{
    Onto, add, add_outers, dot, mul_vector, scaled, transpose_mul_vector,
};
use crate::scalar::{Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::{Targets, Windows};
use formed::Steps;
use last_two::{LastRow, LastTwo};
use slide::Slide;

kernel! {
    /// Computes the loss of a batch for the layers in `work`, whose sums become its gradient
    /// ([`Work::load`], [`unload`](super::work::unload)): walks the windows in reverse time.
    pub(super) fn batch_gradient as BatchGradient<'a, S: Scalar>(
        shape: &'a LinearShape<S::Element>,
        work: Work<'a, S>,
        windows: &'a Windows<'a, S>,
        targets: Targets<'a, S>,
    ) -> S {
        let (k, depth) = (shape.token_len(), shape.depth());
        // In its own units a window's G and A of the first layer have nothing in common with its neighbour's,
        // and 1/n is in the statistic.
        let anew = shape.prior_count().is_some();
        let inverse_len =
            if anew { S::ONE } else { S::ONE / S::from_count(windows.context_len() as u64) };
        let (layers, sums) = (work.layers, work.sums);
        scale_p(k, inverse_len, layers);
        sums.fill(S::ZERO);
        let len = step_matrices(shape.has_trace()) * k * k;
        let mut steps = Steps { k, len, matrices: work.steps, columns: work.columns };
        let formed = depth.saturating_sub(2);
        let shared = if anew { 0 } else { formed.min(1) };
        let last = [formed, depth - 1];
        let ab @ [a, b] = last.map(|l| pair(k, layers, l));
        let first = pair(k, layers, 0);

        let (c, rest) = work.matrices.split_at_mut(k * k);
        let (h, rest) = rest.split_at_mut(k * k);
        let mut scratch = split::<3, S>(rest, k * k);
        let (of_slide, rest) = work.vectors.split_at_mut(Slide::<S>::VECTORS * k);
        let (of_row, rest) = rest.split_at_mut(LastRow::<S>::VECTORS * k);
        let (of_row_bar, rest) = rest.split_at_mut(LastRow::<S>::VECTORS * k);
        let (of_pass, rest) = rest.split_at_mut(LastTwo::<S>::VECTORS * k);
        let [z_bar, w, s] = split::<3, S>(rest, k);
        z_bar.fill(S::ZERO);

        let mut row = LastRow::zeros(k, of_row);
        row.form(k, &ab, w);
        let mut row_bar = LastRow::zeros(k, of_row_bar);
        let mut pass = LastTwo::within(k, of_pass);
        let (step, is_formed) = (&mut steps.at(0), shared > 0);
        let mut slide =
            Slide::start(shape, windows, is_formed, &first, step, c, of_slide, scratch[0]);

        let mut loss = BatchLoss::new(windows, targets);
        for i in loss.passes() {
            let (window, t) = loss.pass(i);
            if anew {
                slide.read(&window, &mut steps.at(0), scratch[0]);
            } else {
                if t < windows.count() {
                    slide.slide(windows, t, &first, &mut steps.at(0), pair_mut(k, sums, 0));
                }
                window.write_query(steps.at(0).z);
            }
            for l in 0..formed {
                let (mut step, mut next) = steps.pair(l);
                if l >= shared {
                    step.form(k, &pair(k, layers, l), scratch[0]);
                }
                step.forward(k, &mut next);
            }
            let step = steps.at(formed);

            if depth == 1 {
                transpose_mul_vector(k, w, Onto::Zeros, step.g, row.p);
                mul_vector(k, s, Onto::Zeros, b.q, step.z);
                let value = -(step.z[k - 1] + dot(w, s));
                let Some(v_bar) = loss.take(t, value) else { continue };
                scaled(z_bar, -v_bar, w);
                add_outers(k, pair_mut(k, sums, 0).q, [(&*z_bar, &*step.z)]);
                scaled(z_bar, -v_bar, s);
                mul_vector(k, w, Onto::Zeros, step.g, z_bar);
                add(row_bar.p, w);
                continue;
            }
            let value = pass.forward(k, &ab, &row, &step);
            let Some(v_bar) = loss.take(t, value) else { continue };
            let (h_wanted, row_bar) = ((formed > 0).then_some(&mut *h), &mut row_bar);
            pass.backward(k, v_bar, &ab, &row, &step, sums, last, row_bar, h_wanted, z_bar);
            for l in (shared..formed).rev() {
                let (layer, sum) = (pair(k, layers, l), pair_mut(k, sums, l));
                steps.at(l).backward(k, &layer, sum, h, z_bar, &mut scratch, l > 0);
            }
            if shared > 0 {
                slide.backward(&steps.at(0), h, z_bar);
            }
        }
        slide.finish(&steps.at(0), &first, pair_mut(k, sums, 0), &mut scratch);
        row.backward(k, &row_bar, &a, sums, last, [w, s]);
        // The factor that P-bar still lacks.
        scale_p(k, inverse_len, sums);
        loss.mean()
    }
}
