//! The classical algorithms, on transitions: the references that the constructions of
//! [`crate::constructions`] are tested against (the files of the two folders bear the same names),
//! and LSTD, the limit that their iterations approach.

pub mod average_reward;
pub mod lstd;
pub mod residual_gradient;
pub mod td0;
pub mod td_lambda;

use crate::error::Error;
use crate::linalg::{add_scaled, mul_vector};
use crate::scalar::Scalar;
use nalgebra::{SMatrix, SVector};

/// w + (1/n) C sum: the preconditioned batch step that all algorithms share.
fn batch_step<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    sum: &SVector<S, D>,
    n: usize,
) -> Result<SVector<S, D>, Error> {
    if n == 0 {
        return Err(Error::Empty { parameter: "transitions" });
    }
    let mut next = *w;
    add_scaled(&mut next, S::ONE / S::from_count(n as u64), &mul_vector(c, sum));
    if !crate::linalg::is_finite(&next) {
        return Err(Error::NonFinite { parameter: "w" });
    }
    Ok(next)
}
