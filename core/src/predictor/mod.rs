//! The predictor: samples of a signal in; predictions, bands and a surprise out. Several signals have a predictor each.
//!
//! With each sample it predicts, for each of H horizons, the weighted mean of the next samples: for a horizon of h samples
//! (1 - gamma) sum_k gamma^k x_{t+1+k} with gamma = 1 - 1/h, in the signal's unit.
//!
//! - **Prediction.** Three experts predict: LSTD(lambda) of five features, read for that discount; an autoregression of three
//!   samples and two exponential averages by recursive least squares; and the last value. The share of each follows from how
//!   much better than the long-run mean it has been. Over ten recordings and processes of 4,000 samples the squared error over
//!   the variance of the returns is, in the geometric mean, 0.07 for a horizon of 1 sample, 0.10 for 5, 0.13 for 10, 0.19 for 40
//!   and 0.39 for 100.
//! - **Band.** It contains the return nine times in ten: 90 % in the mean over the same and all five horizons, 83 % at least and
//!   95 % at most. It makes no assumption about how errors are distributed, or that they are independent. Until a horizon has been
//!   seen ten times, its band is infinite: the long-run mean is not yet known well enough.
//! - **Surprise.** The errors of the next sample, its level, and how long nothing has changed are compared with their usual values. The
//!   thresholds of 0.99, 0.999 and 0.9999 follow their rates of alarms: on clean signals they were crossed by 1.09 and 0.8 times 1 in
//!   100 and 1 in 1,000 samples of the same ten, and by 0.7 to 1.2 times 1 in 1,000 of 80,000 samples of seven processes. With six
//!   injected faults (stuck, noise, drift, gain, glitches, another frequency; 60 samples in every 800) the area under the ROC curve
//!   is 0.80; that of an exponential average's z-score is 0.60. At 0.999, 63 % of the faults that are alone give an alarm, and 36 %
//!   of those that come after others: a fault that comes again and again becomes usual, as does a change for good. An event is one
//!   alarm, and one more if it comes to pass 0.9999. None of the first 20 samples gives an alarm.
//! - **Glitches.** A sample further from the signal's slow average than eight times the largest distance of the last 1,000
//!   samples or so is held back ([`SampleStatus`]). An event that comes again is data from the third time on, if three come within
//!   about 1,000 samples; a level that moved is taken with the eighth sample (with the third at the start). What the sensor cannot
//!   measure is never taken ([`Predictor::with_limits`]).
//! - **Gaps.** The prediction of a sample takes its place if it is missing or held back, up to 100 in a row; after that the last
//!   one holds. The first sample after a gap revises the last prediction in it, and predictions are no part of means. With 30 %
//!   missing, here and there, the error at a horizon of 10 was 1.06 times that without; at a horizon of 1 it is larger, because the last
//!   known sample is older.
//! - **Any level.** It computes with distances from an anchor, the median of the first three samples: a level of 8,388,608
//!   with a noise of 4 is predicted like one of 0, and one bad sample at power-on changes nothing.
//! - **Memory.** It remembers 500 samples, or four of the longest horizons if that is more.
//! - **Not for**: events whose times tell nothing (the mean is as good), horizons that were seen fewer than some ten times, and
//!   signals with a known, long season, which it does not use.
//!
//! `cargo test -p compute --test it predictor -- --nocapture` measures this.
//!
//! The name of many predictions at once is nexting: Modayil, White and Sutton (*Multi-timescale nexting in a reinforcement
//! learning robot*, 2014) learn thousands by TD(lambda).

mod autoregression;
mod features;
mod gate;
mod horizon;
mod stored;
mod surprise;
mod td;

pub use gate::SampleStatus;

use crate::entrywise::Entrywise as _;
use crate::error::Error;
use crate::linalg::dot_arrays as dot;
use crate::linalg::linear_system::epsilon;
use crate::scalar::Real;
use crate::value_function::clamp;
use autoregression::{Autoregression, LAST};
use core::mem::MaybeUninit;
use features::{Features, M, SLOW};
use gate::Gate;
use horizon::{Band, Belief, Moment};
use surprise::{Observed, Surprise};
use td::Td;

