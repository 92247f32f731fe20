//! One window at a time, simply: as [`Transformer::readout`](crate::transformer::Transformer::readout) and
//! [`gradient::linear`](crate::gradient::linear), operation by operation, for any size and any mask.

use crate::linalg::padded::{
    Onto, Size, TwoSided, add, add_outers, dot, mul, mul_transpose, mul_vector, scaled, transpose,
};
use crate::scalar::Scalar;
use crate::training::Window;
use crate::training::read::read;
use crate::training::work::{Shape, Work, split, step_matrices};

/// Room for a pass, with the parameters.
pub(super) struct Pass<'a, S> {
    shape: Shape<S>,
    inverse_len: S,
    layers: &'a [S],
    /// G and B of each layer.
    steps: &'a mut [S],
    /// z of each layer.
    columns: &'a mut [S],
    matrices: [&'a mut [S]; 5],
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Pass<'a, S> {
    pub(super) fn new(shape: Shape<S>, work: Work<'a, S>) -> Self {
        let Work { layers, steps, columns, matrices, vectors, .. } = work;
        vectors.fill(S::ZERO);
        let matrices = split(matrices, shape.size.matrix());
        Pass { shape, inverse_len: S::ONE, layers, steps, columns, matrices, vectors }
    }

    /// The context's statistic, to G of the first step, and the query's column; 1/n.
    fn read<const D: usize>(&mut self, window: &Window<S, D>) {
        let Pass { shape, steps, columns, matrices: [f, ..], vectors, .. } = self;
        let (g, z) = (&mut steps[..shape.size.matrix()], &mut columns[..shape.size.rows]);
        self.inverse_len = read(shape, window, g, z, [f, vectors]);
    }

    /// TF_L by the readout.
    pub(super) fn value<const D: usize>(&mut self, window: &Window<S, D>) -> S {
        self.read(window);
        let Pass { shape, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let Shape { size, depth, .. } = *shape;
        let layer = |l| layer(shape, layers, l);
        let g = &mut steps[..size.matrix()];
        let [b, product, x, y, t] = matrices.each_mut().map(|m| &mut **m);
        let formed = depth.saturating_sub(2);
        for l in 0..formed {
            column_map(size, *inverse_len, layer(l), g, b, [x, y]);
            if l + 1 < formed {
                if l == 0 {
                    product.copy_from_slice(b);
                } else {
                    mul(size, x, Onto::Zeros, b, product);
                    product.copy_from_slice(x);
                }
                mul(size, x, Onto::Zeros, b, g);
                mul_transpose(size, g, Onto::Zeros, x, b);
            }
        }
        let last = [layer(depth.saturating_sub(2)), layer(depth - 1)];
        let [u, v, rest @ ..] = split::<6, S>(vectors, size.rows);
        let last_two =
            LastTwo { size, inverse_len: *inverse_len, g, b: (formed > 0).then_some(&*b) };
        last_two.readout(depth, last, u, t, rest);
        for (m, needed) in [(&*b, formed > 0), (&*product, formed > 1)] {
            if needed {
                transpose_mul_vector(size, v, m, u, t);
                u.copy_from_slice(v);
            }
        }
        -dot(size, u, &columns[..size.rows])
    }

    /// TF_L by all layers, to be walked backwards.
    pub(super) fn forward<const D: usize>(&mut self, window: &Window<S, D>) -> S {
        self.read(window);
        let Pass { shape, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let Shape { size, depth, lambda, .. } = *shape;
        let (matrix, one) = (size.matrix(), step_matrices(lambda.is_some()) * size.matrix());
        let [x, y, ..] = matrices.each_mut().map(|m| &mut **m);
        for l in 0..depth {
            let (step, next) = steps[l * one..].split_at_mut(one);
            let (g, b) = step[..2 * matrix].split_at_mut(matrix);
            column_map(size, *inverse_len, layer(shape, layers, l), g, b, [x, y]);
            let (z, z_next) = columns[l * size.rows..].split_at_mut(size.rows);
            if l + 1 == depth {
                let [z_next] = split(vectors, size.rows);
                mul_vector(size, z_next, Onto::Zeros, b, z);
                return -z_next[size.k - 1];
            }
            mul_vector(size, &mut z_next[..size.rows], Onto::Zeros, b, z);
            mul(size, x, Onto::Zeros, b, g);
            mul_transpose(size, &mut next[..matrix], Onto::Zeros, x, b);
        }
        S::ZERO
    }

    /// Walks back from TF_L-bar = `seed`, adding to the gradient of the stored layers.
    pub(super) fn backward(&mut self, seed: S, gradient: &mut [S]) {
        let Pass { shape, inverse_len, layers, steps, columns, matrices, vectors } = self;
        let Shape { size, stored, depth, lambda, parameters, .. } = *shape;
        let (matrix, one) = (size.matrix(), step_matrices(lambda.is_some()) * size.matrix());
        let [g_bar, b_bar, x, y, t] = matrices.each_mut().map(|m| &mut **m);
        let [z_bar, v] = split(vectors, size.rows);
        let of_matrix = parameters.len(size.k);
        g_bar.fill(S::ZERO);
        z_bar.fill(S::ZERO);
        z_bar[size.k - 1] = -seed;
        for l in (0..depth).rev() {
            let [p, q] = layer(shape, layers, l);
            let (g, b) = steps[l * one..][..2 * matrix].split_at(matrix);
            let z = &columns[l * size.rows..][..size.rows];
            b_bar.fill(S::ZERO);
            add_outers(size, b_bar, [(&*z_bar, z)]);
            // G-bar B G^T and G-bar^T B G.
            mul(size, x, Onto::Zeros, g_bar, b);
            mul_transpose(size, y, Onto::Zeros, x, g);
            add(b_bar, y);
            transpose(size, t, g_bar);
            mul(size, x, Onto::Zeros, t, b);
            mul(size, y, Onto::Zeros, x, g);
            add(b_bar, y);
            // (1/n) B-bar Q^T and (1/n) P^T B-bar.
            mul_transpose(size, t, Onto::Zeros, b_bar, q);
            scaled(x, *inverse_len, t);
            transpose(size, t, p);
            mul(size, y, Onto::Zeros, t, b_bar);
            scaled(b_bar, *inverse_len, y);
            let (b_q, p_b) = (&*x, &*b_bar);
            let of_layer = &mut gradient[2 * (l % stored) * of_matrix..][..2 * of_matrix];
            let (sum_p, sum_q) = of_layer.split_at_mut(of_matrix);
            mul_transpose(size, y, Onto::Zeros, b_q, g);
            parameters.add_adjoint(size, y, sum_p);
            transpose(size, t, g);
            mul(size, y, Onto::Zeros, t, p_b);
            parameters.add_adjoint(size, y, sum_q);
            // G-bar <- B^T G-bar B + (1/n) P^T B-bar Q^T, z-bar <- B^T z-bar.
            transpose(size, t, b);
            mul(size, y, Onto::Zeros, t, g_bar);
            mul(size, g_bar, Onto::Zeros, y, b);
            mul_transpose(size, y, Onto::Zeros, p_b, q);
            add(g_bar, y);
            mul_vector(size, v, Onto::Zeros, t, z_bar);
            z_bar.copy_from_slice(v);
        }
    }
}

/// P and Q of layer l in the pass.
fn layer<'a, S: Scalar>(shape: &Shape<S>, layers: &'a [S], l: usize) -> [&'a [S]; 2] {
    let one = TwoSided::<S>::MATRICES * shape.size.matrix();
    let l = l % shape.stored;
    [2 * l, 2 * l + 1].map(|m| &layers[m * one..][..shape.size.matrix()])
}

/// B = I + (1/n) P G Q.
fn column_map<S: Scalar>(
    size: Size,
    inverse_len: S,
    [p, q]: [&[S]; 2],
    g: &[S],
    b: &mut [S],
    [x, y]: [&mut [S]; 2],
) {
    scaled(x, inverse_len, p);
    mul(size, y, Onto::Zeros, x, g);
    mul(size, b, Onto::Zeros, y, q);
    for i in 0..size.k {
        b[i * size.rows + i] += S::ONE;
    }
}

/// out = A^T x.
fn transpose_mul_vector<S: Scalar>(size: Size, out: &mut [S], a: &[S], x: &[S], t: &mut [S]) {
    transpose(size, t, a);
    mul_vector(size, out, Onto::Zeros, t, x);
}

/// The last two layers, of which only the last row of the output is wanted, on vectors: from the
/// statistic that they meet, B G B^T with the map of the layer before, if there is one.
#[derive(Clone, Copy)]
struct LastTwo<'a, S> {
    size: Size,
    inverse_len: S,
    g: &'a [S],
    b: Option<&'a [S]>,
}

