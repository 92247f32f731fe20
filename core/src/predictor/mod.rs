//! The predictor: samples in; a prediction, a band and a surprise out.
//!
//! For N signals and H horizons it predicts, again with each sample, the mean of what is coming: for a horizon of h
//! samples (1 - gamma) sum_k gamma^k x_{t+1+k} with gamma = 1 - 1/h, in the signal's unit. All predictions are read from
//! one context of all signals' [features](crate::signal), one value function anew with each sample, in turn.
//!
//! - **Prediction.** The context's value, blended with the long-run mean by how much better it has been. The squared
//!   error over the variance of what followed, in the geometric mean over ten recordings and processes of 4,000
//!   samples, is 0.11 for a horizon of 5 samples, 0.14 for 10, 0.24 for 40 and 0.49 for 100, all (and 1) from one
//!   context.
//! - **Band.** It holds what follows nine times in ten: 89 % in the mean over the same and all five horizons, 81 % at
//!   least and 95 % at most (97 % beside a horizon of 1,000). It makes no assumption about how errors are distributed,
//!   or that they are independent. A change that comes once in a recording is in no band. Until a horizon has been seen
//!   ten times, its band is infinite: the long-run mean is not yet known well enough.
//! - **Surprise.** A threshold p is crossed by a share of about 1 - p of a clean signal's samples: in the mean over the same,
//!   at 0.99 by 1.1 times that (0.9 to 1.5), at 0.999 by 0.9 times (0.3 to 1.8; 0.5 to 1.9 over 80,000 samples). With six injected
//!   faults (stuck, noise, drift, gain, glitches, another frequency; 60 samples in every 800) the area under the ROC curve is
//!   0.80; that of an exponential average's z-score is 0.60. At 0.999 half of the faults that are alone give an alarm, and a
//!   quarter of those that come after others: a fault that comes again and again becomes usual, as does a change for good.
//! - **Glitches.** A sample further from the signal's slow average than eight times the largest distance of the last 1,000
//!   samples or so is held back, and has a surprise next to 1. After a 65535, a 1e30 or NaN, alone or three in a row, the
//!   error of the next 100 samples was at most 1.05 times that without. A level that moved is taken with the eighth sample;
//!   samples beyond 1e12 never are.
//! - **Gaps.** A missing sample, or one held back, counts as what was predicted of it, up to 100 in a row; after that the last
//!   one holds. With 30 % missing the error was 1.01 to 1.14 times that without, and 86 % lay in the band.
//! - **Memory.** The context remembers 500 samples, or four of the longest horizons if that is more. Over 80,000 samples of
//!   seven processes the error is below 1.2 times the variance for any horizon from 1 to 1,000, alone or beside others, where
//!   the band has ends. A short recording of a long horizon may tell nothing about it: for a horizon of 100 in 4,000 samples of AR(2)
//!   noise the error is 1.5 times the variance, and that of the running mean 1.4. Wherever it was above 1.2 times, the band was
//!   wider than one that holds nine in ten of what followed: it says that nothing can be known.
//!
//! `cargo test -p compute --test it predictor -- --nocapture` measures all of this.
//!
//! The name of many predictions at once is nexting: Modayil, White and Sutton (*Multi-timescale nexting in a reinforcement
//! learning robot*, 2014) learn thousands by TD(lambda).

mod gate;
mod horizon;
mod read;
mod stored;
mod surprise;

pub use horizon::Prediction;

use crate::context::{Context, Forgetting};
use crate::error::Error;
use crate::linalg::dot_arrays as dot;
use crate::mask::TdLambda;
use crate::signal::SignalFeatures;
use crate::value_function::{clamp, clipped};
use gate::{Gate, Verdict};
use horizon::Horizon;
use surprise::{CERTAIN, Surprise};

/// The features of [`Signal`], the most useful first.
const ORDER: [usize; 4] = [0, 3, 2, 1];
/// The context remembers about so many samples, and at least so many horizons.
const MEMORY: f32 = 500.0;
const HORIZONS: f32 = 4.0;
/// The context's trace decay, whatever the horizons: the errors are much the same from 0.5 to 0.9.
const LAMBDA: f32 = 0.8;

/// A sample that is missing or held back counts as what was predicted of it, up to so many in a row, if so many were taken before.
const MISSING: f32 = 100.0;
const BEGUN: f32 = 50.0;

/// Samples are counted up to here, where adding 1 still changes an `f32`.
const MOST: f32 = 1e7;

/// Numbers of a part of the state, in one order: to be stored, or read.
trait State {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32));
}

