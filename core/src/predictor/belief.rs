//! One prediction of a signal: what the experts say, how much of each is believed, and the band.
//!
//! The prediction P_t is of G_t = (1 - gamma) sum_k gamma^k x_{t+1+k}. With the errors
//! delta_{t+1} = (1 - gamma) x_{t+1} + gamma P_{t+1} - P_t it misses by G_t - P_t = sum_k gamma^k delta_{t+1+k}, exactly.
//! From this follow two things that need no delayed copies of anything, for any horizon:
//!
//! - **How much is believed.** P = B + sum_k w_k (A_k - B), where the A_k are the experts' values and B is the long-run mean. The
//!   best w solve S w = c with u_k = A_k - B, S = E[u u^T] and c = E[(G - B) u] = E[delta^B e], with the traces
//!   e_t = gamma e_{t-1} + u_t. They are held to w >= 0, sum w <= 1.
//! - **The band.** z_t = gamma z_{t-1} + delta_t adds up the same errors backwards, and so has the same variance as what
//!   the prediction misses by, however its errors hang together. Its quantiles, followed as they come, are the band.

use super::features::D;
use super::{LATTICES, larger, smaller, symmetric};
use crate::entrywise::{Entrywise as _, entrywise};
use crate::scalar::Scalar;

/// The experts: TD's read, the autoregression, the last value, and with the feature `long-memory` the lattice.
pub(super) const K: usize = 3 + LATTICES;

/// The band begins with a normal distribution's multiple of the standard deviation, until another is known.
const NORMAL: f32 = 1.645;
/// The share of returns beyond each end of the band.
const BEYOND: f32 = 0.05;
/// Within a horizon the ends of the band move by at most this share of their distance, or of a standard deviation if that is more.
const STEP: f32 = 0.21;
/// The ends lie this many standard deviations outside of the quantiles that they follow: they never rest, and returns may have
/// the same value again and again.
const PAD: f32 = 0.05;
/// The prior weight of the long-run mean against the experts, in horizons of samples, and what keeps S regular.
const DOUBT: f32 = 0.05;
const RIDGE: f32 = 1e-6;
/// The long-run mean is over this many samples, or horizons if that is more.
const MEAN_SAMPLES: f32 = 500.0;
const MEAN_HORIZONS: f32 = 12.0;
/// No prediction is further outside of what the samples have averaged to than this many mean distances of a sample from their
/// average.
const OUTSIDE: f32 = 4.0;
/// The band remembers the errors of about this many samples, or horizons if that is more.
const BAND_SAMPLES: f32 = 300.0;
const BAND_HORIZONS: f32 = 2.0;

/// A value of the signal, and the values before it.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) value: f32,
    /// The samples taken since the signal began or moved.
    pub(super) taken: f32,
    /// True if the value follows the one before without a gap.
    pub(super) follows: bool,
    /// The factor of all sums, and true if they are to be halved.
    pub(super) factor: f32,
    pub(super) halves: bool,
    /// True if the value is a prediction in the place of a sample.
    pub(super) imputed: bool,
}

/// One prediction, and how much each expert is believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Belief {
    /// The horizon in samples.
    pub(super) length: f32,
    /// The weights of TD's value function.
    pub(super) td: [f32; D],
    /// The long-run mean of the signal: B.
    mean: f32,
    /// The experts' u, and P, of the sample before.
    differences: [f32; K],
    pub(super) predicted: f32,
    traces: [f32; K],
    covariances: [f32; K],
    /// The rows of S, each up to its diagonal.
    squares: [f32; K * (K + 1) / 2],
    /// How much of each expert is believed: w.
    shares: [f32; K],
    /// The average of the last horizon's samples, the least and the largest one so far, and the mean distance of a sample from it.
    average: f32,
    lowest: f32,
    highest: f32,
    distance: f32,
}

impl Belief {
    pub(super) const fn new(length: f32) -> Self {
        Belief { length, ..Self::ZERO }
    }

    pub(super) const fn gamma(&self) -> f32 {
        1.0 - 1.0 / self.length
    }

    /// Takes a value, the experts' values after it, whether the shares are to be computed again, and what events add to the mean.
    /// Returns the prediction and delta, the error of the one before.
    #[inline]
    pub(super) fn observe(
        &mut self,
        moment: Moment,
        gamma: f32,
        experts: [f32; K],
        refresh: bool,
        events: f32,
    ) -> [f32; 2] {
        let x = moment.value;
        let reward = (1.0 - gamma) * x;
        let memory = larger(MEAN_SAMPLES, MEAN_HORIZONS * self.length);
        let mean_before = self.mean;
        if !moment.imputed {
            let n = larger(moment.taken, 1.0);
            self.mean += (x - self.mean) / smaller(n, memory);
            self.average += (x - self.average) / smaller(n, self.length);
            self.lowest = smaller(self.lowest, self.average);
            self.highest = larger(self.highest, self.average);
            self.distance += ((x - self.average).abs() - self.distance) / smaller(n, memory);
        }
        // What as many samples can average to.
        let (low, high) =
            (self.lowest - OUTSIDE * self.distance, self.highest + OUTSIDE * self.distance);
        let u = experts.map(|value| smaller(larger(value, low), high) - self.mean);
        if moment.follows {
            let delta = reward + gamma * self.mean - mean_before;
            if moment.halves {
                self.covariances.iter_mut().chain(&mut self.squares).for_each(|x| *x *= 0.5);
            }
            let of_delta = moment.factor * delta;
            let mut entries = self.squares.iter_mut();
            for k in 0..K {
                let before = self.differences[k];
                self.traces[k] = gamma * self.traces[k] + before;
                self.covariances[k] += of_delta * self.traces[k];
                let before = moment.factor * before;
                for (other, sum) in self.differences.iter().take(k + 1).zip(&mut entries) {
                    *sum += before * other;
                }
            }
        } else {
            self.traces = [0.0; K];
        }
        if refresh {
            self.believe(u, moment.factor * DOUBT * self.length);
        }
        let mut prediction = self.mean;
        // Events are part of the long-run mean, and of nothing that an expert says.
        let mut of_mean = 1.0;
        for k in 0..K {
            prediction += self.shares[k] * u[k];
            of_mean -= self.shares[k];
        }
        prediction += larger(of_mean, 0.0) * events;
        let delta = reward + gamma * prediction - self.predicted;
        (self.differences, self.predicted) = (u, prediction);
        [prediction, delta]
    }

