//! One prediction of one signal: what the value function says, how much of it is believed, and its band.
//!
//! The prediction P_t is of G_t = (1 - gamma) sum_k gamma^k x_{t+1+k}. With the errors
//! delta_{t+1} = (1 - gamma) x_{t+1} + gamma P_{t+1} - P_t it misses by G_t - P_t = sum_k gamma^k delta_{t+1+k}, exactly.
//! From this follow two things that need no delayed copies of anything, for any horizon:
//!
//! - **How much is believed.** P = B + w (A - B), where A is the context's value and B the long-run mean. The best w is
//!   E[(G - B) u] / E[u^2] with u = A - B, and E[(G - B) u] = E[delta^B e] with the trace e_t = gamma e_{t-1} + u_t.
//! - **The band.** z_t = gamma z_{t-1} + delta_t adds up the same errors backwards, and so has the same variance as what
//!   the prediction misses by, however its errors hang together. Its quantiles, followed as they come, are the band.

use super::State;
use crate::scalar::Scalar;

/// The band begins with a normal distribution's multiple of the standard deviation, until another is known.
const NORMAL: f32 = 1.645;
/// The share of what follows that lies beyond each end of the band.
const BEYOND: f32 = 0.05;
/// Within a horizon the ends of the band move by at most so many standard deviations.
const STEP: f32 = 0.35;
/// The prior weight of the long-run mean against the context's value, in horizons of samples.
const DOUBT: f32 = 0.1;
/// Widens the band for estimation error: its variance is multiplied by 1 + WIDER * horizon / (the band's memory).
const WIDER: f32 = 1.0;
/// The long-run mean is that of the last so many samples, or horizons if that is more.
const MEAN_SAMPLES: f32 = 500.0;
const MEAN_HORIZONS: f32 = 12.0;
/// The band remembers the errors of about so many samples, or horizons if that is more.
const BAND_SAMPLES: f32 = 300.0;
const BAND_HORIZONS: f32 = 2.0;
/// Nothing is known of a horizon that has been seen fewer times: the long-run mean is then known about as badly as the
/// variance of what follows.
const SEEN: f32 = 10.0;

/// The weighted mean of what is coming, and the band in which it lies nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The weighted mean of what is coming, in the signal's unit.
    pub mean: f32,
    /// The lower end of the band; minus infinity while nothing is known.
    pub low: f32,
    /// The upper end of the band; infinity while nothing is known.
    pub high: f32,
}

impl Prediction {
    pub(super) const NOTHING: Self =
        Prediction { mean: 0.0, low: f32::NEG_INFINITY, high: f32::INFINITY };
}

/// One signal and horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Horizon<const D: usize> {
    /// The weights of the value function, and the largest size of its values.
    pub(super) weights: [f32; D],
    pub(super) bound: f32,
    /// The long-run mean of the signal.
    mean: f32,
    /// A, B and P of the sample before.
    before: [f32; 3],
    trace: f32,
    covariance: f32,
    square: f32,
    error: f32,
    /// sum z^2, and what it would be if each delta^2 were 1.
    spread: f32,
    unit_spread: f32,
    unit_error: f32,
    /// The quantiles of z over its standard deviation.
    quantiles: [f32; 2],
}

impl<const D: usize> Horizon<D> {
    pub(super) const NEW: Self = Horizon {
        weights: [0.0; D],
        bound: 0.0,
        mean: 0.0,
        before: [0.0; 3],
        trace: 0.0,
        covariance: 0.0,
        square: 0.0,
        error: 0.0,
        spread: 0.0,
        unit_spread: 0.0,
        unit_error: 0.0,
        quantiles: [-NORMAL, NORMAL],
    };

    /// Takes a sample x, the `taken`th one, and the prediction A of the context that follows it. If x does not follow the
    /// sample before, nothing is learned from it.
    pub(super) fn observe(
        &mut self,
        length: f32,
        retention: f32,
        [x, read]: [f32; 2],
        taken: f32,
        follows: bool,
    ) -> Prediction {
        let gamma = super::discount(length);
        let share = 1.0 - gamma;
        // Other, longer horizons do not lengthen the memory of this one's band.
        let forgets = 1.0 / BAND_SAMPLES.max(BAND_HORIZONS * length);
        self.mean += (x - self.mean) / taken.min(MEAN_SAMPLES.max(MEAN_HORIZONS * length));
        let mean = self.mean;
        let [read_before, mean_before, predicted] = self.before;
        if follows {
            let u = read_before - mean_before;
            self.trace = gamma * self.trace + u;
            let delta = share * x + gamma * mean - mean_before;
            self.covariance = retention * self.covariance + delta * self.trace;
            self.square = retention * self.square + u * u;
        } else {
            (self.trace, self.error, self.unit_error) = (0.0, 0.0, 0.0);
        }
        let difference = read - mean;
        let doubt = DOUBT * length * difference * difference;
        let belief = self.covariance / (self.square + doubt);
        // Nothing is believed where 0 is divided by 0.
        let belief = if belief > 0.0 { belief.min(1.0) } else { 0.0 };
        let prediction = mean + belief * difference;
        if follows {
            let delta = share * x + gamma * prediction - predicted;
            self.error = gamma * self.error + delta;
            self.unit_error = gamma * gamma * self.unit_error + share * (1.0 + gamma);
            self.spread = (1.0 - forgets) * self.spread + self.error * self.error;
            self.unit_spread = (1.0 - forgets) * self.unit_spread + self.unit_error;
        }
        self.before = [read, mean, prediction];
        // Not a number before anything was learned.
        let deviation = Scalar::sqrt(self.spread / self.unit_spread);
        let step = STEP / (length + 2.0);
        let [low, high] = &mut self.quantiles;
        if follows && deviation > 0.0 {
            let z = self.error / deviation;
            // The prediction stays in its band.
            *low = (*low + step * if z < *low { BEYOND - 1.0 } else { BEYOND }).min(0.0);
            *high = (*high - step * if z > *high { BEYOND - 1.0 } else { BEYOND }).max(0.0);
        }
        if taken < SEEN * length {
            return Prediction { mean: prediction, ..Prediction::NOTHING };
        }
        let wider = Scalar::sqrt(1.0 + WIDER * forgets * length);
        let (low, high) = (*low * deviation * wider, *high * deviation * wider);
        Prediction { mean: prediction, low: prediction + low, high: prediction + high }
    }
}

impl<const D: usize> State for Horizon<D> {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Horizon { weights, bound, mean, before, trace, covariance, square, error, .. } = self;
        weights.iter_mut().chain(before).for_each(&mut *visit);
        [bound, mean, trace, covariance, square, error].into_iter().for_each(&mut *visit);
        let Horizon { spread, unit_spread, unit_error, quantiles: [low, high], .. } = self;
        [spread, unit_spread, unit_error, low, high].into_iter().for_each(visit);
    }
}
