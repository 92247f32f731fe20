//! How surprising the last samples were, as a tail probability.

use super::State;
use crate::scalar::{Real, Scalar};

/// How much the newest error counts among the recent ones, in their mean and in their mean square.
const RECENT_MEAN: f32 = 0.05;
const RECENT_SQUARE: f32 = 0.15;
/// The share of a statistic's values that its tail holds, and -ln of it.
const TAIL: f32 = 0.1;
const TAIL_DEPTH: f32 = core::f32::consts::LN_10;
/// The memory, in samples, of a tail's start; its mean excess has half that memory. (With 2,000 a fault was usual for
/// the next 800 samples: of those that came again 4 % gave an alarm at 0.999, not 24 %.)
const USUAL: f32 = 500.0;
/// An excess counts as this many times the mean one at most. (With 4 the tails of clean signals came out too light.)
const LARGEST: f32 = 8.0;
/// Tails of so few samples come out too heavy by this much.
const DEEPER: f32 = 1.1;
/// The largest number below 1.
pub(super) const CERTAIN: f32 = 1.0 - f32::EPSILON / 2.0;

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

    /// Takes a value after `count` others, and returns how deep in the tail it lies: -ln of the share of larger values,
    /// as if the tail were exponential.
    fn observe(&mut self, y: f32, count: f32) -> f32 {
        if count == 0.0 {
            self.start = y;
        }
        let rate = 1.0 / (count + 1.0).min(USUAL);
        let (beyond, step) = (y - self.start, (8.0 * rate).min(0.3) * self.excess);
        if beyond > 0.0 {
            let depth = TAIL_DEPTH + DEEPER * beyond / self.excess;
            self.start += (1.0 - TAIL) * step;
            self.excess +=
                (2.0 * rate / TAIL).min(0.2) * (beyond.min(LARGEST * self.excess) - self.excess);
            depth
        } else {
            self.start -= TAIL * step;
            TAIL_DEPTH + beyond / (1.5 * self.excess)
        }
    }
}

/// The errors of a signal's next value.
///
/// The mean of the recent ones, their mean square, and its inverse (a sensor that is stuck is too quiet) are held against
/// what is usual, each by the tail of its logarithm. The deepest of the three is held against its own
/// tail: so a threshold of the surprise is a rate of false alarms, whatever the errors' distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Surprise {
    mean: f32,
    square: f32,
    tails: [Tail; 3],
    deepest: Tail,
    /// How many errors there were, up to [`USUAL`].
    count: f32,
    pub(super) latest: f32,
}

impl Surprise {
    pub(super) const NEW: Self = Surprise {
        mean: 0.0,
        square: 0.0,
        tails: [Tail::NEW; 3],
        deepest: Tail { start: 3.0, excess: 1.0 },
        count: 0.0,
        latest: 0.0,
    };

    /// Takes an error, and returns how surprising it and those before it were, in [0, 1).
    pub(super) fn observe(&mut self, error: f32) -> f32 {
        let weight = RECENT_SQUARE.max(1.0 / (self.count + 1.0));
        self.mean += RECENT_MEAN * (error - self.mean);
        self.square += weight * (error * error - self.square);
        if !(self.square > f32::MIN_POSITIVE) {
            return self.latest;
        }
        let size = Real::ln(self.square);
        // The 1e-6 bounds ln(mean^2) from below, relative to the mean square.
        let mean = Real::ln(self.mean * self.mean / self.square + 1e-6) + size;
        let mut deepest = 0.0_f32;
        for (tail, y) in self.tails.iter_mut().zip([mean, size, -size]) {
            deepest = deepest.max(tail.observe(y, self.count));
        }
        let depth = self.deepest.observe(deepest, self.count + 10.0).clamp(0.0, 24.0);
        self.count = (self.count + 1.0).min(USUAL);
        self.latest = (1.0 - Scalar::exp2(-core::f32::consts::LOG2_E * depth)).min(CERTAIN);
        self.latest
    }
}

impl State for Surprise {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Surprise { mean, square, tails, deepest, count, latest } = self;
        [mean, square, count, latest].into_iter().for_each(&mut *visit);
        for Tail { start, excess } in tails.iter_mut().chain([deepest]) {
            [start, excess].into_iter().for_each(&mut *visit);
        }
    }
}
