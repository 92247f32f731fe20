//! The layers before the last two, whose maps B = I + A are formed.
//!
//! ```text
//! A = P G Q      V = G + A G      U = G^T + A G^T      G' = B G B^T = V + V A^T      z' = B z
//! ```
//!
//! and back, with H = G-bar:
//!
//! ```text
//! A-bar = H U + H^T V + z-bar z^T      P-bar += A-bar (G Q)^T      Q-bar += G^T P^T A-bar
//! H <- B^T H B + E, E = P^T A-bar Q^T                              z-bar <- B^T z-bar
//! ```
//!
//! If G is symmetric no more is needed than H = G-bar + G-bar^T:
//!
//! ```text
//! A-bar = H V + z-bar z^T              H <- B^T H B + E + E^T
//! ```

use crate::linalg::keep_apart;
use crate::linalg::padded::{
    Onto, Size, TwoSided, add, add_outers, mirror, mul, mul_transpose, mul_transpose_symmetric,
    short_mul_vector, short_mul_vectors, symmetric_mul_vector, symmetric_mul_vectors, transpose,
};
use crate::scalar::Scalar;
use crate::training::work::{BatchLayer, LayerSum, split, step_matrices};

/// A layer's pass.
pub(super) struct Step<'a, S> {
    pub(super) g: &'a mut [S],
    pub(super) a: &'a mut [S],
    v: &'a mut [S],
    /// G^T; empty if G is symmetric.
    g_t: &'a mut [S],
    /// U; empty if it is V.
    u: &'a mut [S],
    pub(super) z: &'a mut [S],
}

/// Those of all layers in the pass.
pub(super) struct Steps<'a, S> {
    size: Size,
    has_trace: bool,
    matrices: &'a mut [S],
    columns: &'a mut [S],
}

impl<'a, S: Scalar> Steps<'a, S> {
    #[inline(always)]
    pub(super) fn new(
        size: Size,
        has_trace: bool,
        matrices: &'a mut [S],
        columns: &'a mut [S],
    ) -> Self {
        Steps { size, has_trace, matrices, columns }
    }

    /// Layers l and l + 1.
    #[inline(always)]
    pub(super) fn pair(&mut self, l: usize) -> (Step<'_, S>, Step<'_, S>) {
        let rows = self.size.rows;
        let one = step_matrices(self.has_trace) * self.size.matrix();
        let (matrices, next_matrices) = self.matrices[l * one..][..2 * one].split_at_mut(one);
        let (z, next_z) = self.columns[l * rows..][..2 * rows].split_at_mut(rows);
        let (size, has_trace) = (self.size, self.has_trace);
        (
            Step::within(size, has_trace, matrices, z),
            Step::within(size, has_trace, next_matrices, next_z),
        )
    }

    #[inline(always)]
    pub(super) fn at(&mut self, l: usize) -> Step<'_, S> {
        let rows = self.size.rows;
        let one = step_matrices(self.has_trace) * self.size.matrix();
        let (matrices, z) =
            (&mut self.matrices[l * one..][..one], &mut self.columns[l * rows..][..rows]);
        Step::within(self.size, self.has_trace, matrices, z)
    }
}

impl<'a, S: Scalar> Step<'a, S> {
    #[inline(always)]
    fn within(size: Size, has_trace: bool, matrices: &'a mut [S], z: &'a mut [S]) -> Self {
        let of_trace = if has_trace { size.matrix() } else { 0 };
        let (matrices, rest) = matrices.split_at_mut(3 * size.matrix());
        let ([g, a, v], [g_t, u]) = (split(matrices, size.matrix()), split(rest, of_trace));
        Step { g, a, v, g_t, u, z }
    }

    /// G^T.
    #[inline(always)]
    pub(super) fn g_t(&self) -> &[S] {
        if self.is_symmetric() { self.g } else { self.g_t }
    }

    #[inline(always)]
    pub(super) fn is_symmetric(&self) -> bool {
        self.g_t.is_empty()
    }

    /// out = onto + G^T x.
    #[inline(always)]
    pub(super) fn g_t_times(&self, size: Size, out: &mut [S], onto: Onto<S>, x: &[S]) {
        if self.is_symmetric() {
            symmetric_mul_vector(size, out, onto, self.g, x);
        } else {
            short_mul_vector(size, out, onto, self.g_t, x);
        }
    }

    /// out = onto + G x.
    #[inline(always)]
    pub(super) fn g_times(&self, size: Size, out: &mut [S], onto: Onto<S>, x: &[S]) {
        if self.is_symmetric() {
            symmetric_mul_vector(size, out, onto, self.g, x);
        } else {
            short_mul_vector(size, out, onto, self.g, x);
        }
    }

