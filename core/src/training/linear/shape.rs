use crate::error::Error;
use crate::layer::ParameterSet;
use crate::mask::TdLambda;
use crate::scalar::{Real, Scalar, check_lanes};
use crate::training::settings::refuse_unless;

/// The shape of a [`LinearNetwork`](super::LinearNetwork): values, so that one type serves every shape.
///
/// ```
/// use ictd_core::training::{LinearShape, ParameterSet};
///
/// // Four features, three layers that share ten numbers, under the mask of TD(0.9).
/// let parameters = ParameterSet::Equivariant;
/// let shape = LinearShape { lambda: 0.9_f32, parameters, ..LinearShape::new(4, 1, 3) };
/// assert_eq!((shape.token_len(), shape.parameter_len()), (9, 10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape<R> {
    /// d, the number of features, at least 1.
    pub dim: usize,
    /// 1, or 2 for the transformer of average-reward TD (eq. "Z two-head update"). Its tokens (phi; phi'; R; 0) have
    /// K = 2d + 2 numbers, the last of which is memory; its values are differential, so that windows' discounts are
    /// for nothing. P, Q and W of both heads are trained. It has none of the other options.
    pub heads: usize,
    /// The number of stored layers: 1, which all layers in the pass share, or L.
    pub stored: usize,
    /// L, at least 1.
    pub depth: usize,
    /// The trace decay of TD(lambda)'s mask, from 0 to 1; 0 for TD(0)'s.
    pub lambda: R,
    /// The prior count n_0 > 0 with which contexts are read without units ([`crate::normalised`]); none for contexts
    /// as they are.
    pub prior_count: Option<R>,
    /// The numbers that are trained of each layer.
    pub parameters: ParameterSet,
    /// Xavier's gain of the initial parameters, above 0.
    pub gain: f64,
}

impl<R: Real> LinearShape<R> {
    /// Returns the shape of `depth` layers for tokens of `dim` features, which share one stored layer or have one
    /// each: one head, TD(0)'s mask, all of P and Q, and the gain 0.1, or 0.1 / L if each layer has its own.
    pub fn new(dim: usize, stored: usize, depth: usize) -> Self {
        LinearShape {
            dim,
            heads: 1,
            stored,
            depth,
            lambda: R::ZERO,
            prior_count: None,
            parameters: ParameterSet::Full,
            gain: 0.1 / stored as f64,
        }
    }

    /// Refuses what no network has.
    pub(super) fn check(&self) -> Result<(), Error> {
        let LinearShape { dim, heads, stored, depth, lambda, prior_count, parameters, gain } =
            *self;
        TdLambda::new(lambda)?;
        check_lanes(prior_count.unwrap_or(R::ONE), "prior_count", |n| n > R::ZERO, "above 0")?;
        check_lanes(gain, "gain", |gain| gain > 0.0, "above 0")?;
        let full = parameters == ParameterSet::Full;
        let plain = lambda == R::ZERO && prior_count.is_none() && full;
        let of_heads = "1, or 2 with TD(0)'s mask, contexts as they are and full layers";
        refuse_unless([
            (dim > 0, "dim", "at least 1"),
            (depth > 0, "layers", "at least 1"),
            (
                [1, depth].contains(&stored),
                "layers",
                "one stored layer, or one for each in the pass",
            ),
            (heads == 1 || heads == 2 && plain, "heads", of_heads),
        ])
    }

    /// Returns K, the numbers of a token.
    #[inline(always)]
    pub fn token_len(&self) -> usize {
        2 * self.dim + self.heads
    }

    /// Returns the trace decay, if there is a trace: without one the statistic is symmetric.
    #[inline(always)]
    pub(super) fn trace<S: Scalar<Element = R>>(&self) -> Option<S> {
        (self.lambda != R::ZERO).then(|| S::splat(self.lambda))
    }

    /// Returns the numbers of a trained matrix.
    #[inline(always)]
    pub(super) fn matrix_len(&self) -> usize {
        self.parameters.len(self.token_len())
    }

    /// Returns how many numbers are trained.
    pub fn parameter_len(&self) -> usize {
        // P and Q; of two heads P, Q and W of each.
        let matrices = if self.heads == 2 { 6 } else { 2 };
        self.stored * matrices * self.matrix_len()
    }
}
