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

use crate::linalg::any_size::{
    Onto, add, add_outers, mirror, mul, mul_transpose, mul_transpose_symmetric, mul_vector,
    mul_vectors, transpose, transpose_mul, transpose_mul_vector, transpose_mul_vectors,
};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::training::linear::work::{Pair, split, step_matrices};

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
    k: usize,
    has_trace: bool,
    matrices: &'a mut [S],
    columns: &'a mut [S],
}

impl<'a, S: Scalar> Steps<'a, S> {
    #[inline(always)]
    pub(super) fn new(
        k: usize,
        has_trace: bool,
        matrices: &'a mut [S],
        columns: &'a mut [S],
    ) -> Self {
        Steps { k, has_trace, matrices, columns }
    }

    /// Layers l and l + 1.
    #[inline(always)]
    pub(super) fn pair(&mut self, l: usize) -> (Step<'_, S>, Step<'_, S>) {
        let (k, has_trace) = (self.k, self.has_trace);
        let one = step_matrices(has_trace) * k * k;
        let (matrices, next_matrices) = self.matrices[l * one..][..2 * one].split_at_mut(one);
        let (z, next_z) = self.columns[l * k..][..2 * k].split_at_mut(k);
        (Step::within(k, has_trace, matrices, z), Step::within(k, has_trace, next_matrices, next_z))
    }

    #[inline(always)]
    pub(super) fn at(&mut self, l: usize) -> Step<'_, S> {
        let (k, has_trace) = (self.k, self.has_trace);
        let one = step_matrices(has_trace) * k * k;
        let (matrices, z) = (&mut self.matrices[l * one..][..one], &mut self.columns[l * k..][..k]);
        Step::within(k, has_trace, matrices, z)
    }
}

impl<'a, S: Scalar> Step<'a, S> {
    #[inline(always)]
    fn within(k: usize, has_trace: bool, matrices: &'a mut [S], z: &'a mut [S]) -> Self {
        let of_trace = if has_trace { k * k } else { 0 };
        let (matrices, rest) = matrices.split_at_mut(3 * k * k);
        let ([g, a, v], [g_t, u]) = (split(matrices, k * k), split(rest, of_trace));
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
    pub(super) fn g_t_times(&self, k: usize, out: &mut [S], onto: Onto<S>, x: &[S]) {
        if self.is_symmetric() {
            transpose_mul_vector(k, out, onto, self.g, x);
        } else {
            mul_vector(k, out, onto, self.g_t, x);
        }
    }

    /// out = onto + G x.
    #[inline(always)]
    pub(super) fn g_times(&self, k: usize, out: &mut [S], onto: Onto<S>, x: &[S]) {
        if self.is_symmetric() {
            transpose_mul_vector(k, out, onto, self.g, x);
        } else {
            mul_vector(k, out, onto, self.g, x);
        }
    }

    /// [`Step::g_times`], or [`Step::g_t_times`] if TRANSPOSED, with two vectors.
    #[inline(always)]
    pub(super) fn g_times_both<const TRANSPOSED: bool>(
        &self,
        k: usize,
        outs: [&mut [S]; 2],
        ontos: [Onto<S>; 2],
        xs: [&[S]; 2],
    ) {
        if self.is_symmetric() {
            transpose_mul_vectors(k, outs, ontos, self.g, xs);
        } else {
            let g = if TRANSPOSED { &*self.g_t } else { &*self.g };
            mul_vectors(k, outs, ontos, g, xs);
        }
    }

    /// To be called after every change of G.
    #[inline(always)]
    pub(super) fn update(&mut self, k: usize) {
        if !self.is_symmetric() {
            transpose(k, self.g_t, self.g);
        }
    }

    /// A from G.
    #[inline(always)]
    pub(super) fn form(&mut self, k: usize, layer: &Pair<&[S]>, g_q: &mut [S]) {
        mul(k, g_q, Onto::Zeros, self.g, layer.q);
        mul(k, self.a, Onto::Zeros, layer.p, g_q);
    }

    /// G and z of the next layer.
    #[inline(always)]
    pub(super) fn forward(&mut self, k: usize, next: &mut Step<S>) {
        mul(k, self.v, Onto::Other(self.g), self.a, self.g);
        if self.is_symmetric() {
            mul_transpose_symmetric(k, next.g, Onto::Other(self.v), self.v, self.a);
        } else {
            mul(k, self.u, Onto::Other(self.g_t), self.a, self.g_t);
            mul_transpose(k, next.g, Onto::Other(self.v), self.v, self.a);
            next.update(k);
        }
        mul_vector(k, next.z, Onto::Other(self.z), self.a, self.z);
    }

    /// A-bar = onto + H U + H^T V + z-bar z^T, from H and z-bar of the next layer.
    #[inline(always)]
    pub(super) fn a_bar(
        &self,
        k: usize,
        a_bar: &mut [S],
        onto: Onto<S>,
        h: &[S],
        z_bar: &[S],
        h_t: &mut [S],
    ) {
        if self.is_symmetric() {
            mul(k, a_bar, onto, h, self.v);
        } else {
            mul(k, a_bar, onto, h, self.u);
            transpose(k, h_t, h);
            mul(k, a_bar, Onto::Itself, h_t, self.v);
        }
        add_outers(k, a_bar, [(z_bar, &*self.z)]);
    }

    /// Adds to its parameters' adjoints, from H and z-bar of the next layer; turns these into its own if there
    /// is a layer before.
    #[inline(always)]
    pub(super) fn backward(
        &self,
        k: usize,
        layer: &Pair<&[S]>,
        sum: Pair<&mut [S]>,
        h: &mut [S],
        z_bar: &mut [S],
        [a_bar, product, h_b, scratch]: &mut [&mut [S]; 4],
        passes_on: bool,
    ) {
        self.a_bar(k, a_bar, Onto::Zeros, h, z_bar, scratch);
        // G Q
        mul(k, product, Onto::Zeros, self.g, layer.q);
        mul_transpose(k, sum.p, Onto::Itself, a_bar, product);
        // P^T A-bar
        transpose_mul(k, product, Onto::Zeros, layer.p, a_bar);
        mul(k, sum.q, Onto::Itself, self.g_t(), product);
        if !passes_on {
            return;
        }
        let e = a_bar;
        mul_transpose(k, e, Onto::Zeros, product, layer.q);

        mul(k, h_b, Onto::Other(h), h, self.a);
        transpose_mul(k, h, Onto::Other(h_b), self.a, h_b);
        if self.is_symmetric() {
            add_symmetric(k, h, e);
        } else {
            add(h, e);
        }
        // z-bar + A^T z-bar.
        let z_next = &mut product[..k];
        transpose_mul_vector(k, z_next, Onto::Other(z_bar), self.a, z_bar);
        z_bar.copy_from_slice(z_next);
    }
}

/// H += E + E^T for a symmetric H: exactly symmetric again.
#[inline(always)]
fn add_symmetric<S: Scalar>(k: usize, h: &mut [S], e: &[S]) {
    for j in 0..k {
        for i in 0..=j {
            keep_apart::<S>();
            h[j * k + i] += e[j * k + i] + e[i * k + j];
        }
    }
    mirror(k, h);
}
