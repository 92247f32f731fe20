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

/// A linear value function that does not extrapolate beyond its context: each feature of a query and the value are
/// clipped to what the context makes plausible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClippedValueFunction<S: Scalar, const D: usize> {
    /// The value function without clipping.
    pub value_function: ValueFunction<S, D>,
    /// Largest absolute value of each feature of a query, in the feature's units, (D); larger ones are clipped to it.
    pub feature_clip: [S; D],
    /// Largest absolute value of the result, in the reward's units.
    pub value_clip: S,
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
    /// sqrt(F_ii), (D)), and clips values at the largest discounted sum of rewards of the largest size seen, max |r|, in n
    /// transitions (all that were observed, also those that a context has forgotten). With few transitions, a feature that
    /// happened to be small does not count a hundredfold.
    #[inline(always)]
    pub fn new(
        value_function: ValueFunction<S, D>,
        roots: [S; D],
        n: S,
        gamma: S,
        max_abs_reward: S,
    ) -> Self {
        // (`map` may stay a call, which a kernel must not make.)
        let mut feature_clip = roots;
        for x in &mut feature_clip {
            *x *= S::from_f64(core::f64::consts::SQRT_2);
        }
        // Half a reward after the first transition, 1 / (1 - gamma) rewards after many.
        let most_rewards = n / (n * (S::ONE - gamma) + gamma) * (n / (n + S::ONE));
        let value_clip = max_abs_reward * most_rewards;
        ClippedValueFunction { value_function, feature_clip, value_clip }
    }

    /// Returns the value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        let mut clipped = *phi.as_array();
        for i in 0..D {
            clipped[i] = clamp(clipped[i], self.feature_clip[i]);
        }
        clamp(self.value_function.at(&clipped), self.value_clip)
    }
}

/// Returns x clipped to [-bound, bound].
#[inline(always)]
pub(crate) fn clamp<S: Scalar>(x: S, bound: S) -> S {
    -(-x.max(-bound)).max(-bound)
}
