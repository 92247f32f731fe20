//! The gate that every sample passes before anything is learned from it.

use super::State;

/// A sample further from the slow average than this many times the recent largest distance is held back.
const WIDTH: f32 = 8.0;
/// The signal has moved when so many samples in a row were held back: they are no glitch.
const PATIENCE: f32 = 8.0;
/// The least distance, as a share of the average: a signal that was constant may change by `WIDTH` times that.
const LEAST: f32 = 1.0 / 1024.0;
/// The range of about so many samples is remembered.
const MEMORY: f32 = 1000.0;
/// Sums of squares of larger samples would leave the range of `f32`.
const LARGEST: f32 = 1e12;

/// The gate says what becomes of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// There is none, or it is no number: a prediction stands for it.
    Missing,
    /// Held back as a probable glitch; its prediction is used instead.
    Glitch,
    /// It is taken.
    Taken(f32),
    /// It is taken, and the signal has moved to it: what lies before tells nothing about its level.
    Moved(f32),
}

/// Tells glitches from samples: the recent range of the signal, and how many samples were held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// The largest distance from the slow average, which shrinks slowly.
    range: f32,
    /// +1 for each sample held back, -0.5 for each one accepted.
    held: f32,
    /// The last one held back.
    candidate: f32,
}

impl Gate {
    pub(super) const NEW: Self = Gate { range: 0.0, held: 0.0, candidate: 0.0 };

    /// Returns a value, or the end of the recent range that is nearest.
    pub(super) fn near(&self, value: f32, average: f32) -> f32 {
        average + crate::value_function::clamp(value - average, self.range)
    }

    /// Judges the sample after `taken` others, of which `average` is the slow average.
    pub(super) fn judge(&mut self, sample: Option<f32>, average: f32, taken: f32) -> Verdict {
        let Some(x) = sample.filter(|x| x.abs() <= LARGEST) else {
            return if sample.is_some_and(|x| !x.is_nan()) {
                Verdict::Glitch
            } else {
                Verdict::Missing
            };
        };
        if taken == 0.0 {
            self.range = x.abs();
            return Verdict::Taken(x);
        }
        let distance = (x - average).abs();
        let least = LEAST * average.abs();
        let width = WIDTH * if self.range > least { self.range } else { least };
        if distance <= width || self.range == 0.0 {
            self.held = if self.held > 0.5 { self.held - 0.5 } else { 0.0 };
            let shrinks = taken.min(MEMORY);
            let range = self.range * (shrinks / (shrinks + 2.0));
            self.range = if distance > range { distance } else { range };
            return Verdict::Taken(x);
        }
        let together = (x - self.candidate).abs() <= width;
        (self.held, self.candidate) = (self.held + 1.0, x);
        if self.held < PATIENCE {
            return Verdict::Glitch;
        }
        self.held = 0.0;
        if together {
            return Verdict::Moved(x);
        }
        self.range = distance;
        Verdict::Taken(x)
    }
}

impl State for Gate {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Gate { range, held, candidate } = self;
        [range, held, candidate].into_iter().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glitch_is_held_back_and_a_level_that_moved_is_taken() {
        let mut gate = Gate::NEW;
        for t in 0..100 {
            let x = 20.0 + (t % 7) as f32;
            assert_eq!(gate.judge(Some(x), 23.0, t as f32), Verdict::Taken(x));
        }
        let before = gate;
        for glitch in [65535.0, -65535.0, 1e30, f32::INFINITY, f32::MAX] {
            assert_eq!(gate.judge(Some(glitch), 23.0, 100.0), Verdict::Glitch);
        }
        assert_eq!(gate.judge(Some(f32::NAN), 23.0, 100.0), Verdict::Missing);
        assert_eq!(gate.judge(None, 23.0, 100.0), Verdict::Missing);
        assert_eq!(gate.range, before.range);
        gate = before;
        let moved =
            (0..10).position(|_| gate.judge(Some(500.0), 23.0, 100.0) == Verdict::Moved(500.0));
        assert_eq!(moved, Some(7));
        // One that swings more widely than before has not moved: its range has grown.
        gate = before;
        let swings =
            (0..8).map(|t| gate.judge(Some(if t % 2 == 0 { 500.0 } else { -500.0 }), 23.0, 100.0));
        assert_eq!(swings.last(), Some(Verdict::Taken(-500.0)));
        assert_eq!(gate.judge(Some(500.0), 23.0, 100.0), Verdict::Taken(500.0));
    }
}
