//! An autoregression of four samples, by recursive least squares, and what it says of any horizon.

use super::State;
use crate::scalar::Scalar;

/// The samples that the next one is predicted from.
const LAGS: usize = 4;
/// Their weights, and the constant's.
pub(super) const M: usize = LAGS + 1;
/// The factor by which the weight of past samples shrinks with each sample.
const RETENTION: f32 = 0.998;
/// The inverse begins as INVERSE times the identity, and its trace does not grow beyond the limit.
const INVERSE: f32 = 10.0;
const LIMIT: f32 = 1e5;
/// The unit is the deviation of so many samples.
const UNIT: f32 = 8.0;
/// A sample of more units than this makes a larger unit, of which it is so many.
const MOST_UNITS: f32 = 256.0;
const UNITS: f32 = 64.0;

/// x_{t+1} = w_0 x_t + ... + w_3 x_{t-3} + w_4, in units of the deviation of the first samples, or larger ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Autoregression {
    inverse: [[f32; M]; M],
    weights: [f32; M],
    /// The samples, the latest first: in units once there is one.
    lags: [f32; LAGS],
    /// 0 until it is known.
    unit: f32,
    center: f32,
    count: f32,
    variance: f32,
    /// The extremes of all samples, in units.
    lowest: f32,
    highest: f32,
}

impl Autoregression {
    pub(super) const NEW: Self = Autoregression {
        inverse: IDENTITY,
        weights: [1.0, 0.0, 0.0, 0.0, 0.0],
        lags: [0.0; LAGS],
        unit: 0.0,
        center: 0.0,
        count: 0.0,
        variance: 0.0,
        lowest: 0.0,
        highest: 0.0,
    };

    /// Takes a value of a signal with this slow average, and learns from it if it was measured.
    pub(super) fn observe(&mut self, value: f32, average: f32, measured: bool) {
        if self.unit == 0.0 {
            self.count += 1.0;
            if self.count >= UNIT && self.variance > 0.0 {
                (self.unit, self.center) = (Scalar::sqrt(self.variance), average);
                self.lags = self.lags.map(|lag| (lag - average) / self.unit);
            }
            let deviation = value - average;
            self.variance += (deviation * deviation - self.variance) / self.count;
            if self.unit == 0.0 {
                self.push(value);
                return;
            }
        }
        let mut x = (value - self.center) / self.unit;
        if x.abs() > MOST_UNITS {
            let grows = x.abs() / UNITS;
            x /= grows;
            self.grow(grows);
        }
        if measured {
            self.learn(x);
        }
        (self.lowest, self.highest) = (self.lowest.min(x), self.highest.max(x));
        self.push(x);
    }

    /// Measures in a larger unit.
    fn grow(&mut self, by: f32) {
        self.unit *= by;
        self.lags = self.lags.map(|lag| lag / by);
        self.weights[LAGS] /= by;
        (self.lowest, self.highest) = (self.lowest / by, self.highest / by);
        for (i, row) in self.inverse.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry *= if i < LAGS { by } else { 1.0 };
                *entry *= if j < LAGS { by } else { 1.0 };
            }
        }
    }

    fn push(&mut self, x: f32) {
        let [a, b, c, _] = self.lags;
        self.lags = [x, a, b, c];
    }

    /// A step of recursive least squares.
    fn learn(&mut self, x: f32) {
        let [a, b, c, d] = self.lags;
        let features = [a, b, c, d, 1.0];
        let mut gain = [0.0; M];
        let (mut scale, mut error, mut trace) = (0.0, x, 0.0);
        for i in 0..M {
            for j in 0..M {
                gain[i] += self.inverse[i][j] * features[j];
            }
            scale += gain[i] * features[i];
            error -= self.weights[i] * features[i];
            trace += self.inverse[i][i];
        }
        let retention = if trace < LIMIT { RETENTION } else { 1.0 };
        scale += retention;
        // Rounding has spoiled the inverse, of which this cannot be.
        if !(scale >= retention) {
            self.inverse = IDENTITY;
            return;
        }
        let (step, grows) = (1.0 / scale, 1.0 / retention);
        for i in 0..M {
            self.weights[i] += gain[i] * (error * step);
            for j in i..M {
                let entry = (self.inverse[i][j] - gain[i] * (gain[j] * step)) * grows;
                (self.inverse[i][j], self.inverse[j][i]) = (entry, entry);
            }
        }
    }

    /// Returns the weights of the lags, and a constant, that say (1 - gamma) sum_k gamma^k x_{t+1+k} in units: the last value
    /// alone, if the discounted recursion is not stable.
    pub(super) fn of_discount(&self, gamma: f32) -> [f32; M] {
        let mut known = [0.0; M];
        let (mut recursion, mut power, mut rest) = ([0.0; LAGS], 1.0, 1.0);
        for (a, weight) in recursion.iter_mut().zip(self.weights) {
            power *= gamma;
            *a = weight * power;
            rest -= *a;
        }
        if !is_stable(recursion) {
            return [1.0, 0.0, 0.0, 0.0, 0.0];
        }
        // The sum over the future of what the known samples contribute to it.
        let mut carried = 0.0;
        let weights = self.weights.iter().rev().skip(1);
        for (known, weight) in known.iter_mut().rev().skip(1).zip(weights) {
            carried = weight + gamma * carried;
            *known = (1.0 - gamma) * carried / rest;
        }
        known[LAGS] = self.weights[LAGS] / rest;
        known
    }

    /// Returns what such weights say, in the signal's unit, within the extremes of the signal; the last value before a unit is
    /// known.
    pub(super) fn read(&self, weights: &[f32; M]) -> f32 {
        let [a, b, c, d] = self.lags;
        if self.unit == 0.0 {
            return a;
        }
        let [p, q, r, s, constant] = weights;
        let x = constant + p * a + q * b + r * c + s * d;
        self.center + self.unit * x.max(self.lowest).min(self.highest)
    }

    /// Moves the origin of the values.
    pub(super) fn shift(&mut self, by: f32) {
        if self.unit == 0.0 {
            self.lags.iter_mut().for_each(|lag| *lag -= by);
        } else {
            self.center -= by;
        }
    }
}

const IDENTITY: [[f32; M]; M] = {
    let (mut inverse, mut i) = ([[0.0; M]; M], 0);
    while i < M {
        inverse[i][i] = INVERSE;
        i += 1;
    }
    inverse
};

/// Returns true if the recursion x_t = sum_i a_i x_{t-1-i} dies out: every reflection coefficient is below 1 in size.
fn is_stable(mut a: [f32; LAGS]) -> bool {
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

impl State for Autoregression {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Autoregression { inverse, weights, lags, unit, center, .. } = self;
        inverse.iter_mut().flatten().chain(weights).chain(lags).for_each(&mut *visit);
        [unit, center].into_iter().for_each(&mut *visit);
        let Autoregression { count, variance, lowest, highest, .. } = self;
        [count, variance, lowest, highest].into_iter().for_each(visit);
    }
}
