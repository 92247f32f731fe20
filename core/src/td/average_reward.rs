//! Average-reward TD of Tsitsiklis and Van Roy (1999).

use super::batch_step;
use super::td0::td_error;
use crate::error::Error;
use crate::linalg::{add_scaled, zeros};
use crate::scalar::Scalar;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// Preconditioned batch average-reward TD (the average-reward theorem):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_j - rbar_j + w_l^T phi_j - w_l^T phi_{j-1}) phi_{j-1},
/// with rbar_j the mean of the first j rewards.
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{constructions::learning_rate, td, transition::Transition};
///
/// let (phi, phi_next) = (SVector::from([1.0]), SVector::from([-1.0]));
/// let transitions = [Transition { phi, reward: 3.0, phi_next }, Transition { phi, reward: 1.0, phi_next }];
/// let w = td::average_reward::update(&SVector::from([0.0]), &learning_rate(0.5), &transitions)?;
/// assert_eq!(w[0], 0.5 * 0.5 * ((3.0 - 3.0) + (1.0 - 2.0)));
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`] without transitions, [`Error::NonFinite`] if the new w is not finite.
pub fn update<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
) -> Result<SVector<S, D>, Error> {
    let mut sum = zeros();
    let mut rewards = S::ZERO;
    for (j, transition) in transitions.iter().enumerate() {
        rewards += transition.reward;
        let mean = rewards / S::from_count(j as u64 + 1);
        let delta = td_error(w, transition, S::ONE) - mean;
        add_scaled(&mut sum, delta, &transition.phi);
    }
    batch_step(w, c, &sum, transitions.len())
}
