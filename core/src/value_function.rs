//! A linear value function, v(s) = <w, phi(s)>.

use crate::error::Error;
use crate::linalg::{dot_arrays, is_finite, zeros};
use crate::scalar::Scalar;
use crate::transition::FeatureVector;
use nalgebra::SVector;

/// v(s) = <w, phi(s)>: what a linear transformer computes from a context, and what linear TD learns.
///
/// ```
/// use ictd_core::ValueFunction;
/// use ictd_core::nalgebra::SVector;
///
/// let value = ValueFunction { weights: SVector::from([2.0, -1.0]) };
/// assert_eq!(value.at(&[0.5, 3.0]), -2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ValueFunction<S: Scalar, const D: usize> {
    /// The (implicit) weight vector w, (D).
    pub weights: SVector<S, D>,
}

impl<S: Scalar, const D: usize> ValueFunction<S, D> {
    /// From the vector u with TF_L = -<u, z_q>, or its first D entries at least: the query
    /// (phi; 0; 0) meets no other.
    pub(crate) fn from_readout<const K: usize>(u: &SVector<S, K>) -> Result<Self, Error> {
        let mut weights = zeros::<S, D, 1>();
        for i in 0..D {
            weights[i] = -u[i];
        }
        if is_finite(&weights) {
            Ok(ValueFunction { weights })
        } else {
            Err(Error::NonFinite { parameter: "implicit weights" })
        }
    }

    /// The value of the state with features phi, (D).
    #[inline(always)]
    pub fn at(&self, phi: &impl FeatureVector<S, D>) -> S {
        dot_arrays(&self.weights.data.0[0], phi.as_array())
    }
}
