//! How surprising the last samples were, as a depth: -ln of a tail probability.

use super::{larger, smaller};
use crate::chip::once_on_chip;
use crate::entrywise::{Entrywise as _, entrywise};
use crate::scalar::{Real, Scalar};

/// The weights of the newest error in the mean of the recent ones, and in their two mean squares.
const RECENT_MEAN: f32 = 0.03;
const RECENT_SQUARES: [f32; 2] = [0.1, 0.03];
/// The weight of the statistics that lie in their tails, apart from the deepest, which has the weight 1.
const OTHERS: f32 = 0.6;
/// The memories, in samples, of the usual values: of the tails, short and long, and of the levels. The smaller depth counts.
const SHORT: f32 = 500.0;
const LONG: f32 = 8000.0;
/// An error counts as at most this many usual ones.
const LARGEST_ERROR: f32 = 100.0;
/// Squares below this count as 0.
const TINY: f32 = 1e-30;
/// The share of a statistic's values that its tail holds, and -ln of it.
const TAIL: f32 = 0.1;
const TAIL_DEPTH: f32 = core::f32::consts::LN_10;
/// An excess counts as this many times the mean one at most. (With 4 the tails of clean signals came out too light.)
const LARGEST: f32 = 8.0;
/// Tails of so few samples come out too heavy by this much.
const DEEPER: f32 = 1.1;
/// A sample has not changed if it did by less than this share of the usual change.
const UNCHANGED: f32 = 0.01;
/// Runs of RUN unchanged samples are usual in any signal; the mean excess of the logarithm of longer runs has a lower bound.
const RUN: f32 = 8.0;
const RUN_EXCESS: f32 = 0.25;
/// Runs are remembered four times as long as the rest.
const RUN_RATE: f32 = 0.25;
/// Beyond this depth only the logarithm counts: the thresholds reach it in a few events.
const KNEE: f32 = 3.0 * TAIL_DEPTH;
/// A threshold rises by at most RISES with each sample beyond it.
const RISES: f32 = 0.5;
/// An event begins with an alarm, and lasts while samples are as surprising, and 25 to 50 samples more. It passes each of these
/// once, and its samples teach the tails by this share: else faults would raise the thresholds as if each sample was one.
const ALARMS: [f32; 2] = [0.999, 0.9999];
const WITHIN: f32 = 0.5;
/// A depth just below the first.
const NO_ALARM: f32 = 2.999 * TAIL_DEPTH;
/// No alarm is given before this many samples.
const BEGUN: f32 = 20.0;
/// A larger surprise is searched in at least this many samples, and at most twice as many.
const RECENT: f32 = 25.0;
/// The largest number below 1.
const CERTAIN: f32 = 1.0 - f32::EPSILON / 2.0;

/// The upper tail of a statistic: where its last tenth begins, and by how much that is exceeded there in the mean.
///
/// The start is a quantile, tracked in steps that do not depend on how far a value exceeds it, so a large fault does
/// not become usual.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    start: f32,
    excess: f32,
}

impl Tail {
    const NEW: Self = Tail { start: 0.0, excess: 0.5 };

    /// Takes a value, and returns by how much it exceeds the start, and the mean excess before it.
    #[inline]
    fn observe(&mut self, y: f32, steps: Steps) -> (f32, f32) {
        let (beyond, excess) = (y - self.start, self.excess);
        if beyond > 0.0 {
            self.start += steps.up * excess;
            self.excess += steps.excess * (smaller(beyond, LARGEST * excess) - excess);
        } else {
            self.start -= steps.down * excess;
        }
        (beyond, excess)
    }

    once_on_chip! {
        /// Takes a value, and returns by how many mean excesses it exceeds the start.
        fn excesses(&mut self, y: f32, steps: Steps) -> f32 {
            let (beyond, excess) = self.observe(y, steps);
            beyond / excess
        }
    }
}

/// The steps of a tail: its start moves by shares of the mean excess, and the mean excess by a share of its error.
#[derive(Clone, Copy)]
struct Steps {
    up: f32,
    down: f32,
    excess: f32,
}

impl Steps {
    /// Returns the steps of a memory of 1 / `rate` samples.
    #[inline]
    fn of(rate: f32) -> Self {
        let start = smaller(8.0 * rate, 0.3);
        let excess = smaller(2.0 / TAIL * rate, 0.2);
        Steps { up: (1.0 - TAIL) * start, down: TAIL * start, excess }
    }
}

/// Returns how deep in the tail a value lies: -ln of the share of larger values, as if the tail were exponential.
#[inline]
fn depth(excesses: f32) -> f32 {
    TAIL_DEPTH + if excesses > 0.0 { DEEPER } else { 1.0 / 1.5 } * excesses
}

/// Returns about ln x of a normal number, apart from a constant: linear between powers of two. A tail needs no more.
#[inline]
fn logarithm(x: f32) -> f32 {
    const UNIT: f32 = core::f32::consts::LN_2 / (1 << (f32::MANTISSA_DIGITS - 1)) as f32;
    UNIT * x.to_bits() as i32 as f32
}

