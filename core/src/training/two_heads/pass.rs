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

use crate::linalg::padded::{
    Onto, Size, TwoSided, add, add_outers, dot, mul, mul_transpose, mul_vector, scaled, transpose,
};
use crate::scalar::{Scalar, kernel};
use crate::training::network::BatchLoss;
use crate::training::work::{ParameterSet, split};
use crate::training::{Targets, Window, Windows};

/// Two heads.
const HEADS: usize = 2;
/// P, Q and W of each.
const MATRICES: usize = 3 * HEADS;
/// Of each layer in the pass: B, and of each head G, V = B G and B G^T.
const OF_STEP: usize = 1 + 3 * HEADS;
/// Of a pass, beside them: G-bar of each head, B-bar and three more.
const SCRATCH: usize = HEADS + 4;
/// Vectors of each head of the last layer, where B and G are those before it: u = U^T e_K and u-bar, Q z,
/// B^T Q z, G B^T Q z, B G B^T Q z, B^T u, G^T B^T u.
const OF_HEAD: usize = 8;
/// Of a pass, beside them: z-bar, and three more.
const VECTORS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) size: Size,
    /// Stored layers.
    pub(super) stored: usize,
    /// Layers in the pass.
    pub(super) depth: usize,
}

impl Shape {
    /// The numbers of a layer.
    pub(super) fn layer(&self) -> usize {
        MATRICES * self.size.k * self.size.k
    }

    /// The room for a pass.
    pub(super) fn work<S: Scalar>(&self) -> usize {
        let Shape { size, stored, depth } = *self;
        let of_heads = stored * HEADS * (Head::<S>::MATRICES + 2);
        let matrices = of_heads + depth * OF_STEP + SCRATCH;
        let vectors = HEADS * OF_HEAD + depth + VECTORS;
        matrices * size.matrix() + vectors * size.rows
    }
}

kernel! {
    /// Window by window, with one load of the parameters.
    pub(super) fn batch_gradient as BatchGradient<'a, S: Scalar, const D: usize>(
        pass: Pass<'a, S>,
        windows: &'a Windows<'a, S, D>,
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

/// A head of a stored layer.
struct Head<'a, S> {
    u: TwoSided<'a, S>,
    q: TwoSided<'a, S>,
    p: &'a [S],
    w: TwoSided<'a, S>,
}

impl<'a, S: Scalar> Head<'a, S> {
    /// U, Q and W from both sides, and P.
    const MATRICES: usize = 3 * TwoSided::<S>::MATRICES + 1;

    /// Head h of layer l.
    #[inline(always)]
    fn at(Shape { size, stored, .. }: Shape, heads: &'a [S], l: usize, h: usize) -> Self {
        let (matrix, both) = (size.matrix(), TwoSided::<S>::MATRICES * size.matrix());
        let one = &heads[(l % stored * HEADS + h) * Self::MATRICES * matrix..];
        let (u, rest) = one.split_at(both);
        let (q, rest) = rest.split_at(both);
        let (w, rest) = rest.split_at(both);
        let [u, q, w] = [u, q, w].map(|m| TwoSided::within(size, m));
        Head { u, q, p: &rest[..matrix], w }
    }
}