/// A sample of each of N signals, or none of some: `20.5`, `Some(20.5)`, `[20.5, 3.0]` or `[Some(20.5), None]`. NaN
/// counts as none.
pub trait Samples<const N: usize> {
    /// Returns the N samples.
    fn samples(self) -> [Option<f32>; N];
}

impl Samples<1> for f32 {
    fn samples(self) -> [Option<f32>; 1] {
        [Some(self)]
    }
}

impl Samples<1> for Option<f32> {
    fn samples(self) -> [Option<f32>; 1] {
        [self]
    }
}

impl<const N: usize> Samples<N> for [f32; N] {
    fn samples(self) -> [Option<f32>; N] {
        self.map(Some)
    }
}

impl<const N: usize> Samples<N> for [Option<f32>; N] {
    fn samples(self) -> [Option<f32>; N] {
        self
    }
}

/// The predictor's answer to a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook<const N: usize = 1, const H: usize = 1> {
    /// A prediction of each signal for each horizon.
    pub predictions: [[Prediction; H]; N],
    /// How surprising the last samples of each signal were, in [0, 1): the share of times at which they are less so. A
    /// threshold of 0.999 means a false alarm in about 1,000 samples.
    pub surprise: [f32; N],
}

/// The state of one signal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Channel<const D: usize, const H: usize> {
    gate: Gate,
    signal: SignalFeatures<D>,
    /// The current value (the last one accepted or predicted), and the samples accepted since the signal began or
    /// moved.
    value: f32,
    taken: f32,
    /// How many samples in a row were not.
    missing: f32,
    horizons: [Horizon<D>; H],
    /// The weights that predict the next value.
    next: [f32; D],
    expected: f32,
    surprise: Surprise,
}

/// Predicts N signals for H horizons, from D features in all: D / N of each, 1 to 4. By default it is one signal with four
/// features.
///
/// ```
/// use ictd_core::Predictor;
///
/// let mut predictor = Predictor::new([10.0])?;
/// for t in 0..500 {
///     let outlook = predictor.observe((t % 20) as f32);
///     let [[prediction]] = outlook.predictions;
///     assert!(t < 100 || (prediction.mean - 9.5).abs() < 4.0);
/// }
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictor<const N: usize = 1, const D: usize = 4, const H: usize = 1> {
    horizons: [f32; H],
    retention: f32,
    context: Context<D, TdLambda, Forgetting, f32, N>,
    phi: [f32; D],
    reach: [f32; D],
    channels: [Channel<D, H>; N],
    /// The value function that is computed next.
    turn: u32,
}

impl<const H: usize> Predictor<1, 4, H> {
    /// Returns a predictor of one signal, for horizons of 1 sample or more.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `horizon`.
    pub const fn new(horizons: [f32; H]) -> Result<Self, Error> {
        Self::of_signals(horizons)
    }
}

impl<const N: usize, const D: usize, const H: usize> Predictor<N, D, H> {
    /// Returns a predictor of N signals, for horizons of 1 sample or more.
    ///
    /// # Errors
    /// [`Error::NonFinite`] or [`Error::OutOfRange`], naming `horizon`.
    pub const fn of_signals(horizons: [f32; H]) -> Result<Self, Error> {
        const {
            assert!(N > 0 && H > 0, "there is at least one signal and one horizon");
            assert!(
                D.is_multiple_of(N) && D / N >= 1 && D / N <= 4,
                "1 to 4 features of each signal"
            );
        }
        let mut longest = 1.0_f32;
        let mut h = 0;
        while h < H {
            let horizon = horizons[h];
            if !horizon.is_finite() {
                return Err(Error::NonFinite { parameter: "horizon" });
            }
            if !(horizon >= 1.0 && horizon <= 1e6) {
                return Err(Error::OutOfRange {
                    parameter: "horizon",
                    expected: "1 to 1,000,000 samples",
                });
            }
            longest = longest.max(horizon);
            h += 1;
        }
        let retention = 1.0 - 1.0 / MEMORY.max(HORIZONS * longest);
        let context =
            Context::with_memory(TdLambda::unchecked(LAMBDA), Forgetting::unchecked(retention));
        let channel = Channel {
            gate: Gate::NEW,
            signal: SignalFeatures::new(),
            value: 0.0,
            taken: 0.0,
            missing: 0.0,
            horizons: [Horizon::NEW; H],
            next: [0.0; D],
            expected: 0.0,
            surprise: Surprise::NEW,
        };
        Ok(Predictor {
            horizons,
            retention,
            context,
            phi: [0.0; D],
            reach: [0.0; D],
            channels: [channel; N],
            turn: 0,
        })
    }