/// The depths of the thresholds whose alarm rates are one in 100, 1,000 and 10,000 samples.
///
/// Each threshold follows its alarm rate: it rises with each alarm, and falls by that rate of a step with each sample. So the rate
/// is right in the long run whatever the tails look like (Gibbs and Candes, *Adaptive conformal inference under distribution
/// shift*, 2021).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Thresholds([f32; 3]);

impl Thresholds {
    const NEW: Self = Thresholds([2.0 * TAIL_DEPTH, 3.0 * TAIL_DEPTH, 4.0 * TAIL_DEPTH]);

    #[inline]
    fn observe(&mut self, depth: f32) {
        const SHARES: [f32; 3] = [TAIL * TAIL, TAIL * TAIL * TAIL, TAIL * TAIL * TAIL * TAIL];
        const LEAST: [f32; 3] = [1.3 * TAIL_DEPTH, 2.3 * TAIL_DEPTH, 3.3 * TAIL_DEPTH];
        for ((threshold, share), least) in self.0.iter_mut().zip(SHARES).zip(LEAST) {
            if depth > *threshold {
                *threshold += (1.0 - share) * smaller(depth - *threshold, RISES);
            } else {
                *threshold -= share * RISES;
            }
            *threshold = larger(*threshold, least);
        }
    }

    /// Returns -ln of the share of deeper samples: each threshold is a tenth of the one before, with straight lines between them.
    #[inline]
    fn says(&self, depth: f32) -> f32 {
        let (mut from, mut says) = (TAIL_DEPTH, TAIL_DEPTH);
        for threshold in self.0 {
            let to = larger(threshold, from + 0.05);
            if depth <= to {
                let above = TAIL_DEPTH * (depth - from) / (to - from);
                return if depth > from { says + above } else { depth };
            }
            (from, says) = (to, says + TAIL_DEPTH);
        }
        says + (depth - from)
    }
}

/// The errors of a signal's next value, and its level.
///
/// The mean of the recent errors, their mean squares over a short and a longer time, the inverse of the first (a sensor may be too
/// quiet), and the level on either side are compared with their usual values, each by its tail. The deepest of them, and a part of
/// the others, is compared with its own tail, and so is the length of a run of unchanged samples: a sensor may be stuck.
/// [`Thresholds`] turn the result into a rate of false alarms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Surprise {
    mean: f32,
    squares: [f32; 2],
    /// The usual squared error, over a longer time.
    usual: f32,
    level: f32,
    variance: f32,
    /// With a short and with a long memory.
    tails: [[Tail; 2]; 6],
    deepest: [Tail; 2],
    run_tail: Tail,
    /// The unchanged samples in a row, and the usual change.
    run: f32,
    change: f32,
    thresholds: Thresholds,
    /// The largest surprise in the previous block of samples, that in the present block, and the number of samples in it.
    before: f32,
    block: f32,
    in_block: f32,
    count: f32,
}

/// A sample and the predictions for it.
#[derive(Clone, Copy)]
pub(super) struct Observed {
    pub(super) value: f32,
    pub(super) expected: f32,
    pub(super) last: f32,
    /// The size of the sample itself, for its rounding.
    pub(super) size: f32,
    pub(super) held_back: bool,
}

impl Surprise {
    pub(super) const NEW: Self = Surprise {
        tails: [[Tail::NEW; 2]; 6],
        deepest: [Tail { start: 0.6, excess: 0.9 }; 2],
        run_tail: Tail::NEW,
        thresholds: Thresholds::NEW,
        ..Self::ZERO
    };

