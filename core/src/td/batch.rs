//! Batch TD(lambda) on what a context remembers.

use super::trace_decay;
use crate::context::{Context, Growing, TdSystem, Window};
use crate::error::Error;
use crate::linalg::{check_finite, dot_arrays};
use crate::mask::{Mask, Td0, TdLambda};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::check_gamma;
use crate::value_function::ValueFunction;

/// Batch TD(lambda): w <- w + alpha (b - A w) / n from w = 0, so many times, for
/// A = sum e (phi - gamma phi')^T and b = sum r e over the n transitions of a context (those of a forgetting one count
/// with their weights).
///
/// It takes the place of a model: any window, any number of cumulants.
///
/// ```
/// use ictd_core::td::BatchTd;
///
/// let model = BatchTd::new(0.5, 0.0, 0.5, 100)?;
/// let mut context = model.context::<1>();
/// context.observe(&[1.0], 1.0, &[1.0])?; // a state that leads to itself with reward 1
/// let value = model.value_function(&context)?.at(&[1.0]);
/// assert!((value - 2.0f64).abs() < 1e-9);
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// Which alpha converges: [the module](super#step-sizes) says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchTd<S: Scalar = f32, M: Mask<S> = TdLambda<S>> {
    gamma: S,
    mask: M,
    alpha: S,
    iterations: usize,
}

impl<S: Scalar> BatchTd<S> {
    /// Of a discount gamma in [0, 1), a lambda in [0, 1], a step size alpha above 0 and a number of iterations.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming the parameter.
    pub fn new(gamma: S, lambda: S, alpha: S, iterations: usize) -> Result<Self, Error> {
        let mask = TdLambda::new(trace_decay(gamma, lambda)?)?;
        BatchTd { gamma, mask, alpha, iterations }.checked()
    }
}

impl<S: Scalar> BatchTd<S, Td0> {
    /// Batch TD(0), on contexts of TD(0)'s mask.
    ///
    /// # Errors
    /// As [`BatchTd::new`].
    pub fn without_trace(gamma: S, alpha: S, iterations: usize) -> Result<Self, Error> {
        BatchTd { gamma, mask: Td0, alpha, iterations }.checked()
    }
}

impl<S: Scalar, M: Mask<S>> BatchTd<S, M> {
    fn checked(self) -> Result<Self, Error> {
        check_gamma(self.gamma)?;
        check_lanes(self.alpha, "alpha", |x| x > Scalar::ZERO, "above 0")?;
        Ok(self)
    }

    /// An empty context for D features that remembers every transition; any other of this mask will do.
    pub const fn context<const D: usize>(&self) -> Context<D, M, Growing, S> {
        Context::<D, M, Growing, S>::with(self.mask, Growing)
    }

    /// The mask, whose trace decays by gamma lambda.
    pub fn mask(&self) -> &M {
        &self.mask
    }

    /// The value function of a context's first cumulant.
    ///
    /// # Errors
    /// As [`BatchTd::value_function_of`].
    pub fn value_function<const D: usize, W: Window<S>, const C: usize>(
        &self,
        context: &Context<D, M, W, S, C>,
    ) -> Result<ValueFunction<S, D>, Error> {
        self.value_function_of(context, 0)
    }

    /// The value function of one of the context's cumulants (0 to C - 1).
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] for a context of another trace decay;
    /// [`Error::OutOfRange`], naming `cumulant`; [`Error::NonFinite`] if the iterates blow up.
    pub fn value_function_of<const D: usize, W: Window<S>, const C: usize>(
        &self,
        context: &Context<D, M, W, S, C>,
        cumulant: usize,
    ) -> Result<ValueFunction<S, D>, Error> {
        let TdSystem { a, b, .. } = super::system(&self.mask, self.gamma, context, cumulant)?;
        let scale = self.alpha / context.weight();
        let mut weights = [S::ZERO; D];
        for _ in 0..self.iterations {
            let w = weights;
            for i in 0..D {
                weights[i] += scale * (b[i] - dot_arrays(&a[i], &w));
            }
        }
        let weights = weights.into();
        check_finite(&weights, "batch TD's weights")?;
        Ok(ValueFunction { weights })
    }
}