    /// Takes the next sample of each signal, or none, and returns what is coming.
    pub fn observe(&mut self, samples: impl Samples<N>) -> Outlook<N, H> {
        let (mut phi, mut deviations) = ([0.0; D], [0.0; N]);
        let mut verdicts = [Verdict::Missing; N];
        let mut begun = false;
        let parts = self.channels.iter_mut().zip(samples.samples()).zip(&mut verdicts);
        for (((channel, sample), verdict), (phi, deviation)) in
            parts.zip(phi.chunks_mut(D / N).zip(&mut deviations))
        {
            begun |= channel.taken > 0.0;
            *verdict = channel.gate.judge(sample, channel.signal.level().average(), channel.taken);
            channel.take(*verdict);
            if channel.taken > 0.0
                && let Ok((features, change)) = channel.signal.observe(channel.value)
            {
                *deviation = change;
                for (to, from) in phi.iter_mut().zip(ORDER) {
                    *to = features.get(from).copied().unwrap_or(0.0);
                }
            }
        }
        if begun {
            // What the gate let pass can be summed.
            let _ = self.context.observe(&self.phi, deviations, &phi);
            self.refresh();
        }
        self.phi = phi;
        let phi = clipped(&phi, &self.reach);
        let predictions = [[Prediction::NOTHING; H]; N];
        let mut outlook = Outlook { predictions, surprise: [0.0; N] };
        let out = outlook.predictions.iter_mut().zip(&mut outlook.surprise);
        for ((channel, verdict), (predictions, surprise)) in
            self.channels.iter_mut().zip(verdicts).zip(out)
        {
            if channel.taken == 0.0 {
                continue;
            }
            *surprise = channel.surprise(verdict, &phi);
            let level = *channel.signal.level();
            let follows = begun && channel.taken > 1.0 && !matches!(verdict, Verdict::Moved(_));
            let parts = channel.horizons.iter_mut().zip(self.horizons).zip(predictions);
            for ((horizon, length), out) in parts {
                let value = clamp(dot(&horizon.weights, &phi), horizon.bound);
                let read = level.weighted_mean(discount(length), value);
                let seen = [channel.value, read];
                *out = horizon.observe(length, self.retention, seen, channel.taken, follows);
            }
        }
        outlook
    }

    /// Forgets everything but the horizons.
    pub fn reset(&mut self) {
        if let Ok(new) = Self::of_signals(self.horizons) {
            *self = new;
        }
    }

    /// Computes the value function whose turn it is.
    fn refresh(&mut self) {
        let turn = self.turn as usize % (N * (H + 1));
        self.turn = turn as u32 + 1;
        let (h, s) = (turn / N, turn % N);
        let gamma = self.horizons.get(h).map_or(SURPRISE, |h| discount(*h));
        let Some(channel) = self.channels.get_mut(s) else { return };
        let Ok(value) = read::value_function(&self.context, s, gamma) else { return };
        self.reach = value.feature_clip;
        let weights = value.value_function.weights.data.0[0];
        match channel.horizons.get_mut(h) {
            Some(horizon) => (horizon.weights, horizon.bound) = (weights, value.value_clip),
            None => channel.next = weights,
        }
    }
}

/// The discount by whose errors surprise is measured: the next value alone.
const SURPRISE: f32 = 0.0;

/// Returns the discount of a horizon.
const fn discount(horizon: f32) -> f32 {
    1.0 - 1.0 / horizon
}

impl<const D: usize, const H: usize> Channel<D, H> {
    /// Takes a new value, or what was predicted of it, or holds the last one.
    fn take(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Missing | Verdict::Glitch => {
                self.missing = (self.missing + 1.0).min(MOST);
                if self.taken > BEGUN && self.missing <= MISSING {
                    self.value = self.gate.near(self.expected, self.signal.level().average());
                }
                return;
            }
            Verdict::Taken(x) => self.value = x,
            Verdict::Moved(x) => {
                self.value = x;
                (self.signal, self.taken) = (SignalFeatures::new(), 0.0);
            }
        }
        self.taken = (self.taken + 1.0).min(MOST);
        self.missing = 0.0;
    }

    /// Returns how surprising the last samples were, and predicts the next one.
    fn surprise(&mut self, verdict: Verdict, phi: &[f32; D]) -> f32 {
        let surprise = match verdict {
            Verdict::Missing => self.surprise.latest,
            Verdict::Glitch | Verdict::Moved(_) => CERTAIN,
            Verdict::Taken(x) if self.taken > 1.0 => self.surprise.observe(x - self.expected),
            Verdict::Taken(_) => 0.0,
        };
        self.expected = self.signal.level().weighted_mean(SURPRISE, dot(&self.next, phi));
        surprise
    }
}
