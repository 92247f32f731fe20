//! One window at a time: the reference of the [`batch`](super::batch), and the form for plain TD, for windows that
//! grow, and for single values. Forward, with G_0 the context's statistic and z_0 the query's column:
//!
//! ```text
//! B_l = I + (1/n) P_l G_l Q_l      G_{l+1} = B_l G_l B_l^T      z_{l+1} = B_l z_l      TF_L = -z_L[K]
//! ```
//!
//! Reverse, from z-bar_L = -e_K and G-bar_L = 0 (a bar is an adjoint, X-bar = dTF_L/dX):
//!
//! ```text
//! B-bar_l = z-bar z_l^T + G-bar B_l G_l^T + G-bar^T B_l G_l
//! P-bar_l = (1/n) B-bar_l Q_l^T G_l^T            Q-bar_l = (1/n) G_l^T P_l^T B-bar_l
//! G-bar  <- B_l^T G-bar B_l + (1/n) P_l^T B-bar_l Q_l^T      z-bar <- B_l^T z-bar
//! ```

use super::shape::{
    LinearShape, Workspace, copy, last, last_row, layer, layer_mut, pieces, split, statistic,
    write_last,
};
use crate::linalg::any_size::{
    Addend, add, add_outers, dot, mul, mul_transpose, mul_vectors, scaled, transpose_mul,
    transpose_mul_vectors,
};
use crate::scalar::Scalar;
use crate::training::Window;

