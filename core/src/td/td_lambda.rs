//! TD(lambda).

use super::batch_step;
use super::td0::td_error;
use crate::error::Error;
use crate::linalg::{add_scaled, zeros};
use crate::scalar::Scalar;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// Preconditioned batch TD(lambda), as in the corollary: e_j = lambda e_{j-1} + phi_j,
/// w_{k+1} = w_k + (1/n) C_k sum_i delta_i e_i.
///
/// The trace decays by lambda alone, as the corollary and its mask have it (the paper's background
/// section has gamma lambda), and starts from e_{-1} = 0, so that phi_0 counts.
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{constructions::learning_rate, td, transition::Transition};
///
/// let phi = SVector::from([1.0]);
/// let transitions = [0.0, 2.0].map(|reward| Transition { phi, reward, phi_next: phi });
/// let w = SVector::from([0.0]);
/// let w = td::td_lambda::update(&w, &learning_rate(0.5), &transitions, 0.9, 0.5)?;
/// assert_eq!(w[0], 0.5 * 0.5 * (2.0 * (1.0 + 0.5)));
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
    lambda: S,
) -> Result<SVector<S, D>, Error> {
    let mut sum = zeros();
    let mut trace = zeros::<S, D, 1>();
    for transition in transitions {
        let mut e = transition.phi;
        add_scaled(&mut e, lambda, &trace);
        trace = e;
        add_scaled(&mut sum, td_error(w, transition, gamma), &trace);
    }
    batch_step(w, c, &sum, transitions.len())
}
