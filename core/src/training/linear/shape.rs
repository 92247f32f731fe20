//! The shape of a network; the memory of a pass or a batch, slices of one buffer that the network owns; and the statistic that
//! both begin with.

use crate::error::Result;
use crate::linalg::any_size::add_outers;
use crate::mask::TdLambda;
use crate::scalar::{Real, Scalar, check_lanes, kernel};
use crate::training::Windows;
use crate::training::settings::refuse_unless;
use crate::training::windows::{TRACES, next_token};

/// The shape of a [`LinearNetwork`](super::LinearNetwork), as values, so that one type serves every shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape<R> {
    /// d, the number of features, at least 1.
    pub dim: usize,
    /// The number of stored layers: 1 if all layers share it, else L.
    pub stored: usize,
    /// L, the number of layers, at least 1.
    pub depth: usize,
    /// The trace decay of TD(lambda)'s mask, in \[0, 1\]; `None` for TD(0)'s mask.
    pub trace_decay: Option<R>,
    /// Xavier's gain of the initial parameters, above 0.
    pub gain: f64,
}

impl<R: Real> LinearShape<R> {
    /// Returns the shape of `depth` layers for `dim` features that share one stored layer or have one each, with TD(0)'s
    /// mask and the gain 0.1, or 0.1 / L if each layer has its own.
    pub const fn new(dim: usize, stored: usize, depth: usize) -> Self {
        LinearShape { dim, stored, depth, trace_decay: None, gain: 0.1 / stored as f64 }
    }

    pub(super) fn check(&self) -> Result<()> {
        let LinearShape { dim, stored, depth, trace_decay, gain } = *self;
        trace_decay.map(TdLambda::new).transpose()?;
        check_lanes(gain, "gain", |gain| gain > 0.0, "above 0")?;
        let one_or_all = "one stored layer, or one for each layer in the pass";
        refuse_unless([
            (dim > 0, "dim", "at least 1"),
            (depth > 0, "layers", "at least 1"),
            ([1, depth].contains(&stored), "layers", one_or_all),
        ])
    }

    /// Returns K = 2 d + 1, the size of a token.
    #[inline(always)]
    pub const fn token_len(&self) -> usize {
        2 * self.dim + 1
    }

    /// Returns the trace decay, or `None` without a trace: G is then symmetric.
    #[inline(always)]
    pub(super) fn trace<S: Scalar<Element = R>>(&self) -> Option<S> {
        self.trace_decay.map(S::splat)
    }

    #[inline(always)]
    pub(super) const fn matrix_len(&self) -> usize {
        self.token_len() * self.token_len()
    }

    /// Returns the number of parameters.
    pub const fn parameter_len(&self) -> usize {
        self.stored * 2 * self.matrix_len()
    }

    /// Returns the matrices of each layer in the pass: G, A and V; with a trace also U.
    #[inline(always)]
    pub(super) const fn step_matrices(&self) -> usize {
        if self.trace_decay.is_none() { 3 } else { 4 }
    }

    /// Returns the length of a workspace that has room for transposed parameters, too: with it one lane computes faster on a
    /// host.
    pub const fn work_len_alone(&self) -> usize {
        self.work_len() + TRANSPOSABLE * self.matrix_len()
    }

    /// Returns the number of layers that a batch forms anew for each window: all but the first and the last two.
    #[inline(always)]
    const fn formed_anew(&self) -> usize {
        self.depth.saturating_sub(3)
    }

    /// Returns the length of a network's workspace.
    pub const fn work_len(&self) -> usize {
        let (k, stored, depth) = (self.token_len(), self.stored, self.depth);
        let of_layers = stored * 4 + depth * self.step_matrices() + self.formed_anew();
        let matrices = of_layers + MATRICES;
        matrices * k * k + (depth + VECTORS + self.traces()) * k
    }

    /// Returns the number of traces that windows which slide keep.
    #[inline(always)]
    pub(super) const fn traces(&self) -> usize {
        if self.trace_decay.is_none() { 0 } else { TRACES }
    }
}

/// Matrices in addition to those of layers: C, H and three for intermediate results.
const MATRICES: usize = 5;

/// The parameters that many products take transposed: the first layer's Q, P and Q of the last layer but one, the last Q.
pub(super) const TRANSPOSABLE: usize = 4;

/// Vectors in addition to the column of each layer in the pass.
const VECTORS: usize = 14 + 2 * 2 + 21 + 3;

