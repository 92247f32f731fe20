//! TD's fixed point with a ridge that fits the noise, and how far a longer trace corrects it.

use super::level::{level, quadratic};
use crate::context::{TdSums, TdSystem, least_product, least_root};
use crate::error::Error;
use crate::linalg::linear_system::{eliminate, epsilon};
use crate::linalg::{is_finite, zeros};
use crate::scalar::{Real, Scalar};
use nalgebra::SVector;

/// The numbers of a context that the solution needs in addition to its sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ContextSummary<S> {
    /// n, the sum of the transitions' weights.
    pub(super) effective_len: S,
    /// The sum of the squared weights over the sum of the weights (Kish's design effect over n); 1 if nothing is
    /// forgotten.
    pub(super) design_effect: S,
    /// The discount gamma, in [0, 1).
    pub(super) gamma: S,
    /// Whether the trace decays at least as fast as gamma, so that its lambda is at most 1.
    pub(super) admissible: bool,
}

/// The ridge of the first solution, in transitions.
const FIRST_RIDGE: f64 = 3.0;
/// The ridge of the correction, in transitions.
const CORRECTION_RIDGE: f64 = 30.0;
/// The number of transitions for each feature at which half of the first equation is Bellman's residual.
const HALF_RESIDUAL: f64 = 3.0;
/// The share of the rewards that is at least noise, times the share of Bellman's residual: few transitions can be fitted.
const LEAST_NOISE: f64 = 0.3;
/// The least and the largest mean square of the values relative to that of the rewards, as far as the ridge knows.
const LEAST_VALUES: f64 = 0.01;
const MOST_VALUES: f64 = 6.0;
/// The number of standard errors beyond which the test counts.
const STANDARD_ERRORS: f64 = 3.0;

/// Factors that turn features and rewards into numbers with sum of squares 1.
struct Units<R, const D: usize> {
    /// 1 / sqrt(F_ii); 0 for a feature that was never seen.
    features: [R; D],
    /// 1 / sqrt(sum r^2).
    reward: R,
    /// The number of features that have a unit.
    seen: R,
    /// The size of their products with rewards of those that have none: 0, unless their squares underflowed.
    lost: R,
}

/// Rescales the sums so that each feature and the reward have sum of squares 1; `roots` are the current sqrt(F_ii).
#[inline(never)]
fn change_units<R: Real, const D: usize>(sums: &mut TdSums<R, D>, roots: &[R; D]) -> Units<R, D> {
    let half = R::from_f64(0.5);
    let (mut features, mut seen, mut lost) = ([R::ZERO; D], R::ZERO, R::ZERO);
    for i in 0..D {
        if roots[i] > R::from_f64(least_root::<R>()) && sums.squared_rewards != R::ZERO {
            features[i] = R::ONE / roots[i];
            seen += R::ONE;
        } else {
            lost += sums.systems[1].b[i].abs();
        }
    }
    let reward = R::ONE / sums.squared_rewards.sqrt();
    for j in 0..D {
        for i in 0..D {
            let both = features[i] * features[j];
            for system in &mut sums.systems {
                system.a[j][i] *= both;
            }
            if i <= j {
                sums.second_moments[j][i] *= half * both;
                sums.residual_gram[j][i] *= both;
            }
        }
        sums.residual_rewards[j] *= features[j] * reward;
        sums.level.features[j] *= features[j];
        sums.level.residual[j] *= features[j];
        for system in &mut sums.systems {
            system.b[j] *= features[j] * reward;
            system.c[j] *= features[j];
            system.squares[j] *= features[j] * features[j];
        }
    }
    sums.level.rewards *= reward;
    sums.level.explained_rewards *= reward;
    Units { features, reward, seen, lost }
}

/// Solves (A + ridge I) w = b for two right-hand sides b, in place, in the sums' own units; A is overwritten.
#[inline(never)]
fn solve<R: Real, const D: usize>(
    a: &mut [[R; D]; D],
    right: &mut [[R; D]; 2],
    ridge: R,
) -> Result<(), Error> {
    let mut largest = R::ONE;
    for j in 0..D {
        for i in 0..D {
            largest = largest.max(a[j][i].abs());
        }
    }
    // A pivot that elimination cannot distinguish from 0 does not count as one.
    let least = R::from_f64(4.0) * epsilon::<R>(D) * largest;
    let ridge = if ridge > least { ridge } else { least };
    for j in 0..D {
        // (A feature that was never seen gets the weight 0.)
        a[j][j] += ridge;
    }
    eliminate(a, right, D, least * R::from_f64(0.25)).ok_or(SINGULAR)
}

/// A solution for lambda = 0: v(s) = level + <w, phi(s)>.
#[derive(Clone, Copy)]
struct Fit<R, const D: usize> {
    weights: [R; D],
    level: R,
    /// sum (r - m c)^2 over sum r^2 with the level m: what is left of the rewards.
    rewards: R,
    /// sum delta^2 over sum r^2.
    td_error: R,
}

impl<R: Real, const D: usize> Fit<R, D> {
    /// Solves for the weights and the level with a share of Bellman's residual in A and a ridge.
    #[inline(never)]
    fn new(sums: &TdSums<R, D>, share: R, ridge: R, freedom: R) -> Result<Self, Error> {
        let [TdSystem { mut a, b, c, .. }, _] = sums.systems;
        let mut right = [b, c];
        for j in 0..D {
            for i in 0..D {
                let bellman = sums.residual_gram[j.max(i)][j.min(i)];
                a[j][i] += share * (bellman - a[j][i]);
            }
            right[0][j] += share * (sums.residual_rewards[j] - b[j]);
            right[1][j] += share * (sums.level.residual[j] - c[j]);
        }
        solve(&mut a, &mut right, ridge)?;
        let level = level(sums, &right, ridge, freedom);
        let [mut weights, of_level] = right;
        for j in 0..D {
            weights[j] -= level * of_level[j];
        }
        let (rewards, td_error) = (sums.squared_without(level), sums.td_error(&weights, level));
        Ok(Fit { weights, level, rewards, td_error })
    }
}