    /// Takes a sample, and returns how surprising it and those before it were, as a depth.
    #[inline]
    pub(super) fn observe(&mut self, seen: Observed) -> f32 {
        let count = self.count;
        self.count = smaller(count + 1.0, super::MOST);
        let short = 1.0 / smaller(count + 1.0, SHORT);
        let long = if count < SHORT { short } else { 1.0 / smaller(count + 1.0, LONG) };
        let mut error = seen.value - seen.expected;
        let mut square = error * error;
        let largest = LARGEST_ERROR * LARGEST_ERROR * self.usual;
        if count > 20.0 && self.usual > TINY && square > largest {
            error = crate::value_function::clamp(error, Scalar::sqrt(largest));
            square = largest;
        }
        self.mean += RECENT_MEAN * (error - self.mean);
        for (recent, rate) in self.squares.iter_mut().zip(RECENT_SQUARES) {
            *recent += larger(rate, short) * (square - *recent);
        }
        let largest = if count > 20.0 { 100.0 * self.usual + f32::MIN_POSITIVE } else { f32::MAX };
        self.usual += short * (smaller(square, largest) - self.usual);
        // What lies below may be rounding.
        let rounding = 1e-7 * seen.size;
        let floor = 1e-8 * self.usual + rounding * rounding + f32::MIN_POSITIVE;
        let squares = self.squares.map(|square| square + floor);
        let [size, of_longer] = squares.map(logarithm);
        // The 1e-6 bounds mean^2 from below, relative to the mean square.
        let mean = logarithm(self.mean * self.mean + 1e-6 * squares[0]);
        let mut distance = seen.value - self.level;
        if !seen.held_back {
            self.level += short * distance;
            distance = seen.value - self.level;
            self.variance += short * (distance * distance - self.variance);
        }
        let level = distance / Scalar::sqrt(self.variance + floor);
        let recent = larger(self.before, self.block);
        let learns = if recent > ALARMS[0] { WITHIN } else { 1.0 };
        let steps = [short, long].map(|rate| Steps::of(learns * rate));
        let (mut deepest, mut sums) = ([f32::MIN; 2], [0.0; 2]);
        let statistics = [mean, size, of_longer, -size, level, -level];
        for (tails, y) in self.tails.iter_mut().zip(statistics) {
            let into = deepest.iter_mut().zip(&mut sums);
            for ((tail, steps), (deepest, sum)) in tails.iter_mut().zip(steps).zip(into) {
                if count == 0.0 {
                    tail.start = y;
                }
                let (beyond, excess) = tail.observe(y, steps);
                let mut excesses = beyond;
                // (Most values are in no tail, and the unit of their distance from it matters less than a division costs.)
                if beyond > 0.0 {
                    excesses = beyond / excess;
                    *sum += excesses;
                }
                *deepest = larger(*deepest, excesses);
            }
        }
        let mut excesses = f32::MAX;
        let together = deepest.into_iter().zip(sums).map(|(deepest, sum)| deepest + OTHERS * sum);
        for ((tail, steps), y) in self.deepest.iter_mut().zip(steps).zip(together) {
            excesses = smaller(excesses, tail.excesses(y, steps));
        }
        let run = self.run(seen, short, learns * long);
        let depth = larger(depth(larger(excesses, run)), 0.0);
        // The tails of the first samples are not known.
        let depth = if count < BEGUN { smaller(depth, 2.0 * TAIL_DEPTH) } else { depth };
        let depth = if depth > KNEE { KNEE * (1.0 + Real::ln(depth / KNEE)) } else { depth };
        let (mut says, mut learned) = (self.thresholds.says(depth), depth);
        let passed = if recent > ALARMS[1] { f32::MAX } else { 4.0 * TAIL_DEPTH };
        if recent > ALARMS[0] && says > NO_ALARM && says <= passed {
            // The event goes on.
            let [_, threshold, _] = self.thresholds.0;
            self.block = larger(self.block, recent);
            (says, learned) = (NO_ALARM, smaller(depth, threshold));
        }
        self.thresholds.observe(learned);
        says
    }

    /// Returns by how many mean excesses the run of unchanged samples is longer than usual; the least number unless there is one.
    #[inline]
    fn run(&mut self, seen: Observed, short: f32, long: f32) -> f32 {
        let change = (seen.value - seen.last).abs();
        if seen.held_back {
            self.run = 0.0;
        } else if change <= UNCHANGED * self.change {
            self.run = smaller(self.run + 1.0, super::MOST);
        } else {
            self.run = 0.0;
            let usual =
                if self.change > 0.0 { smaller(change, 10.0 * self.change) } else { change };
            self.change += larger(short, 0.02) * (usual - self.change);
        }
        self.run_tail.excess = larger(self.run_tail.excess, RUN_EXCESS);
        // The logarithm of a usual run counts as 0. The samples of a run are one event: the later ones teach less.
        let (mut length, mut rate) = (0.0, RUN_RATE * long);
        if self.run > RUN {
            length = Real::ln(self.run / RUN);
            rate *= 3.0 * RUN / (2.0 * RUN + self.run);
        }
        let excesses = self.run_tail.excesses(length, Steps::of(rate));
        if self.run > RUN && self.count > 100.0 { excesses } else { f32::MIN }
    }

    /// Returns the largest surprise of the last 25 to 50 samples before this one, of this surprise.
    #[inline]
    pub(super) fn recent(&mut self, surprise: f32) -> f32 {
        let recent = larger(self.before, self.block);
        self.in_block += 1.0;
        self.block = larger(self.block, surprise);
        if self.in_block >= RECENT {
            (self.before, self.block, self.in_block) = (self.block, 0.0, 0.0);
        }
        recent
    }

    pub(super) fn shift(&mut self, by: f32) {
        self.level -= by;
    }
}

/// Returns the share of less surprising samples, in [0, 1), from a depth.
pub(super) fn share(depth: f32) -> f32 {
    smaller(1.0 - Scalar::exp2(-core::f32::consts::LOG2_E * smaller(depth, 24.0)), CERTAIN)
}

entrywise!([] f32, Tail { start, excess });
entrywise!([] f32, Thresholds { 0 });
entrywise!([] f32, Surprise {
    tails,
    deepest,
    run_tail,
    thresholds,
    mean,
    squares,
    usual,
    level,
    variance,
    run,
    change,
    before,
    block,
    in_block,
    count
});
