use super::td0;
use crate::layer::Layer;
use crate::scalar::Scalar;
use nalgebra::SMatrix;

/// The corollary for TD(lambda): Theorem 1's parameters, under the mask
/// [`TdLambda`](crate::attention::TdLambda), which carries the eligibility trace.
///
/// Its iteration is [`crate::td::td_lambda::update`].
pub fn td_lambda<S: Scalar, const D: usize, const K: usize>(c: &SMatrix<S, D, D>) -> Layer<S, K> {
    td0(c)
}