    /// Improves the shares, towards the minimum of w^T S w / 2 - c^T w over w >= 0, sum w <= 1: first in one coordinate,
    /// then in one pair of them, from the last shares on. The squares of the present differences count as doubt.
    #[inline]
    fn believe(&mut self, u: [f32; K], doubt: f32) {
        let doubt = u.map(|u| doubt * u);
        let mut s = symmetric::<K>(&self.squares);
        for k in 0..K {
            for l in 0..K {
                s[k][l] += doubt[k] * u[l];
            }
            s[k][k] *= 1.0 + RIDGE;
        }
        let w = &mut self.shares;
        let (mut gradient, mut rest) = (self.covariances, 1.0);
        for k in 0..K {
            rest -= w[k];
            for l in 0..K {
                gradient[l] -= s[k][l] * w[k];
            }
        }
        for k in 0..K {
            if s[k][k] > 0.0 {
                let step = larger(smaller(gradient[k] / s[k][k], rest), -w[k]);
                (w[k], rest) = (w[k] + step, rest - step);
                for l in 0..K {
                    gradient[l] -= s[k][l] * step;
                }
            }
        }
        for k in 0..K {
            for l in 0..k {
                let (squares, both) = (s[k][k] + s[l][l], 2.0 * s[k][l]);
                let curvature = squares - both;
                if curvature > 1e-6 * squares {
                    let step = (gradient[k] - gradient[l]) / curvature;
                    let step = smaller(larger(step, -w[k]), w[l]);
                    (w[k], w[l]) = (w[k] + step, w[l] - step);
                    if step != 0.0 {
                        for i in 0..K {
                            gradient[i] -= (s[i][k] - s[i][l]) * step;
                        }
                    }
                }
            }
        }
    }

    /// Moves the origin of the values. (The mean and the average start anew with the next value.)
    pub(super) fn shift(&mut self, by: f32) {
        self.predicted -= by;
        self.lowest = smaller(self.lowest - by, 0.0);
        self.highest = larger(self.highest - by, 0.0);
    }
}

/// The band around the predictions of a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    /// The sum of the latest deltas without events, the mean of its squares, and what events add to it: the sum of both is z.
    error: f32,
    square: f32,
    event: f32,
    /// The quantiles of z over the standard deviation without events.
    quantiles: [f32; 2],
}

impl Band {
    pub(super) const NEW: Self =
        Band { error: 0.0, square: 0.0, event: 0.0, quantiles: [-NORMAL, NORMAL] };

    /// Takes the error delta of a horizon's prediction, the n-th, and what an event added to the sample. Returns the distances of
    /// the band's ends from the next prediction, `pad` apart from it at least.
    #[inline]
    pub(super) fn observe(
        &mut self,
        length: f32,
        gamma: f32,
        delta: f32,
        n: f32,
        pad: f32,
        event: f32,
    ) -> [f32; 2] {
        // Other, longer horizons do not lengthen the band's memory.
        let memory = larger(BAND_SAMPLES, BAND_HORIZONS * length);
        self.error = gamma * self.error + delta;
        self.event = gamma * self.event + (1.0 - gamma) * event;
        let z = self.error + self.event;
        self.square += (self.error * self.error - self.square) / smaller(n, memory);
        let deviation = Scalar::sqrt(self.square);
        let [low, high] = &mut self.quantiles;
        if deviation > 0.0 {
            let step = STEP / (length + 2.0);
            // The prediction stays in its band.
            let beyond = if z < *low * deviation { BEYOND - 1.0 } else { BEYOND };
            *low = smaller(*low + step * beyond * larger(-*low, 1.0), 0.0);
            let beyond = if z > *high * deviation { BEYOND - 1.0 } else { BEYOND };
            *high = larger(*high - step * beyond * larger(*high, 1.0), 0.0);
        }
        // For its estimation error the variance is multiplied by 1 + length / memory: this is about the root, as the ratio is at
        // most a half.
        let wider = deviation * (1.0 + 0.5 * length / memory);
        let pad = pad + PAD * deviation;
        [*low * wider - pad, *high * wider + pad]
    }
}

// (The length is stored apart from the state.)
entrywise!([] f32, Belief {
    td, differences, traces, covariances, shares, squares, mean, predicted, average, lowest, highest, distance; length
});

entrywise!([] f32, Band { quantiles, error, square, event });
