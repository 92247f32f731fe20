//! The shape of a batch's network, and where a batch computes: slices that the caller has room for.

use crate::layer::{add_traces, write_dense};
use crate::linalg::padded::{Onto, Size, TwoSided, short_mul_vector, short_mul_vectors};
use crate::scalar::Scalar;

/// What the trained numbers of a network are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterSet {
    /// P and Q, (K, K) each.
    #[default]
    Full,
    /// p1 to p5 and q1 to q5 of an [`EquivariantLayer`](crate::layer::EquivariantLayer).
    Equivariant,
}

impl ParameterSet {
    /// The numbers of P, and of Q.
    #[inline(always)]
    pub(super) fn len(self, k: usize) -> usize {
        match self {
            ParameterSet::Full => k * k,
            ParameterSet::Equivariant => 5,
        }
    }

    /// Writes the matrix of these numbers, in columns that may be padded.
    pub(super) fn write<S: Scalar>(self, size: Size, numbers: &[S], m: &mut [S]) {
        let Size { k, rows, .. } = size;
        match self {
            ParameterSet::Full => {
                for (to, from) in m.chunks_exact_mut(rows).zip(numbers.chunks_exact(k)) {
                    to[..k].copy_from_slice(from);
                }
            }
            ParameterSet::Equivariant => write_dense((k - 1) / 2, rows, numbers, m),
        }
    }

    /// Adds to the adjoint of the numbers what the adjoint of such a matrix passes back.
    #[inline(always)]
    pub(super) fn add_adjoint<S: Scalar>(self, size: Size, m_bar: &[S], numbers_bar: &mut [S]) {
        let Size { k, rows, .. } = size;
        match self {
            ParameterSet::Full => {
                for (to, from) in numbers_bar.chunks_exact_mut(k).zip(m_bar.chunks_exact(rows)) {
                    for i in 0..k {
                        to[i] += from[i];
                    }
                }
            }
            ParameterSet::Equivariant => add_traces((k - 1) / 2, rows, m_bar, numbers_bar),
        }
    }
}

/// What a batch is computed for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape<S> {
    /// K.
    pub(super) size: Size,
    /// Stored layers.
    pub(super) stored: usize,
    /// Layers in the pass, L.
    pub(super) depth: usize,
    /// The trace decay of TD(lambda)'s mask; none for TD(0)'s.
    pub(super) lambda: Option<S>,
    /// n_0 of the normalised read; none if contexts are read as they are.
    pub(super) prior_count: Option<S>,
    /// What its parameters are.
    pub(super) parameters: ParameterSet,
}

/// Matrices for each stored layer: P and Q, from both sides.
pub(super) const fn layer_matrices<S: Scalar>() -> usize {
    2 * TwoSided::<S>::MATRICES
}

/// Matrices for each layer in the pass: G, A and V; with a trace also G^T and U.
pub(super) const fn step_matrices(has_trace: bool) -> usize {
    if has_trace { 5 } else { 3 }
}

/// Matrices beside them: C, H and scratch.
pub(super) const fn matrices<S: Scalar>() -> usize {
    TwoSided::<S>::MATRICES + 1 + SCRATCH
}

const SCRATCH: usize = 4;

/// Vectors beside the column of each layer in the pass.
pub(super) const VECTORS: usize = 14 + 2 * 2 + 21 + 3;

/// Where a batch computes.
pub(super) struct Work<'a, S> {
    /// [`layer_matrices`] for each stored layer.
    pub(super) layers: &'a mut [S],
    /// Two matrices for each stored layer.
    pub(super) sums: &'a mut [S],
    /// [`step_matrices`] for each layer in the pass.
    pub(super) steps: &'a mut [S],
    /// A vector for each layer in the pass.
    pub(super) columns: &'a mut [S],
    /// [`matrices`].
    pub(super) matrices: &'a mut [S],
    /// [`VECTORS`].
    pub(super) vectors: &'a mut [S],
}

/// Writes P and Q of each stored layer, from the parameters of each, to [`Work::layers`].
pub(super) fn load<'a, S: Scalar>(
    shape: &Shape<S>,
    layers: &mut [S],
    parameters: impl Iterator<Item = &'a [S]>,
) {
    let matrix = shape.size.matrix();
    let rooms = layers.chunks_exact_mut(TwoSided::<S>::MATRICES * matrix);
    for (to, from) in rooms.zip(parameters) {
        shape.parameters.write(shape.size, from, &mut to[..matrix]);
    }
}

