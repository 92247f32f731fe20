//! Batch TD(lambda) and LSTD(lambda) on what a context remembers: both read A = sum e (phi - gamma phi')^T and
//! b = sum r e off it, whose transitions count with their weights in a context that forgets.

use super::trace_decay;
use crate::context::{Context, Growing, LstdSystem, Memory, least_product, least_root};
use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::{arrays::add_scaled, dot_arrays, linear_system};
use crate::mask::TdLambda;
use crate::scalar::{Real, Scalar, check_lanes};
use crate::setters::setters;
use crate::transformer::has_grown;
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

/// The system that is solved, for messages.
pub(super) const SYSTEM: &str = "the LSTD system";

/// Batch TD(lambda): w <- w + alpha (b - A w) / n from w = 0, a number of times, over the n transitions of a context of
/// any memory. Which alpha converges: [the module](super#step-sizes) says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchTd<S: Scalar = f32> {
    gamma: S,
    mask: TdLambda<S>,
    alpha: S,
    iterations: usize,
}

/// The settings of [`BatchTd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct BatchTdSettings<S = f32> {
    /// The discount, in \[0, 1).
    pub gamma: S,
    /// Sutton and Barto's lambda, in \[0, 1\]: the trace decays by gamma lambda.
    pub lambda: S,
    /// The step size, above 0, in units of 1 / |phi|^2.
    pub step_size: S,
    /// The number of iterations, 1 or more.
    pub iterations: usize,
}

impl<S: Scalar> BatchTdSettings<S> {
    /// Returns the settings of 15 iterations of TD(0) with this discount and the step size 0.1.
    pub fn new(gamma: S) -> Self {
        BatchTdSettings { gamma, lambda: S::ZERO, step_size: S::from_f64(0.1), iterations: 15 }
    }

    setters! { gamma: S, lambda: S, step_size: S, iterations: usize }
}

impl<S: Scalar> BatchTd<S> {
    /// Returns batch TD(lambda), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the setting.
    pub fn new(settings: BatchTdSettings<S>) -> Result<Self> {
        let BatchTdSettings { gamma, lambda, step_size: alpha, iterations } = settings;
        let mask = TdLambda::new(trace_decay(gamma, lambda)?)?;
        check_lanes(alpha, "step_size", |x| x > Scalar::ZERO, "above 0")?;
        ensure(iterations > 0, out_of_range("iterations", "1 or more"))?;
        Ok(BatchTd { gamma, mask, alpha, iterations })
    }

    fn weights<const D: usize>(
        &self,
        LstdSystem { a, b, .. }: LstdSystem<S, D>,
        n: S,
    ) -> Result<SVector<S, D>> {
        let scale = self.alpha / n;
        let mut weights = [S::ZERO; D];
        let mut update = b.map(|b| scale * b);
        let first = dot_arrays(&update, &update);
        for _ in 0..self.iterations {
            add_scaled(&mut weights, S::ONE, &update);
            for i in 0..D {
                update[i] = scale * (b[i] - dot_arrays(&a[i], &weights));
            }
        }
        let has_grown = has_grown(dot_arrays(&update, &update), first);
        ensure(!has_grown && weights.iter().all(|w| w.is_finite()), Error::Diverges)?;
        Ok(weights.into())
    }
}

/// LSTD(lambda) with a ridge: with S = diag(1 / root mean square of each feature),
/// w = S (S A S + ridge I)^-1 S b.
///
/// So the ridge counts in transitions, whatever the units of the features, and a forgetting context never fades it. A
/// feature that was always 0 has the weight 0; one whose square underflows is refused ([`Error::NonFinite`]). A context of
/// any memory is read in (D + 1)^3 / 3 operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lstd<R: Real = f32> {
    gamma: R,
    mask: TdLambda<R>,
    ridge: R,
}

/// The settings of [`Lstd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LstdSettings<R = f32> {
    /// The discount, in \[0, 1).
    pub gamma: R,
    /// Sutton and Barto's lambda, in \[0, 1\]: the trace decays by gamma lambda.
    pub lambda: R,
    /// The ridge, 0 or above, in transitions.
    pub ridge: R,
}

