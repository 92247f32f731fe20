//! The predictor: samples of a signal in; predictions, bands and a surprise out. Several signals have a predictor each.
//!
//! With each sample it predicts, for each of H horizons, the weighted mean of the next samples: for a horizon of h samples
//! (1 - gamma) sum_k gamma^k x_{t+1+k} with gamma = 1 - 1/h, in the signal's unit.
//!
//! - **Prediction.** Three experts predict: LSTD(lambda) of five features, read for that discount; an autoregression of three
//!   samples and two exponential averages by recursive least squares; and the last value. The share of each follows from how
//!   much better than the long-run mean it has been. None is believed to say more than what as many samples have averaged to.
//!   The feature `long-memory` adds a fourth: an autoregression of 32 samples, learned by a lattice.
//! - **Band.** It contains the return nine times in ten, and makes no assumption about how errors are distributed, or that
//!   they are independent. Until a horizon has been seen ten times, its band is infinite: the long-run mean is not yet known
//!   well enough.
//! - **Surprise.** The errors of the next sample, its level, and how long nothing has changed are compared with their usual
//!   values. The thresholds of 0.99, 0.999 and 0.9999 follow their rates of alarms. A fault that comes again and again becomes
//!   usual, as does a change for good. An event is one alarm, and one more if it comes to pass 0.9999. None of the first 20
//!   samples gives an alarm.
//! - **Glitches.** A sample is held back ([`SampleStatus`]) if it is further from the slow average than eight times the largest
//!   error of the last 1,000 samples or so, and twice the largest distance. Nothing is learned from it, except that events add
//!   to the long-run mean and to the band, the more the more frequent they are; from one in 70 samples on they are data. Of a
//!   signal that is constant otherwise, the third event is. A level that moved is taken with the eighth sample (with the third at
//!   the start). What the sensor cannot measure is never taken ([`Predictor::with_limits`]).
//! - **Gaps.** The prediction of a sample takes its place if it is missing or held back, up to 100 in a row; after that the last
//!   one holds. The first sample after a gap revises the last prediction in it, and predictions are no part of means.
//! - **Any level.** It computes with distances from an anchor, the median of the first three samples: a level of 8,388,608
//!   with a noise of 4 is predicted like one of 0, and one bad sample at power-on changes nothing.
//! - **Any unit** that keeps sizes between 1e-18 and 5e11. Samples beyond 1e12 are held back, each with that status; of a signal that
//!   has come beyond 5e11, or was never as large as 1e-18, no band is known.
//! - **Memory.** It remembers 500 samples, or four of the longest horizons if that is more.
//! - **Not for**: events whose times tell nothing (the mean is as good), horizons that were seen fewer than some ten times, and
//!   signals with a known, long season, which it does not use.
//!
//! `cargo test -p compute --test it predictor -- --nocapture` measures how well it predicts, and its alarms.
//!
//! The name of many predictions at once is nexting: Modayil, White and Sutton (*Multi-timescale nexting in a reinforcement
//! learning robot*, 2014) learn thousands by TD(lambda).

mod autoregression;
mod belief;
mod features;
mod gate;
#[cfg(feature = "long-memory")]
mod lattice;
mod observe;
mod outlook;
mod stored;
mod surprise;
mod td;

pub use gate::SampleStatus;
pub use outlook::{Outlook, Prediction};

use crate::entrywise::{Entrywise as _, entrywise};
use crate::error::Error;
use crate::scalar::Real;
use autoregression::{Autoregression, LAST};
use belief::{Band, Belief};
use core::mem::MaybeUninit;
use features::{Features, M};
use gate::Gate;
#[cfg(feature = "long-memory")]
use lattice::{LAGS, LATTICES, Lattice};
use surprise::Surprise;
use td::Td;

/// Without the feature `long-memory` there is no lattice.
#[cfg(not(feature = "long-memory"))]
const LATTICES: usize = 0;
#[cfg(not(feature = "long-memory"))]
const LAGS: usize = 0;
#[cfg(not(feature = "long-memory"))]
type Lattice = ();

