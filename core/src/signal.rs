//! Features of a signal, made as it comes, and features without units.
//!
//! ```
//! use ictd_core::UniversalModel;
//! use ictd_core::context::{Context, Forgetting};
//! use ictd_core::signal::Signal;
//!
//! // Predicts the discounted sum of a sensor's next values, again after each of them.
//! let model = UniversalModel::<f32>::universal(0.9)?;
//! let mut context = Context::<4, _, Forgetting>::with(*model.mask(), Forgetting::new(0.99)?);
//! let mut signal = Signal::new();
//! let mut phi = signal.features(20.5)?;
//! for value in [20.75, 21.0, 21.5, 21.25] {
//!     let phi_next = signal.features(value)?;
//!     context.observe(&phi, value, &phi_next)?;
//!     phi = phi_next;
//! }
//! assert!(model.value_function(&context)?.at(&phi) > 0.0);
//! # Ok::<(), ictd_core::Error>(())
//! ```

use crate::error::Error;
use crate::scalar::{Scalar, check_lanes};
use crate::transition::FeatureVector;
use crate::value_function::clamp;

/// The feature that never changes.
const BIAS: f64 = 0.5;
/// How much of the way to a new value the slow average goes.
const SLOW_RATE: f64 = 1.0 / 32.0;
/// How many root mean squares a scaled feature may reach, as in the queries of the universal model.
const REACH: f64 = 2.0;

/// D features of a scalar signal x_t, made as it comes:
///
/// | feature | |
/// |---|---|
/// | 0 | 0.5, the bias |
/// | 1 | x_t, the value |
/// | 2 | x_t - x_{t-1}, the difference |
/// | 3 | the slow average, a <- a + (x_t - a) / 32, which starts as the first value |
/// | 4, 5, ... | x_{t-2}, x_{t-3}, ..., more lags |
///
/// The first D of them are taken. At the start, and after [`Signal::end_episode`], what has not been seen counts as the
/// value itself. A model that reads contexts in units of their own needs no scale ([`crate::normalised`]).
///
/// ```
/// use ictd_core::signal::Signal;
///
/// let mut signal = Signal::<6>::new();
/// assert_eq!(signal.features(8.0)?, [0.5, 8.0, 0.0, 8.0, 8.0, 8.0]);
/// assert_eq!(signal.features(40.0)?, [0.5, 40.0, 32.0, 9.0, 8.0, 8.0]);
/// assert!(signal.features(f32::NAN).is_err());
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal<const D: usize = 4, S: Scalar = f32> {
    /// The values before, the latest first.
    lags: [S; D],
    slow: S,
    /// Without it the next value is the first one of all.
    has_average: bool,
    /// Without it the next value is the first one of an episode.
    has_lags: bool,
}

impl<const D: usize, S: Scalar> Signal<D, S> {
    /// Of a signal that has not begun.
    pub const fn new() -> Self {
        const {
            assert!(D > 0, "a signal has at least one feature");
        }
        Signal { lags: [S::ZERO; D], slow: S::ZERO, has_average: false, has_lags: false }
    }

    /// Takes the next value and returns the features after it, (D).
    ///
    /// # Errors
    /// [`Error::NonFinite`], naming `value`; the signal stays as it was.
    pub fn features(&mut self, value: S) -> Result<[S; D], Error> {
        if !value.is_finite() {
            return Err(Error::NonFinite { parameter: "value" });
        }
        if !self.has_average {
            (self.slow, self.has_average) = (value, true);
        }
        if !self.has_lags {
            (self.lags, self.has_lags) = ([value; D], true);
        }
        self.slow += S::from_f64(SLOW_RATE) * (value - self.slow);
        let mut features = [S::ZERO; D];
        for i in 0..D {
            features[i] = match i {
                0 => S::from_f64(BIAS),
                1 => value,
                2 => value - self.lags[0],
                3 => self.slow,
                _ => self.lags[i - 3],
            };
        }
        self.lags.copy_within(..D - 1, 1);
        self.lags[0] = value;
        Ok(features)
    }

