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
use super::work::split;
use crate::linalg::any_size::{
    Onto, add, add_outers, dot, mul, mul_transpose, mul_vector, scaled, transpose_mul,
    transpose_mul_vector,
};
use crate::scalar::{Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::{Targets, Window, Windows};

/// Two heads.
const HEADS: usize = 2;
/// Matrices of each layer in the pass: B, and of each head G, V = B G and B G^T.
const OF_STEP: usize = 1 + 3 * HEADS;
/// Matrices of a pass, beside them: G-bar of each head, B-bar and two more.
const SCRATCH: usize = HEADS + 3;
/// Vectors of each head of the last layer, where B and G are those before it: u = U^T e_K and u-bar, Q z,
/// B^T Q z, G B^T Q z, B G B^T Q z, B^T u, G^T B^T u.
const OF_HEAD: usize = 8;
/// Vectors of a pass, beside them: z-bar, and three more.
const VECTORS: usize = 4;

/// Returns the matrices and vectors that a pass works in: U, U-bar and Q-bar of each stored head, and the others.
pub(super) const fn work(stored: usize, depth: usize) -> (usize, usize) {
    let matrices = stored * HEADS * 3 + depth * OF_STEP + SCRATCH;
    (matrices, HEADS * OF_HEAD + depth + VECTORS)
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
            let (window, t) = loss.pass(i);
            let value = pass.forward(&window);
            if let Some(v_bar) = loss.take(t, value) {
                pass.backward(v_bar);
            }
        }
        pass.finish(gradient);
        loss.mean()
    }
}

/// The stored heads.
#[derive(Clone, Copy)]
struct Heads<'a, S> {
    k: usize,
    stored: usize,
    /// P, Q and W of each.
    parameters: &'a [S],
}

impl<'a, S: Scalar> Heads<'a, S> {
    /// Returns the place of head h of layer l among all.
    #[inline(always)]
    fn place(&self, l: usize, h: usize) -> usize {
        l % self.stored * HEADS + h
    }

    /// Returns P, Q and W of head h of layer l.
    #[inline(always)]
    fn at(&self, l: usize, h: usize) -> [&'a [S]; 3] {
        let matrix = self.k * self.k;
        let at = 3 * self.place(l, h) * matrix;
        [0, 1, 2].map(|m| &self.parameters[at + m * matrix..][..matrix])
    }

    /// Returns U of head h of layer l.
    #[inline(always)]
    fn u<'b>(&self, us: &'b [S], l: usize, h: usize) -> &'b [S] {
        &us[self.place(l, h) * self.k * self.k..][..self.k * self.k]
    }

    /// Returns U-bar and Q-bar of head h of layer l.
    #[inline(always)]
    fn sums<'b>(&self, sums: &'b mut [S], l: usize, h: usize) -> [&'b mut [S]; 2] {
        let matrix = self.k * self.k;
        split(&mut sums[2 * self.place(l, h) * matrix..][..2 * matrix], matrix)
    }
}

