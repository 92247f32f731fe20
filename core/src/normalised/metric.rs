use super::{LEAST_PIVOT, Unnormalised, inverse, is_positive};
use crate::block_matrix::BlockMatrix;
use crate::layer::product;
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::transition::Token;

/// T^T T / (n + n_0), in the units of the context: the inverse of diag(F', F', (1 + n_0 / n) sum r^2), where F' is
/// F with its diagonal 1 + n_0 / n times as large. A product with it costs O(D^2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric<S, const D: usize> {
    /// L of F' = L diag(pivots) L^T below its diagonal, row by row.
    l: [[S; D]; D],
    inverse_pivots: [S; D],
    inverse_reward: S,
}

impl<S: Scalar, const D: usize> Metric<S, D> {
    /// Returns the metric of n transitions (or weights that add up to n), with a prior count n_0 > 0.
    pub fn new(of: &Unnormalised<S, D>, n: S, prior_count: S) -> Self {
        let stretch = (n + prior_count) / n;
        let mut metric = Metric {
            l: of.second_moments,
            inverse_pivots: [S::ZERO; D],
            inverse_reward: inverse(stretch * of.squared_rewards),
        };
        for i in 0..D {
            // First L times the pivots, of 2 F'.
            for j in 0..i {
                for k in 0..j {
                    let (above, here) = (metric.l[j][k], metric.l[i][k]);
                    metric.l[i][j] -= above * here;
                }
            }
            let square = stretch * metric.l[i][i];
            let mut pivot = square;
            for j in 0..i {
                let scaled = metric.l[i][j];
                metric.l[i][j] *= metric.inverse_pivots[j];
                pivot -= scaled * metric.l[i][j];
            }
            metric.inverse_pivots[i] = inverse(pivot.max(S::from_f64(LEAST_PIVOT) * square));
        }
        for x in &mut metric.inverse_pivots {
            *x *= S::from_f64(2.0);
        }
        metric
    }

    /// Returns how many features were ever seen.
    pub fn features_seen(&self) -> S {
        let mut seen = S::ZERO;
        for x in self.inverse_pivots {
            seen += is_positive(x);
        }
        seen
    }

    /// Returns its product with a column.
    #[inline(always)]
    pub fn mul(&self, x: &Token<S, D, 1>) -> Token<S, D, 1> {
        let mut out = *x;
        self.solve(&mut out.phi);
        self.solve(&mut out.phi_next);
        out.rewards[0] *= self.inverse_reward;
        out
    }

    /// M Q x, of Q's numbers.
    #[cfg_attr(target_os = "none", inline(never))]
    #[cfg_attr(not(target_os = "none"), inline(always))]
    pub(super) fn read(&self, q: &[S; 5], x: &Token<S, D, 1>) -> Token<S, D, 1> {
        self.mul(&product(*q, x))
    }

    /// X M, as (M X^T)^T.
    pub fn mul_right(&self, x: &BlockMatrix<S, D>) -> BlockMatrix<S, D> {
        let mut transposed = x.transpose();
        for column in transposed.columns_mut() {
            *column = self.mul(column);
        }
        transposed.transpose()
    }

    /// F'^-1 x, in place.
    #[inline(always)]
    pub(super) fn solve(&self, x: &mut [S; D]) {
        for i in 0..D {
            for k in 0..i {
                keep_apart::<S>();
                let x_k = x[k];
                x[i] -= self.l[i][k] * x_k;
            }
        }
        for i in 0..D {
            x[i] *= self.inverse_pivots[i];
        }
        for i in (0..D).rev() {
            for k in 0..i {
                keep_apart::<S>();
                let x_i = x[i];
                x[k] -= self.l[i][k] * x_i;
            }
        }
    }
}