/// TD's context remembers about MEMORY samples, and at least a few of the longest horizons.
const MEMORY: f32 = 500.0;
const HORIZONS: f32 = 4.0;
/// A horizon is known once it has been seen this many times: the long-run mean is then known about as badly as the variance of
/// the returns.
const SEEN: f32 = 10.0;
/// The ends of a band are moved outwards by this share of the recent range, and by some units in the last place for rounding.
const RESOLUTION: f32 = 1.0 / 1024.0;
const ROUNDING: usize = 2;
/// The prediction of a sample takes its place if it is missing or held back, up to this many in a row, if as many samples were
/// taken before.
const MISSING: f32 = 100.0;
const BEGUN: f32 = 50.0;
/// Few horizons have their turns more often for this many samples.
const START: f32 = 128.0;
/// Squares of larger samples would leave the range of `f32`.
const LARGEST: f32 = 1e12;
/// Samples are counted up to here, where adding 1 still changes an `f32`.
const MOST: f32 = 1e7;

/// A prediction of the weighted mean of the next samples, and a band that contains this mean nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Prediction<S: Real = f32> {
    /// The predicted weighted mean of the next samples, in the signal's unit.
    pub mean: S,
    /// The lower end of the band; minus infinity while nothing is known.
    pub low: S,
    /// The upper end of the band; infinity while nothing is known.
    pub high: S,
    /// True once the band has ends: the horizon has been seen ten times.
    pub known: bool,
}

/// The predictor's answer to a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(bound = "S: serde::Serialize"))]
pub struct Outlook<const H: usize = 1, S: Real = f32> {
    /// A prediction for each horizon.
    #[cfg_attr(feature = "serde", serde(serialize_with = "sequence"))]
    pub predictions: [Prediction<S>; H],
    /// How surprising the last samples were, -ln p: p is the share of samples that are more so. It does not saturate, but between
    /// the alarms of one event it stays below ln 1000; 0 for a sample that is missing.
    pub depth: f32,
    /// The share of samples that are less surprising, 1 - p in [0, 1). A threshold of 0.999 means a false alarm in
    /// about 1,000 samples. An event passes 0.999 and 0.9999 once each; its other samples stay below 0.999.
    pub surprise: f32,
    /// The largest surprise of the 25 to 50 samples before; as long as an event goes on, its alarm's.
    pub recent: f32,
    /// How the sample was used.
    pub status: SampleStatus,
}

impl<const H: usize, S: Real> Outlook<H, S> {
    /// Returns true if the surprise is above a threshold, and was not in the 25 to 50 samples before: an alarm that counts each
    /// event once.
    pub fn onset(&self, threshold: f32) -> bool {
        self.surprise > threshold && self.recent <= threshold
    }
}

#[cfg(feature = "serde")]
fn sequence<T: serde::Serialize, Z: serde::Serializer>(
    of: &[T],
    serializer: Z,
) -> Result<Z::Ok, Z::Error> {
    serializer.collect_seq(of)
}

/// Predicts a signal for H horizons. S is the type of samples and answers, `f32` or `f64`. The arithmetic is in `f32` distances from
/// an anchor, so that a large level costs no precision.
///
/// ```
/// use ictd_core::Predictor;
///
/// let mut predictor = Predictor::new([10.0])?;
/// for t in 0..500 {
///     let outlook = predictor.observe((t % 20) as f32);
///     let [prediction] = outlook.predictions;
///     assert!(t < 100 || (prediction.mean - 9.5).abs() < 4.0);
/// }
/// # Ok::<(), ictd_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictor<const H: usize = 1, S: Real = f32> {
    /// The least and the largest value that the sensor can measure.
    limits: [S; 2],
    /// Everything else is a distance from here: the median of the first three samples, or the level that the signal moved to.
    anchor: S,
    /// The growth of the factor of all sums: 1 over the context's retention.
    growth: f32,
    horizons: [Belief; H],
    bands: [Band; H],
    /// The next sample, whose errors are the surprise.
    next: Belief,
    gate: Gate,
    /// The features of the signal so far; predictions take the place of samples that were not taken.
    signal: Features,
    td: Td,
    autoregression: Autoregression,
    /// The autoregression's weights for each horizon.
    reads: [[f32; M]; H],
    surprise: Surprise,
    /// The second of the first three samples.
    second: f32,
    /// The samples taken in all, and since the signal began or moved; how many samples in a row were not.
    seen: f32,
    taken: f32,
    missing: f32,
    /// Counts the samples of two rounds of turns: TD's weights have one in two rounds, the others' and the shares one in each.
    turn: u32,
}

