//! The level of the values, and the TD errors that values leave.

use crate::context::TdSums;
use crate::linalg::linear_system::epsilon;
use crate::scalar::Real;

/// The number of standard errors beyond which a level counts.
const STANDARD_ERRORS: f64 = 3.0;
/// The least mean squared TD error relative to the mean squared reward: less is rounding.
const MIN_RELATIVE_TD_ERROR: f64 = 1e-6;

/// Returns w^T M w - 2 <b, w>, with only the upper triangle of the symmetric M read.
#[inline(never)]
pub(super) fn quadratic<R: Real, const D: usize>(m: &[[R; D]; D], b: &[R; D], w: &[R; D]) -> R {
    let (mut sum, two) = (R::ZERO, R::from_f64(2.0));
    for j in 0..D {
        let mut of_j = m[j][j] * w[j] - two * b[j];
        for i in 0..j {
            of_j += two * m[j][i] * w[i];
        }
        sum += of_j * w[j];
    }
    sum
}

/// Returns the level that counts, in the units of the sums, given w_0 without a level, what a level of 1 takes from it, its
/// ridge, and the number of transitions beyond 1 / (1 - gamma) + d.
///
/// The level is the one that leaves no mean TD error. It is compared with three standard errors, and is 0 within
/// the horizon and d transitions: rewards that follow each other are few observations of a mean, and d weights fit d of them.
#[inline(never)]
pub(super) fn level<R: Real, const D: usize>(
    sums: &TdSums<R, D>,
    [w, of_level]: &[[R; D]; 2],
    ridge: R,
    freedom: R,
) -> R {
    let of = &sums.level;
    let (mut errors, mut explained) = (of.rewards, of.explained);
    for j in 0..D {
        errors -= of.features[j] * w[j];
        explained -= of.features[j] * of_level[j];
    }
    let least = R::from_f64(64.0) * epsilon::<R>(1) * of.explained;
    if !(explained > least && freedom > R::ZERO) {
        return R::ZERO;
    }
    let m = errors / explained;
    let (mut fitted, mut of_ridge) = (*w, R::ZERO);
    for j in 0..D {
        fitted[j] -= m * of_level[j];
        of_ridge += fitted[j] * fitted[j];
    }
    // The sum of the squared TD errors, and what the ridge adds to it.
    let noise = sums.td_error(&fitted, m) + ridge * of_ridge;
    let found = m * of.explained;
    let ratio = R::from_f64(STANDARD_ERRORS * STANDARD_ERRORS) * (of.weight * noise)
        / (freedom * (found * found));
    if ratio < R::ONE { m * (R::ONE - ratio * ratio) } else { R::ZERO }
}

impl<R: Real, const D: usize> TdSums<R, D> {
    /// Returns sum (r - m c)^2 over sum r^2, given a level m.
    pub(super) fn squared_without(&self, m: R) -> R {
        let of = &self.level;
        let explained = of.explained_rewards;
        let left = R::ONE - m * (explained + explained - m * of.squares);
        // (Rounding may leave something of rewards that a level explains.)
        if left > R::from_f64(16.0) * epsilon::<R>(1) { left } else { R::ZERO }
    }

    /// Returns sum delta^2 over sum r^2, with the TD errors delta that the values m + <w, phi> leave.
    #[inline(never)]
    pub(super) fn td_error(&self, w: &[R; D], m: R) -> R {
        let mut rewards = self.residual_rewards;
        for j in 0..D {
            rewards[j] -= m * self.level.residual[j];
        }
        let error = self.squared_without(m) + quadratic(&self.residual_gram, &rewards, w);
        error.max(R::from_f64(MIN_RELATIVE_TD_ERROR))
    }
}
