//! An autoregression with two averages, by recursive least squares, and its predictions for any horizon.

use super::features::{FAST, LAGS, M, SLOW};
use super::{larger, symmetric};
use crate::entrywise::{Entrywise as _, entrywise};
use crate::scalar::Scalar;

/// The factor that each sample applies to the weight of the past.
const RETENTION: f32 = 0.9985;
/// The inverse begins as INVERSE times the identity, and its trace does not grow beyond the limit.
const INVERSE: f32 = 10.0;
const LIMIT: f32 = 1e5;
/// No sum of the weights' sizes is larger.
const LARGEST: f32 = 1e6;
/// The unit is the deviation of this many samples.
const UNIT: f32 = 8.0;
/// An error or a feature of more than `MOST_UNITS` units makes the unit larger, so that it is `UNITS` of the new ones.
const MOST_UNITS: f32 = 256.0;
const UNITS: f32 = 64.0;
/// The weights that say that the last value stays.
pub(super) const LAST: [f32; M] = [1.0, 0.0, 0.0, 0.0, 0.0];

/// x_{t+1} = w_0 x_t + w_1 x_{t-1} + w_2 x_{t-2} + w_3 f_t + w_4 a_t, with a fast and a slow average, all as distances from the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Autoregression {
    /// In squared units, over `factor`, which grows as the past is forgotten: the rows of the lower triangle.
    inverse: [f32; M * (M + 1) / 2],
    factor: f32,
    /// The weights of the features that say the next value, as a distance from the mean.
    pub(super) weights: [f32; M],
    /// The deviation of the first samples, or more; 0 until it is known.
    unit: f32,
    count: f32,
    variance: f32,
}

impl Autoregression {
    pub(super) const NEW: Self =
        Autoregression { inverse: IDENTITY, factor: 1.0, weights: LAST, ..Self::ZERO };

    /// Learns that a value at `distance` from the mean followed these features.
    #[inline]
    pub(super) fn learn(&mut self, phi: &[f32; M], distance: f32) {
        if self.unit == 0.0 {
            self.count += 1.0;
            if self.count > UNIT && self.variance > 0.0 {
                self.unit = Scalar::sqrt(self.variance);
            } else {
                self.variance += (distance * distance - self.variance) / self.count;
                return;
            }
        }
        let largest = phi.iter().fold(distance.abs(), |most, x| larger(most, x.abs()));
        if largest > MOST_UNITS * self.unit {
            let grows = largest / (UNITS * self.unit);
            self.unit *= grows;
            self.inverse.iter_mut().for_each(|entry| *entry *= grows * grows);
        }
        let per_unit = 1.0 / self.unit;
        let features = phi.map(|x| x * per_unit);
        let inverse = symmetric::<M>(&self.inverse);
        let mut gain = [0.0; M];
        let (mut scale, mut error, mut trace) = (0.0, distance * per_unit, 0.0);
        for i in 0..M {
            for j in 0..M {
                gain[i] += inverse[i][j] * features[j];
            }
            scale += gain[i] * features[i];
            error -= self.weights[i] * features[i];
            trace += inverse[i][i];
        }
        let (retention, growth) =
            if trace * self.factor < LIMIT { (RETENTION, 1.0 / RETENTION) } else { (1.0, 1.0) };
        scale = retention + self.factor * scale;
        // Rounding has spoiled the inverse: a positive definite one cannot have such a scale.
        if !(scale >= retention) {
            (self.inverse, self.factor) = (IDENTITY, 1.0);
            return;
        }
        let step = self.factor / scale;
        let mut entries = self.inverse.iter_mut();
        for i in 0..M {
            let of_i = gain[i] * step;
            self.weights[i] += of_i * error;
            for (gain, entry) in gain.iter().take(i + 1).zip(&mut entries) {
                *entry -= of_i * gain;
            }
        }
        self.factor *= growth;
        if self.factor >= 2.0 {
            self.factor *= 0.5;
            self.inverse.iter_mut().for_each(|entry| *entry *= 2.0);
        }
        // An overflow or rounding has spoiled the weights, as after samples of very different sizes.
        if !(self.weights.iter().map(|w| w.abs()).sum::<f32>() < LARGEST) {
            (self.inverse, self.factor, self.weights) = (IDENTITY, 1.0, LAST);
        }
    }

