//! TD(0).

use super::batch_step;
use crate::error::Error;
use crate::linalg::{add_scaled, dot, zeros};
use crate::scalar::Scalar;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// The TD error delta = R + gamma w^T phi' - w^T phi.
#[inline(always)]
pub fn td_error<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    transition: &Transition<S, D>,
    gamma: S,
) -> S {
    transition.reward + gamma * dot(w, &transition.phi_next) - dot(w, &transition.phi)
}

/// Preconditioned batch TD(0) (eq. "TD(0) w_update"):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_{j+1} + gamma w_l^T phi_{j+1} - w_l^T phi_j) phi_j.
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
        add_scaled(&mut sum, td_error(w, transition, gamma), &transition.phi);
    }
    batch_step(w, c, &sum, transitions.len())
}
