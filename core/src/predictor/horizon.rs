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

use super::State;
use super::autoregression::M;
use super::td::D;
use crate::scalar::Scalar;

/// The experts: TD's read, the autoregression, the last value.
pub(super) const K: usize = 3;

/// The band begins with a normal distribution's multiple of the standard deviation, until another is known.
const NORMAL: f32 = 1.645;
/// The share of what follows that lies beyond each end of the band.
const BEYOND: f32 = 0.05;
/// Within a horizon the ends of the band move by at most so many standard deviations.
const STEP: f32 = 0.35;
/// The ends lie outside of what they follow by so many standard deviations: they never rest, and what follows may be the same
/// value again and again.
const PAD: f32 = 0.05;
/// The prior weight of the long-run mean against the experts, in horizons of samples, and what keeps S regular.
const DOUBT: f32 = 0.05;
const RIDGE: f32 = 1e-3;
/// Widens the band for estimation error: its variance is multiplied by 1 + WIDER * horizon / (the band's memory).
const WIDER: f32 = 1.0;
/// The long-run mean is that of the last so many samples, or horizons if that is more.
const MEAN_SAMPLES: f32 = 500.0;
const MEAN_HORIZONS: f32 = 12.0;
/// The band remembers the errors of about so many samples, or horizons if that is more.
const BAND_SAMPLES: f32 = 300.0;
const BAND_HORIZONS: f32 = 2.0;

/// A value of the signal, and what there was before it.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) value: f32,
    /// The samples taken since the signal began or moved.
    pub(super) taken: f32,
    /// It follows the sample before.
    pub(super) follows: bool,
    /// The context's retention.
    pub(super) retention: f32,
}

/// A horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Horizon {
    /// In samples.
    pub(super) length: f32,
    /// The weights of TD's value function, and the largest size of its values.
    pub(super) td: [f32; D],
    pub(super) bound: f32,
    /// The weights of the autoregression's read.
    pub(super) autoregression: [f32; M],
    /// The long-run mean of the signal: B.
    mean: f32,
    /// The experts' u, and B and P, of the sample before.
    differences: [f32; K],
    mean_before: f32,
    pub(super) predicted: f32,
    traces: [f32; K],
    covariances: [f32; K],
    squares: [[f32; K]; K],
    /// How much of each expert is believed: w.
    shares: [f32; K],
    /// The latest delta, and z.
    delta: f32,
    error: f32,
    /// sum z^2, and what it would be if each delta^2 were 1.
    spread: f32,
    unit_spread: f32,
    unit_error: f32,
    /// The quantiles of z over its standard deviation.
    quantiles: [f32; 2],
}

impl Horizon {
    pub(super) const fn new(length: f32) -> Self {
        Horizon {
            length,
            td: [0.0; D],
            bound: 0.0,
            autoregression: [1.0, 0.0, 0.0, 0.0, 0.0],
            mean: 0.0,
            differences: [0.0; K],
            mean_before: 0.0,
            predicted: 0.0,
            traces: [0.0; K],
            covariances: [0.0; K],
            squares: [[0.0; K]; K],
            shares: [0.0; K],
            delta: 0.0,
            error: 0.0,
            spread: 0.0,
            unit_spread: 0.0,
            unit_error: 0.0,
            quantiles: [-NORMAL, NORMAL],
        }
    }

    /// Returns the discount.
    pub(super) const fn gamma(&self) -> f32 {
        1.0 - 1.0 / self.length
    }

    /// Takes a value, the experts' values after it, and whether the shares are to be computed again; returns the prediction.
    pub(super) fn observe(&mut self, moment: Moment, experts: [f32; K], refresh: bool) -> f32 {
        let (x, gamma, retention) = (moment.value, self.gamma(), moment.retention);
        let share = 1.0 - gamma;
        let memory = MEAN_SAMPLES.max(MEAN_HORIZONS * self.length);
        self.mean += (x - self.mean) / moment.taken.clamp(1.0, memory);
        let u = experts.map(|value| value - self.mean);
        if moment.follows {
            let delta = share * x + gamma * self.mean - self.mean_before;
            for k in 0..K {
                let before = self.differences[k];
                self.traces[k] = gamma * self.traces[k] + before;
                self.covariances[k] = retention * self.covariances[k] + delta * self.traces[k];
                for (sum, other) in self.squares[k].iter_mut().zip(self.differences).take(k + 1) {
                    *sum = retention * *sum + before * other;
                }
            }
        } else {
            self.traces = [0.0; K];
        }
        if refresh {
            self.believe(u);
        }
        let mut prediction = self.mean;
        for k in 0..K {
            prediction += self.shares[k] * u[k];
        }
        self.delta = share * x + gamma * prediction - self.predicted;
        (self.differences, self.mean_before, self.predicted) = (u, self.mean, prediction);
        prediction
    }

