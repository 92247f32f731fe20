//! Least-squares TD: the fixed point that batch TD's iterations approach.

use crate::error::Error;
use crate::linalg::linear_system;
use crate::linalg::{add_outer, add_scaled, zeros};
use crate::scalar::Real;
use crate::transition::Transition;
use nalgebra::SVector;

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
    linear_system::solve(a, b, D, "the LSTD system")
}