/// TD's context remembers about MEMORY samples, and at least a few of the longest horizons.
const MEMORY: f32 = 500.0;
const HORIZONS: f32 = 4.0;
/// Squares of larger samples, or of signals that are never as large as SMALLEST, would leave the range of `f32`.
const LARGEST: f32 = 1e12;
const SMALLEST: f32 = 1e-18;
/// Samples are counted up to here, where adding 1 still changes an `f32`.
const MOST: f32 = 1e7;

/// Predicts a signal for H horizons. S is the type of samples and answers, `f32` or `f64`. The arithmetic is in `f32` distances from
/// an anchor, so that a large level costs no precision. [The crate](crate) has an example.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predictor<const H: usize = 1, S: Real = f32> {
    /// The least and the largest value that the sensor can measure.
    limits: [S; 2],
    /// Everything else is a distance from here: the median of the first three samples, or the level that the signal moved to.
    anchor: S,
    /// The growth of the factor of all sums: 1 over the context's retention.
    growth: f32,
    /// Counts the samples of two rounds of turns: TD's weights have one in two rounds, the others' and the shares one in each.
    turn: u32,
    state: State<H>,
}

/// All numbers that observing changes, in the order in which they are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State<const H: usize> {
    gate: Gate,
    /// The features of the signal so far; predictions take the place of samples that were not taken.
    signal: Features,
    td: Td,
    autoregression: Autoregression,
    /// The autoregression's weights for each horizon.
    reads: [[f32; M]; H],
    /// The lattice, and its weights for each horizon: nothing without the feature `long-memory`.
    lattice: Lattice,
    lattice_reads: [[f32; LAGS]; H],
    surprise: Surprise,
    horizons: [Belief; H],
    bands: [Band; H],
    /// The next sample, whose errors are the surprise.
    next: Belief,
    /// The second of the first three samples.
    second: f32,
    /// The samples taken in all, and since the signal began or moved; how many samples in a row were not.
    seen: f32,
    taken: f32,
    missing: f32,
}

entrywise!([const H: usize] f32, State<H> {
    gate, signal, td, autoregression, reads, lattice, lattice_reads, surprise, horizons, bands, next, second, seen, taken, missing
});

impl<const H: usize, S: Real> Predictor<H, S> {
    /// Returns a predictor for H horizons of 1 sample or more, of samples in S, or [`Error::NonFinite`] or
    /// [`Error::OutOfRange`], naming `horizon`.
    pub const fn new(horizons: [f32; H]) -> Result<Self, Error> {
        if let Err(error) = check(&horizons) {
            return Err(error);
        }
        let mut new = Self::EMPTY;
        new.set_horizons(&horizons);
        Ok(new)
    }

    /// Does what [`Predictor::new`] does, with the same errors, in the predictor's final place: a chip's stack may have no room for it.
    pub fn new_in(place: &mut MaybeUninit<Self>, horizons: [f32; H]) -> Result<&mut Self, Error> {
        check(&horizons)?;
        let new = place.write(Self::EMPTY);
        new.set_horizons(&horizons);
        Ok(new)
    }

    const EMPTY: Self = Predictor {
        limits: S::INFINITIES,
        anchor: S::ZERO,
        growth: 0.0,
        turn: 0,
        state: State {
            gate: Gate::new(0.0),
            td: Td::NEW,
            autoregression: Autoregression::NEW,
            reads: [LAST; H],
            surprise: Surprise::NEW,
            horizons: [Belief::new(1.0); H],
            bands: [Band::NEW; H],
            next: Belief::new(1.0),
            ..State::ZERO
        },
    };

    /// Gives an empty predictor horizons that were checked.
    const fn set_horizons(&mut self, horizons: &[f32; H]) {
        const { assert!(H > 0 && H < 65536, "there is at least one horizon") }
        let (mut longest, mut h) = (1.0_f32, 0);
        while h < H {
            longest = longest.max(horizons[h]);
            self.state.horizons[h].length = horizons[h];
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
        if self.state.seen < 3.0 {
            let taken = sample.filter(|_| status == SampleStatus::Taken);
            return self.begin(taken, status);
        }
        self.follow(sample, status)
    }

    /// Forgets everything but the horizons and the limits.
    pub fn reset(&mut self) {
        let (horizons, limits) =
            (self.state.horizons.each_ref().map(|horizon| horizon.length), self.limits);
        *self = Self::EMPTY;
        self.set_horizons(&horizons);
        self.limits = limits;
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
