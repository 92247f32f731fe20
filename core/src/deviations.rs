//! A signal seen from its slow average: features, and cumulants whose values give the discounted sum of what
//! follows, whatever the signal's level.
//!
//! A sensor's values are often a large constant and small changes. With a slow average
//! a_t = a_{t-1} + beta (x_t - a_{t-1}), and deviations c_{t+1} = x_{t+1} - a_t in the place of rewards,
//!
//! ```text
//! sum_k gamma^k x_{t+1+k} = a_t / (1 - gamma) + (1 + gamma beta / (1 - gamma)) sum_k gamma^k c_{t+1+k}
//! ```
//!
//! exactly (the sum telescopes: it is potential-based shaping with the potential a_t / (1 - gamma)). So what is
//! learned is the second sum alone. It does not know the level, c knows no gamma, and so one context answers every
//! discount. Any estimator can be used in this way: a model, TD, LSTD.
//!
//! ```
//! use ictd_core::UniversalModel;
//! use ictd_core::context::{Context, Forgetting};
//! use ictd_core::deviations::Deviations;
//!
//! // Predicts the discounted sum of a sensor's next values, again after each of them.
//! let model = UniversalModel::<f32>::universal(0.9)?;
//! let mut context = Context::<4, _, Forgetting>::with(*model.mask(), Forgetting::new(0.995)?);
//! let mut signal = Deviations::new();
//! let (mut phi, _) = signal.observe(20.5)?;
//! for value in [20.75, 21.0, 21.5, 21.25] {
//!     let (phi_next, deviation) = signal.observe(value)?;
//!     context.observe(&phi, deviation, &phi_next)?;
//!     phi = phi_next;
//! }
//! let prediction = signal.discounted_sum(0.9, model.value_function(&context)?.at(&phi));
//! assert!(prediction > 200.0 && prediction < 230.0);
//! # Ok::<(), ictd_core::Error>(())
//! ```

use crate::error::Error;
use crate::scalar::Scalar;

/// beta: how much of the way to a new value the slow average goes.
const SLOW: f64 = 0.04;
/// The same of two more averages among the features.
const FAST: f64 = 0.2;
const SLOWEST: f64 = 0.01;

/// Features of a signal x_t and its deviations, made as it comes; D features of
///
/// | feature | |
/// |---|---|
/// | 0 | x_t - a_t, from the slow average (beta = 0.04) |
/// | 1 | x_t - x_{t-1}, the difference |
/// | 2 | a fast average (0.2) - a_t |
/// | 3 | a_t - the slowest average (0.01) |
/// | 4, 5, ... | x_{t-2} - a_t, x_{t-3} - a_t, ..., more lags |
///
/// The averages start as the first value. At the start, and after [`Deviations::end_episode`], lags that have not
/// been seen count as the value itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations<const D: usize = 4, S: Scalar = f32> {
    slow: S,
    fast: S,
    slowest: S,
    /// The values before, the latest first.
    lags: [S; D],
    has_averages: bool,
    has_lags: bool,
}

impl<const D: usize, S: Scalar> Deviations<D, S> {
    /// Of a signal that has not begun.
    pub const fn new() -> Self {
        let (slow, fast, slowest) = (S::ZERO, S::ZERO, S::ZERO);
        let lags = [S::ZERO; D];
        Deviations { slow, fast, slowest, lags, has_averages: false, has_lags: false }
    }

