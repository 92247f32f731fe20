//! One window at a time through both heads.
//!
//! ```text
//! U_h = W_h P_h      B = I + (1/n) sum_h U_h G_h Q_h      G_h <- B G_h B^T      z <- B z      TF_L = -z_L[K]
//! ```
//!
//! with the masks of the paper: head 1 centres each token by the mean of those up to it, head 2 takes it as it
//! is. Reverse, from z-bar_L = -e_K and G-bar_h = 0:
//!
//! ```text
//! B-bar = z-bar z^T + sum_h (G-bar_h B G_h^T + G-bar_h^T B G_h)
//! U-bar_h = B-bar Q_h^T G_h^T                    Q-bar_h = G_h^T U_h^T B-bar
//! G-bar_h <- B^T G-bar_h B + U_h^T B-bar Q_h^T   z-bar <- B^T z-bar
//! P-bar_h = W_h^T U-bar_h                        W-bar_h = U-bar_h P_h^T
//! ```
//!
//! where 1/n is in G. The last layer, and the statistic that it meets, act on vectors only.

use super::shape::LinearShape;
use super::workspace::{last_row, split};
use crate::linalg::any_size::{
    Addend, add, add_outers, dot, mul, mul_transpose, mul_vector, scaled, transpose_mul,
    transpose_mul_vector,
};
use crate::scalar::{Real, Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::{Targets, Window, Windows};

const HEADS: usize = 2;
/// Matrices of each head of each layer in the pass: G, B G and B G^T.
const OF_STEP: usize = 3;
/// Matrices of a pass, beside B of each layer: B-bar, two more, and G-bar of each head.
const SCRATCH: usize = 3 + HEADS;
/// Vectors of each head of the last layer, where B and G are those before it: u = U^T e_K and u-bar, Q z,
/// B^T Q z, G B^T Q z, B G B^T Q z, B^T u, G^T B^T u.
const OF_HEAD: usize = 8;
/// Vectors of a pass, beside them: z-bar, and three more.
const VECTORS: usize = 4;

/// Returns how many numbers a pass works in: with U, U-bar and Q-bar of each stored head.
pub(super) fn work_len<R: Real>(shape: &LinearShape<R>) -> usize {
    let (k, depth) = (shape.token_len(), shape.depth);
    let matrices = shape.stored * HEADS * 3 + depth * (1 + HEADS * OF_STEP) + SCRATCH;
    matrices * k * k + (HEADS * OF_HEAD + depth + VECTORS) * k
}

kernel! {
    /// Computes the loss of a batch window by window, and adds its gradient.
    pub(super) fn batch_gradient as BatchGradient<'a, S: Scalar>(
        pass: Pass<'a, S>,
        windows: &'a Windows<'a, S>,
        targets: Targets<'a, S>,
        gradient: &'a mut [S],
    ) -> S {
        let mut pass = pass;
        let mut loss = BatchLoss::new(windows, targets);
        for i in loss.passes() {
            let of = loss.pass(i);
            let value = pass.forward(&of.window);
            if let Some(v_bar) = loss.take(&of, value) {
                pass.backward(v_bar);
            }
        }
        pass.finish(gradient);
        loss.mean()
    }
}

/// Returns the M matrices of head h of layer l in the pass, of the stored ones in turn.
#[inline(always)]
fn matrices_of<const M: usize, S>(len: usize, all: &[S], l: usize, h: usize) -> [&[S]; M] {
    let at = (l * HEADS + h) * M * len % all.len();
    pieces(len, &all[at..])
}

/// Returns [`matrices_of`], to be changed.
#[inline(always)]
fn sums_of<const M: usize, S>(len: usize, all: &mut [S], l: usize, h: usize) -> [&mut [S]; M] {
    let at = (l * HEADS + h) * M * len % all.len();
    split(&mut all[at..], len)
}

/// Returns the first M pieces of a length.
#[inline(always)]
fn pieces<const M: usize, S>(len: usize, from: &[S]) -> [&[S]; M] {
    let mut pieces = [from; M];
    for m in 0..M {
        pieces[m] = &from[m * len..][..len];
    }
    pieces
}

