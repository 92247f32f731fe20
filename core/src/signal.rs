//! Features of a signal relative to its slow average, and cumulants whose values give the discounted sum of later samples.
//!
//! With a slow average a_t = a_{t-1} + beta (x_t - a_{t-1}), and deviations c_{t+1} = x_{t+1} - a_t as rewards,
//!
//! ```text
//! sum_k gamma^k x_{t+1+k} = a_t / (1 - gamma) + (1 + gamma beta / (1 - gamma)) sum_k gamma^k c_{t+1+k}
//! ```
//!
//! exactly (the sum telescopes: it is potential-based shaping). Every estimator therefore learns only the second sum,
//! which does not depend on the level; c does not depend on gamma, so one context serves every discount.
//!
//! ```
//! use ictd_core::UniversalModel;
//! use ictd_core::context::{Context, Forgetting};
//! use ictd_core::signal::SignalFeatures;
//!
//! let model = UniversalModel::<f32>::new(0.9)?;
//! let mut context = Context::<4, _, Forgetting>::with_memory(*model.mask(), Forgetting::new(0.995)?);
//! let mut signal = SignalFeatures::new();
//! let (mut phi, _) = signal.observe(20.5)?;
//! for value in [20.75, 21.0, 21.5, 21.25] {
//!     let (phi_next, deviation) = signal.observe(value)?;
//!     context.observe(&phi, deviation, &phi_next)?;
//!     phi = phi_next;
//! }
//! let value = model.value_function(&context)?.at(&phi);
//! let prediction = signal.level().discounted_sum(0.9, value);
//! assert!(prediction > 200.0 && prediction < 230.0);
//! # Ok::<(), ictd_core::Error>(())
//! ```

use crate::error::{Error, Result, ensure};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::FeatureVector;
use crate::value_function::clamp;

/// beta: how much of the way to a new value the slow average goes.
const SLOW: f64 = 0.04;
/// The rates of two more averages among the features.
const FAST: f64 = 0.2;
const SLOWEST: f64 = 0.01;

/// The slow average a_t of a cumulant; deviations are measured from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowAverage<S: Scalar = f32> {
    average: S,
    has_average: bool,
}

#[allow(clippy::new_without_default)]
impl<S: Scalar> SlowAverage<S> {
    /// Returns the level of a cumulant that has not begun; its average starts as the first value.
    pub const fn new() -> Self {
        SlowAverage { average: S::ZERO, has_average: false }
    }

    /// Takes the next value and returns its deviation from the average before it, 0 for the first. What is not finite is
    /// refused.
    pub fn observe(&mut self, value: S) -> Result<S> {
        ensure(value.is_finite(), Error::NonFinite { parameter: "value" })?;
        if !self.has_average {
            (self.average, self.has_average) = (value, true);
        }
        let deviation = value - self.average;
        self.average += S::from_f64(SLOW) * deviation;
        Ok(deviation)
    }

    /// Returns the discounted sum of the values that follow, from that of the deviations that follow.
    pub fn discounted_sum(&self, gamma: S, deviation_sum: S) -> S {
        let horizon = S::ONE / (S::ONE - gamma);
        self.average * horizon + (S::ONE + gamma * S::from_f64(SLOW) * horizon) * deviation_sum
    }

    /// Returns the inverse of [`SlowAverage::discounted_sum`].
    pub fn deviation_sum(&self, gamma: S, discounted_sum: S) -> S {
        let horizon = S::ONE / (S::ONE - gamma);
        let deviation = discounted_sum - self.average * horizon;
        deviation / (S::ONE + gamma * S::from_f64(SLOW) * horizon)
    }
}

