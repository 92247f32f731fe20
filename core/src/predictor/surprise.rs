//! How surprising the last samples were, as a tail probability.

use super::State;
use crate::scalar::{Real, Scalar};

/// How much the newest error counts among the recent ones: about the last ten.
const RECENT: f32 = 0.15;
/// The share of a statistic's values beyond where its tail begins.
const TAIL: f32 = 0.1;
/// The largest number below 1.
pub(super) const CERTAIN: f32 = 1.0 - f32::EPSILON / 2.0;

/// The upper tail of a statistic: where its last tenth begins, and by how much it is exceeded there in the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tail {
    start: f32,
    excess: f32,
}

impl Tail {
    /// Takes a value, and returns -ln of the share of values that are larger. `rate` is the weight of the newest.
    fn observe(&mut self, y: f32, rate: f32) -> f32 {
        let is_beyond = y > self.start;
        let start = self.start;
        // -ln 0.1 where the tail begins, and linear on both sides of it.
        let depth = if is_beyond {
            2.302_585 + (y - start) / self.excess
        } else {
            let below = 2.302_585 * y / start;
            if below > 0.0 { below } else { 0.0 }
        };
        let step = rate * 4.0 * self.excess;
        self.start += if is_beyond { (1.0 - TAIL) * step } else { -TAIL * step };
        if is_beyond {
            let part = rate / TAIL;
            self.excess += part.min(0.5) * (y - start - self.excess);
        }
        depth
    }
}

/// The errors of a signal's next value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Surprise {
    /// The long-run mean of squared errors.
    square: f32,
    recent_mean: f32,
    recent_square: f32,
    tails: [Tail; 4],
    /// How many errors there were.
    count: f32,
    latest: f32,
}

impl Surprise {
    pub(super) const NEW: Self = Surprise {
        square: 0.0,
        recent_mean: 0.0,
        recent_square: 0.0,
        tails: [
            Tail { start: 0.3, excess: 0.2 },
            Tail { start: 1.7, excess: 0.5 },
            Tail { start: 0.7, excess: 0.3 },
            Tail { start: 3.0, excess: 1.0 },
        ],
        count: 0.0,
        latest: 0.0,
    };

    /// Takes the error of the value before, and returns how surprising it and those before it were, in [0, 1).
    pub(super) fn observe(&mut self, error: f32, memory: f32) -> f32 {
        let square = error * error;
        self.count = (self.count + 1.0).min(memory);
        let rate = 1.0 / self.count;
        if self.count == 1.0 {
            (self.square, self.recent_square) = (square, square);
        }
        self.recent_mean += RECENT * (error - self.recent_mean);
        self.recent_square += RECENT * (square - self.recent_square);
        if !(self.square > 0.0) {
            self.square = square;
            return 0.0;
        }
        let spread = self.recent_square / self.square;
        let mean = self.recent_mean * self.recent_mean / self.square;
        let quiet = -Real::ln(spread + 1e-9);
        let rate = if rate > 0.05 { 0.05 } else { rate };
        let mut deepest = 0.0;
        let [of_mean, of_spread, of_quiet, of_all] = &mut self.tails;
        for (tail, y) in [(of_mean, mean), (of_spread, spread), (of_quiet, quiet)] {
            let depth = tail.observe(y, rate);
            deepest = if depth > deepest { depth } else { deepest };
        }
        let depth = of_all.observe(deepest, rate);
        self.square += (1.0 / self.count) * (square - self.square);
        let within = if depth < 24.0 { depth } else { 24.0 };
        self.latest = (1.0 - Scalar::exp2(-core::f32::consts::LOG2_E * within)).min(CERTAIN);
        self.latest
    }

    pub(super) fn latest(&self) -> f32 {
        self.latest
    }
}

impl State for Surprise {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Surprise { square, recent_mean, recent_square, tails, count, latest } = self;
        [square, recent_mean, recent_square, count, latest].into_iter().for_each(&mut *visit);
        for Tail { start, excess } in tails {
            [start, excess].into_iter().for_each(&mut *visit);
        }
    }
}
