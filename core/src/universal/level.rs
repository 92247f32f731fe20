//! How much of what a context shows is beyond noise.

use crate::context::RewardSums;
use crate::scalar::Real;

/// A mean reward counts beyond so many standard errors.
const STANDARD_ERRORS: f64 = 3.0;
/// The transitions that it takes to know a standard error of rewards that follow each other.
const FEWEST: f64 = 10.0;

/// Returns the share of an estimate that counts, 1 - (noise / found)^2, where both are squares: 0 if no more was found than noise
/// makes, and soon next to 1 beyond.
#[inline(never)]
pub(super) fn share_beyond<R: Real>(noise: R, found: R) -> R {
    if found > noise {
        let ratio = noise / found;
        R::ONE - ratio * ratio
    } else {
        R::ZERO
    }
}

/// Returns the share of the level that counts: the level is compared with three standard errors, and is 0 for ten transitions or
/// fewer.
///
/// `design_effect` is the sum of the transitions' squared weights over the sum of their weights: it makes the number of transitions
/// Kish's effective one. If features tell states apart, each state is one observation of what other states are worth.
pub(super) fn share_of_level<R: Real>(sums: &RewardSums<R>, design_effect: R) -> R {
    let RewardSums { rewards, left, weight, states, .. } = *sums;
    let mut freedom = weight / design_effect - R::from_f64(FEWEST);
    if let Some(states) = states {
        let of_states = states - R::ONE;
        freedom = if of_states < freedom { of_states } else { freedom };
    }
    if freedom > R::ZERO {
        let noise = R::from_f64(STANDARD_ERRORS * STANDARD_ERRORS) * (left * weight);
        share_beyond(noise, freedom * (rewards * rewards))
    } else {
        R::ZERO
    }
}