impl<const H: usize> Predictor<H> {
    /// Returns a predictor for horizons of 1 sample or more, of samples in `f32`, or [`Error::NonFinite`] or
    /// [`Error::OutOfRange`], naming `horizon`.
    pub const fn new(horizons: [f32; H]) -> Result<Self, Error> {
        Self::of_samples(horizons, [f32::NEG_INFINITY, f32::INFINITY])
    }

    /// Does what [`Predictor::new`] does, with the same errors, in the predictor's final place: a chip's stack may have no room for it.
    pub fn new_in(place: &mut MaybeUninit<Self>, horizons: [f32; H]) -> Result<&mut Self, Error> {
        check(&horizons)?;
        let new = place.write(Self::EMPTY);
        new.set_horizons(&horizons);
        new.limits = [f32::NEG_INFINITY, f32::INFINITY];
        Ok(new)
    }
}

impl<const H: usize> Predictor<H, f64> {
    /// Returns a predictor for horizons of 1 sample or more, of samples in `f64`, or [`Error::NonFinite`] or
    /// [`Error::OutOfRange`], naming `horizon`.
    pub const fn new_f64(horizons: [f32; H]) -> Result<Self, Error> {
        Self::of_samples(horizons, [f64::NEG_INFINITY, f64::INFINITY])
    }
}

impl<const H: usize, S: Real> Predictor<H, S> {
    const EMPTY: Self = Predictor {
        limits: [S::ZERO; 2],
        anchor: S::ZERO,
        growth: 0.0,
        horizons: [Belief::new(1.0); H],
        bands: [Band::NEW; H],
        next: Belief::new(1.0),
        gate: Gate::new(0.0),
        signal: Features::ZERO,
        td: Td::NEW,
        autoregression: Autoregression::NEW,
        reads: [LAST; H],
        surprise: Surprise::NEW,
        second: 0.0,
        seen: 0.0,
        taken: 0.0,
        missing: 0.0,
        turn: 0,
    };

    const fn of_samples(horizons: [f32; H], limits: [S; 2]) -> Result<Self, Error> {
        if let Err(error) = check(&horizons) {
            return Err(error);
        }
        let mut new = Self::EMPTY;
        new.set_horizons(&horizons);
        new.limits = limits;
        Ok(new)
    }

    /// Gives an empty predictor horizons that were checked.
    const fn set_horizons(&mut self, horizons: &[f32; H]) {
        const { assert!(H > 0 && H < 65536, "there is at least one horizon") }
        let (mut longest, mut h) = (1.0_f32, 0);
        while h < H {
            longest = longest.max(horizons[h]);
            self.horizons[h].length = horizons[h];
            h += 1;
        }
        let memory = MEMORY.max(HORIZONS * longest);
        self.growth = memory / (memory - 1.0);
    }

    /// Returns the predictor with limits of what the sensor can measure, or [`Error::OutOfRange`], naming `limits`, unless `low` < `high`.
    /// Samples outside of them are never taken.
    pub fn with_limits(mut self, low: S, high: S) -> Result<Self, Error> {
        self.set_limits(low, high)?;
        Ok(self)
    }

    /// Does what [`Predictor::with_limits`] does, in its place, with the same errors.
    pub fn set_limits(&mut self, low: S, high: S) -> Result<(), Error> {
        self.limits = checked_limits(low, high)?;
        Ok(())
    }

    /// Takes the next sample (`None` or NaN if it is missing), and returns the predictions and the surprise.
    pub fn observe(&mut self, sample: impl Into<Option<S>>) -> Outlook<H, S> {
        let sample = sample.into().filter(|x| !x.to_f64().is_nan());
        let [low, high] = self.limits;
        let fits = |x: &S| *x >= low && *x <= high && narrow(*x).abs() <= LARGEST;
        let status = match sample.as_ref().map(fits) {
            None => SampleStatus::Missing,
            Some(false) => SampleStatus::HeldBack,
            Some(true) => SampleStatus::Taken,
        };
        if self.seen < 3.0 {
            let taken = sample.filter(|_| status == SampleStatus::Taken);
            return self.begin(taken, status);
        }
        self.follow(sample, status)
    }