/// A window that has been read, and the memory for a pass through it.
pub(super) struct WindowPass<'a, S: Scalar> {
    shape: &'a LinearShape<S::Element>,
    k: usize,
    inverse_len: S,
    layers: &'a [S],
    /// G and B of each layer in the pass.
    steps: &'a mut [S],
    /// z of each layer in the pass.
    columns: &'a mut [S],
    matrices: [&'a mut [S]; 4],
    vectors: [&'a mut [S]; 6],
}

impl<'a, S: Scalar> WindowPass<'a, S> {
    pub(super) fn new(
        shape: &'a LinearShape<S::Element>,
        parameters: &[S],
        room: &'a mut [S],
        window: &Window<S>,
    ) -> Self {
        let work = Workspace::load(shape, parameters, room);
        let Workspace { layers, steps, columns, matrices, vectors, .. } = work;
        let k = shape.token_len();
        let ([g], [z]) = (pieces(steps, k * k, 0), pieces(columns, k, 0));
        statistic(shape, window, 0, g, vectors);
        z.fill(S::ZERO);
        window.write_query(z);
        let inverse_len = S::ONE / S::from_count(window.context_len() as u64);
        let (matrices, vectors) = (split(matrices, k * k), split(vectors, k));
        WindowPass { shape, k, inverse_len, layers, steps, columns, matrices, vectors }
    }

    /// Returns TF_L by all layers, to be walked backwards.
    pub(super) fn forward(&mut self) -> S {
        let WindowPass { shape, k, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let (k, matrix) = (*k, *k * *k);
        let [x, y, ..] = matrices.each_mut().map(|m| &mut **m);
        for l in 0..shape.depth {
            let [g, b, next] = pieces(steps, matrix, 2 * l);
            column_map(k, *inverse_len, layer(matrix, layers, l), g, b, [&mut *x, &mut *y]);
            let [z, z_next] = pieces(columns, k, l);
            if l + 1 == shape.depth {
                mul_vectors(k, b, [(vectors[0], Addend::Zero, z)]);
                break;
            }
            mul_vectors(k, b, [(z_next, Addend::Zero, z)]);
            mul(k, x, Addend::Zero, b, g);
            mul_transpose(k, next, Addend::Zero, x, b);
        }
        -last(vectors[0])
    }

    /// Walks back from TF_L-bar = `seed`, adding to the gradient of the trained numbers.
    pub(super) fn backward(self, seed: S, gradient: &mut [S]) {
        let WindowPass { shape, k, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let matrix = k * k;
        let [g_bar, b_bar, x, y] = matrices;
        let [z_bar, v, ..] = vectors;
        g_bar.fill(S::ZERO);
        write_last(z_bar, -seed);
        for l in (0..shape.depth).rev() {
            let [p, q] = layer(matrix, layers, l);
            let ([g, b], [z]) = (pieces(steps, matrix, 2 * l), pieces(columns, k, l));
            b_bar.fill(S::ZERO);
            add_outers(k, b_bar, [(&*z_bar, &*z)]);
            // G-bar B G^T and G-bar^T B G.
            mul(k, x, Addend::Zero, g_bar, b);
            mul_transpose(k, y, Addend::Zero, x, g);
            add(b_bar, y);
            transpose_mul(k, x, Addend::Zero, g_bar, b);
            mul(k, y, Addend::Zero, x, g);
            add(b_bar, y);
            // (1/n) B-bar Q^T and (1/n) P^T B-bar.
            mul_transpose(k, y, Addend::Zero, b_bar, q);
            scaled(x, inverse_len, y);
            transpose_mul(k, y, Addend::Zero, p, b_bar);
            scaled(b_bar, inverse_len, y);
            let (b_q, p_b) = (&*x, &*b_bar);
            let [p_bar, q_bar] = layer_mut(shape.matrix_len(), gradient, l);
            mul_transpose(k, y, Addend::Zero, b_q, g);
            add(p_bar, y);
            transpose_mul(k, y, Addend::Zero, g, p_b);
            add(q_bar, y);
            // G-bar <- B^T G-bar B + (1/n) P^T B-bar Q^T, z-bar <- B^T z-bar.
            transpose_mul(k, y, Addend::Zero, b, g_bar);
            mul(k, g_bar, Addend::Zero, y, b);
            mul_transpose(k, y, Addend::Zero, p_b, q);
            add(g_bar, y);
            transpose_mul_vectors(k, b, [(v, Addend::Zero, z_bar)]);
            copy(z_bar, v);
        }
    }

    /// Returns TF_L, by the readout: operation by operation
    /// [`Transformer::readout`](crate::transformer::Transformer::readout), whose last two layers act on vectors.
    pub(super) fn value(self) -> S {
        let WindowPass { shape, k, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let ([g], [z]) = (pieces(steps, k * k, 0), pieces(columns, k, 0));
        let [b, product, x, y] = matrices;
        let formed = shape.depth.saturating_sub(2);
        for l in 0..formed {
            column_map(k, inverse_len, layer(k * k, layers, l), g, b, [&mut *x, &mut *y]);
            if l + 1 < formed {
                if l == 0 {
                    copy(product, b);
                } else {
                    mul(k, x, Addend::Zero, b, product);
                    copy(product, x);
                }
                mul(k, x, Addend::Zero, b, g);
                mul_transpose(k, g, Addend::Zero, x, b);
            }
        }
        // The input of these layers is B G B^T, with the map B of the previous layer, if any.
        let (g, b) = (&*g, (formed > 0).then_some(&*b));
        let times = |transposed: bool, out: &mut [S], m: &[S], x: &[S]| {
            if transposed {
                transpose_mul_vectors(k, m, [(out, Addend::Zero, x)]);
            } else {
                mul_vectors(k, m, [(out, Addend::Zero, x)]);
            }
        };
        let g_times = |transposed: bool, out: &mut [S], x: &[S], v: &mut [S]| match b {
            None => times(transposed, out, g, x),
            Some(b) => {
                times(true, out, b, x);
                times(transposed, v, g, out);
                times(false, out, b, v);
            }
        };
        // out = x + (1/n) a
        let plus = |out: &mut [S], x: &[S], a: &[S]| {
            scaled(out, inverse_len, a);
            add(out, x);
        };
        let [x, y, u, v, w, e_k] = vectors;
        write_last(e_k, S::ONE);
        let [p, q] = layer(k * k, layers, shape.depth - 1);
        last_row(k, p, x);
        if shape.depth == 1 {
            g_times(true, y, x, v);
            times(true, v, q, y);
            plus(u, e_k, v);
            return -dot(u, z);
        }
        let before = layer(k * k, layers, formed);
        // out = B x or B^T x of the layer before the last.
        let mut map = |transposed: bool, out: &mut [S], x: &[S], v: &mut [S]| {
            let [first, last] = if transposed { [0, 1] } else { [1, 0] };
            times(transposed, out, before[first], x);
            g_times(transposed, w, out, v);
            times(transposed, v, before[last], w);
            plus(out, x, v);
        };
        map(true, y, x, v);
        g_times(true, x, y, v);
        map(false, y, x, v);
        times(true, v, q, y);
        plus(y, e_k, v);
        map(true, u, y, v);
        for m in [b, (formed > 1).then_some(&*product)].into_iter().flatten() {
            times(true, v, m, u);
            copy(u, v);
        }
        -dot(u, z)
    }
}

/// Computes B = I + (1/n) P G Q.
fn column_map<S: Scalar>(
    k: usize,
    inverse_len: S,
    [p, q]: [&[S]; 2],
    g: &[S],
    b: &mut [S],
    [x, y]: [&mut [S]; 2],
) {
    scaled(x, inverse_len, p);
    mul(k, y, Addend::Zero, x, g);
    mul(k, b, Addend::Zero, y, q);
    for i in 0..k {
        if let Some(diagonal) = b.get_mut(i * k + i) {
            *diagonal += S::ONE;
        }
    }
}
