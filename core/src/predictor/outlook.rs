//! The predictor's answers.

use super::SampleStatus;
use crate::scalar::Real;

/// A prediction of the weighted mean of the next samples, and a band that contains this mean nine times in ten.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Prediction<S: Real = f32> {
    /// The predicted weighted mean of the next samples, in the signal's unit.
    pub mean: S,
    /// The lower end of the band; minus infinity while nothing is known.
    pub low: S,
    /// The upper end of the band; infinity while nothing is known.
    pub high: S,
    /// True once the band has ends: the horizon has been seen ten times, and the signal's sizes are between 1e-18 and 5e11.
    pub known: bool,
}

/// The predictor's answer to a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outlook<const H: usize = 1, S: Real = f32> {
    /// A prediction for each horizon.
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