/// Room for a pass over windows, one at a time, with the parameters.
pub(super) struct Pass<'a, S> {
    shape: Shape,
    /// [`Head`] of each stored layer.
    heads: &'a mut [S],
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
    /// With P, Q and W of each head of each stored layer, (k, k) each, column by column.
    #[inline(always)]
    pub(super) fn new<'b>(
        shape: Shape,
        parameters: impl Iterator<Item = &'b [S]>,
        work: &'a mut [S],
    ) -> Self {
        let Shape { size, stored, depth } = shape;
        let (matrix, both) = (size.matrix(), TwoSided::<S>::MATRICES * size.matrix());
        let one = Head::<S>::MATRICES * matrix;
        let (heads, work) = work.split_at_mut(stored * HEADS * one);
        let (sums, work) = work.split_at_mut(stored * HEADS * 2 * matrix);
        let (steps, work) = work.split_at_mut(depth * OF_STEP * matrix);
        let (matrices, work) = work.split_at_mut(SCRATCH * matrix);
        let (columns, work) = work.split_at_mut(depth * size.rows);
        let (of_heads, work) = work.split_at_mut(HEADS * OF_HEAD * size.rows);
        let vectors = &mut work[..VECTORS * size.rows];
        sums.fill(S::ZERO);
        of_heads.fill(S::ZERO);
        vectors.fill(S::ZERO);
        for (m, from) in parameters.enumerate() {
            let head = &mut heads[m / 3 * one..][..one];
            let (u, rest) = head.split_at_mut(both);
            let (q, rest) = rest.split_at_mut(both);
            let (w, p) = rest.split_at_mut(both);
            let to = [&mut *p, &mut *q, &mut *w];
            ParameterSet::Full.write(size, from, &mut to[m % 3][..matrix]);
            match m % 3 {
                1 => TwoSided::update(size, q),
                2 => {
                    TwoSided::update(size, w);
                    mul(size, &mut u[..matrix], Onto::Zeros, w, p);
                    TwoSided::update(size, u);
                    if m / 3 / HEADS + 1 == stored {
                        let last_row = &mut of_heads[m / 3 % HEADS * OF_HEAD * size.rows..];
                        let columns = u[..matrix].chunks_exact(size.rows);
                        for (to, column) in last_row.iter_mut().zip(columns) {
                            *to = column[size.k - 1];
                        }
                    }
                }
                _ => {}
            }
        }
        Pass { shape, heads, sums, steps, columns, matrices, of_heads, vectors }
    }

    /// G of both heads, to those of the first step, and the query's column.
    #[inline(always)]
    fn read<const D: usize>(&mut self, window: &Window<S, D>) {
        let Shape { size, .. } = self.shape;
        let Pass { steps, columns, vectors, .. } = self;
        let [_, g1, g2] = split(&mut steps[..3 * size.matrix()], size.matrix());
        let [z, mean, centred, share_of] = split(vectors, size.rows);
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
            add_outers(size, g1, [(&*centred, &*share_of)]);
            add_outers(size, g2, [(&*z, &*share_of)]);
        }
        let query = &mut columns[..size.rows];
        query.fill(S::ZERO);
        window.write_query(query);
    }

    /// TF_L.
    #[inline(always)]
    pub(super) fn forward<const D: usize>(&mut self, window: &Window<S, D>) -> S {
        self.read(window);
        let Pass { shape, heads, steps, columns, matrices, of_heads, .. } = self;
        let (shape, heads) = (*shape, &**heads);
        let Shape { size, depth, .. } = shape;
        let (matrix, rows) = (size.matrix(), size.rows);
        let formed = depth - 1;
        for l in 0..formed {
            let (step, next) = steps[l * OF_STEP * matrix..].split_at_mut(OF_STEP * matrix);
            let [b, g1, g2, v1, v2, w1, w2] = split(step, matrix);
            b.fill(S::ZERO);
            for i in 0..size.k {
                b[i * rows + i] = S::ONE;
            }
            for (h, g) in [&*g1, &*g2].into_iter().enumerate() {
                let Head { u, q, .. } = Head::at(shape, heads, l, h);
                mul(size, &mut *v1, Onto::Zeros, u.m, g);
                mul(size, b, Onto::Itself, v1, q.m);
            }
            let (z, z_next) = columns[l * rows..].split_at_mut(rows);
            mul_vector(size, &mut z_next[..rows], Onto::Zeros, b, z);
            if l + 1 == formed {
                break;
            }
            let [_, next_g1, next_g2] = split(&mut next[..3 * matrix], matrix);
            let t = &mut matrices[..matrix];
            for (g, v, w, next) in [(g1, v1, w1, next_g1), (g2, v2, w2, next_g2)] {
                mul(size, v, Onto::Zeros, b, g);
                transpose(size, t, g);
                mul(size, w, Onto::Zeros, b, t);
                mul_transpose(size, next, Onto::Zeros, v, b);
            }
        }
        // The last layer, whose statistic is B G B^T of the step before, if there is one.
        let step = &mut steps[formed.saturating_sub(1) * OF_STEP * matrix..][..OF_STEP * matrix];
        let [b, g1, g2, ..] = split::<OF_STEP, S>(step, matrix);
        let b = TransposedOnDemand::of(size, b, &mut matrices[..matrix], formed > 0);
        let z = &columns[formed * rows..][..rows];
        let mut y = z[size.k - 1];
        for (h, g) in [&*g1, &*g2].into_iter().enumerate() {
            let Head { q, .. } = Head::at(shape, heads, formed, h);
            let of_head = &mut of_heads[h * OF_HEAD * rows..][..OF_HEAD * rows];
            let [u, _, q_z, b_q_z, g_b_q_z, b_g_b_q_z, ..] = split::<OF_HEAD, S>(of_head, rows);
            mul_vector(size, q_z, Onto::Zeros, q.m, z);
            b.transpose_mul_vector(b_q_z, q_z);
            mul_vector(size, g_b_q_z, Onto::Zeros, g, b_q_z);
            b.mul_vector(b_g_b_q_z, g_b_q_z);
            y += dot(size, u, b_g_b_q_z);
        }
        -y
    }

    /// Walks back from TF_L-bar = `seed`, adding to the sums.
    #[inline(always)]
    pub(super) fn backward(&mut self, seed: S) {
        let Pass { shape, heads, sums, steps, columns, matrices, of_heads, vectors } = self;
        let (shape, heads) = (*shape, &**heads);
        let Shape { size, depth, .. } = shape;
        let (matrix, rows) = (size.matrix(), size.rows);
        let formed = depth - 1;
        let y_bar = -seed;
        let [g1_bar, g2_bar, b_bar, x, y, t] = split(matrices, matrix);
        let [z_bar, v, a, _] = split(vectors, rows);
        z_bar.fill(S::ZERO);
        z_bar[size.k - 1] = y_bar;
        {
            let step =
                &mut steps[formed.saturating_sub(1) * OF_STEP * matrix..][..OF_STEP * matrix];
            let [b, g1, g2, ..] = split::<OF_STEP, S>(step, matrix);
            let b = TransposedOnDemand::of(size, b, t, formed > 0);
            let z = &columns[formed * rows..][..rows];
            for (h, g) in [&*g1, &*g2].into_iter().enumerate() {
                let Head { q, .. } = Head::at(shape, heads, formed, h);
                let of_head = &mut of_heads[h * OF_HEAD * rows..][..OF_HEAD * rows];
                let [u, u_bar, _, _, _, b_g_b_q_z, b_u, g_b_u] = split(of_head, rows);
                scaled(v, y_bar, b_g_b_q_z);
                add(u_bar, v);
                b.transpose_mul_vector(b_u, u);
                transpose(size, x, g);
                mul_vector(size, g_b_u, Onto::Zeros, x, b_u);
                b.mul_vector(v, g_b_u);
                scaled(a, y_bar, v);
                add_outers(size, sum_at(sums, shape, formed, h)[1], [(&*a, z)]);
                q.transpose_mul_vector(size, v, Onto::Zeros, a);
                add(z_bar, v);
            }
        }
        for l in (0..formed).rev() {
            let step = &mut steps[l * OF_STEP * matrix..][..OF_STEP * matrix];
            let [b, g1, g2, v1, v2, w1, w2] = split(step, matrix);
            let z = &columns[l * rows..][..rows];
            let above_last = l + 1 == formed;
            b_bar.fill(S::ZERO);
            add_outers(size, b_bar, [(&*z_bar, z)]);
            for (h, (g_bar, v_h, w_h)) in
                [(&*g1_bar, &*v1, &*w1), (&*g2_bar, &*v2, &*w2)].into_iter().enumerate()
            {
                if above_last {
                    // G-bar = u (Q z)^T.
                    let of_head = &mut of_heads[h * OF_HEAD * rows..][..OF_HEAD * rows];
                    let [u, _, q_z, _, g_b_q_z, _, _, g_b_u] = split(of_head, rows);
                    scaled(v, y_bar, u);
                    scaled(a, y_bar, q_z);
                    add_outers(size, b_bar, [(&*v, &*g_b_q_z), (&*a, &*g_b_u)]);
                } else {
                    mul(size, b_bar, Onto::Itself, g_bar, w_h);
                    transpose(size, t, g_bar);
                    mul(size, b_bar, Onto::Itself, t, v_h);
                }
            }
            for (h, (g, g_bar)) in
                [(&*g1, &mut *g1_bar), (&*g2, &mut *g2_bar)].into_iter().enumerate()
            {
                let Head { u, q, .. } = Head::at(shape, heads, l, h);
                let [u_sum, q_sum] = sum_at(sums, shape, l, h);
                mul_transpose(size, x, Onto::Zeros, b_bar, q.m);
                mul_transpose(size, u_sum, Onto::Itself, x, g);
                u.transpose_mul(size, x, Onto::Zeros, b_bar);
                transpose(size, t, g);
                mul(size, q_sum, Onto::Itself, t, x);
                if l == 0 {
                    continue;
                }
                mul_transpose(size, y, Onto::Zeros, x, q.m);
                if above_last {
                    let of_head = &mut of_heads[h * OF_HEAD * rows..][..OF_HEAD * rows];
                    let [_, _, _, b_q_z, _, _, b_u, _] = split(of_head, rows);
                    scaled(v, y_bar, b_u);
                    add_outers(size, y, [(&*v, &*b_q_z)]);
                } else {
                    transpose(size, t, b);
                    mul(size, x, Onto::Zeros, t, g_bar);
                    mul(size, y, Onto::Itself, x, b);
                }
                g_bar.copy_from_slice(y);
            }
            transpose(size, t, b);
            mul_vector(size, v, Onto::Zeros, t, z_bar);
            z_bar.copy_from_slice(v);
        }
    }

    /// From U-bar and Q-bar to the gradient, to which it is added.
    #[inline(always)]
    pub(super) fn finish(self, gradient: &mut [S]) {
        let Pass { shape, heads, sums, matrices, of_heads, .. } = self;
        let Shape { size, stored, .. } = shape;
        let (matrix, rows) = (size.matrix(), size.rows);
        let [x, ..] = split::<SCRATCH, S>(matrices, matrix);
        let of_head = gradient.chunks_exact_mut(3 * size.k * size.k).enumerate();
        for (i, gradient) in of_head {
            let head = Head::at(shape, heads, i / HEADS, i % HEADS);
            let [u_sum, q_sum] = sum_at(sums, shape, i / HEADS, i % HEADS);
            if i / HEADS + 1 == stored {
                // The last layer's, which has a last row alone.
                let u_bar = &of_heads[i % HEADS * OF_HEAD * rows..][rows..2 * rows];
                for (column, x) in u_sum.chunks_exact_mut(rows).zip(u_bar) {
                    column[size.k - 1] += *x;
                }
            }
            let [p, q, w] = split(gradient, size.k * size.k);
            head.w.transpose_mul(size, x, Onto::Zeros, u_sum);
            ParameterSet::Full.add_adjoint(size, x, p);
            ParameterSet::Full.add_adjoint(size, q_sum, q);
            mul_transpose(size, x, Onto::Zeros, u_sum, head.p);
            ParameterSet::Full.add_adjoint(size, x, w);
        }
    }
}

