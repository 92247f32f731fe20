//! The classical algorithms, on transitions: the references that the constructions of
//! [`crate::constructions`] are tested against (the files of the two folders bear the same names),
//! and LSTD, the limit that their iterations approach.
//!
//! # Step sizes
//!
//! Each update is w <- w + C (b - A w) for the A and b of its algorithm: it converges to A^-1 b exactly
//! if |1 - mu| < 1 for every eigenvalue mu of C A. With C = alpha I, alpha > 0:
//!
//! | algorithm | A | what is small enough |
//! |---|---|---|
//! | TD(0) | mean of phi (phi - gamma phi')^T | alpha < 2 (1 - gamma) / ((1 + gamma)^2 max \|phi\|^2), where the phi' of the transitions are distributed as their phi (a long trajectory) |
//! | residual gradient | mean of (phi - gamma phi') (phi - gamma phi')^T | alpha < 2 / max \|phi - gamma phi'\|^2, whatever the transitions |
//! | TD(lambda) | mean of e (phi - gamma phi')^T | as for TD(0), times 1 - lambda, is where to start: e may be 1 / (1 - lambda) times as long as phi |
//! | average reward | mean of phi (phi - phi')^T | no such bound; a constant that the features can represent has mu = 0 |
//!
//! So features k times as large need an alpha k^2 times smaller. Of a short context A may have eigenvalues
//! for which no alpha converges.

pub mod average_reward;
pub mod lstd;
pub mod residual_gradient;
pub mod td0;
pub mod td_lambda;

use crate::error::Error;
use crate::linalg::{add_scaled, check_finite, mul_vector};
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
    check_finite(&next, "w")?;
    Ok(next)
}
