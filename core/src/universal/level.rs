//! The level of the rewards.

use crate::context::RewardSums;
use crate::scalar::Real;

/// The level counts beyond this many standard errors: three, squared.
const STANDARD_ERRORS: f64 = 9.0;

/// Returns the level m of the values, sum r / sum (1 - gamma \[not terminal\]), shrunk by 1 - 9 / t^2 (in the manner of James and
/// Stein), where t is the mean reward over its standard error; 0 within three standard errors of 0.
///
/// `design_effect` is the sum of the transitions' squared weights over the sum of their weights, so that n is Kish's effective
/// number of transitions. Few transitions have few degrees of freedom: if the rewards' mean is 0, the mean of t^2 is (n - 1) / (n - 3).
pub(super) fn level<R: Real>(sums: &RewardSums<R>, design_effect: R) -> R {
    let RewardSums { rewards, squares, explained, weight, .. } = *sums;
    let freedom = weight / design_effect - R::from_f64(3.0);
    let of_mean = rewards * rewards;
    // The rewards' variance over the square of their mean.
    let variance = (squares * weight - of_mean).max(R::ZERO);
    let noise = R::from_f64(STANDARD_ERRORS) * variance;
    let kept = freedom * of_mean - noise;
    if freedom > R::ZERO && kept > R::ZERO {
        rewards / explained * (kept / (freedom * of_mean))
    } else {
        R::ZERO
    }
}