impl<R: Real> LstdSettings<R> {
    /// Returns the settings of LSTD(0.5) with this discount and the ridge 0.3.
    pub fn new(gamma: R) -> Self {
        LstdSettings { gamma, lambda: R::from_f64(0.5), ridge: R::from_f64(0.3) }
    }

    setters! { gamma: R, lambda: R, ridge: R }
}

impl<R: Real> Lstd<R> {
    /// Returns LSTD(lambda), or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the setting.
    pub fn new(settings: LstdSettings<R>) -> Result<Self> {
        let LstdSettings { gamma, lambda, ridge } = settings;
        let mask = TdLambda::new(trace_decay(gamma, lambda)?)?;
        check_lanes(ridge, "ridge", |x| x >= Scalar::ZERO, "0 or above")?;
        Ok(Lstd { gamma, mask, ridge })
    }

    fn weights<const D: usize>(
        &self,
        LstdSystem { a, b, squares }: LstdSystem<R, D>,
        n: R,
    ) -> Result<SVector<R, D>> {
        // 2 n, as the squares are those of both states.
        let count = n + n;
        let mut scale = [R::ZERO; D];
        for i in 0..D {
            if squares[i].sqrt() > R::from_f64(least_root::<R>()) {
                scale[i] = (count / squares[i]).sqrt();
            } else {
                let is_known = b[i].abs() <= R::from_f64(least_product::<R>());
                ensure(is_known, Error::NonFinite { parameter: "context" })?;
            }
        }
        let scaled = SMatrix::<R, D, D>::from_fn(|i, j| {
            let entry = scale[i] * a[i][j] * scale[j];
            match i == j {
                true if scale[i] == R::ZERO => R::ONE,
                true => entry + self.ridge,
                false => entry,
            }
        });
        let scaled_b = SVector::<R, D>::from_fn(|i, _| scale[i] * b[i]);
        let w = linear_system::solve(scaled, scaled_b, D, SYSTEM)?;
        Ok(SVector::from_fn(|i, _| scale[i] * w[i]))
    }
}

macro_rules! context_methods {
    ($algorithm:ident, $scalar:ident) => {
        impl<S: $scalar> $algorithm<S> {
            /// Returns an empty context for D features that remembers every transition; any other of this mask will do.
            pub const fn context<const D: usize>(&self) -> Context<D, TdLambda<S>, Growing, S> {
                Context::<D, TdLambda<S>, Growing, S>::with_memory(self.mask, Growing)
            }

            /// Returns the mask, whose trace decays by gamma lambda.
            pub fn mask(&self) -> &TdLambda<S> {
                &self.mask
            }

            /// Returns the value function of a context's first cumulant, with the errors of `value_function_for`.
            pub fn value_function<const D: usize, Mem: Memory<S>, const C: usize>(
                &self,
                context: &Context<D, TdLambda<S>, Mem, S, C>,
            ) -> Result<ValueFunction<S, D>> {
                self.value_function_for(context, 0)
            }

            /// Returns the value function of one of the context's cumulants (0 to C - 1).
            /// Returns [`Error::Empty`] before the first transition; [`Error::Mismatch`] for a context of another trace
            /// decay; [`Error::OutOfRange`], naming `cumulant`; [`Error::NonFinite`] if the sums left the range of
            /// the scalar; [`Error::Diverges`] if the step size is too large (batch TD); [`Error::Singular`] if the
            /// transitions do not determine the weights (LSTD).
            pub fn value_function_for<const D: usize, Mem: Memory<S>, const C: usize>(
                &self,
                context: &Context<D, TdLambda<S>, Mem, S, C>,
                cumulant: usize,
            ) -> Result<ValueFunction<S, D>> {
                if self.mask != *context.mask() {
                    let parameter = "the trace decay of algorithm and context";
                    return Err(Error::Mismatch { parameter });
                }
                let system = LstdSystem::new(&context.discounted(self.gamma, cumulant)?);
                Ok(ValueFunction { weights: self.weights(system, context.effective_len())? })
            }
        }
    };
}

context_methods!(BatchTd, Scalar);
context_methods!(Lstd, Real);
