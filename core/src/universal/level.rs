//! How much of what a context shows is beyond noise.

use super::ContextSummary;
use crate::context::RewardSums;
use crate::scalar::Real;

/// The number of standard errors beyond which a mean reward counts.
const STANDARD_ERRORS: f64 = 3.0;

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

/// Returns the share of the level that counts: the level is compared with three standard errors, and is 0 within a horizon of
/// 1 / (1 - gamma) transitions, since rewards that follow each other are few observations of a mean.
///
/// The design effect makes the number of transitions Kish's effective one. If features tell states apart, each state is one
/// observation of what other states are worth.
pub(super) fn share_of_level<R: Real>(sums: &RewardSums<R>, summary: &ContextSummary<R>) -> R {
    let RewardSums { rewards, left, weight, states, .. } = *sums;
    let mut freedom = weight / summary.design_effect - R::ONE / (R::ONE - summary.gamma);
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
