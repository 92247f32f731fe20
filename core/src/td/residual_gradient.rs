//! The (naive) residual gradient of Baird (1995).

use super::batch_step;
use super::td0::td_error;
use crate::error::Error;
use crate::linalg::{add_scaled, zeros};
use crate::scalar::Scalar;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// Preconditioned batch residual gradient (eq. "w_update RG"):
/// w_{l+1} = w_l + (1/n) C_l sum_j delta_j (phi_j - gamma phi_{j+1}).
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{constructions::learning_rate, td, transition::Transition};
///
/// let (phi, phi_next) = (SVector::from([1.0]), SVector::from([2.0]));
/// let transitions = [Transition { phi, reward: 3.0, phi_next }];
/// let w = SVector::from([0.0]);
/// let w = td::residual_gradient::update(&w, &learning_rate(0.25), &transitions, 0.25)?;
/// assert_eq!(w[0], 0.25 * 3.0 * (1.0 - 0.25 * 2.0));
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`] without transitions, [`Error::NonFinite`] if the new w is not finite.
pub fn update<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    gamma: S,
) -> Result<SVector<S, D>, Error> {
    let mut sum = zeros();
    for transition in transitions {
        let delta = td_error(w, transition, gamma);
        let mut gradient = transition.phi;
        add_scaled(&mut gradient, -gamma, &transition.phi_next);
        add_scaled(&mut sum, delta, &gradient);
    }
    batch_step(w, c, &sum, transitions.len())
}
