//! The experts see these features of a signal: its last samples, four averages, and its extremes.

use super::{larger, smaller};
use crate::entrywise::{Entrywise as _, entrywise};

/// The features of TD, and of the autoregression.
pub(super) const D: usize = 5;
pub(super) const M: usize = LAGS + 2;
/// The samples that the autoregression sees.
pub(super) const LAGS: usize = 3;
/// The weights of the newest value in the exponential averages.
pub(super) const FAST: f32 = 0.2;
pub(super) const SLOW: f32 = 0.04;
const SLOWEST: f32 = 0.01;
/// The mean is over about this many samples.
const MEAN: f32 = 500.0;

/// A signal up to now; at first it has always had the value 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Features {
    /// The last values, the latest first.
    pub(super) values: [f32; LAGS],
    fast: f32,
    pub(super) slow: f32,
    slowest: f32,
    pub(super) mean: f32,
    lowest: f32,
    highest: f32,
}

impl Features {
    /// Returns TD's features: the last change, and the distances of the value and of each average from the next slower average.
    #[inline]
    pub(super) fn of_td(&self) -> [f32; D] {
        let Features { values: [x, last, ..], fast, slow, slowest, mean, .. } = *self;
        [x - slow, x - last, fast - slow, slow - slowest, slowest - mean]
    }

    /// Returns the autoregression's features: the last values, the fast and the slow average, as distances from the mean.
    #[inline]
    pub(super) fn of_autoregression(&self) -> [f32; M] {
        let [a, b, c] = self.values;
        [a, b, c, self.fast, self.slow].map(|x| x - self.mean)
    }

    /// Takes the next value; `share` is its weight in the mean.
    #[inline]
    pub(super) fn observe(&mut self, x: f32, share: f32) {
        let [last, before, _] = self.values;
        self.values = [x, last, before];
        self.fast += FAST * (x - self.fast);
        self.slow += SLOW * (x - self.slow);
        self.slowest += SLOWEST * (x - self.slowest);
        self.mean += share * (x - self.mean);
        self.lowest = smaller(self.lowest, x);
        self.highest = larger(self.highest, x);
    }

    #[inline]
    pub(super) fn revise(&mut self, step: f32) {
        self.values[0] += step;
        self.fast += FAST * step;
        self.slow += SLOW * step;
        self.slowest += SLOWEST * step;
    }

    /// Returns the nearest value within the extremes.
    #[inline]
    pub(super) fn possible(&self, x: f32) -> f32 {
        smaller(larger(x, self.lowest), self.highest)
    }

    /// Returns the share of the n-th value in the mean.
    #[inline]
    pub(super) fn share(n: f32) -> f32 {
        1.0 / smaller(larger(n, 1.0), MEAN)
    }

    /// Returns the largest distance from the origin so far.
    #[inline]
    pub(super) fn reach(&self) -> f32 {
        larger(self.highest, -self.lowest)
    }

    /// Begins again at the level that lies at this distance, which becomes the origin; only the extremes stay.
    pub(super) fn begin_at(&mut self, level: f32) {
        let lowest = smaller(self.lowest - level, 0.0);
        let highest = larger(self.highest - level, 0.0);
        *self = Features { lowest, highest, ..Self::ZERO };
    }
}

/// Returns TD's features after a value at a distance from the slow average; `share` is its weight in the mean.
#[inline]
pub(super) fn following(phi: &[f32; D], distance: f32, share: f32) -> [f32; D] {
    let [of_value, _, of_fast, of_slow, of_slowest] = phi;
    [
        (1.0 - SLOW) * distance,
        distance - of_value,
        (1.0 - FAST) * of_fast + (FAST - SLOW) * distance,
        (1.0 - SLOWEST) * of_slow + (SLOW - SLOWEST) * distance,
        (1.0 - share) * of_slowest + (SLOWEST - share) * (distance + of_slow),
    ]
}

entrywise!([] f32, Features { values, fast, slow, slowest, mean, lowest, highest });
