//! The level of the values, and how much of what a context shows is beyond noise.

use crate::context::TdSums;
use crate::linalg::linear_system::epsilon;
use crate::scalar::Real;

/// The number of standard errors beyond which a level counts.
const STANDARD_ERRORS: f64 = 3.0;
/// The least mean squared TD error relative to the mean squared reward: less is rounding.
pub(super) const MIN_RELATIVE_TD_ERROR: f64 = 1e-6;

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

pub(super) fn sum_of_squares<R: Real, const D: usize>(x: &[R; D]) -> R {
    let mut sum = R::ZERO;
    for x in x {
        sum += *x * *x;
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
    let (mut fitted, mut rewards) = ([R::ZERO; D], [R::ZERO; D]);
    for j in 0..D {
        fitted[j] = w[j] - m * of_level[j];
        rewards[j] = sums.residual_rewards[j] - m * of.residual[j];
    }
    // The sum of the squared TD errors, and what the ridge adds to it.
    let squares = quadratic(&sums.residual_gram, &rewards, &fitted);
    let noise = sums.squared_without(m) + squares + ridge * sum_of_squares(&fitted);
    let noise = noise.max(R::from_f64(MIN_RELATIVE_TD_ERROR));
    let found = m * of.explained;
    let least = R::from_f64(STANDARD_ERRORS * STANDARD_ERRORS) * (of.weight * noise);
    m * share_beyond(least, freedom * (found * found))
}

impl<R: Real, const D: usize> TdSums<R, D> {
    /// Returns sum (r - m c)^2 over sum r^2, given a level m.
    fn squared_without(&self, m: R) -> R {
        let of = &self.level;
        let explained = of.explained_rewards;
        let left = R::ONE - m * (explained + explained - m * of.squares);
        // (Rounding may leave something of rewards that a level explains.)
        if left > R::from_f64(16.0) * epsilon::<R>(1) { left } else { R::ZERO }
    }

    /// Takes a level m out of the rewards, whose sum of squares becomes 1 again; returns what it was before that.
    #[inline(never)]
    pub(super) fn subtract_level(&mut self, m: R) -> R {
        let left = self.squared_without(m);
        let unit = R::ONE / left.sqrt();
        for j in 0..D {
            let of_level = m * self.level.residual[j];
            self.residual_rewards[j] = (self.residual_rewards[j] - of_level) * unit;
            for system in &mut self.systems {
                system.b[j] = (system.b[j] - m * system.c[j]) * unit;
            }
        }
        left
    }
}