    /// Takes the next value: the features after it, (D), and its deviation from the slow average before it, the
    /// cumulant of the transition to it (0 for the first value).
    ///
    /// # Errors
    /// [`Error::NonFinite`], naming `value`; the signal stays as it was.
    pub fn observe(&mut self, value: S) -> Result<([S; D], S), Error> {
        if !value.is_finite() {
            return Err(Error::NonFinite { parameter: "value" });
        }
        if !self.has_averages {
            (self.slow, self.fast, self.slowest) = (value, value, value);
            self.has_averages = true;
        }
        if !self.has_lags {
            (self.lags, self.has_lags) = ([value; D], true);
        }
        let deviation = value - self.slow;
        self.slow += S::from_f64(SLOW) * deviation;
        self.fast += S::from_f64(FAST) * (value - self.fast);
        self.slowest += S::from_f64(SLOWEST) * (value - self.slowest);
        let mut features = [S::ZERO; D];
        for i in 0..D {
            features[i] = match i {
                0 => value - self.slow,
                1 => value - self.lags[0],
                2 => self.fast - self.slow,
                3 => self.slow - self.slowest,
                _ => self.lags[i - 3] - self.slow,
            };
        }
        self.lags.copy_within(..D.saturating_sub(1), 1.min(D));
        if let Some(latest) = self.lags.first_mut() {
            *latest = value;
        }
        Ok((features, deviation))
    }

    /// The discounted sum of the values that follow, from that of the deviations that follow.
    pub fn discounted_sum(&self, gamma: S, of_deviations: S) -> S {
        let horizon = S::ONE / (S::ONE - gamma);
        self.slow * horizon + (S::ONE + gamma * S::from_f64(SLOW) * horizon) * of_deviations
    }

    /// The inverse of [`Deviations::discounted_sum`].
    pub fn of_deviations(&self, gamma: S, discounted_sum: S) -> S {
        let horizon = S::ONE / (S::ONE - gamma);
        let deviation = discounted_sum - self.slow * horizon;
        deviation / (S::ONE + gamma * S::from_f64(SLOW) * horizon)
    }

    /// The next value does not follow the last one: its lags are forgotten, the averages stay.
    pub fn end_episode(&mut self) {
        self.has_lags = false;
    }
}

impl<const D: usize, S: Scalar> Default for Deviations<D, S> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::vec::Vec;

    #[test]
    fn the_discounted_sum_of_deviations_gives_that_of_the_values() {
        let (mut rng, mut signal) = (Rng::new(2), Deviations::<1, f64>::new());
        let values: Vec<f64> = (0..600).map(|_| 1e3 + rng.normal::<f64>()).collect();
        let (mut seen, mut deviations) = (Vec::new(), Vec::new());
        for value in &values {
            deviations.push(signal.observe(*value).unwrap().1);
            seen.push(signal);
        }
        for gamma in [0.0, 0.5, 0.9] {
            for t in [0, 1, 17] {
                let sum = |of: &[f64]| of[t + 1..].iter().rev().fold(0.0, |sum, x| x + gamma * sum);
                let want = sum(&values);
                let got = seen[t].discounted_sum(gamma, sum(&deviations));
                assert!((got - want).abs() < 1e-9 * want, "{gamma} {t}: {got}, not {want}");
                let back = seen[t].of_deviations(gamma, got);
                assert!((back - sum(&deviations)).abs() < 1e-9, "{gamma} {t}");
            }
        }
    }

    #[test]
    fn a_level_changes_no_feature_and_an_episode_forgets_lags_alone() {
        let (mut here, mut there) = (Deviations::<6>::new(), Deviations::<6>::new());
        for value in [0.0, 1.0, -2.0, 5.0] {
            let (here, there) =
                (here.observe(value).unwrap(), there.observe(value + 64.0).unwrap());
            for (x, y) in here.0.iter().zip(&there.0) {
                assert!((x - y).abs() < 1e-4, "{value}: {x} {y}");
            }
            assert!((here.1 - there.1).abs() < 1e-4);
        }
        here.end_episode();
        let (features, _) = here.observe(8.0).unwrap();
        assert_eq!(features[1], 0.0);
        assert_eq!(features[4], features[0]);
        let before = here;
        assert!(here.observe(f32::NAN).is_err());
        assert_eq!(here, before);
        assert_eq!(Deviations::<1>::new().observe(3.0), Ok(([0.0], 0.0)));
    }
}