    /// The next value does not follow the last one: its lags are forgotten, the slow average stays.
    pub fn end_episode(&mut self) {
        self.has_lags = false;
    }
}

impl<const D: usize, S: Scalar> Default for Signal<D, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Features divided by their root mean square so far, and held within two of them: what algorithms with a step size or
/// a ridge in the units of the features need, [`OnlineTd`](crate::td::OnlineTd) and
/// [`RecursiveLstd`](crate::td::RecursiveLstd). (Without the reach a spike of a feature that was quiet makes online TD
/// diverge at step sizes that are best elsewhere.)
///
/// ```
/// use ictd_core::signal::Scale;
///
/// let mut scale = Scale::new(0.999)?;
/// assert_eq!(scale.scaled(&[3.0, -0.25, 0.0]), [1.0, -1.0, 0.0]);
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale<const D: usize, S: Scalar = f32> {
    retention: S,
    mean_squares: [S; D],
    /// The sum of the weights.
    weight: S,
}

impl<const D: usize, S: Scalar> Scale<D, S> {
    /// One that forgets: what was seen shrinks by this factor, in (0, 1), with each feature vector.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `retention`.
    pub fn new(retention: S) -> Result<Self, Error> {
        let within = |x| x > Scalar::ZERO && x < Scalar::ONE;
        let retention = check_lanes(retention, "retention", within, "(0, 1)")?;
        Ok(Scale { retention, mean_squares: [S::ZERO; D], weight: S::ZERO })
    }

    /// Takes features, (D), and returns them divided by their root mean squares, these included, at most 2 in size; 0
    /// for a feature that was always 0.
    pub fn scaled(&mut self, phi: &impl FeatureVector<S, D>) -> [S; D] {
        let mut scaled = *phi.as_array();
        self.weight = self.retention * self.weight + S::ONE;
        for i in 0..D {
            let square = scaled[i] * scaled[i];
            self.mean_squares[i] += (square - self.mean_squares[i]) / self.weight;
            // 0 / 0 where nothing but 0 was seen: the numerator is 0 whatever stands below it.
            let least = S::from_f64(f64::from(f32::MIN_POSITIVE));
            let unscaled = scaled[i];
            scaled[i] =
                clamp(unscaled / self.mean_squares[i].max(least).sqrt(), S::from_f64(REACH));
        }
        scaled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_an_episode_lags_begin_anew_and_the_slow_average_stays() {
        let mut signal = Signal::<5>::new();
        signal.features(32.0).unwrap();
        signal.end_episode();
        assert_eq!(signal.features(0.0), Ok([0.5, 0.0, 0.0, 31.0, 0.0]));
        let before = signal;
        assert!(signal.features(f32::INFINITY).is_err());
        assert_eq!(signal, before);
        // Fewer features are the first ones.
        assert_eq!(Signal::<2>::new().features(3.0_f32), Ok([0.5, 3.0]));
        assert_eq!(Signal::<1, f64>::new().features(3.0), Ok([0.5]));
    }

    #[test]
    fn a_scale_follows_its_features() {
        let mut scale = Scale::<1>::new(0.5).unwrap();
        for (x, want) in [(2.0, 1.0), (-4.0, -4.0 / 12.0_f32.sqrt()), (0.0, 0.0)] {
            let [got] = scale.scaled(&[x]);
            assert!((got - want).abs() < 1e-6, "{x}: {got}, not {want}");
        }
        let mut quiet = Scale::<1>::new(0.999).unwrap();
        for _ in 0..99 {
            quiet.scaled(&[0.01]);
        }
        assert_eq!(quiet.scaled(&[-100.0]), [-2.0]);
        assert!(Scale::<1>::new(1.0_f32).is_err());
    }
}