/// Makes features of a signal x_t, and its deviations, as it comes. The D features are the first of
///
/// | feature | |
/// |---|---|
/// | 0 | x_t - a_t, from the slow average (beta = 0.04) |
/// | 1 | x_t - x_{t-1}, the difference |
/// | 2 | a fast average (0.2) - a_t |
/// | 3 | a_t - the slowest average (0.01) |
/// | 4, 5, ... | x_{t-2} - a_t, x_{t-3} - a_t, ..., more lags |
///
/// Lags that have not been seen, at the start and after [`SignalFeatures::end_episode`], count as the value itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalFeatures<const D: usize = 4, S: Scalar = f32> {
    level: SlowAverage<S>,
    fast: S,
    slowest: S,
    /// The values before, the latest first.
    lags: [S; D],
    has_lags: bool,
}

#[allow(clippy::new_without_default)]
impl<const D: usize, S: Scalar> SignalFeatures<D, S> {
    /// Returns a signal that has not begun.
    pub const fn new() -> Self {
        let (fast, slowest, lags) = (S::ZERO, S::ZERO, [S::ZERO; D]);
        SignalFeatures { level: SlowAverage::new(), fast, slowest, lags, has_lags: false }
    }

    /// Takes the next value, and returns the features after it, (D), and its deviation from the slow average before it:
    /// the cumulant of the transition to it (0 for the first value). What is not finite is refused.
    pub fn observe(&mut self, value: S) -> Result<([S; D], S)> {
        let is_first = !self.level.has_average;
        let deviation = self.level.observe(value)?;
        if is_first {
            (self.fast, self.slowest) = (value, value);
        }
        if !self.has_lags {
            (self.lags, self.has_lags) = ([value; D], true);
        }
        self.fast += S::from_f64(FAST) * (value - self.fast);
        self.slowest += S::from_f64(SLOWEST) * (value - self.slowest);
        let slow = self.level.average;
        let mut features = [S::ZERO; D];
        for i in 0..D {
            features[i] = match i {
                0 => value - slow,
                1 => value - self.lags[0],
                2 => self.fast - slow,
                3 => slow - self.slowest,
                _ => self.lags[i - 3] - slow,
            };
        }
        self.lags.iter_mut().fold(value, |newer, lag| core::mem::replace(lag, newer));
        Ok((features, deviation))
    }

    /// Returns the slow average.
    pub fn level(&self) -> &SlowAverage<S> {
        &self.level
    }

    /// Says that the next value does not follow the last one: the lags are forgotten, the averages stay.
    pub fn end_episode(&mut self) {
        self.has_lags = false;
    }
}

/// Features divided by their root mean square so far, and held within two of them: what algorithms with a step size or
/// a ridge in the units of the features need. (A spike of a feature that was quiet would make online TD diverge.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureScaler<const D: usize, S: Scalar = f32> {
    retention: S,
    mean_squares: [S; D],
    /// The sum of the weights.
    weight: S,
}

impl<const D: usize, S: Scalar> FeatureScaler<D, S> {
    /// Returns a scale that forgets: with each feature vector the past shrinks by this factor, which must be in (0, 1).
    pub fn new(retention: S) -> Result<Self> {
        let within = |x| x > Scalar::ZERO && x < Scalar::ONE;
        let retention = check_lanes(retention, "retention", within, "(0, 1)")?;
        Ok(FeatureScaler { retention, mean_squares: [S::ZERO; D], weight: S::ZERO })
    }

    /// Takes features, (D), and returns them divided by their root mean squares, these included, at most 2 in size; 0
    /// for a feature that was always 0.
    pub fn scaled(&mut self, phi: &impl FeatureVector<S, D>) -> [S; D] {
        let mut scaled = *phi.as_array();
        self.weight = self.retention * self.weight + S::ONE;
        // It would be 0 / 0 if all samples were 0; with this denominator it is 0.
        let least = S::from_f64(f64::from(f32::MIN_POSITIVE));
        for (x, mean_square) in scaled.iter_mut().zip(&mut self.mean_squares) {
            *mean_square += (*x * *x - *mean_square) / self.weight;
            *x = clamp(*x / mean_square.max(least).sqrt(), S::from_f64(2.0));
        }
        scaled
    }
}