/// The memory for a pass over windows, one at a time, with the parameters.
pub(super) struct Pass<'a, S> {
    k: usize,
    depth: usize,
    /// P, Q and W of each stored head.
    parameters: &'a [S],
    /// U = W P of each.
    us: &'a mut [S],
    /// U-bar and Q-bar of each.
    sums: &'a mut [S],
    /// B of each layer in the pass, and [`OF_STEP`] of each of its heads.
    steps: &'a mut [S],
    /// z of each layer.
    columns: &'a mut [S],
    matrices: &'a mut [S],
    /// [`OF_HEAD`] of each head.
    of_heads: &'a mut [S],
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Pass<'a, S> {
    /// Begins a pass with the trained numbers, in [`work_len`] numbers.
    #[inline(always)]
    pub(super) fn new(
        shape: &LinearShape<S::Element>,
        parameters: &'a [S],
        work: &'a mut [S],
    ) -> Self {
        let (k, stored, depth) = (shape.token_len(), shape.stored, shape.depth);
        let matrix = k * k;
        let (us, work) = work.split_at_mut(stored * HEADS * matrix);
        let (sums, work) = work.split_at_mut(stored * HEADS * 2 * matrix);
        let (steps, work) = work.split_at_mut(depth * (1 + HEADS * OF_STEP) * matrix);
        let (matrices, work) = work.split_at_mut(SCRATCH * matrix);
        let (columns, work) = work.split_at_mut(depth * k);
        let (of_heads, work) = work.split_at_mut(HEADS * OF_HEAD * k);
        let vectors = &mut work[..VECTORS * k];
        sums.fill(S::ZERO);
        of_heads.fill(S::ZERO);
        vectors.fill(S::ZERO);
        for (i, u) in us.chunks_exact_mut(matrix).enumerate() {
            let [p, _, w] = matrices_of(matrix, parameters, 0, i);
            mul(k, u, Addend::Zero, w, p);
        }
        for (h, of_head) in of_heads.chunks_exact_mut(OF_HEAD * k).enumerate() {
            let [u] = matrices_of(matrix, us, stored - 1, h);
            last_row(k, u, &mut of_head[..k]);
        }
        Pass { k, depth, parameters, us, sums, steps, columns, matrices, of_heads, vectors }
    }

    /// Writes G of both heads to those of the first step, and the query's column.
    #[inline(always)]
    fn read(&mut self, window: &Window<S>) {
        let Pass { k, steps, columns, vectors, .. } = self;
        let k = *k;
        let [_, g1, _, _, g2] = split(steps, k * k);
        let [z, mean, centred, share_of] = split(vectors, k);
        let (n, dim) = (window.context_len(), window.dim());
        let inverse_len = S::ONE / S::from_count(n as u64);
        for cleared in [&mut *g1, &mut *g2, &mut *mean, &mut *centred, &mut *z] {
            cleared.fill(S::ZERO);
        }
        for j in 0..n {
            z[..dim].copy_from_slice(window.phi(j));
            z[dim..2 * dim].copy_from_slice(window.phi(j + 1));
            z[2 * dim] = window.rewards()[j];
            let share = S::ONE / S::from_count(j as u64 + 1);
            for i in 0..2 * dim + 1 {
                mean[i] += share * (z[i] - mean[i]);
                centred[i] = z[i] - mean[i];
            }
            scaled(share_of, inverse_len, z);
            add_outers(k, g1, [(&*centred, &*share_of)]);
            add_outers(k, g2, [(&*z, &*share_of)]);
        }
        let query = &mut columns[..k];
        query.fill(S::ZERO);
        window.write_query(query);
    }

    /// Returns TF_L.
    #[inline(always)]
    pub(super) fn forward(&mut self, window: &Window<S>) -> S {
        self.read(window);
        let Pass { k, depth, parameters, us, steps, columns, of_heads, .. } = self;
        let (k, matrix, formed) = (*k, *k * *k, *depth - 1);
        let of_head = OF_STEP * matrix;
        for l in 0..formed {
            let step_len = matrix + HEADS * of_head;
            let (step, next) = steps[l * step_len..].split_at_mut(step_len);
            let (b, heads) = step.split_at_mut(matrix);
            b.fill(S::ZERO);
            for i in 0..k {
                b[i * k + i] = S::ONE;
            }
            for (h, head) in heads.chunks_exact_mut(of_head).enumerate() {
                let ([g, v], [_, q, _]) =
                    (split(head, matrix), matrices_of(matrix, parameters, l, h));
                let [u] = matrices_of(matrix, us, l, h);
                mul(k, v, Addend::Zero, u, g);
                mul(k, b, Addend::InPlace, v, q);
            }
            let (z, z_next) = columns[l * k..].split_at_mut(k);
            mul_vector(k, &mut z_next[..k], Addend::Zero, b, z);
            if l + 1 == formed {
                break;
            }
            let next = next[matrix..].chunks_exact_mut(of_head);
            for (head, next) in heads.chunks_exact_mut(of_head).zip(next) {
                let [g, v, w] = split(head, matrix);
                mul(k, v, Addend::Zero, b, g);
                mul_transpose(k, w, Addend::Zero, b, g);
                mul_transpose(k, &mut next[..matrix], Addend::Zero, v, b);
            }
        }
        let (b, gs) = last_step(k, formed, steps);
        let z = &columns[formed * k..][..k];
        let mut y = z[k - 1];
        for (h, of_head) in of_heads.chunks_exact_mut(OF_HEAD * k).enumerate() {
            let [_, q, _] = matrices_of(matrix, parameters, formed, h);
            let [u, _, q_z, b_q_z, g_b_q_z, b_g_b_q_z] = split(of_head, k);
            mul_vector(k, q_z, Addend::Zero, q, z);
            map::<S, true>(k, b, b_q_z, q_z);
            mul_vector(k, g_b_q_z, Addend::Zero, gs[h], b_q_z);
            map::<S, false>(k, b, b_g_b_q_z, g_b_q_z);
            y += dot(u, b_g_b_q_z);
        }
        -y
    }

    /// Walks back from TF_L-bar = `seed`, adding to the sums.
    #[inline(always)]
    pub(super) fn backward(&mut self, seed: S) {
        let Pass { k, depth, parameters, us, sums, steps, columns, matrices, of_heads, vectors } =
            self;
        let (k, matrix, formed) = (*k, *k * *k, *depth - 1);
        let y_bar = -seed;
        let [b_bar, x, y, mut g_bars @ ..] = split::<SCRATCH, S>(matrices, matrix);
        let [z_bar, v, a] = split(vectors, k);
        z_bar.fill(S::ZERO);
        z_bar[k - 1] = y_bar;
        let (b, gs) = last_step(k, formed, steps);
        let z = &columns[formed * k..][..k];
        for (h, of_head) in of_heads.chunks_exact_mut(OF_HEAD * k).enumerate() {
            let [_, q, _] = matrices_of(matrix, parameters, formed, h);
            let [u, u_bar, _, _, _, b_g_b_q_z, b_u, g_b_u] = split(of_head, k);
            scaled(v, y_bar, b_g_b_q_z);
            add(u_bar, v);
            map::<S, true>(k, b, b_u, u);
            transpose_mul_vector(k, g_b_u, Addend::Zero, gs[h], b_u);
            map::<S, false>(k, b, v, g_b_u);
            scaled(a, y_bar, v);
            let [_, q_sum] = sums_of(matrix, sums, formed, h);
            add_outers(k, q_sum, [(&*a, z)]);
            transpose_mul_vector(k, v, Addend::Zero, q, a);
            add(z_bar, v);
        }
        for l in (0..formed).rev() {
            let step_len = matrix + HEADS * OF_STEP * matrix;
            let (b, heads) = steps[l * step_len..][..step_len].split_at(matrix);
            let above_last = l + 1 == formed;
            b_bar.fill(S::ZERO);
            add_outers(k, b_bar, [(&*z_bar, &columns[l * k..][..k])]);
            for (h, g_bar) in g_bars.iter().enumerate() {
                if above_last {
                    // G-bar = u (Q z)^T.
                    let [u, _, q_z, _, g_b_q_z, _, _, g_b_u] =
                        pieces(k, &of_heads[h * OF_HEAD * k..]);
                    scaled(v, y_bar, u);
                    scaled(a, y_bar, q_z);
                    add_outers(k, b_bar, [(&*v, g_b_q_z), (&*a, g_b_u)]);
                } else {
                    let [_, v_h, w_h] = pieces(matrix, &heads[h * OF_STEP * matrix..]);
                    mul(k, b_bar, Addend::InPlace, g_bar, w_h);
                    transpose_mul(k, b_bar, Addend::InPlace, g_bar, v_h);
                }
            }
            for (h, g_bar) in g_bars.iter_mut().enumerate() {
                let [g] = pieces(matrix, &heads[h * OF_STEP * matrix..]);
                let [_, q, _] = matrices_of(matrix, parameters, l, h);
                let [u] = matrices_of(matrix, us, l, h);
                let [u_sum, q_sum] = sums_of(matrix, sums, l, h);
                mul_transpose(k, x, Addend::Zero, b_bar, q);
                mul_transpose(k, u_sum, Addend::InPlace, x, g);
                transpose_mul(k, x, Addend::Zero, u, b_bar);
                transpose_mul(k, q_sum, Addend::InPlace, g, x);
                if l == 0 {
                    continue;
                }
                mul_transpose(k, y, Addend::Zero, x, q);
                if above_last {
                    let [_, _, _, b_q_z, _, _, b_u] = pieces(k, &of_heads[h * OF_HEAD * k..]);
                    scaled(v, y_bar, b_u);
                    add_outers(k, y, [(&*v, b_q_z)]);
                } else {
                    transpose_mul(k, x, Addend::Zero, b, g_bar);
                    mul(k, y, Addend::InPlace, x, b);
                }
                g_bar.copy_from_slice(y);
            }
            transpose_mul_vector(k, v, Addend::Zero, b, z_bar);
            z_bar.copy_from_slice(v);
        }
    }

    /// Adds to the gradient what U-bar and Q-bar pass back.
    #[inline(always)]
    pub(super) fn finish(self, gradient: &mut [S]) {
        let Pass { k, parameters, sums, matrices, of_heads, .. } = self;
        let (matrix, stored_heads) = (k * k, gradient.len() / (3 * k * k));
        let [x] = split(matrices, matrix);
        for (h, of_head) in of_heads.chunks_exact(OF_HEAD * k).enumerate() {
            // The last layer's U-bar, which has a last row alone.
            let [u_sum, _] = sums_of(matrix, sums, 0, stored_heads - HEADS + h);
            for (column, u_bar) in u_sum.chunks_exact_mut(k).zip(&of_head[k..2 * k]) {
                column[k - 1] += *u_bar;
            }
        }
        for (i, gradient) in gradient.chunks_exact_mut(3 * matrix).enumerate() {
            let [p, _, w] = matrices_of(matrix, parameters, 0, i);
            let [u_sum, q_sum] = matrices_of(matrix, sums, 0, i);
            let [p_bar, q_bar, w_bar] = split(gradient, matrix);
            transpose_mul(k, x, Addend::Zero, w, u_sum);
            add(p_bar, x);
            add(q_bar, q_sum);
            mul_transpose(k, x, Addend::Zero, u_sum, p);
            add(w_bar, x);
        }
    }
}

/// Returns the map B before the last layer, none for the identity, and G of both heads that it is applied to.
#[inline(always)]
fn last_step<S>(k: usize, formed: usize, steps: &[S]) -> (Option<&[S]>, [&[S]; HEADS]) {
    let step = &steps[formed.saturating_sub(1) * (1 + HEADS * OF_STEP) * k * k..];
    let [b, g1, _, _, g2] = pieces(k * k, step);
    ((formed > 0).then_some(b), [g1, g2])
}

/// Computes out = B x, or B^T x if TRANSPOSED.
#[inline(always)]
fn map<S: Scalar, const TRANSPOSED: bool>(k: usize, b: Option<&[S]>, out: &mut [S], x: &[S]) {
    match b {
        None => out.copy_from_slice(x),
        Some(b) if TRANSPOSED => transpose_mul_vector(k, out, Addend::Zero, b, x),
        Some(b) => mul_vector(k, out, Addend::Zero, b, x),
    }
}