kernel! {
    /// Writes G of the context that begins at transition `start`. `vectors` is room for two.
    pub(super) fn statistic as StatisticOfWindow<'a, S: Scalar>(
        shape: &'a LinearShape<S::Element>,
        windows: &'a Windows<'a, S>,
        start: usize,
        g: &'a mut [S],
        vectors: &'a mut [S],
    ) {
        let (k, trace) = (shape.token_len(), shape.trace());
        let [z, e] = split(vectors, k);
        g.fill(S::ZERO);
        for i in start..start + windows.context_len() {
            let [z, right] = next_token(windows, start, i, trace, [&mut *z, &mut *e]);
            add_outers(k, g, [(z, right)]);
        }
    }
}

pub(super) struct Workspace<'a, S> {
    /// P and Q of each stored layer.
    pub(super) layers: &'a mut [S],
    /// The adjoints of P and Q, summed over windows.
    pub(super) sums: &'a mut [S],
    /// [`LinearShape::step_matrices`] for each layer in the pass.
    pub(super) steps: &'a mut [S],
    /// G Q of each layer that is formed anew.
    pub(super) products: &'a mut [S],
    /// A vector for each layer in the pass.
    pub(super) columns: &'a mut [S],
    pub(super) matrices: &'a mut [S],
    pub(super) vectors: &'a mut [S],
    pub(super) traces: &'a mut [S],
    /// The part of the buffer beyond the others.
    pub(super) rest: &'a mut [S],
}

impl<'a, S: Scalar> Workspace<'a, S> {
    /// Divides the buffer and copies P and Q of each stored layer into it.
    pub(super) fn load(
        shape: &LinearShape<S::Element>,
        parameters: &[S],
        room: &'a mut [S],
    ) -> Self {
        let (k, stored, depth) = (shape.token_len(), shape.stored, shape.depth);
        let matrix = k * k;
        let (rest, stored_len) = (&mut &mut *room, stored * 2 * matrix);
        let layers = take(rest, stored_len);
        layers.iter_mut().zip(parameters).for_each(|(to, from)| *to = *from);
        Workspace {
            layers,
            sums: take(rest, stored_len),
            steps: take(rest, depth * shape.step_matrices() * matrix),
            products: take(rest, shape.formed_anew() * matrix),
            columns: take(rest, depth * k),
            matrices: take(rest, MATRICES * matrix),
            vectors: take(rest, VECTORS * k),
            traces: take(rest, shape.traces() * k),
            rest: core::mem::take(rest),
        }
    }
}

/// Returns P and Q of layer l in the pass, `len` numbers each.
#[inline(always)]
pub(super) fn layer<S>(len: usize, layers: &[S], l: usize) -> [&[S]; 2] {
    let at = (2 * l * len).checked_rem(layers.len()).unwrap_or(0);
    let (p, rest) = layers.get(at..).unwrap_or_default().split_at_checked(len).unwrap_or_default();
    [p, rest.get(..len).unwrap_or_default()]
}

#[inline(always)]
pub(super) fn layer_mut<S>(len: usize, layers: &mut [S], l: usize) -> [&mut [S]; 2] {
    let at = (2 * l * len).checked_rem(layers.len()).unwrap_or(0);
    split(layers.get_mut(at..).unwrap_or_default(), len)
}

/// Takes the first numbers of a buffer, or nothing if there are fewer.
#[inline(always)]
fn take<'a, S>(buffer: &mut &'a mut [S], len: usize) -> &'a mut [S] {
    let whole = core::mem::take(buffer);
    let (piece, rest) = whole.split_at_mut_checked(len).unwrap_or_default();
    *buffer = rest;
    piece
}

/// Returns the first N pieces of a length.
#[inline(always)]
pub(super) fn split<const N: usize, S>(mut from: &mut [S], len: usize) -> [&mut [S]; N] {
    [(); N].map(|()| take(&mut from, len))
}

/// Returns N pieces of a length, from the one with index `first` on.
#[inline(always)]
pub(super) fn pieces<const N: usize, S>(from: &mut [S], len: usize, first: usize) -> [&mut [S]; N] {
    split(from.get_mut(first * len..).unwrap_or_default(), len)
}

/// Writes M^T e_K, the last row.
#[inline(always)]
pub(super) fn last_row<S: Scalar>(k: usize, m: &[S], to: &mut [S]) {
    for (i, to) in to.iter_mut().enumerate() {
        *to = m.get(i * k + k - 1).copied().unwrap_or(S::ZERO);
    }
}

/// Returns the last number of a vector.
#[inline(always)]
pub(super) fn last<S: Scalar>(x: &[S]) -> S {
    x.last().copied().unwrap_or(S::ZERO)
}

/// Writes s e_K.
#[inline(always)]
pub(super) fn write_last<S: Scalar>(to: &mut [S], s: S) {
    to.fill(S::ZERO);
    if let Some(last) = to.last_mut() {
        *last = s;
    }
}

#[inline(always)]
pub(super) fn copy<S: Scalar>(to: &mut [S], from: &[S]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}
