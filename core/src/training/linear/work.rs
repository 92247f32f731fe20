//! Where a pass or a batch computes: slices of one piece of memory that the network has.

use super::shape::LinearShape;
use crate::gradient::linear::layer;
use crate::scalar::Scalar;

/// Returns the matrices of each layer in the pass: G, A and V; with a trace also U.
pub(super) const fn step_matrices(has_trace: bool) -> usize {
    if has_trace { 4 } else { 3 }
}

/// Matrices beside those of layers: C, H and three to work with.
pub(super) const MATRICES: usize = 5;

/// Vectors beside the column of each layer in the pass.
pub(super) const VECTORS: usize = 14 + 2 * 2 + 21 + 3;

/// The memory of a network of one head.
pub(super) struct Work<'a, S> {
    /// P and Q of each stored layer.
    pub(super) layers: &'a mut [S],
    /// Their adjoints.
    pub(super) sums: &'a mut [S],
    /// [`step_matrices`] for each layer in the pass.
    pub(super) steps: &'a mut [S],
    /// A vector for each layer in the pass.
    pub(super) columns: &'a mut [S],
    /// [`MATRICES`].
    pub(super) matrices: &'a mut [S],
    /// [`VECTORS`].
    pub(super) vectors: &'a mut [S],
}

impl<'a, S: Scalar> Work<'a, S> {
    /// Cuts [`LinearShape::work_len`] numbers, and writes P and Q of each stored layer.
    pub(super) fn load(
        shape: &LinearShape<S::Element>,
        parameters: &[S],
        room: &'a mut [S],
    ) -> Self {
        let (k, stored, depth) = (shape.token_len(), shape.stored(), shape.depth());
        let matrix = k * k;
        let (layers, room) = room.split_at_mut(stored * 2 * matrix);
        let (sums, room) = room.split_at_mut(stored * 2 * matrix);
        let (steps, room) = room.split_at_mut(depth * step_matrices(shape.has_trace()) * matrix);
        let (columns, room) = room.split_at_mut(depth * k);
        let (matrices, room) = room.split_at_mut(MATRICES * matrix);
        let trained = parameters.chunks_exact(shape.matrix_len());
        for (to, from) in layers.chunks_exact_mut(matrix).zip(trained) {
            shape.parameters().write(k, from, to);
        }
        Work { layers, sums, steps, columns, matrices, vectors: &mut room[..VECTORS * k] }
    }
}

/// gradient += what a batch left in [`Work::sums`].
pub(super) fn unload<S: Scalar>(shape: &LinearShape<S::Element>, sums: &[S], gradient: &mut [S]) {
    let k = shape.token_len();
    let gradient = gradient.chunks_exact_mut(shape.matrix_len());
    for (to, from) in gradient.zip(sums.chunks_exact(k * k)) {
        shape.parameters().add_adjoint(k, from, to);
    }
}

/// P and Q of one stored layer, or their adjoints.
#[derive(Clone, Copy)]
pub(super) struct Pair<M> {
    pub(super) p: M,
    pub(super) q: M,
}

/// Returns P and Q of layer l in the pass, of the stored ones in turn.
#[inline(always)]
pub(super) fn pair<S>(k: usize, layers: &[S], l: usize) -> Pair<&[S]> {
    let [p, q] = layer(k, layers, l);
    Pair { p, q }
}

/// [`pair`], to be changed.
#[inline(always)]
pub(super) fn pair_mut<S>(k: usize, layers: &mut [S], l: usize) -> Pair<&mut [S]> {
    let at = 2 * l * k * k % layers.len();
    let [p, q] = split(&mut layers[at..][..2 * k * k], k * k);
    Pair { p, q }
}

/// Multiplies P of each layer by s.
#[inline(always)]
pub(super) fn scale_p<S: Scalar>(k: usize, s: S, layers: &mut [S]) {
    for layer in layers.chunks_exact_mut(2 * k * k) {
        for x in &mut layer[..k * k] {
            *x = s * *x;
        }
    }
}

/// Returns N pieces of the same length.
#[inline(always)]
pub(super) fn split<const N: usize, S>(from: &mut [S], len: usize) -> [&mut [S]; N] {
    let (mut rest, mut pieces) = (from, core::array::from_fn(|_| Default::default()));
    for piece in &mut pieces {
        (*piece, rest) = rest.split_at_mut(len);
    }
    pieces
}