/// The solution read from a context.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solution<R: Scalar, const D: usize> {
    /// The weights w, (D).
    pub(super) weights: SVector<R, D>,
    /// The value where all features are 0, the level of the values.
    pub(super) level: R,
    /// sqrt(F_ii), the root of each feature's sum of squares, (D).
    pub(super) roots: [R; D],
    /// The weight of the solution for lambda = 0, in \[0, 1\].
    pub(super) linearity: R,
}

/// Solves the equations of [`crate::universal`]. The sums are overwritten.
/// Returns [`Error::NonFinite`] if sums or weights left the range of the scalar: in `f32` features and rewards have sizes
/// from 1e-19 to 1e14, or are 0; [`Error::Singular`] if a system was singular in spite of its ridge.
pub(super) fn solution<R: Real, const D: usize>(
    sums: &mut TdSums<R, D>,
    summary: ContextSummary<R>,
) -> Result<Solution<R, D>, Error> {
    let (roots, one, n) = (sums.roots(), R::ONE, summary.effective_len);
    let mut out = Solution { weights: zeros(), level: R::ZERO, roots, linearity: one };
    let units = change_units(sums, &roots);
    let d = units.seen;
    let is_lost = units.lost > R::from_f64(least_product::<R>());
    // (What is not finite makes weights that are not, below.)
    if is_lost || sums.squared_rewards == R::ZERO {
        return if is_lost { Err(NON_FINITE) } else { Ok(out) };
    }
    let design_effect = summary.design_effect * (sums.level.squared_weights / sums.level.weight);
    let taken = one / (one - summary.gamma) + d;
    let freedom = sums.level.weight / design_effect - taken;
    if d == R::ZERO {
        out.level = level(sums, &[[R::ZERO; D]; 2], R::ZERO, freedom) / units.reward;
        return Ok(out);
    }
    let per_feature = n / (R::from_f64(HALF_RESIDUAL) * d);
    let share = one / (one + per_feature * per_feature);
    let first = Fit::new(sums, share, R::from_f64(FIRST_RIDGE) / n, freedom)?;
    out.level = first.level / units.reward;
    // (Nothing is left of the rewards if the level is all that there is.)
    if first.rewards == R::ZERO {
        return Ok(out);
    }
    let values = quadratic(&sums.second_moments, &[R::ZERO; D], &first.weights);
    let least = R::from_f64(LEAST_VALUES) * first.rewards;
    let most = R::from_f64(MOST_VALUES) * first.rewards;
    let values = if values < most { values.max(least) } else { most };
    let noise = first.td_error.max(R::from_f64(LEAST_NOISE) * share * first.rewards);
    // The ridge for such noise if the weights have the variance that such values have for each feature.
    let fit = Fit::new(sums, share, d * noise / values / n, freedom)?;
    out.level = fit.level / units.reward;
    let mut w = fit.weights;
    if summary.admissible {
        out.linearity = one - correct(&mut w, sums, &fit, [n, d, design_effect])?;
    }
    for i in 0..D {
        out.weights[i] = w[i] * units.features[i] / units.reward;
    }
    if is_finite(&out.weights) { Ok(out) } else { Err(NON_FINITE) }
}

/// Moves w_0 towards the solution for the trace as far as the test rejects it, and returns how far, in \[0, 1\].
#[inline(never)]
fn correct<R: Real, const D: usize>(
    w: &mut [R; D],
    sums: &mut TdSums<R, D>,
    fit: &Fit<R, D>,
    [n, d, design_effect]: [R; 3],
) -> Result<R, Error> {
    let [_, system] = &mut sums.systems;
    let mut left = system.b;
    let (mut sum, variance) = (R::ZERO, fit.td_error * design_effect);
    for i in 0..D {
        left[i] -= fit.level * system.c[i];
        for j in 0..D {
            left[i] -= system.a[j][i] * w[j];
        }
        // (A trace that was 0 before each of its transitions says nothing.)
        let of_i = variance * system.squares[i];
        if of_i > R::ZERO {
            sum += left[i] * left[i] / of_i;
        }
    }
    let (test, two) = (sum * n / d, R::from_f64(2.0));
    let expected = R::ONE + R::from_f64(STANDARD_ERRORS) * (two / d).sqrt();
    if !(test > expected) {
        return Ok(R::ZERO);
    }
    // (Another function, for one right-hand side, would take more flash than this one takes time.)
    let mut right = [left, [R::ZERO; D]];
    solve(&mut system.a, &mut right, R::from_f64(CORRECTION_RIDGE) / n)?;
    let [correction, _] = right;
    let mut corrected = *w;
    for i in 0..D {
        corrected[i] += correction[i];
    }
    let error = sums.td_error(&corrected, fit.level);
    let (tested, explained) = (R::ONE - expected / test, fit.td_error / error);
    let share = if tested < explained { tested } else { explained };
    for i in 0..D {
        w[i] += share * correction[i];
    }
    Ok(share)
}

const SINGULAR: Error = Error::Singular { system: "the fixed point of TD" };
const NON_FINITE: Error = Error::NonFinite { parameter: "context" };