    /// Takes one of the first three samples: their median is the anchor, which one bad sample does not move.
    fn begin(&mut self, sample: Option<S>, status: SampleStatus) -> Outlook<H, S> {
        if let Some(x) = sample {
            if self.seen == 0.0 {
                self.anchor = x;
            }
            let third = narrow(x - self.anchor);
            if self.seen == 2.0 {
                let (low, high) = (smaller(0.0, self.second), larger(0.0, self.second));
                let (lowest, highest) = (smaller(low, third), larger(high, third));
                let median = larger(low, smaller(high, third));
                self.anchor += S::from_f64(f64::from(median));
                self.gate = Gate::new(smaller(median - lowest, highest - median));
                // What came before the anchor was known counts as the anchor.
                let outlook = self.follow(sample, status);
                self.seen = 3.0;
                return outlook;
            }
            self.second = third;
            self.seen += 1.0;
            self.taken = self.seen;
        }
        let mean = sample.unwrap_or(self.anchor);
        self.answer([mean; H].map(|mean| Prediction { mean, ..Self::NOTHING }), 0.0, status)
    }

    /// The samples in which each horizon and the next sample have a turn: few horizons have it as seldom as four.
    const TURNS: usize = if H < 4 { 5 } else { H + 1 };
    const NOTHING: Prediction<S> =
        Prediction { mean: S::ZERO, low: S::ZERO, high: S::ZERO, known: false };

    /// Takes a sample, which is held back if it cannot be measured, or none.
    fn follow(&mut self, sample: Option<S>, mut status: SampleStatus) -> Outlook<H, S> {
        let (expected, [last, ..]) = (self.next.predicted, self.signal.values);
        let y = sample.map(|x| clamp(narrow(x - self.anchor), LARGEST));
        let size = narrow(sample.unwrap_or(self.anchor)).abs();
        let size = smaller(size, LARGEST);
        let average = self.signal.slow;
        if let Some(y) = y.filter(|_| status == SampleStatus::Taken) {
            status = self.gate.judge(y - average, size, [self.seen, self.taken]);
        }
        let depth = match y {
            Some(value) if self.seen > 3.0 => {
                let held_back = status == SampleStatus::HeldBack;
                self.surprise.observe(Observed { value, expected, last, size, held_back })
            }
            _ => 0.0,
        };
        let mut value = last;
        let after_gap = self.missing > 0.0;
        match (status, y) {
            (SampleStatus::Taken, Some(y)) => (value, self.missing) = (y, 0.0),
            (SampleStatus::Moved, Some(y)) => {
                (value, self.missing, self.taken) = (0.0, 0.0, 0.0);
                self.shift(y);
            }
            _ => {
                self.missing = smaller(self.missing + 1.0, MOST);
                if self.taken > BEGUN && self.missing <= MISSING {
                    value = average + clamp(expected - average, self.gate.range);
                }
            }
        }
        if self.missing == 0.0 {
            self.seen = smaller(self.seen + 1.0, MOST);
            self.taken = smaller(self.taken + 1.0, MOST);
        }
        let moved = status == SampleStatus::Moved;
        if after_gap && status == SampleStatus::Taken {
            self.signal.revise(self.autoregression.revision() * (value - expected));
        }
        let before = self.signal;
        let imputed = self.missing > 0.0;
        let share = if imputed { 0.0 } else { Features::share(self.taken) };
        self.signal.observe(value, share);
        let phi = self.signal.of_td();
        let halves = if moved {
            self.td.begin();
            false
        } else {
            self.td.observe(self.growth, &before.of_td(), value - before.slow, &phi)
        };
        if !imputed {
            self.autoregression.learn(&before.of_autoregression(), value - before.mean);
        }
        self.refresh(share);
        let (taken, follows, factor) = (self.taken, !moved, self.td.factor);
        let moment = Moment { value, taken, follows, factor, halves, imputed };
        let pad = RESOLUTION * self.gate.range + narrow(epsilon::<S>(ROUNDING)) * size;
        let (signal, phi) = (&self.signal, self.td.clipped(&phi));
        let (lags, turn) = (signal.of_autoregression(), self.turn as usize);
        let observe = |h: usize, belief: &mut Belief| {
            let gamma = belief.gamma();
            let td = signal.slow + (1.0 - gamma * (1.0 - SLOW)) * dot(&belief.td, &phi);
            let regression =
                signal.mean + dot(self.reads.get(h).unwrap_or(&self.autoregression.weights), &lags);
            let experts = [signal.possible(td), signal.possible(regression), value];
            (gamma, belief.observe(moment, gamma, experts, h == turn % Self::TURNS))
        };
        let mut predictions = [Self::NOTHING; H];
        let horizons = self.horizons.iter_mut().zip(&mut self.bands).zip(&mut predictions);
        for (h, ((belief, band), out)) in horizons.enumerate() {
            let (gamma, [mean, delta]) = observe(h, belief);
            let [low, high] = band.observe(belief.length, gamma, delta, self.seen, pad);
            let at = |offset: f32| self.anchor + S::from_f64(f64::from(offset));
            out.mean = at(mean);
            out.known = self.seen >= SEEN * belief.length;
            (out.low, out.high) = (at(mean + low), at(mean + high));
        }
        observe(H, &mut self.next);
        self.answer(predictions, depth, status)
    }