    /// [`Step::g_times`], or [`Step::g_t_times`] if TRANSPOSED, with two vectors.
    #[inline(always)]
    pub(super) fn g_times_both<const TRANSPOSED: bool>(
        &self,
        size: Size,
        outs: [&mut [S]; 2],
        ontos: [Onto<S>; 2],
        xs: [&[S]; 2],
    ) {
        if self.is_symmetric() {
            symmetric_mul_vectors(size, outs, ontos, self.g, xs);
        } else {
            let g = if TRANSPOSED { &*self.g_t } else { &*self.g };
            short_mul_vectors(size, outs, ontos, g, xs);
        }
    }

    /// To be called after every change of G.
    #[inline(always)]
    pub(super) fn update(&mut self, size: Size) {
        if !self.is_symmetric() {
            transpose(size, self.g_t, self.g);
        }
    }

    /// A from G.
    #[inline(always)]
    pub(super) fn form(&mut self, size: Size, layer: &BatchLayer<S>, g_q: &mut [S]) {
        mul(size, g_q, Onto::Zeros, self.g, layer.q.m);
        mul(size, self.a, Onto::Zeros, layer.p.m, g_q);
    }

    /// G and z of the next layer.
    #[inline(always)]
    pub(super) fn forward(&mut self, size: Size, next: &mut Step<S>) {
        mul(size, self.v, Onto::Other(self.g), self.a, self.g);
        if self.is_symmetric() {
            mul_transpose_symmetric(size, next.g, Onto::Other(self.v), self.v, self.a);
        } else {
            mul(size, self.u, Onto::Other(self.g_t), self.a, self.g_t);
            mul_transpose(size, next.g, Onto::Other(self.v), self.v, self.a);
            next.update(size);
        }
        short_mul_vector(size, next.z, Onto::Other(self.z), self.a, self.z);
    }

    /// A-bar = onto + H U + H^T V + z-bar z^T, from H and z-bar of the next layer.
    #[inline(always)]
    pub(super) fn a_bar(
        &self,
        size: Size,
        a_bar: &mut [S],
        onto: Onto<S>,
        h: &[S],
        z_bar: &[S],
        h_t: &mut [S],
    ) {
        if self.is_symmetric() {
            mul(size, a_bar, onto, h, self.v);
        } else {
            mul(size, a_bar, onto, h, self.u);
            transpose(size, h_t, h);
            mul(size, a_bar, Onto::Itself, h_t, self.v);
        }
        add_outers(size, a_bar, [(z_bar, &*self.z)]);
    }

    /// Adds to its parameters' adjoints, from H and z-bar of the next layer; turns these into its own if there
    /// is a layer before.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        size: Size,
        layer: &BatchLayer<S>,
        sum: LayerSum<S>,
        h: &mut [S],
        z_bar: &mut [S],
        [a_bar, product, h_b, scratch]: &mut [&mut [S]; 4],
        passes_on: bool,
    ) {
        self.a_bar(size, a_bar, Onto::Zeros, h, z_bar, scratch);
        // G Q
        mul(size, product, Onto::Zeros, self.g, layer.q.m);
        mul_transpose(size, sum.p, Onto::Itself, a_bar, product);
        // P^T A-bar
        layer.p.transpose_mul(size, product, Onto::Zeros, a_bar);
        mul(size, sum.q, Onto::Itself, self.g_t(), product);
        if !passes_on {
            return;
        }
        let e = a_bar;
        mul_transpose(size, e, Onto::Zeros, product, layer.q.m);

        if S::LANES == 1 {
            transpose(size, scratch, self.a);
        }
        let a = TwoSided::of(self.a, scratch);
        mul(size, h_b, Onto::Other(h), h, self.a);
        a.transpose_mul(size, h, Onto::Other(h_b), h_b);
        if self.is_symmetric() {
            add_symmetric(size, h, e);
        } else {
            add(h, e);
        }
        // z-bar + A^T z-bar.
        let z_next = &mut product[..size.rows];
        a.transpose_mul_vector(size, z_next, Onto::Other(z_bar), z_bar);
        z_bar.copy_from_slice(z_next);
    }
}

/// H += E + E^T for a symmetric H: exactly symmetric again.
#[inline(always)]
fn add_symmetric<S: Scalar>(size: Size, h: &mut [S], e: &[S]) {
    let Size { k, rows, .. } = size;
    for j in 0..k {
        for i in 0..=j {
            keep_apart::<S>();
            h[j * rows + i] += e[j * rows + i] + e[i * rows + j];
        }
    }
    mirror(size, h);
}