    /// Takes the error of the prediction before, unless the signal has just begun, and returns the distances of the band's ends
    /// from the prediction, `pad` apart from it at least.
    pub(super) fn band(&mut self, begun: bool, pad: f32) -> [f32; 2] {
        let gamma = self.gamma();
        // The share of the band's memory that goes with each sample. Other, longer horizons do not lengthen it.
        let forgets = 1.0 / BAND_SAMPLES.max(BAND_HORIZONS * self.length);
        if begun {
            let remembers = 1.0 - forgets;
            self.error = gamma * self.error + self.delta;
            self.unit_error = gamma * gamma * self.unit_error + (1.0 - gamma) * (1.0 + gamma);
            self.spread = remembers * self.spread + self.error * self.error;
            self.unit_spread = remembers * self.unit_spread + self.unit_error;
        }
        // Not a number before anything was learned.
        let deviation = Scalar::sqrt(self.spread / self.unit_spread);
        let deviation = if deviation > 0.0 { deviation } else { 0.0 };
        let [low, high] = &mut self.quantiles;
        if begun && deviation > 0.0 {
            let (z, step) = (self.error, STEP / (self.length + 2.0));
            // The prediction stays in its band.
            let beyond = if z < *low * deviation { BEYOND - 1.0 } else { BEYOND };
            *low = (*low + step * beyond).min(0.0);
            let beyond = if z > *high * deviation { BEYOND - 1.0 } else { BEYOND };
            *high = (*high - step * beyond).max(0.0);
        }
        // Wider by the root of 1 + a, of which these are the first terms: a is at most a half.
        let a = WIDER * forgets * self.length;
        let wider = deviation * (1.0 + a * (0.5 + a * (a * 0.0625 - 0.125)));
        let pad = pad + PAD * deviation;
        [*low * wider - pad, *high * wider + pad]
    }

    /// Improves the shares, towards the minimum of w^T S w / 2 - c^T w over w >= 0, sum w <= 1: in one coordinate and one pair of
    /// them after the other, from where they were. The squares of the differences that are asked for now count as doubt.
    fn believe(&mut self, u: [f32; K]) {
        let doubt = DOUBT * self.length;
        let mut s = [[0.0; K]; K];
        for k in 0..K {
            for l in 0..=k {
                let entry = self.squares[k][l] + doubt * u[k] * u[l];
                (s[k][l], s[l][k]) = (entry, entry);
            }
            s[k][k] += RIDGE * self.squares[k][k];
        }
        let (c, w) = (&self.covariances, &mut self.shares);
        let gradient = |w: &[f32; K], k: usize| {
            let mut gradient = c[k];
            for l in 0..K {
                gradient -= s[k][l] * w[l];
            }
            gradient
        };
        for k in 0..K {
            let rest = 1.0 - w.iter().sum::<f32>() + w[k];
            if s[k][k] > 0.0 {
                let best = w[k] + gradient(w, k) / s[k][k];
                w[k] = best.min(rest).max(0.0);
            }
        }
        for k in 0..K {
            for l in 0..k {
                let curvature = s[k][k] + s[l][l] - 2.0 * s[k][l];
                if curvature > 1e-6 * (s[k][k] + s[l][l]) {
                    let step = (gradient(w, k) - gradient(w, l)) / curvature;
                    let step = step.max(-w[k]).min(w[l]);
                    (w[k], w[l]) = (w[k] + step, w[l] - step);
                }
            }
        }
    }

    /// Moves the origin of the values. (The mean starts anew with the next one.)
    pub(super) fn shift(&mut self, by: f32) {
        self.predicted -= by;
    }
}

impl State for Horizon {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Horizon { td, autoregression, differences, traces, covariances, shares, .. } = self;
        td.iter_mut().chain(autoregression).for_each(&mut *visit);
        for of_experts in [differences, traces, covariances, shares] {
            of_experts.iter_mut().for_each(&mut *visit);
        }
        let Horizon { squares, quantiles, bound, mean, mean_before, predicted, .. } = self;
        squares.iter_mut().flatten().chain(quantiles).for_each(&mut *visit);
        [bound, mean, mean_before, predicted].into_iter().for_each(&mut *visit);
        let Horizon { delta, error, spread, unit_spread, unit_error, .. } = self;
        [delta, error, spread, unit_spread, unit_error].into_iter().for_each(visit);
    }
}
