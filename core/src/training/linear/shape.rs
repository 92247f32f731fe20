//! The shape of a linear network: values, so that one type serves every shape.

use crate::error::Error;
use crate::layer::ParameterSet;
use crate::mask::TdLambda;
use crate::scalar::{Real, Scalar, check_lanes};

/// The features, layers, heads, mask and parameters of a [`LinearNetwork`](super::LinearNetwork).
///
/// ```
/// use ictd_core::training::{LinearShape, ParameterSet};
///
/// // Four features, three layers that share ten numbers, under the mask of TD(0.9).
/// let shape = LinearShape::new(4, 1, 3)?.with_parameters(ParameterSet::Equivariant).with_lambda(0.9_f32)?;
/// assert_eq!((shape.token_len(), shape.parameter_len()), (9, 10));
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearShape<R> {
    dim: usize,
    heads: usize,
    stored: usize,
    depth: usize,
    lambda: R,
    prior_count: Option<R>,
    parameters: ParameterSet,
    gain: f64,
}

impl<R: Real> LinearShape<R> {
    /// Returns the shape of `depth` layers for tokens of `dim` features, which share one stored layer or have one
    /// each: one head, TD(0)'s mask, all of P and Q.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for no features, and if `stored` is neither 1 nor `depth`; [`Error::Empty`] for depth 0.
    pub fn new(dim: usize, stored: usize, depth: usize) -> Result<Self, Error> {
        if dim == 0 {
            return Err(Error::OutOfRange { parameter: "dim", accepted: "at least 1" });
        }
        if depth == 0 {
            return Err(Error::Empty { parameter: "layers" });
        }
        if stored != 1 && stored != depth {
            let accepted = "one stored layer, or one for each in the pass";
            return Err(Error::OutOfRange { parameter: "layers", accepted });
        }
        Ok(LinearShape {
            dim,
            heads: 1,
            stored,
            depth,
            lambda: R::ZERO,
            prior_count: None,
            parameters: ParameterSet::Full,
            gain: 0.1 / stored as f64,
        })
    }

    /// Returns the shape with two heads: the transformer of average-reward TD (eq. "Z two-head update"). Its tokens
    /// (phi; phi'; R; 0) have K = 2d + 2 numbers, the last of which is memory; its values are differential, so that
    /// windows' discounts are for nothing. P, Q and W of both heads are trained.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a trace, a normalised read or ten numbers a layer, which it does not have.
    pub fn with_two_heads(self) -> Result<Self, Error> {
        let plain = self.lambda == R::ZERO && self.prior_count.is_none();
        if !plain || self.parameters != ParameterSet::Full {
            let accepted = "TD(0)'s mask, contexts as they are and full layers";
            return Err(Error::OutOfRange { parameter: "heads", accepted });
        }
        Ok(LinearShape { heads: 2, ..self })
    }

    /// Returns the shape with other trained numbers, for one head.
    #[must_use]
    pub fn with_parameters(self, parameters: ParameterSet) -> Self {
        LinearShape { parameters, ..self }
    }

    /// Returns the shape with TD(lambda)'s mask, for 0 TD(0)'s, for one head.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 0 <= lambda <= 1.
    pub fn with_lambda(self, lambda: R) -> Result<Self, Error> {
        Ok(LinearShape { lambda: TdLambda::new(lambda)?.lambda(), ..self })
    }

    /// Returns the shape that reads contexts without units ([`crate::normalised`]), with a prior count n_0, for one
    /// head.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless n_0 > 0.
    pub fn normalised(self, prior_count: R) -> Result<Self, Error> {
        let prior_count = check_lanes(prior_count, "prior_count", |n| n > R::ZERO, "above 0")?;
        Ok(LinearShape { prior_count: Some(prior_count), ..self })
    }

    /// Returns the shape whose initial parameters are drawn with this gain of Xavier's, not 0.1 (0.1 / L if each
    /// layer has its own).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless it is a number above 0.
    pub fn with_initial_gain(self, gain: f64) -> Result<Self, Error> {
        let above_0 = |gain: f64| gain > 0.0 && gain.is_finite();
        let gain = check_lanes(gain, "gain", above_0, "above 0")?;
        Ok(LinearShape { gain, ..self })
    }

    /// d.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// K, the numbers of a token.
    #[inline(always)]
    pub fn token_len(&self) -> usize {
        2 * self.dim + self.heads
    }

    /// 1, or 2 for average-reward TD.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// L.
    #[inline(always)]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the number of stored layers.
    #[inline(always)]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Returns the trace decay of the mask.
    pub fn lambda(&self) -> R {
        self.lambda
    }

    /// n_0 of the normalised read; none if contexts are read as they are.
    pub fn prior_count(&self) -> Option<R> {
        self.prior_count
    }

    /// Returns the numbers that are trained of each layer.
    #[inline(always)]
    pub fn parameters(&self) -> ParameterSet {
        self.parameters
    }

    /// Returns the gain of the initial parameters.
    pub(super) fn gain(&self) -> f64 {
        self.gain
    }

    /// Returns the trace decay, if there is a trace: without one the statistic is symmetric.
    #[inline(always)]
    pub(super) fn trace<S: Scalar<Element = R>>(&self) -> Option<S> {
        (self.lambda != R::ZERO).then(|| S::splat(self.lambda))
    }

    /// Returns true if there is a trace.
    #[inline(always)]
    pub(super) fn has_trace(&self) -> bool {
        self.lambda != R::ZERO
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