/// The memory for a pass over windows, one at a time, with the parameters.
pub(super) struct Pass<'a, S> {
    depth: usize,
    heads: Heads<'a, S>,
    /// U = W P of each stored head.
    us: &'a mut [S],
    /// U-bar and Q-bar of each.
    sums: &'a mut [S],
    /// [`OF_STEP`] of each layer in the pass.
    steps: &'a mut [S],
    /// z of each layer.
    columns: &'a mut [S],
    matrices: &'a mut [S],
    /// [`OF_HEAD`] of each head.
    of_heads: &'a mut [S],
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Pass<'a, S> {
    /// Begins a pass with the trained numbers, in [`work`]'s memory.
    #[inline(always)]
    pub(super) fn new(
        shape: &LinearShape<S::Element>,
        parameters: &'a [S],
        work: &'a mut [S],
    ) -> Self {
        let (k, stored, depth) = (shape.token_len(), shape.stored(), shape.depth());
        let matrix = k * k;
        let (us, work) = work.split_at_mut(stored * HEADS * matrix);
        let (sums, work) = work.split_at_mut(stored * HEADS * 2 * matrix);
        let (steps, work) = work.split_at_mut(depth * OF_STEP * matrix);
        let (matrices, work) = work.split_at_mut(SCRATCH * matrix);
        let (columns, work) = work.split_at_mut(depth * k);
        let (of_heads, work) = work.split_at_mut(HEADS * OF_HEAD * k);
        let vectors = &mut work[..VECTORS * k];
        sums.fill(S::ZERO);
        of_heads.fill(S::ZERO);
        vectors.fill(S::ZERO);
        let heads = Heads { k, stored, parameters };
        for (i, u) in us.chunks_exact_mut(matrix).enumerate() {
            let [p, _, w] = heads.at(i / HEADS, i % HEADS);
            mul(k, u, Onto::Zeros, w, p);
            if i / HEADS + 1 == stored {
                let last_row = &mut of_heads[i % HEADS * OF_HEAD * k..][..k];
                for (to, column) in last_row.iter_mut().zip(u.chunks_exact(k)) {
                    *to = column[k - 1];
                }
            }
        }
        Pass { depth, heads, us, sums, steps, columns, matrices, of_heads, vectors }
    }

    /// Writes G of both heads to those of the first step, and the query's column.
    #[inline(always)]
    fn read(&mut self, window: &Window<S>) {
        let Pass { heads: Heads { k, .. }, steps, columns, vectors, .. } = self;
        let k = *k;
        let [_, g1, g2] = split(&mut steps[..3 * k * k], k * k);
        let [z, mean, centred, share_of] = split(vectors, k);
        let (n, dim) = (window.context_len(), window.from.dim());
        let inverse_len = S::ONE / S::from_count(n as u64);
        g1.fill(S::ZERO);
        g2.fill(S::ZERO);
        mean.fill(S::ZERO);
        centred.fill(S::ZERO);
        z.fill(S::ZERO);
        for j in 0..n {
            window.from.write_phi(j, S::ONE, z);
            window.from.write_phi(j + 1, window.from.carries_on(j), &mut z[dim..]);
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
        let Pass { depth, heads, us, steps, columns, of_heads, .. } = self;
        let (k, matrix, formed) = (heads.k, heads.k * heads.k, *depth - 1);
        for l in 0..formed {
            let (step, next) = steps[l * OF_STEP * matrix..].split_at_mut(OF_STEP * matrix);
            let [b, g1, g2, v1, v2, w1, w2] = split(step, matrix);
            b.fill(S::ZERO);
            for i in 0..k {
                b[i * k + i] = S::ONE;
            }
            for (h, g) in [&*g1, &*g2].into_iter().enumerate() {
                let [_, q, _] = heads.at(l, h);
                mul(k, v1, Onto::Zeros, heads.u(us, l, h), g);
                mul(k, b, Onto::Itself, v1, q);
            }
            let (z, z_next) = columns[l * k..].split_at_mut(k);
            mul_vector(k, &mut z_next[..k], Onto::Zeros, b, z);
            if l + 1 == formed {
                break;
            }
            let [_, next_g1, next_g2] = split(&mut next[..3 * matrix], matrix);
            for (g, v, w, next) in [(g1, v1, w1, next_g1), (g2, v2, w2, next_g2)] {
                mul(k, v, Onto::Zeros, b, g);
                mul_transpose(k, w, Onto::Zeros, b, g);
                mul_transpose(k, next, Onto::Zeros, v, b);
            }
        }
        // The last layer, whose statistic is B G B^T of the step before, if there is one.
        let (b, [g1, g2]) = last_step(k, formed, steps);
        let z = &columns[formed * k..][..k];
        let mut y = z[k - 1];
        for (h, g) in [g1, g2].into_iter().enumerate() {
            let [_, q, _] = heads.at(formed, h);
            let of_head = &mut of_heads[h * OF_HEAD * k..][..OF_HEAD * k];
            let [u, _, q_z, b_q_z, g_b_q_z, b_g_b_q_z, ..] = split::<OF_HEAD, S>(of_head, k);
            mul_vector(k, q_z, Onto::Zeros, q, z);
            map::<S, true>(k, b, b_q_z, q_z);
            mul_vector(k, g_b_q_z, Onto::Zeros, g, b_q_z);
            map::<S, false>(k, b, b_g_b_q_z, g_b_q_z);
            y += dot(u, b_g_b_q_z);
        }
        -y
    }

    /// Walks back from TF_L-bar = `seed`, adding to the sums.
    #[inline(always)]
    pub(super) fn backward(&mut self, seed: S) {
        let Pass { depth, heads, us, sums, steps, columns, matrices, of_heads, vectors } = self;
        let (k, matrix, formed) = (heads.k, heads.k * heads.k, *depth - 1);
        let y_bar = -seed;
        let [g1_bar, g2_bar, b_bar, x, y] = split(matrices, matrix);
        let [z_bar, v, a, _] = split(vectors, k);
        z_bar.fill(S::ZERO);
        z_bar[k - 1] = y_bar;
        let (b, [g1, g2]) = last_step(k, formed, steps);
        let z = &columns[formed * k..][..k];
        for (h, g) in [g1, g2].into_iter().enumerate() {
            let [_, q, _] = heads.at(formed, h);
            let of_head = &mut of_heads[h * OF_HEAD * k..][..OF_HEAD * k];
            let [u, u_bar, _, _, _, b_g_b_q_z, b_u, g_b_u] = split(of_head, k);
            scaled(v, y_bar, b_g_b_q_z);
            add(u_bar, v);
            map::<S, true>(k, b, b_u, u);
            transpose_mul_vector(k, g_b_u, Onto::Zeros, g, b_u);
            map::<S, false>(k, b, v, g_b_u);
            scaled(a, y_bar, v);
            let [_, q_sum] = heads.sums(sums, formed, h);
            add_outers(k, q_sum, [(&*a, z)]);
            transpose_mul_vector(k, v, Onto::Zeros, q, a);
            add(z_bar, v);
        }
        for l in (0..formed).rev() {
            let step = &mut steps[l * OF_STEP * matrix..][..OF_STEP * matrix];
            let [b, g1, g2, v1, v2, w1, w2] = split(step, matrix);
            let z = &columns[l * k..][..k];
            let above_last = l + 1 == formed;
            b_bar.fill(S::ZERO);
            add_outers(k, b_bar, [(&*z_bar, z)]);
            for (h, (g_bar, v_h, w_h)) in
                [(&*g1_bar, &*v1, &*w1), (&*g2_bar, &*v2, &*w2)].into_iter().enumerate()
            {
                if above_last {
                    // G-bar = u (Q z)^T.
                    let of_head = &mut of_heads[h * OF_HEAD * k..][..OF_HEAD * k];
                    let [u, _, q_z, _, g_b_q_z, _, _, g_b_u] = split(of_head, k);
                    scaled(v, y_bar, u);
                    scaled(a, y_bar, q_z);
                    add_outers(k, b_bar, [(&*v, &*g_b_q_z), (&*a, &*g_b_u)]);
                } else {
                    mul(k, b_bar, Onto::Itself, g_bar, w_h);
                    transpose_mul(k, b_bar, Onto::Itself, g_bar, v_h);
                }
            }
            for (h, (g, g_bar)) in
                [(&*g1, &mut *g1_bar), (&*g2, &mut *g2_bar)].into_iter().enumerate()
            {
                let [_, q, _] = heads.at(l, h);
                let [u_sum, q_sum] = heads.sums(sums, l, h);
                mul_transpose(k, x, Onto::Zeros, b_bar, q);
                mul_transpose(k, u_sum, Onto::Itself, x, g);
                transpose_mul(k, x, Onto::Zeros, heads.u(us, l, h), b_bar);
                transpose_mul(k, q_sum, Onto::Itself, g, x);
                if l == 0 {
                    continue;
                }
                mul_transpose(k, y, Onto::Zeros, x, q);
                if above_last {
                    let of_head = &mut of_heads[h * OF_HEAD * k..][..OF_HEAD * k];
                    let [_, _, _, b_q_z, _, _, b_u, _] = split(of_head, k);
                    scaled(v, y_bar, b_u);
                    add_outers(k, y, [(&*v, &*b_q_z)]);
                } else {
                    transpose_mul(k, x, Onto::Zeros, b, g_bar);
                    mul(k, y, Onto::Itself, x, b);
                }
                g_bar.copy_from_slice(y);
            }
            transpose_mul_vector(k, v, Onto::Zeros, b, z_bar);
            z_bar.copy_from_slice(v);
        }
    }

    /// Adds to the gradient what U-bar and Q-bar pass back.
    #[inline(always)]
    pub(super) fn finish(self, gradient: &mut [S]) {
        let Pass { heads, sums, matrices, of_heads, .. } = self;
        let Heads { k, stored, .. } = heads;
        let matrix = k * k;
        let [x, ..] = split::<SCRATCH, S>(matrices, matrix);
        for (i, gradient) in gradient.chunks_exact_mut(3 * matrix).enumerate() {
            let [p, _, w] = heads.at(i / HEADS, i % HEADS);
            let [u_sum, q_sum] = heads.sums(sums, i / HEADS, i % HEADS);
            if i / HEADS + 1 == stored {
                // The last layer's, which has a last row alone.
                let u_bar = &of_heads[i % HEADS * OF_HEAD * k..][k..2 * k];
                for (column, x) in u_sum.chunks_exact_mut(k).zip(u_bar) {
                    column[k - 1] += *x;
                }
            }
            let [p_bar, q_bar, w_bar] = split(gradient, matrix);
            transpose_mul(k, x, Onto::Zeros, w, u_sum);
            add(p_bar, x);
            add(q_bar, q_sum);
            mul_transpose(k, x, Onto::Zeros, u_sum, p);
            add(w_bar, x);
        }
    }
}

/// Returns the map B before the last layer, none for the identity, and G of both heads that it is applied to.
#[inline(always)]
fn last_step<S>(k: usize, formed: usize, steps: &[S]) -> (Option<&[S]>, [&[S]; 2]) {
    let step = &steps[formed.saturating_sub(1) * OF_STEP * k * k..];
    let [b, g1, g2] = [0, 1, 2].map(|m| &step[m * k * k..][..k * k]);
    ((formed > 0).then_some(b), [g1, g2])
}

/// out = B x, or B^T x if TRANSPOSED.
#[inline(always)]
fn map<S: Scalar, const TRANSPOSED: bool>(k: usize, b: Option<&[S]>, out: &mut [S], x: &[S]) {
    match b {
        None => out.copy_from_slice(x),
        Some(b) if TRANSPOSED => transpose_mul_vector(k, out, Onto::Zeros, b, x),
        Some(b) => mul_vector(k, out, Onto::Zeros, b, x),
    }
}
