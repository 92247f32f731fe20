//! A lattice: an autoregression of many samples, with the feature `long-memory`.
//!
//! Each stage predicts, by one reflection coefficient k, what the stages before it left of a sample (f) and of the sample that
//! many samples earlier (b), each from the other. With distances x from the mean,
//!
//! ```text
//! f_0 = b_0 = x_t        f_m(t) = f_{m-1}(t) - k_m b_{m-1}(t-1)        b_m(t) = b_{m-1}(t-1) - k_m f_{m-1}(t)
//! k_m = 2 sum f_{m-1}(t) b_{m-1}(t-1) / sum (f_{m-1}(t)^2 + b_{m-1}(t-1)^2)
//! ```
//!
//! with sums that forget (Burg's method, as samples come). No k is larger than 1, so the recursion is stable whatever is learned.

use super::smaller;
use crate::entrywise::{Entrywise as _, entrywise};
use crate::linalg::dot_arrays as dot;

/// The number of lattices: it is 0 without the feature.
pub(super) const LATTICES: usize = 1;
/// The samples that it sees.
pub(super) const LAGS: usize = 32;
/// The factor that each sample applies to the weight of the past.
const RETENTION: f32 = 0.9985;
/// At first it remembers a START-th of the n samples: what the first ones leave of a sample is not yet small.
const START: f32 = 2.0;
/// Coefficients are made smaller by this factor: at 1 a sum over the future need not exist.
const SHRINKS: f32 = 0.9999;
/// A stage whose sum of squares is larger begins again: it would leave the range of `f32`.
const LARGEST: f32 = 1e36;
/// A sum over the future is at most this many times what it is of.
const LONGEST: f32 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    /// b_0 to b_{LAGS-1} of the last sample.
    backward: [f32; LAGS],
    /// The sums over f b, and over f^2 + b^2.
    products: [f32; LAGS],
    squares: [f32; LAGS],
    /// The last samples, the latest first, as distances from the mean.
    values: [f32; LAGS],
    /// The autoregression's weights, computed in turns.
    weights: [f32; LAGS],
    /// How many samples in a row were no predictions.
    run: f32,
}

impl Lattice {
    /// Takes the next sample, the n-th, as a distance from the mean, and returns the prediction of the one after it. A stage learns where
    /// none of its samples is `imputed`: predictions are smoother than samples.
    #[inline]
    pub(super) fn observe(&mut self, distance: f32, imputed: bool, n: f32) -> f32 {
        let retention = smaller(RETENTION, 1.0 - START / (n + START));
        self.run = if imputed { 0.0 } else { smaller(self.run + 1.0, LAGS as f32 + 1.0) };
        let mut learning = self.run;
        let (mut forward, mut backward, mut newer, mut next) = (distance, distance, distance, 0.0);
        let Lattice { backward: earlier, products, squares, values, .. } = self;
        let stages = earlier.iter_mut().zip(products).zip(squares).zip(values);
        for (((earlier, product), square), value) in stages {
            let k = coefficient(*product, *square);
            let before = core::mem::replace(earlier, backward);
            learning -= 1.0;
            if learning > 0.0 {
                *product = retention * *product + forward * before;
                *square = retention * *square + (forward * forward + before * before);
                if !(*square < LARGEST) {
                    (*product, *square) = (0.0, 0.0);
                }
            }
            next += k * backward;
            backward = before - k * forward;
            forward -= k * before;
            newer = core::mem::replace(value, newer);
        }
        next
    }

    /// Computes the weights of the samples anew (Levinson's recursion).
    #[inline]
    pub(super) fn refresh(&mut self) {
        let mut weights = [0.0; LAGS];
        for (m, (product, square)) in self.products.iter().zip(self.squares).enumerate() {
            let k = coefficient(*product, square);
            let Some((last, before)) = weights.get_mut(..=m).and_then(|of| of.split_last_mut())
            else {
                continue;
            };
            *last = k;
            // Both ends at once, from the outside to the middle.
            let mut inner = before;
            while let [first, between @ .., last] = inner {
                (*first, *last) = (*first - k * *last, *last - k * *first);
                inner = between;
            }
            if let [middle] = inner {
                *middle -= k * *middle;
            }
        }
        self.weights = weights;
    }

    /// Returns the weights of the last samples that say (1 - gamma) sum_k gamma^k x_{t+1+k}: none, if rounding has spoiled them.
    #[inline]
    pub(super) fn of_discount(&self, gamma: f32) -> [f32; LAGS] {
        let (mut known, mut carried) = (self.weights, 0.0);
        // The sum over the future of what the known samples contribute to it.
        for weight in known.iter_mut().rev() {
            carried = *weight + gamma * carried;
            *weight = carried;
        }
        let rest = 1.0 - gamma * carried;
        let scale = if rest * LONGEST > 1.0 { (1.0 - gamma) / rest } else { 0.0 };
        known.map(|weight| scale * weight)
    }

    /// Begins again after a level that moved, with what was learned.
    pub(super) fn begin(&mut self) {
        *self = Lattice {
            products: self.products,
            squares: self.squares,
            weights: self.weights,
            ..Self::ZERO
        };
    }

    /// Revises the last value, a prediction.
    pub(super) fn revise(&mut self, step: f32) {
        let [last, ..] = &mut self.values;
        *last += step;
    }

    /// Returns what the weights say of the last samples.
    #[inline]
    pub(super) fn predict(&self, weights: &[f32; LAGS]) -> f32 {
        dot(weights, &self.values)
    }
}

/// Returns a reflection coefficient; 0 of a constant.
#[inline]
fn coefficient(product: f32, square: f32) -> f32 {
    2.0 * SHRINKS * product / (square + f32::MIN_POSITIVE)
}

entrywise!([] f32, Lattice { backward, products, squares, values, weights, run });