    /// Returns by which share of a value's error the predicted value before it, of the same variance, is to be revised.
    #[inline]
    pub(super) fn revision(&self) -> f32 {
        let [of_last, ..] = self.weights;
        of_last / (1.0 + of_last * of_last)
    }

    /// Returns the weights of the features that say (1 - gamma) sum_k gamma^k x_{t+1+k} as a distance from the mean, if that stays:
    /// those of the last value, if the discounted recursion is not stable.
    #[inline]
    pub(super) fn of_discount(&self, gamma: f32) -> [f32; M] {
        let [of_lags @ .., of_fast, of_slow] = self.weights;
        // The share of each later value that goes into an average, which decays.
        let (fast, slow) = (gamma * (1.0 - FAST), gamma * (1.0 - SLOW));
        let (into_fast, into_slow) = (gamma * FAST * of_fast, gamma * SLOW * of_slow);
        let (total_fast, total_slow) = (1.0 / (1.0 - fast), 1.0 / (1.0 - slow));
        // 1 - sum_i c_i y^i = (1 - sum_i a_i y^i) (1 - fast y) (1 - slow y) - into_fast y (1 - slow y) - into_slow y (1 - fast y)
        // with the discounted lags a_i is the recursion of the values alone.
        let (sum, product) = (fast + slow, fast * slow);
        let mut recursion = [0.0; M];
        recursion[0] = sum + into_fast + into_slow;
        recursion[1] = -(product + into_fast * slow + into_slow * fast);
        let (mut power, mut rest) = (1.0, 1.0 - into_fast * total_fast - into_slow * total_slow);
        for i in 0..LAGS {
            power *= gamma;
            let a = of_lags[i] * power;
            rest -= a;
            recursion[i] += a;
            recursion[i + 1] -= a * sum;
            recursion[i + 2] += a * product;
        }
        if !is_stable(recursion) {
            return LAST;
        }
        // The sum over the future of what the known values and averages contribute to it.
        let scale = (1.0 - gamma) / rest;
        let mut known = [0.0; M];
        let mut carried = 0.0;
        for i in (0..LAGS).rev() {
            carried = of_lags[i] + gamma * carried;
            known[i] = scale * carried;
        }
        known[LAGS] = scale * of_fast * total_fast;
        known[LAGS + 1] = scale * of_slow * total_slow;
        known
    }
}

const IDENTITY: [f32; M * (M + 1) / 2] = {
    let (mut inverse, mut i) = ([0.0; M * (M + 1) / 2], 0);
    while i < M {
        inverse[i * (i + 3) / 2] = INVERSE;
        i += 1;
    }
    inverse
};

/// Returns true if the recursion x_t = sum_i a_i x_{t-1-i} dies out: every reflection coefficient is below 1 in size.
#[inline]
fn is_stable(mut a: [f32; M]) -> bool {
    let mut rest = a.as_mut_slice();
    while let Some((k, before)) = rest.split_last_mut() {
        if !(k.abs() < 1.0) {
            return false;
        }
        let scale = 1.0 / (1.0 - *k * *k);
        // Both ends at once, from the outside to the middle.
        let mut inner = &mut *before;
        while let [first, between @ .., last] = inner {
            (*first, *last) = ((*first + *k * *last) * scale, (*last + *k * *first) * scale);
            inner = between;
        }
        if let [middle] = inner {
            *middle = (*middle + *k * *middle) * scale;
        }
        rest = before;
    }
    true
}

entrywise!([] f32, Autoregression { inverse, weights, factor, unit, count, variance });
