//! One window at a time, by [`gradient::linear`](crate::gradient::linear): the reference of the
//! [`batch`](super::batch), and the form for plain TD, for windows that grow, and for single values.

use super::read::read;
use super::shape::LinearShape;
use super::work::{Work, split};
use crate::gradient::linear::{Tape, column_map, layer};
use crate::linalg::any_size::{
    Onto, add, dot, mul, mul_transpose, mul_vector, scaled, transpose_mul_vector,
};
use crate::scalar::Scalar;
use crate::training::Window;

/// The memory for a pass, with the parameters.
pub(super) struct Pass<'a, S: Scalar> {
    shape: &'a LinearShape<S::Element>,
    tape: Tape<'a, S>,
    vectors: &'a mut [S],
}

impl<'a, S: Scalar> Pass<'a, S> {
    pub(super) fn new(shape: &'a LinearShape<S::Element>, work: Work<'a, S>) -> Self {
        let Work { layers, steps, columns, matrices, vectors, .. } = work;
        let k = shape.token_len();
        vectors.fill(S::ZERO);
        let (own, rest) = vectors.split_at_mut(2 * k);
        let tape = Tape {
            k,
            depth: shape.depth(),
            inverse_len: S::ONE,
            layers,
            steps,
            columns,
            matrices: split(matrices, k * k),
            vectors: split(own, k),
        };
        Pass { shape, tape, vectors: rest }
    }

    /// Writes the context's statistic to G of the first step, and the query's column.
    fn read(&mut self, window: &Window<S>) {
        let Pass { shape, tape: Tape { k, inverse_len, steps, columns, matrices, .. }, vectors } =
            self;
        let (g, z) = (&mut steps[..*k * *k], &mut columns[..*k]);
        *inverse_len = read(shape, window, g, z, [matrices[0], vectors]);
    }

    /// Returns TF_L by all layers, to be walked backwards.
    pub(super) fn forward(&mut self, window: &Window<S>) -> S {
        self.read(window);
        self.tape.forward()
    }

    /// Walks back from TF_L-bar = `seed`, adding to the gradient of the stored layers.
    pub(super) fn backward(&mut self, seed: S, gradient: &mut [S]) {
        self.tape.backward(seed, self.shape.parameters(), gradient);
    }

    /// Returns TF_L, by the readout: operation by operation
    /// [`Transformer::readout`](crate::transformer::Transformer::readout).
    pub(super) fn value(&mut self, window: &Window<S>) -> S {
        self.read(window);
        let Tape { k, depth, inverse_len, layers, steps, columns, matrices, vectors } =
            &mut self.tape;
        let (k, depth) = (*k, *depth);
        let g = &mut steps[..k * k];
        let [b, product, x, y] = matrices.each_mut().map(|m| &mut **m);
        let formed = depth.saturating_sub(2);
        for l in 0..formed {
            column_map(k, *inverse_len, layer(k, layers, l), g, b, [x, y]);
            if l + 1 < formed {
                if l == 0 {
                    product.copy_from_slice(b);
                } else {
                    mul(k, x, Onto::Zeros, b, product);
                    product.copy_from_slice(x);
                }
                mul(k, x, Onto::Zeros, b, g);
                mul_transpose(k, g, Onto::Zeros, x, b);
            }
        }
        let last = [depth.saturating_sub(2), depth - 1].map(|l| layer(k, layers, l));
        let [u, v] = vectors.each_mut().map(|v| &mut **v);
        let b = (formed > 0).then_some(&*b);
        let last_two = LastTwo { k, inverse_len: *inverse_len, g, b };
        last_two.readout(depth, last, u, split(self.vectors, k));
        for m in [b, (formed > 1).then_some(&*product)].into_iter().flatten() {
            transpose_mul_vector(k, v, Onto::Zeros, m, u);
            u.copy_from_slice(v);
        }
        -dot(u, &columns[..k])
    }
}

/// The last two layers, of which only the last row of the output is wanted, on vectors: from the
/// statistic that they meet, B G B^T with the map of the layer before, if there is one.
#[derive(Clone, Copy)]
struct LastTwo<'a, S> {
    k: usize,
    inverse_len: S,
    g: &'a [S],
    b: Option<&'a [S]>,
}

impl<S: Scalar> LastTwo<'_, S> {
    /// Writes u with TF_L = -<u, z> for the columns z that these layers meet; works in `vectors`.
    fn readout(
        &self,
        depth: usize,
        [before, [p, q]]: [[&[S]; 2]; 2],
        u: &mut [S],
        [x, y, v, w]: [&mut [S]; 4],
    ) {
        let k = self.k;
        // P^T e_K, the last row of P.
        for j in 0..k {
            x[j] = p[j * k + k - 1];
        }
        if depth > 1 {
            self.map(true, before, y, x, [v, w]);
            self.g_times(true, x, y, v);
            self.map(false, before, y, x, [v, w]);
        } else {
            self.g_times(true, y, x, v);
        }
        transpose_mul_vector(k, v, Onto::Zeros, q, y);
        x.fill(S::ZERO);
        x[k - 1] = S::ONE;
        if depth > 1 {
            self.plus(y, x, v);
            self.map(true, before, u, y, [v, w]);
        } else {
            self.plus(u, x, v);
        }
    }

    /// out = G x or G^T x.
    fn g_times(&self, transposed: bool, out: &mut [S], x: &[S], v: &mut [S]) {
        let LastTwo { k, g, b, .. } = *self;
        match b {
            Some(b) => transpose_mul_vector(k, v, Onto::Zeros, b, x),
            None => v.copy_from_slice(x),
        }
        if transposed {
            transpose_mul_vector(k, out, Onto::Zeros, g, v);
        } else {
            mul_vector(k, out, Onto::Zeros, g, v);
        }
        if let Some(b) = b {
            mul_vector(k, v, Onto::Zeros, b, out);
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
        [v, w]: [&mut [S]; 2],
    ) {
        if transposed {
            transpose_mul_vector(self.k, out, Onto::Zeros, p, x);
            self.g_times(true, w, out, v);
            transpose_mul_vector(self.k, v, Onto::Zeros, q, w);
        } else {
            mul_vector(self.k, out, Onto::Zeros, q, x);
            self.g_times(false, w, out, v);
            mul_vector(self.k, v, Onto::Zeros, p, w);
        }
        self.plus(out, x, v);
    }

    /// out = x + (1/n) a.
    fn plus(&self, out: &mut [S], x: &[S], a: &[S]) {
        scaled(out, self.inverse_len, a);
        add(out, x);
    }
}