/// gradient += what a batch left in [`Work::sums`].
pub(super) fn unload<'a, S: Scalar>(
    shape: &Shape<S>,
    sums: &[S],
    gradient: impl Iterator<Item = &'a mut [S]>,
) {
    for (to, from) in gradient.zip(sums.chunks_exact(shape.size.matrix())) {
        shape.parameters.add_adjoint(shape.size, from, to);
    }
}

/// What a batch needs of one stored layer.
#[derive(Clone, Copy)]
pub(super) struct BatchLayer<'a, S> {
    pub(super) p: TwoSided<'a, S>,
    pub(super) q: TwoSided<'a, S>,
}

/// The stored layers.
#[derive(Clone, Copy)]
pub(super) struct Layers<'a, S> {
    size: Size,
    numbers: &'a [S],
}

impl<'a, S: Scalar> Layers<'a, S> {
    /// Folds 1/n into P.
    #[inline(always)]
    pub(super) fn of(shape: &Shape<S>, inverse_len: S, numbers: &'a mut [S]) -> Self {
        let size = shape.size;
        let one = TwoSided::<S>::MATRICES * size.matrix();
        for m in 0..2 * shape.stored {
            let both = &mut numbers[m * one..][..one];
            if m % 2 == 0 {
                for x in &mut both[..size.matrix()] {
                    *x = inverse_len * *x;
                }
            }
            TwoSided::update(size, both);
        }
        Layers { size, numbers }
    }

    #[inline(always)]
    pub(super) fn at(&self, l: usize) -> BatchLayer<'a, S> {
        let one = TwoSided::<S>::MATRICES * self.size.matrix();
        let (p, q) = self.numbers[2 * l * one..][..2 * one].split_at(one);
        BatchLayer { p: TwoSided::within(self.size, p), q: TwoSided::within(self.size, q) }
    }
}

/// P-bar and Q-bar of one stored layer, summed over the windows.
pub(super) struct LayerSum<'a, S> {
    pub(super) p: &'a mut [S],
    pub(super) q: &'a mut [S],
}

/// Those of all stored layers.
pub(super) struct Sums<'a, S> {
    matrix: usize,
    numbers: &'a mut [S],
}

impl<'a, S: Scalar> Sums<'a, S> {
    #[inline(always)]
    pub(super) fn zeros(size: Size, numbers: &'a mut [S]) -> Self {
        numbers.fill(S::ZERO);
        Sums { matrix: size.matrix(), numbers }
    }

    #[inline(always)]
    pub(super) fn at(&mut self, l: usize) -> LayerSum<'_, S> {
        let both = &mut self.numbers[2 * l * self.matrix..][..2 * self.matrix];
        let (p, q) = both.split_at_mut(self.matrix);
        LayerSum { p, q }
    }

    /// The factor 1/n that P-bar still lacks.
    #[inline(always)]
    pub(super) fn finish(self, inverse_len: S) {
        for p in self.numbers.chunks_exact_mut(2 * self.matrix) {
            for x in &mut p[..self.matrix] {
                *x = inverse_len * *x;
            }
        }
    }
}

/// N pieces of the same length.
#[inline(always)]
pub(super) fn split<const N: usize, S>(from: &mut [S], len: usize) -> [&mut [S]; N] {
    let (mut rest, mut pieces) = (from, core::array::from_fn(|_| Default::default()));
    for piece in &mut pieces {
        (*piece, rest) = rest.split_at_mut(len);
    }
    pieces
}

/// out = A x and out' = A x'.
#[inline(always)]
pub(super) fn products<S: Scalar>(size: Size, outs: [&mut [S]; 2], a: &[S], xs: [&[S]; 2]) {
    short_mul_vectors(size, outs, [Onto::Zeros; 2], a, xs);
}

/// out = A x.
#[inline(always)]
pub(super) fn product<S: Scalar>(size: Size, out: &mut [S], a: &[S], x: &[S]) {
    short_mul_vector(size, out, Onto::Zeros, a, x);
}
