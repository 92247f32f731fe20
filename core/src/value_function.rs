//! A linear value function, v(s) = <w, phi(s)>.

use crate::error::Error;
use crate::linalg::{dot_arrays, is_finite, zeros};
use crate::scalar::Scalar;
use crate::transition::FeatureVector;
use nalgebra::SVector;

/// v(s) = <w, phi(s)>: what a linear transformer computes from a context, and what linear TD learns.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ValueFunction<S: Scalar, const D: usize> {
    /// The (implicit) weight vector w, (D).
    pub weights: SVector<S, D>,
}

impl<S: Scalar, const D: usize> ValueFunction<S, D> {
    /// Returns the value function of the vector u with TF_L = -<u, z_q>, of which the query (phi; 0; 0) meets the first D
    /// entries alone, or [`Error::NonFinite`] if the layers blew up.
    pub fn from_readout(u: &[S]) -> Result<Self, Error> {
        let mut weights = zeros::<S, D, 1>();
        for (weight, u) in weights.iter_mut().zip(u) {
            *weight = -*u;
        }
        if is_finite(&weights) {
            Ok(ValueFunction { weights })
        } else {
            Err(Error::NonFinite { parameter: "implicit weights" })
        }
    }

    /// Returns the value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        dot_arrays(&self.weights.data.0[0], phi.as_array())
    }
}

/// A value function kept within what its context has seen: each feature of a query within a reach, and the value within a
/// bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedValueFunction<S: Scalar, const D: usize> {
    /// The value function without them.
    pub value_function: ValueFunction<S, D>,
    /// The largest size of each feature; larger ones count as that.
    pub reach: [S; D],
    /// The largest size of a value.
    pub bound: S,
}

impl<S: Scalar, const D: usize> BoundedValueFunction<S, D> {
    /// Keeps a value function of n transitions within what they have shown: features within twice their root mean squares,
    /// (D), and values within what the largest reward max |r| could add up to.
    #[inline(always)]
    pub fn of_context(
        value_function: ValueFunction<S, D>,
        root_mean_squares: [S; D],
        [n, gamma, largest_reward]: [S; 3],
    ) -> Self {
        // (`map` may stay a call, which a kernel must not make.)
        let mut reach = root_mean_squares;
        for x in &mut reach {
            *x *= S::from_f64(REACH);
        }
        // Half a reward after the first transition, 1 / (1 - gamma) rewards after many.
        let most_rewards = n / (n * (S::ONE - gamma) + gamma) * (n / (n + S::ONE));
        let bound = largest_reward * most_rewards;
        BoundedValueFunction { value_function, reach, bound }
    }

    /// Returns the value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        clamp(self.value_function.at(&within(phi.as_array(), &self.reach)), self.bound)
    }
}

#[inline(always)]
pub(crate) fn within<S: Scalar, const D: usize>(phi: &[S; D], reach: &[S; D]) -> [S; D] {
    let mut within = *phi;
    for i in 0..D {
        within[i] = clamp(within[i], reach[i]);
    }
    within
}

/// How many root mean squares of what was seen a feature may reach; uniform and binary features stay below. (After
/// one or two transitions a feature that happened to be small there would count a hundredfold.)
pub(crate) const REACH: f64 = 2.0;

/// Returns the root mean squares of n transitions' features, of the roots of their sums of squares. Of more than 64
/// transitions it divides by 64 alone, so that a query in a rare state is not clipped for ever.
#[inline(always)]
pub fn root_mean_squares<S: Scalar, const D: usize>(mut roots: [S; D], n: S) -> [S; D] {
    let share = (S::ONE / n.sqrt()).max(S::from_f64(0.125));
    for root in &mut roots {
        *root *= share;
    }
    roots
}

#[inline(always)]
pub(crate) fn clamp<S: Scalar>(x: S, bound: S) -> S {
    -(-x.max(-bound)).max(-bound)
}
