//! A linear value function, v(s) = <w, phi(s)>.

use crate::error::{Error, Result, ensure};
use crate::linalg::{dot_arrays, is_finite, zeros};
use crate::scalar::Scalar;
use crate::transition::FeatureVector;
use nalgebra::SVector;

/// v(s) = <w, phi(s)>: what a linear transformer computes from a context, and what linear TD learns.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ValueFunction<S: Scalar, const D: usize> {
    /// The weight vector w, (D); for a transformer its implicit weight vector.
    pub weights: SVector<S, D>,
}

impl<S: Scalar, const D: usize> ValueFunction<S, D> {
    /// Returns the value function of a transformer whose output is TF_L = -<u, z_q>: a query (phi; 0; 0) meets only the
    /// first D entries of u.
    /// Returns [`Error::NonFinite`] if the layers blew up.
    pub fn from_readout(u: &[S]) -> Result<Self> {
        let mut weights = zeros::<S, D, 1>();
        for (weight, u) in weights.iter_mut().zip(u) {
            *weight = -*u;
        }
        Self::of_finite(weights)
    }

    /// Returns the value function of these weights, or [`Error::NonFinite`] if the layers blew up.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn of_finite(weights: SVector<S, D>) -> Result<Self> {
        ensure(is_finite(&weights), Error::NonFinite { parameter: "an implicit weight" })?;
        Ok(ValueFunction { weights })
    }

    /// Returns the value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        dot_arrays(&self.weights.data.0[0], phi.as_array())
    }
}

/// v(s) = level + <w, phi(s)>, which does not extrapolate beyond its context: each feature of a query and the value are clipped to
/// what the context makes plausible. The weights alone give no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClippedValueFunction<S: Scalar, const D: usize> {
    /// The weights w, (D).
    pub weights: SVector<S, D>,
    /// The value where all features are 0, in the reward's units.
    pub level: S,
    /// Largest absolute value of each feature of a query, in the feature's units, (D); larger ones are clipped to it.
    pub feature_clip: [S; D],
    /// The lowest and the highest value, in the reward's units.
    pub value_clip: [S; 2],
}

/// A general value function (Sutton et al., 2011) that a context is read for: the expected discounted sum of one cumulant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gvf<S> {
    /// The index of the reward, 0 to C - 1 in a context of C cumulants.
    pub cumulant: usize,
    /// The discount, in \[0, 1).
    pub gamma: S,
}

impl<S: Scalar, const D: usize> ClippedValueFunction<S, D> {
    /// Clips each feature of a query at sqrt(2 F_ii), the root of the sum of its squares over phi and phi' (`roots` has
    /// sqrt(F_ii), (D)), and values at the largest distance from the level that n rewards (all that were observed, also those that a
    /// context has forgotten) of the size `most` can add up to. With few transitions, a feature that happened to be small does
    /// not count a hundredfold.
    #[inline(always)]
    pub fn new(weights: SVector<S, D>, level: S, roots: [S; D], n: S, gamma: S, most: S) -> Self {
        // (`map` may stay a call, which a kernel must not make.)
        let mut feature_clip = roots;
        for x in &mut feature_clip {
            *x *= S::from_f64(core::f64::consts::SQRT_2);
        }
        // Half a reward after the first transition, 1 / (1 - gamma) rewards after many.
        let far = most * (n / (n * (S::ONE - gamma) + gamma) * (n / (n + S::ONE)));
        let value_clip = [level - far, level + far];
        ClippedValueFunction { weights, level, feature_clip, value_clip }
    }

    /// Returns the value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        let mut clipped = *phi.as_array();
        for i in 0..D {
            clipped[i] = clamp(clipped[i], self.feature_clip[i]);
        }
        let [low, high] = self.value_clip;
        let value = self.level + dot_arrays(&self.weights.data.0[0], &clipped);
        -(-value.max(low)).max(-high)
    }
}

/// Returns x clipped to [-bound, bound].
#[inline(always)]
pub(crate) fn clamp<S: Scalar>(x: S, bound: S) -> S {
    -(-x.max(-bound)).max(-bound)
}
