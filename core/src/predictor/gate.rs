//! The gate that every sample passes before anything is learned from it.

use super::{larger, smaller};
use crate::entrywise::entrywise;

/// A sample further from the slow average than this many times the recent range is held back.
const WIDTH: f32 = 8.0;
/// The least range, as a share of the sample's size: below it a difference may be rounding.
const LEAST: f32 = 1e-6;
/// The gate remembers the range of about this many samples.
const MEMORY: f32 = 1000.0;
/// The signal has moved after this many samples in a row were held back; fewer are enough at its start.
const PATIENCE: f32 = 8.0;
const PATIENCE_AT_START: f32 = 3.0;
const START: f32 = 16.0;
/// Events on the same side whose sizes agree up to the factor ALIKE count together, and are forgotten in time. Events become data
/// when their count reaches a limit: the third of three within about 1,000 samples does.
const ALIKE: f32 = 4.0;
const EVENT_MEMORY: f32 = 2000.0;
const EVENTS: f32 = 2.3;
/// Samples held back lie together if they differ by less than the width and this share of their distance.
const TOGETHER: f32 = 0.25;

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
    /// The largest distance from the slow average, which shrinks slowly.
    pub(super) range: f32,
    /// +1 for each sample held back, -0.5 for each one accepted.
    held: f32,
    /// The events like the candidate; each counts less as time passes.
    events: f32,
    /// The last one held back, as a distance from the slow average, and 1 while no sample was accepted since.
    candidate: f32,
    in_event: f32,
}

impl Gate {
    pub(super) const fn new(range: f32) -> Self {
        Gate { range, held: 0.0, events: 0.0, candidate: 0.0, in_event: 0.0 }
    }

    /// Judges a sample at a distance from the slow average. The counts are the samples before it in all, and since the signal
    /// began or moved; `size` is the size of the sample itself.
    #[inline]
    pub(super) fn judge(
        &mut self,
        distance: f32,
        size: f32,
        [seen, taken]: [f32; 2],
    ) -> SampleStatus {
        let least = LEAST * size;
        let width = WIDTH * if self.range > least { self.range } else { least };
        let far = distance.abs();
        self.events *= 1.0 - 1.0 / EVENT_MEMORY;
        if far <= width {
            self.held = larger(self.held - 0.5, 0.0);
            let shrinks = smaller(seen, MEMORY);
            self.range = larger(far, self.range * (shrinks / (shrinks + 2.0)));
            self.in_event = 0.0;
            return SampleStatus::Taken;
        }
        let ratio = distance / self.candidate;
        let alike = ratio > 1.0 / ALIKE && ratio < ALIKE;
        if self.in_event == 0.0 || !alike {
            self.events = if alike { self.events + 1.0 } else { 1.0 };
        }
        let together = (distance - self.candidate).abs() <= width + TOGETHER * far;
        (self.held, self.candidate, self.in_event) = (self.held + 1.0, distance, 1.0);
        let row = self.held >= if taken < START { PATIENCE_AT_START } else { PATIENCE };
        if !row && self.events < EVENTS {
            return SampleStatus::HeldBack;
        }
        (self.held, self.in_event, self.range) = (0.0, 0.0, larger(self.range, far));
        if row && together { SampleStatus::Moved } else { SampleStatus::Taken }
    }
}

entrywise!([] f32, Gate { range, held, events, candidate, in_event });
