//! Least-squares TD: the fixed point that batch TD's iterations approach.

use super::trace_decay;
use crate::context::{Context, Growing, TdSystem, Window};
use crate::error::Error;
use crate::linalg::linear_system;
use crate::linalg::{add_outer, add_scaled, zeros};
use crate::mask::{Mask, Td0, TdLambda};
use crate::scalar::{Real, Scalar, check_lanes};
use crate::transition::{Transition, check_gamma};
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

/// What is solved, for messages.
pub(super) const SYSTEM: &str = "the LSTD system";

/// LSTD(lambda): the w with sum_i delta_i e_i = 0, that is A w = b for
/// A = sum_i e_i (phi_i - gamma phi_{i+1})^T and b = sum_i R_{i+1} e_i, where
/// e_i = lambda e_{i-1} + phi_i as in [`super::td_lambda::update`]. lambda = 0 is LSTD.
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{td, transition::Transition};
///
/// // A state that leads to itself with reward 1: its value is 1 / (1 - gamma).
/// let phi = SVector::from([1.0]);
/// let w = td::lstd::solve(&[Transition { phi, reward: 1.0, phi_next: phi }], 0.5, 0.0)?;
/// assert_eq!(w[0], 2.0);
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`] without transitions, [`Error::Singular`] if they do not determine w,
/// [`Error::NonFinite`] for NaN or an infinity in them.
pub fn solve<R: Real, const D: usize>(
    transitions: &[Transition<R, D>],
    gamma: R,
    lambda: R,
) -> Result<SVector<R, D>, Error> {
    if transitions.is_empty() {
        return Err(Error::Empty { parameter: "transitions" });
    }
    let (mut a, mut b) = (zeros::<R, D, D>(), zeros::<R, D, 1>());
    let mut trace = zeros::<R, D, 1>();
    for transition in transitions {
        let mut e = transition.phi;
        add_scaled(&mut e, lambda, &trace);
        trace = e;
        let mut difference = transition.phi;
        add_scaled(&mut difference, -gamma, &transition.phi_next);
        add_outer(&mut a, &trace, &difference);
        add_scaled(&mut b, transition.reward, &trace);
    }
    linear_system::solve(a, b, D, SYSTEM)
}

/// LSTD(lambda) with a ridge, on what a context remembers: with S = diag(1 / root mean square of each feature),
/// w = S (S A S + ridge I)^-1 S b for A = sum e (phi - gamma phi')^T and b = sum r e.
///
/// So the ridge counts in transitions, whatever the units of the features: this is textbook LSTD on features divided by
/// their root mean square (over both states of each transition). A forgetting context fades A and b and never the
/// ridge. It takes the place of a model: any window, any number of cumulants, (D + 1)^3 / 3 operations when it is read.
///
/// ```
/// use ictd_core::td::Lstd;
///
/// let model = Lstd::new(0.5, 0.9, 0.001)?;
/// let mut context = model.context::<1>();
/// for _ in 0..100 {
///     context.observe(&[1.0], 1.0, &[1.0])?; // a state that leads to itself with reward 1
/// }
/// let value = model.value_function(&context)?.at(&[1.0]);
/// assert!((value - 2.0f32).abs() < 1e-4);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lstd<R: Real = f32, M: Mask<R> = TdLambda<R>> {
    gamma: R,
    mask: M,
    ridge: R,
}

impl<R: Real> Lstd<R> {
    /// Of a discount gamma in [0, 1), a lambda in [0, 1] and a ridge of 0 or above.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming the parameter.
    pub fn new(gamma: R, lambda: R, ridge: R) -> Result<Self, Error> {
        Lstd { gamma, mask: TdLambda::new(trace_decay(gamma, lambda)?)?, ridge }.checked()
    }
}

impl<R: Real> Lstd<R, Td0> {
    /// LSTD(0), on contexts of TD(0)'s mask.
    ///
    /// # Errors
    /// As [`Lstd::new`].
    pub fn without_trace(gamma: R, ridge: R) -> Result<Self, Error> {
        Lstd { gamma, mask: Td0, ridge }.checked()
    }
}

impl<R: Real, M: Mask<R>> Lstd<R, M> {
    fn checked(self) -> Result<Self, Error> {
        check_gamma(self.gamma)?;
        check_lanes(self.ridge, "ridge", |x| x >= Scalar::ZERO, "0 or above")?;
        Ok(self)
    }

    /// An empty context for D features that remembers every transition; any other of this mask will do.
    pub const fn context<const D: usize>(&self) -> Context<D, M, Growing, R> {
        Context::<D, M, Growing, R>::with(self.mask, Growing)
    }

    /// The mask, whose trace decays by gamma lambda.
    pub fn mask(&self) -> &M {
        &self.mask
    }

    /// The value function of a context's first cumulant.
    ///
    /// # Errors
    /// As [`Lstd::value_function_of`].
    pub fn value_function<const D: usize, W: Window<R>, const C: usize>(
        &self,
        context: &Context<D, M, W, R, C>,
    ) -> Result<ValueFunction<R, D>, Error> {
        self.value_function_of(context, 0)
    }

    /// The value function of one of the context's cumulants (0 to C - 1).
    ///
    /// # Errors
    /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] for a context of another trace decay;
    /// [`Error::OutOfRange`], naming `cumulant`; [`Error::Singular`] if the transitions do not determine w;
    /// [`Error::NonFinite`] if the sums overflowed.
    pub fn value_function_of<const D: usize, W: Window<R>, const C: usize>(
        &self,
        context: &Context<D, M, W, R, C>,
        cumulant: usize,
    ) -> Result<ValueFunction<R, D>, Error> {
        let TdSystem { a, b, squares } = super::system(&self.mask, self.gamma, context, cumulant)?;
        // 2 n, as the squares are those of both states.
        let count = context.weight() + context.weight();
        let scale = squares.map(|x| if x > R::ZERO { (count / x).sqrt() } else { R::ZERO });
        let scaled = SMatrix::<R, D, D>::from_fn(|i, j| {
            let entry = scale[i] * a[i][j] * scale[j];
            if i == j { entry + self.ridge } else { entry }
        });
        let scaled_b = SVector::<R, D>::from_fn(|i, _| scale[i] * b[i]);
        let w = linear_system::solve(scaled, scaled_b, D, SYSTEM)?;
        Ok(ValueFunction { weights: SVector::from_fn(|i, _| scale[i] * w[i]) })
    }
}
