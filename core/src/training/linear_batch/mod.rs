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
//! | G | the statistic that a layer meets; symmetric under TD(0)'s mask | (K, K) |
//! | A | P G Q, so that the layer maps every column by B = I + A | (K, K) |
//! | V | B G = G + A G | (K, K) |
//! | z | the query's column that a layer meets | (K) |
//! | a, b | as an index: the last layer but one, and the last; G and z without one are layer a's | |
//! | p | P_b^T e_K, the last row of P_b | (K) |
//! | C | the sum of A_0-bar over the windows so far | (K, K) |
//! | H | G-bar + G-bar^T | (K, K) |
//! | X-bar | the adjoint of X: the loss's derivative with respect to it | as X |
//!
//! K vectors and the columns of matrices are padded to R >= K rows ([`padded`](crate::linalg::padded)).

mod formed;
mod last_two;
mod slide;

use super::network::BatchLoss;
use super::{Targets, Windows};
use crate::layer::Layer;
use crate::linalg::padded::{Columns, TwoSided, add, add_outers, dot, mul_vector, scaled, zeros};
use crate::scalar::{Scalar, kernel};
use formed::Step;
use last_two::{LastRow, LastTwo};
use slide::Slide;

/// What a batch needs of one stored layer: P and Q.
#[derive(Clone, Copy)]
struct BatchLayer<S: Scalar, const R: usize, const K: usize> {
    p: TwoSided<S, R, K>,
    q: TwoSided<S, R, K>,
}

/// P-bar and Q-bar of one stored layer, summed over the windows.
#[derive(Clone, Copy)]
struct LayerSum<S: Scalar, const R: usize, const K: usize> {
    p: Columns<S, R, K>,
    q: Columns<S, R, K>,
}

kernel! {
    /// The loss of a batch for the stored layers, `depth` of them in the pass (at most L), and
    /// gradient += its gradient. C >= the number of stored layers, R >= K.
    pub(super) fn batch_gradient as BatchGradient<
        'a,
        S: Scalar,
        const D: usize,
        const K: usize,
        const C: usize,
        const L: usize,
        const R: usize,
    >(
        stored: &'a [Layer<S, K>],
        depth: usize,
        windows: &'a Windows<'a, S, D>,
        targets: Targets<'a, S>,
        gradient: &'a mut [Layer<S, K>],
    ) -> S {
        debug_assert!((1..=L).contains(&depth) && (1..=C).contains(&stored.len()));
        let inverse_len = S::ONE / S::from_count(windows.context_len() as u64);
        let layers = batch_layers::<S, K, C, R>(stored, inverse_len);
        let mut sums = [LayerSum { p: zeros::<S, R, K>(), q: zeros::<S, R, K>() }; C];
        let at = |l: usize| l % stored.len().clamp(1, C);

        let formed = depth.saturating_sub(2).min(L - 1);
        let last = [at(formed), at(depth - 1)];
        let [a, b] = last.map(|l| &layers[l]);
        let row = LastRow::of([a, b]);
        let mut row_bar = LastRow::ZEROS;
        // The step after the last one formed holds the G and z of layer a.
        let mut tape = [Step::ZEROS; L];
        let mut scratch = [zeros::<S, R, K>(); 2];
        let mut slide = Slide::start(windows, formed > 0, &layers[0], &mut tape[0], &mut scratch[0]);
        let mut h = zeros::<S, R, K>();

        let mut loss = BatchLoss::new(windows, targets);
        for t in loss.times() {
            if t < windows.count() {
                slide.slide(windows, t, &layers[0], &mut tape[0], &mut sums[0]);
            }
            tape[0].z = query(windows, t);
            for l in 0..formed {
                let (before, after) = tape.split_at_mut(l + 1);
                if l > 0 {
                    before[l].form(&layers[at(l)], &mut scratch[0]);
                }
                before[l].forward(&mut after[0]);
            }
            let Step { g, z, .. } = &tape[formed];

            if depth == 1 {
                let (w, s) = (mul_vector(g, &row.p), mul_vector(&b.q.m, z));
                let value = -(z[K - 1] + dot::<K, S, R>(&w, &s));
                let Some(v_bar) = loss.take(t, value) else { continue };
                add_outers(&mut sums[0].q, [(&scaled(-v_bar, &w), z)]);
                add(&mut row_bar.p, &mul_vector(g, &scaled(-v_bar, &s)));
                continue;
            }
            let pass = LastTwo::forward([a, b], &row, g, z);
            let Some(v_bar) = loss.take(t, pass.value::<K>()) else { continue };
            let h_wanted = (formed > 0).then_some(&mut h);
            let mut z_bar =
                pass.backward(v_bar, [a, b], &row, g, z, &mut sums, last, &mut row_bar, h_wanted);
            for l in (1..formed).rev() {
                let sum = &mut sums[at(l)];
                tape[l].backward(&layers[at(l)], sum, &mut h, &mut z_bar, &mut scratch);
            }
            if formed > 0 {
                slide.backward(&tape[0], &h, &z_bar);
            }
        }
        slide.finish(&tape[0], &layers[0], &mut sums[0], &mut scratch);
        row.backward(&row_bar, a, &mut sums, last);
        for (to, sum) in gradient.iter_mut().zip(&sums) {
            for j in 0..K {
                for i in 0..K {
                    to.p.data.0[j][i] += inverse_len * sum.p[j][i];
                    to.q.data.0[j][i] += sum.q[j][i];
                }
            }
        }
        loss.mean()
    }
}

#[inline(always)]
fn batch_layers<S: Scalar, const K: usize, const C: usize, const R: usize>(
    stored: &[Layer<S, K>],
    inverse_len: S,
) -> [BatchLayer<S, R, K>; C] {
    let mut layers = [BatchLayer { p: TwoSided::zeros(), q: TwoSided::zeros() }; C];
    for (to, from) in layers.iter_mut().zip(stored) {
        for j in 0..K {
            for i in 0..K {
                to.p.m[j][i] = inverse_len * from.p.data.0[j][i];
                to.q.m[j][i] = from.q.data.0[j][i];
            }
        }
        to.p.update();
        to.q.update();
    }
    layers
}

#[inline(always)]
fn query<S: Scalar, const D: usize, const R: usize>(windows: &Windows<S, D>, t: usize) -> [S; R] {
    let mut z = [S::ZERO; R];
    for i in 0..D {
        z[i] = windows.window(t).query()[i];
    }
    z
}
