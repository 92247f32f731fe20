//! How far the level of the rewards is known.

use crate::context::RewardSums;
use crate::scalar::Real;

/// A mean reward counts beyond so many standard errors.
const STANDARD_ERRORS: f64 = 3.0;
/// The transitions that it takes to know a standard error of rewards that follow each other.
const FEWEST: f64 = 10.0;

/// Returns the share of the level that counts, 1 - (3 / t)^4, where t is the level over its standard error. It is 0 within three
/// standard errors of 0, and for ten transitions or fewer; beyond, it soon is next to 1.
///
/// `design_effect` is the sum of the transitions' squared weights over the sum of their weights: it makes the number of transitions
/// Kish's effective one.
pub(super) fn share<R: Real>(sums: &RewardSums<R>, design_effect: R) -> R {
    let RewardSums { rewards, left, weight, .. } = *sums;
    let freedom = weight / design_effect - R::from_f64(FEWEST);
    let (noise, found) = (left * weight, freedom * (rewards * rewards));
    let noise = R::from_f64(STANDARD_ERRORS * STANDARD_ERRORS) * noise;
    if freedom > R::ZERO && found > noise {
        let ratio = noise / found;
        R::ONE - ratio * ratio
    } else {
        R::ZERO
    }
}
