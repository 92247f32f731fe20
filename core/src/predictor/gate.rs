//! The gate that every sample passes before anything is learned from it.

use super::{larger, smaller};
use crate::entrywise::entrywise;

/// A sample is held back if its distance from the slow average is more than both of these multiples: of the largest recent error
/// of the prediction, and of the largest recent distance.
const ERRORS: f32 = 8.0;
const RANGES: f32 = 2.0;
/// Before this many samples the errors of the predictions tell nothing: distances take their place.
const BEGUN: f32 = 200.0;
/// The least range, as a share of the sample's size: below it a difference may be rounding.
const LEAST: f32 = 1e-6;
/// The gate remembers the range of about this many samples.
const MEMORY: f32 = 1000.0;
/// The signal has moved after this many samples in a row were held back; fewer are enough at its start.
const PATIENCE: f32 = 8.0;
const PATIENCE_AT_START: f32 = 3.0;
const START: f32 = 16.0;
/// Events are counted, and forgotten in time. They are data when they are this many of the memory, one in 70 samples, and three
/// at least; of a signal that is constant otherwise, three are enough. (As they are forgotten, the third counts less than 3.)
const EVENT_MEMORY: f32 = 2000.0;
const EVENTS: f32 = 28.0;
const THIRD: f32 = 2.3;
/// Samples held back lie together if the last differs from the first by less than the width and this share of its distance.
const TOGETHER: f32 = 0.25;
/// A sample takes the place of the first one if its distance is more than this many times as large.
const ANOTHER: f32 = 4.0;

/// How the predictor used a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(u8)]
pub enum SampleStatus {
    /// The predictor learned from the sample.
    #[default]
    Taken = 0,
    /// There was no sample, or it was NaN; its prediction takes its place.
    Missing = 1,
    /// The sample is a probable glitch, outside of the limits, or beyond 1e12; its prediction takes its place.
    HeldBack = 2,
    /// The predictor learned from the sample, and the signal has moved to its level for good.
    Moved = 3,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gate {
    /// The largest distance from the slow average, and the largest error of a prediction, which shrink slowly.
    pub(super) range: f32,
    error: f32,
    /// +1 for each sample held back, -0.5 for each one accepted.
    held: f32,
    /// The events; each counts less as time passes. And what they add to a sample in the mean.
    events: f32,
    mean: f32,
    /// The first sample of the event, as a distance from the slow average, and 1 while no sample was accepted since.
    first: f32,
    in_event: f32,
}

/// A sample that the gate judges.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    /// The distance from the slow average, and from the prediction.
    pub(super) distance: f32,
    pub(super) error: f32,
    /// The size of the sample itself.
    pub(super) size: f32,
    /// The samples before it in all, and since the signal began or moved.
    pub(super) seen: f32,
    pub(super) taken: f32,
}

impl Gate {
    pub(super) const fn new(range: f32) -> Self {
        Gate { range, error: range, held: 0.0, events: 0.0, mean: 0.0, first: 0.0, in_event: 0.0 }
    }

    /// Judges a sample.
    #[inline]
    pub(super) fn judge(&mut self, sample: Arrival) -> SampleStatus {
        let Arrival { distance, error, size, seen, taken } = sample;
        let (far, error) = (distance.abs(), error.abs());
        let least = LEAST * size;
        let is_constant = self.range <= least;
        let usual = if seen < BEGUN { self.range } else { smaller(self.error, self.range) };
        let width = larger(larger(ERRORS * usual, RANGES * self.range), ERRORS * least);
        let memory = smaller(seen, EVENT_MEMORY);
        self.events *= 1.0 - 1.0 / EVENT_MEMORY;
        if far <= width {
            let shrinks = smaller(seen, MEMORY);
            let stays = shrinks / (shrinks + 2.0);
            (self.range, self.error) =
                (larger(far, self.range * stays), larger(error, self.error * stays));
            (self.held, self.in_event) = (larger(self.held - 0.5, 0.0), 0.0);
            self.mean -= self.mean / memory;
            return SampleStatus::Taken;
        }
        let together = (distance - self.first).abs() <= width + TOGETHER * far;
        if self.in_event == 0.0 {
            (self.events, self.first) = (self.events + 1.0, distance);
        } else if far > ANOTHER * self.first.abs() {
            self.first = distance;
        }
        (self.held, self.in_event) = (self.held + 1.0, 1.0);
        let row = self.held >= if taken < START { PATIENCE_AT_START } else { PATIENCE };
        let data = THIRD + if is_constant { 0.0 } else { EVENTS / EVENT_MEMORY * memory };
        if !row && self.events < data {
            return SampleStatus::HeldBack;
        }
        (self.range, self.error) = (larger(self.range, far), larger(self.error, error));
        (self.held, self.in_event, self.mean) = (0.0, 0.0, 0.0);
        if row && together { SampleStatus::Moved } else { SampleStatus::Taken }
    }

    /// Takes what an event adds to a sample; `seen` samples were before.
    pub(super) fn add(&mut self, event: f32, seen: f32) {
        self.mean += (event - self.mean) / smaller(seen, EVENT_MEMORY);
    }

    /// Returns what events add to the mean, as far as they are data: few may be glitches.
    pub(super) fn events_mean(&self) -> f32 {
        let share = smaller(self.events / EVENTS, 1.0);
        share * share * self.mean
    }
}

entrywise!([] f32, Gate { range, error, held, events, mean, first, in_event });