    fn answer(
        &mut self,
        mut predictions: [Prediction<S>; H],
        depth: f32,
        status: SampleStatus,
    ) -> Outlook<H, S> {
        for prediction in predictions.iter_mut().filter(|prediction| !prediction.known) {
            let infinity = S::from_f64(f64::INFINITY);
            (prediction.low, prediction.high) = (-infinity, infinity);
        }
        let surprise = surprise::share(depth);
        Outlook { predictions, depth, surprise, recent: self.surprise.recent(surprise), status }
    }

    /// Forgets everything but the horizons and the limits.
    pub fn reset(&mut self) {
        let (horizons, limits) =
            (self.horizons.each_ref().map(|horizon| horizon.length), self.limits);
        *self = Self::EMPTY;
        self.set_horizons(&horizons);
        self.limits = limits;
    }

    /// Computes weights anew: the autoregression's of one horizon, and with every other sample TD's of one. The newest value has
    /// this share of the mean.
    fn refresh(&mut self, share: f32) {
        let turns = if self.seen < START { 2 * (H + 1) } else { 2 * Self::TURNS };
        self.turn = (self.turn + 1) % turns as u32;
        let turn = self.turn as usize;
        let h = turn % Self::TURNS;
        if let (Some(read), Some(belief)) = (self.reads.get_mut(h), self.horizons.get(h)) {
            *read = self.autoregression.of_discount(belief.gamma());
        }
        if turn.is_multiple_of(2) && turn / 2 <= H {
            let belief = self.horizons.get_mut(turn / 2).unwrap_or(&mut self.next);
            if let Some(read) = self.td.value_function(belief.gamma(), share) {
                belief.td = read;
            }
        }
    }

    /// Moves the anchor to a new level; the signal begins again from there.
    fn shift(&mut self, by: f32) {
        self.anchor += S::from_f64(f64::from(by));
        self.signal.begin_at(by);
        self.surprise.shift(by);
        self.horizons.iter_mut().chain([&mut self.next]).for_each(|horizon| horizon.shift(by));
    }
}

/// Refuses horizons of less than 1 or more than 1,000,000 samples.
const fn check(horizons: &[f32]) -> Result<(), Error> {
    let mut rest = horizons;
    while let [horizon, after @ ..] = rest {
        if !horizon.is_finite() {
            return Err(Error::NonFinite { parameter: "horizon" });
        }
        if !(*horizon >= 1.0 && *horizon <= 1e6) {
            let expected = "1 to 1,000,000 samples";
            return Err(Error::OutOfRange { parameter: "horizon", expected });
        }
        rest = after;
    }
    Ok(())
}

fn checked_limits<S: Real>(low: S, high: S) -> Result<[S; 2], Error> {
    if low < high {
        return Ok([low, high]);
    }
    Err(Error::OutOfRange { parameter: "limits", expected: "low < high" })
}

/// Returns the larger number. (Where there is no instruction for it, `f32::max` is the call of a function.)
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the symmetric matrix whose rows are stored up to the diagonal.
#[inline(always)]
fn symmetric<const N: usize>(rows: &[f32]) -> [[f32; N]; N] {
    let (mut matrix, mut entries) = ([[0.0; N]; N], rows.iter());
    for i in 0..N {
        for j in 0..N {
            if j <= i
                && let Some(entry) = entries.next()
            {
                (matrix[i][j], matrix[j][i]) = (*entry, *entry);
            }
        }
    }
    matrix
}

fn narrow<S: Real>(x: S) -> f32 {
    x.to_f64() as f32
}
