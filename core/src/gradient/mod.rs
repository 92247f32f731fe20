//! Reverse mode, by hand, beside its forward pass: the value of a prompt and its derivatives with
//! respect to the parameters, the query and the context.
//!
//! Notation: a bar is an adjoint, X-bar = dTF_L/dX.

pub mod linear;
pub mod softmax;

use crate::layer::Layer;
use crate::linalg::zeros;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use heapless::Vec;
use nalgebra::SVector;

/// TF_L(Z_0) of one prompt, and its derivatives.
///
/// C is the capacity for stored layers, N for context columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient<S: Scalar, const K: usize, const C: usize, const N: usize> {
    /// TF_L(Z_0).
    pub value: S,
    /// dTF_L/dP_l and dTF_L/dQ_l for each stored layer, (K, K) each: summed over its L uses if
    /// autoregressive.
    pub layers: Vec<Layer<S, K>, C>,
    /// dTF_L/dZ_0, (K, n + 1): the context's columns and, as the query's column, dTF_L/dz_q.
    pub prompt: Prompt<S, K, N>,
}

impl<S: Scalar, const K: usize, const C: usize, const N: usize> Gradient<S, K, C, N> {
    /// dTF_L/dphi for the query's features phi, (D): the first D entries of dTF_L/dz_q.
    pub fn query_features<const D: usize>(&self) -> SVector<S, D> {
        let mut out = zeros::<S, D, 1>();
        for (to, from) in out.iter_mut().zip(self.prompt.query().iter()) {
            *to = *from;
        }
        out
    }
}