/// U-bar and Q-bar of head h of layer l.
#[inline(always)]
fn sum_at<S>(sums: &mut [S], shape: Shape, l: usize, h: usize) -> [&mut [S]; 2] {
    let matrix = shape.size.matrix();
    split(&mut sums[(l % shape.stored * HEADS + h) * 2 * matrix..][..2 * matrix], matrix)
}

/// B and B^T, or the identity.
struct TransposedOnDemand<'a, S> {
    size: Size,
    b: Option<[&'a [S]; 2]>,
}

impl<'a, S: Scalar> TransposedOnDemand<'a, S> {
    #[inline(always)]
    fn of(size: Size, b: &'a [S], room: &'a mut [S], there_is_one: bool) -> Self {
        if !there_is_one {
            return TransposedOnDemand { size, b: None };
        }
        transpose(size, room, b);
        TransposedOnDemand { size, b: Some([b, room]) }
    }

    /// out = B x.
    #[inline(always)]
    fn mul_vector(&self, out: &mut [S], x: &[S]) {
        match self.b {
            Some([b, _]) => mul_vector(self.size, out, Onto::Zeros, b, x),
            None => out.copy_from_slice(x),
        }
    }

    /// out = B^T x.
    #[inline(always)]
    fn transpose_mul_vector(&self, out: &mut [S], x: &[S]) {
        match self.b {
            Some([_, b]) => mul_vector(self.size, out, Onto::Zeros, b, x),
            None => out.copy_from_slice(x),
        }
    }
}
