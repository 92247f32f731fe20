//! The normalised read: a context seen in units of its own, so that no scale of features, no length and no
//! step size is left to choose.
//!
//! For n transitions (in a forgetting context the sum of their weights) let F = sum (phi phi^T + phi' phi'^T) / 2.
//! With the root mean squares of each feature, D^-1 = diag(sqrt(F_ii / n)), and of the rewards,
//! rho^2 = (1/n) sum r^2, and with a prior count n_0:
//!
//! ```text
//! C C^T = I + off-diagonal part of D F D / (n + n_0)
//! G~ = T G T^T / (n + n_0)        T = diag(C^-1 D, C^-1 D, 1 / rho)        w = rho D C^-T w~
//! ```
//!
//! C C^T is the matrix of the features' (uncentred) correlations, shrunk towards I as if n_0 transitions
//! had been seen in which they are independent; w~ is what layers read out of G~. They see features of
//! unit second moment, uncorrelated, and rewards of unit size.
//!
//! - A feature, or a reward, measured in units 2^k times as large changes no bit of the values but the
//!   reward's factor. Other factors change roundings alone.
//! - Signs and order of the features change roundings alone.
//! - A feature that is always 0 gets the weight 0 and changes no bit of the others; so do rewards that
//!   are all 0.
//! - C exists for n < d, constant and equal features: n_0 keeps it away from singular, and where n_0 is
//!   lost beside n, a pivot below 2^-20 counts as 2^-20.

mod units;

pub use units::Normalised;

use crate::block_matrix::BlockMatrix;
use crate::context::{Block, Entries, Entry, Read};
use crate::scalar::Scalar;
use crate::value_function::{BoundedValueFunction, REACH, ValueFunction, most_rewards};

/// The least pivot of the decompositions, of features with unit second moment.
const LEAST_PIVOT: f64 = 1.0 / 1_048_576.0;

/// The sums of a context that a normalised read needs: G(gamma), F and sum r^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unnormalised<S, const D: usize> {
    /// G(gamma), whose tokens are (phi; gamma phi'; r).
    pub g: BlockMatrix<S, D>,
    /// 2 F = sum (phi phi^T + phi' phi'^T), its upper triangle, column by column.
    pub second_moments: [[S; D]; D],
    /// sum r^2.
    pub squared_rewards: S,
}

impl<S: Scalar, const D: usize> Unnormalised<S, D> {
    /// The sums of no transition.
    pub const ZERO: Self = Unnormalised {
        g: BlockMatrix::ZERO,
        second_moments: [[S::ZERO; D]; D],
        squared_rewards: S::ZERO,
    };

    /// Returns the root mean square of each feature.
    pub fn root_mean_squares(&self, n: S) -> [S; D] {
        let share = S::from_f64(0.5) / n;
        let mut out = [S::ZERO; D];
        for i in 0..D {
            out[i] = (share * self.second_moments[i][i]).sqrt();
        }
        out
    }
}

/// Returns how far the features of a query reach.
#[inline(always)]
pub(crate) fn reach<S: Scalar, const D: usize>(mut root_mean_squares: [S; D]) -> [S; D] {
    // (`map` may stay a call, which a kernel must not make.)
    for x in &mut root_mean_squares {
        *x *= S::from_f64(REACH);
    }
    root_mean_squares
}

/// Keeps a value function of n transitions within what the context has seen: features within twice their root mean
/// square, values within what the largest reward max |r| could add up to.
#[inline(always)]
pub(crate) fn bounded<S: Scalar, const D: usize>(
    value_function: ValueFunction<S, D>,
    root_mean_squares: [S; D],
    n: S,
    gamma: S,
    largest_reward: S,
) -> BoundedValueFunction<S, D> {
    BoundedValueFunction {
        value_function,
        reach: reach(root_mean_squares),
        bound: largest_reward * most_rewards(n, gamma),
    }
}

/// Reads a context into an [`Unnormalised`].
pub(crate) struct Whole;

impl<S: Scalar, const D: usize> Entries<S, D> for Whole {
    type Output = Unnormalised<S, D>;

    #[inline(always)]
    fn take(self, read: &Read<'_, S, impl Entry<S, D>>) -> Unnormalised<S, D> {
        // Columns that are there: zeros would be a call on a chip. And no reference: what is returned would be copied.
        let reward = read.column((Block::Reward, 0));
        let mut out = Unnormalised {
            g: BlockMatrix { phi: [reward; D], phi_next: [reward; D], reward },
            second_moments: [[S::ZERO; D]; D],
            squared_rewards: read.squared_rewards(),
        };
        for j in 0..D {
            out.g.phi[j] = read.column((Block::Phi, j));
        }
        for j in 0..D {
            out.g.phi_next[j] = read.column((Block::PhiNext, j));
        }
        for j in 0..D {
            for i in 0..=j {
                out.second_moments[j][i] = read.second_moment(i, j);
            }
        }
        out
    }
}

/// 1 where x is above 0, 0 elsewhere.
#[inline(always)]
fn is_positive<S: Scalar>(x: S) -> S {
    let mut out = S::ZERO;
    for lane in 0..S::LANES {
        if x.lane(lane) > Scalar::ZERO {
            out.set_lane(lane, Scalar::ONE);
        }
    }
    out
}

/// 1 / x of x >= 0; 0 where that is not finite.
#[inline(always)]
fn inverse<S: Scalar>(x: S) -> S {
    let mut out = S::ONE / x;
    for lane in 0..S::LANES {
        if !out.lane(lane).is_finite() {
            out.set_lane(lane, Scalar::ZERO);
        }
    }
    out
}