impl<S: Scalar> LastTwo<'_, S> {
    /// u with TF_L = -<u, z> for the columns z that these layers meet; t and `vectors` are room.
    fn readout(
        &self,
        depth: usize,
        [before, [p, q]]: [[&[S]; 2]; 2],
        u: &mut [S],
        t: &mut [S],
        [x, y, v, w]: [&mut [S]; 4],
    ) {
        let Size { k, rows, .. } = self.size;
        // P^T e_K, the last row of P.
        for j in 0..k {
            x[j] = p[j * rows + k - 1];
        }
        if depth > 1 {
            self.map(true, before, y, x, t, [v, w]);
            self.g_times(true, x, y, t, v);
            self.map(false, before, y, x, t, [v, w]);
        } else {
            self.g_times(true, y, x, t, v);
        }
        transpose_mul_vector(self.size, v, q, y, t);
        x.fill(S::ZERO);
        x[k - 1] = S::ONE;
        if depth > 1 {
            self.plus(y, x, v);
            self.map(true, before, u, y, t, [v, w]);
        } else {
            self.plus(u, x, v);
        }
    }

    /// out = G x or G^T x.
    fn g_times(&self, transposed: bool, out: &mut [S], x: &[S], t: &mut [S], v: &mut [S]) {
        let LastTwo { size, g, b, .. } = *self;
        if let Some(b) = b {
            transpose_mul_vector(size, v, b, x, t);
        } else {
            v.copy_from_slice(x);
        }
        if transposed {
            transpose_mul_vector(size, out, g, v, t);
        } else {
            mul_vector(size, out, Onto::Zeros, g, v);
        }
        if let Some(b) = b {
            mul_vector(size, v, Onto::Zeros, b, out);
            out.copy_from_slice(v);
        }
    }

    /// out = x + (1/n) P G Q x, or with all that transposed.
    fn map(
        &self,
        transposed: bool,
        [p, q]: [&[S]; 2],
        out: &mut [S],
        x: &[S],
        t: &mut [S],
        [v, w]: [&mut [S]; 2],
    ) {
        let size = self.size;
        if transposed {
            transpose_mul_vector(size, out, p, x, t);
            self.g_times(true, w, out, t, v);
            transpose_mul_vector(size, v, q, w, t);
        } else {
            mul_vector(size, out, Onto::Zeros, q, x);
            self.g_times(false, w, out, t, v);
            mul_vector(size, v, Onto::Zeros, p, w);
        }
        self.plus(out, x, v);
    }

    /// out = x + (1/n) a.
    fn plus(&self, out: &mut [S], x: &[S], a: &[S]) {
        scaled(out, self.inverse_len, a);
        add(out, x);
    }
}
