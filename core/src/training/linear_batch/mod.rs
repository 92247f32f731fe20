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
//! | U | B G^T; V if G is symmetric | (K, K) |
//! | z | the query's column that a layer meets | (K) |
//! | a, b | as an index: the last layer but one, and the last; G and z without one are layer a's | |
//! | p | P_b^T e_K, the last row of P_b | (K) |
//! | C | the sum of A_0-bar over the windows so far | (K, K) |
//! | H | G-bar; if G is symmetric G-bar + G-bar^T, as no more of G-bar is needed | (K, K) |
//! | X-bar | the adjoint of X: the loss's derivative with respect to it | as X |
//!
//! K and the number of layers are known when it runs only: there is one kernel for all shapes, and where it
//! computes is handed to it ([`Work`]). K vectors and the columns of matrices are padded
//! ([`padded`](crate::linalg::padded)).

mod formed;
mod last_two;
mod slide;

use super::network::BatchLoss;
use super::work::{Layers, Shape, Sums, Work, product, split};
use super::{Targets, Windows};
use crate::linalg::padded::{Size, add, add_outers, dot, scaled};
use crate::scalar::{Scalar, kernel};
use formed::Steps;
use last_two::{LastRow, LastTwo};
use slide::Slide;

kernel! {
    /// The loss of a batch for the layers in `work`, whose sums become its gradient
    /// ([`load`](super::work::load), [`unload`](super::work::unload)).
    pub(super) fn batch_gradient as BatchGradient<'a, S: Scalar, const D: usize, const ANEW: bool>(
        shape: Shape<S>,
        work: Work<'a, S>,
        windows: &'a Windows<'a, S, D>,
        targets: Targets<'a, S>,
    ) -> S {
        // For one number, whose products are short, a copy for the size of the paper's tokens.
        let Size { k, rows, .. } = shape.size;
        if S::LANES == 1 && D == 4 && !ANEW && k == Size::PAPER.k && rows == Size::PAPER.rows {
            reverse_pass::<S, D, ANEW>(Shape { size: Size::PAPER, ..shape }, work, windows, targets)
        } else {
            reverse_pass::<S, D, ANEW>(Shape { size: Size { k, rows, known: false }, ..shape }, work, windows, targets)
        }
    }
}

/// The windows in reverse time.
#[inline(always)]
fn reverse_pass<S: Scalar, const D: usize, const ANEW: bool>(
    shape: Shape<S>,
    work: Work<S>,
    windows: &Windows<S, D>,
    targets: Targets<S>,
) -> S {
    let Shape { size, stored, depth, lambda, prior_count, .. } = shape;
    let rows = size.rows;
    let inverse_len = match prior_count {
        None => S::ONE / S::from_count(windows.context_len() as u64),
        // It is in the statistic.
        Some(_) => S::ONE,
    };
    let layers = Layers::of(&shape, inverse_len, work.layers);
    let mut sums = Sums::zeros(size, work.sums);
    let mut steps = Steps::new(size, lambda.is_some(), work.steps, work.columns);
    let at = |l: usize| l % stored;
    let formed = depth.saturating_sub(2);
    // Of each window's own units, G and A of the first layer have nothing in common with its neighbour's.
    let shared = if ANEW { 0 } else { formed.min(1) };
    let last = [at(formed), at(depth - 1)];
    let [a, b] = [layers.at(last[0]), layers.at(last[1])];
    let (ab, first) = ([a, b], layers.at(0));

    let (c, rest) = work.matrices.split_at_mut(Slide::<S>::MATRICES * size.matrix());
    let (h, rest) = rest.split_at_mut(size.matrix());
    let mut scratch = split::<4, S>(rest, size.matrix());
    let (of_slide, rest) = work.vectors.split_at_mut(Slide::<S>::VECTORS * rows);
    let (of_row, rest) = rest.split_at_mut(LastRow::<S>::VECTORS * rows);
    let (of_row_bar, rest) = rest.split_at_mut(LastRow::<S>::VECTORS * rows);
    let (of_pass, rest) = rest.split_at_mut(LastTwo::<S>::VECTORS * rows);
    let [z_bar, w, s] = split::<3, S>(rest, rows);
    z_bar.fill(S::ZERO);

    let mut row = LastRow::zeros(size, of_row);
    row.form(size, &ab, w);
    let mut row_bar = LastRow::zeros(size, of_row_bar);
    let mut pass = LastTwo::within(size, of_pass);
    let mut slide =
        Slide::start(shape, windows, shared > 0, &first, &mut steps.at(0), c, of_slide, scratch[0]);

    let mut loss = BatchLoss::new(windows, targets);
    for i in loss.passes() {
        let (window, t) = loss.pass(i);
        if ANEW {
            slide.read(&window, &mut steps.at(0), scratch[0]);
        } else {
            if t < windows.count() {
                slide.slide(windows, t, &first, &mut steps.at(0), sums.at(0));
            }
            window.write_query(steps.at(0).z);
        }
        for l in 0..formed {
            let (mut step, mut next) = steps.pair(l);
            if l >= shared {
                step.form(size, &layers.at(at(l)), scratch[0]);
            }
            step.forward(size, &mut next);
        }
        let step = steps.at(formed);

        if depth == 1 {
            product(size, w, step.g_t(), row.p);
            product(size, s, b.q.m, step.z);
            let value = -(step.z[size.k - 1] + dot(size, w, s));
            let Some(v_bar) = loss.take(t, value) else { continue };
            scaled(z_bar, -v_bar, w);
            add_outers(size, sums.at(0).q, [(&*z_bar, &*step.z)]);
            scaled(z_bar, -v_bar, s);
            product(size, w, step.g, z_bar);
            add(row_bar.p, w);
            continue;
        }
        let value = pass.forward(size, &ab, &row, &step);
        let Some(v_bar) = loss.take(t, value) else { continue };
        let h_wanted = (formed > 0).then_some(&mut *h);
        pass.backward(
            size,
            v_bar,
            &ab,
            &row,
            &step,
            &mut sums,
            last,
            &mut row_bar,
            h_wanted,
            z_bar,
        );
        for l in (shared..formed).rev() {
            let layer = layers.at(at(l));
            let (step, sum) = (steps.at(l), sums.at(at(l)));
            step.backward(size, &layer, sum, h, z_bar, &mut scratch, l > 0);
        }
        if shared > 0 {
            slide.backward(&steps.at(0), h, z_bar, scratch[0]);
        }
    }
    slide.finish(&steps.at(0), &first, sums.at(0), &mut scratch);
    row.backward(size, &row_bar, &a, &mut sums, last, [w, s]);
    sums.finish(inverse_len);
    loss.mean()
}
