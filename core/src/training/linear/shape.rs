use crate::error::Result;
use crate::mask::TdLambda;
use crate::scalar::{Real, Scalar, check_lanes};
use crate::training::settings::refuse_unless;

/// The shape of a [`LinearNetwork`](super::LinearNetwork), as values, so that one type serves every shape.
///
/// ```
/// use ictd_core::training::LinearShape;
///
/// // Four features, three layers that share P and Q, under the mask of TD(0.9).
/// let shape = LinearShape { trace_decay: 0.9_f32, ..LinearShape::new(4, 1, 3) };
/// assert_eq!((shape.token_len(), shape.parameter_len()), (9, 2 * 9 * 9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape<R> {
    /// d, the number of features, at least 1.
    pub dim: usize,
    /// The number of stored layers: 1 if all layers share it, else L.
    pub stored: usize,
    /// L, the number of layers, at least 1.
    pub depth: usize,
    /// The trace decay of TD(lambda)'s mask, in \[0, 1\]; 0 gives TD(0)'s mask.
    pub trace_decay: R,
    /// Xavier's gain of the initial parameters, above 0.
    pub gain: f64,
}

impl<R: Real> LinearShape<R> {
    /// Returns the shape of `depth` layers for `dim` features that share one stored layer or have one each, with TD(0)'s
    /// mask and the gain 0.1, or 0.1 / L if each layer has its own.
    pub fn new(dim: usize, stored: usize, depth: usize) -> Self {
        LinearShape { dim, stored, depth, trace_decay: R::ZERO, gain: 0.1 / stored as f64 }
    }

    pub(super) fn check(&self) -> Result<()> {
        let LinearShape { dim, stored, depth, trace_decay, gain } = *self;
        TdLambda::new(trace_decay)?;
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
    pub fn token_len(&self) -> usize {
        2 * self.dim + 1
    }

    /// Returns the trace decay, or `None` without a trace: G is then symmetric.
    #[inline(always)]
    pub(super) fn trace<S: Scalar<Element = R>>(&self) -> Option<S> {
        (self.trace_decay != R::ZERO).then(|| S::splat(self.trace_decay))
    }

    #[inline(always)]
    pub(super) fn matrix_len(&self) -> usize {
        self.token_len() * self.token_len()
    }

    /// Returns the number of parameters.
    pub fn parameter_len(&self) -> usize {
        self.stored * 2 * self.matrix_len()
    }
}
