//! The sums that are read from a statistic: TD's systems.

use super::{DiscountedView, Memory};
use crate::auxiliary::{FeatureSums, TraceColumn, WeightSums};
use crate::entrywise::entrywise;
use crate::linalg::linear_system::epsilon;
use crate::mask::{TdLambda, TwoTraces};
use crate::scalar::{Real, Scalar};

/// The sums of a context under the mask [`TwoTraces`](crate::mask::TwoTraces), for a discount and a cumulant. Matrices are stored column by
/// column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdSums<S, const D: usize> {
    /// TD's systems for e = phi, lambda = 0, and for both traces.
    pub systems: [TdSystem<S, D>; 3],
    /// 2 F = sum (phi phi^T + phi' phi'^T), its upper triangle.
    pub second_moments: [[S; D]; D],
    /// sum x x^T with x = phi - gamma phi', its upper triangle.
    pub residual_gram: [[S; D]; D],
    /// sum r x, (D), with x as above.
    pub residual_rewards: [S; D],
    /// sum r^2.
    pub squared_rewards: S,
    /// The level m that has been subtracted: r above is r - m (1 - gamma \[not terminal\]), and values are those without m.
    pub level: S,
}

/// What the rewards of a context say of their level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RewardSums<S> {
    /// sum r.
    pub(crate) rewards: S,
    /// sum r^2.
    pub(crate) squares: S,
    /// sum (1 - gamma [not terminal]): the rewards that a value of 1 in each state explains.
    pub(crate) explained: S,
    /// The sum of the transitions' weights, in which importance weights count.
    pub(crate) weight: S,
    /// The sum of the squares of the importance weights; each counts as long as its transition is remembered.
    pub(crate) squared_weights: S,
}

/// A system A w = b whose solution is a fixed point of TD(lambda), with trace e.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdSystem<S, const D: usize> {
    /// A = sum e (phi - gamma phi')^T.
    pub a: [[S; D]; D],
    /// b = sum r e.
    pub b: [S; D],
    /// sum (e - phi)^2.
    pub squares: [S; D],
}

entrywise!([S: Scalar, const D: usize] S, TdSystem<S, D> { a, b, squares });
entrywise!([S: Scalar, const D: usize] S, TdSums<S, D> {
    systems, second_moments, residual_gram, residual_rewards, squared_rewards, level
});

impl<S: Copy, const D: usize> TdSums<S, D> {
    /// Returns the same sums of another type.
    pub fn map<T>(&self, f: impl Fn(S) -> T + Copy) -> TdSums<T, D> {
        let matrix = |m: [[S; D]; D]| m.map(|column| column.map(f));
        let system = |TdSystem { a, b, squares }: TdSystem<S, D>| TdSystem {
            a: matrix(a),
            b: b.map(f),
            squares: squares.map(f),
        };
        TdSums {
            systems: self.systems.map(system),
            second_moments: matrix(self.second_moments),
            residual_gram: matrix(self.residual_gram),
            residual_rewards: self.residual_rewards.map(f),
            squared_rewards: f(self.squared_rewards),
            level: f(self.level),
        }
    }
}

impl<S: Scalar, const D: usize> TdSums<S, D> {
    /// Returns sqrt(F_ii), the root of each feature's sum of squares.
    pub fn roots(&self) -> [S; D] {
        let mut roots = [S::ZERO; D];
        for i in 0..D {
            roots[i] = (S::from_f64(0.5) * self.second_moments[i][i]).sqrt();
        }
        roots
    }
}

impl<R: Real, const D: usize> TdSums<R, D> {
    /// Computes the sums in place, without the level that `level` returns for those of the rewards.
    #[inline(always)]
    pub(crate) fn fill_from<Mem: Memory<R>, const C: usize>(
        &mut self,
        read: &DiscountedView<R, TwoTraces<R>, Mem, D, C>,
        level: impl FnOnce(&RewardSums<R>) -> R,
    ) {
        let r = read.cumulant;
        let (gamma, square) = (read.gamma, read.gamma * read.gamma);
        let one_step = R::ONE - gamma;
        // sum x (1 - gamma [not terminal]), from sum x over all transitions and over those that end an episode.
        let explained = |all: R, at_end: R| one_step * all + gamma * at_end;
        let of_rewards = |at| read.sum(|m| m.auxiliary.rewards.get(r)?.get(at));
        let weights = |at: fn(&WeightSums<R>) -> &R| {
            read.sum(|m| Some(at(m.auxiliary.weights.first()?)))
        };
        let (weight, ends) = (weights(|w| &w.all), weights(|w| &w.at_end));
        let rewards = RewardSums {
            rewards: of_rewards(0),
            squares: read.sum(|m| m.rewards.get(r)?.rewards.first()),
            explained: explained(weight, ends),
            weight,
            squared_weights: weights(|w| &w.squares),
        };
        self.level = level(&rewards);
        let m = self.level;
        let two = R::ONE + R::ONE;
        let squared = explained(one_step * weight, (two - gamma) * ends);
        let left = rewards.squares - m * (two * explained(rewards.rewards, of_rewards(1)) - m * squared);
        // (Rounding may leave something of rewards that the level explains.)
        let rounding = R::from_f64(16.0) * epsilon::<R>(1) * rewards.squares;
        self.squared_rewards = if left > rounding { left } else { R::ZERO };
        let [plain, traces @ ..] = &mut self.systems;
        for j in 0..D {
            for i in 0..D {
                plain.a[j][i] = gamma * read.sum(|m| m.phi_next.get(j)?.phi.get(i));
            }
        }
        for j in 0..D {
            for i in 0..j + 1 {
                // G is symmetric: sum phi phi^T and sum phi' phi'^T, and sum phi phi'^T on both sides of the diagonal.
                let now = read.sum(|m| m.phi.get(j)?.phi.get(i));
                let next = read.sum(|m| m.phi_next.get(j)?.phi_next.get(i));
                let (across, back) = (plain.a[j][i], plain.a[i][j]);
                (plain.a[j][i], plain.a[i][j]) = (now - across, now - back);
                self.residual_gram[j][i] = now - across + (square * next - back);
                self.second_moments[j][i] = now + next;
            }
            let of_feature = |at: fn(&FeatureSums<R>) -> &R| {
                read.sum(|m| Some(at(m.auxiliary.features.get(j)?)))
            };
            let of_level = explained(of_feature(|f| &f.phi), of_feature(|f| &f.at_end));
            plain.b[j] = read.sum(|m| m.rewards.get(r)?.phi.get(j)) - m * of_level;
            let of_next = read.sum(|m| m.rewards.get(r)?.phi_next.get(j))
                - m * (one_step * of_feature(|f| &f.phi_next));
            self.residual_rewards[j] = plain.b[j] - gamma * of_next;
            for (l, system) in traces.iter_mut().enumerate() {
                let column = |at: fn(&TraceColumn<R, D, C>) -> &R| {
                    read.sum(|m| Some(at(m.auxiliary.columns.get(l)?.get(j)?)))
                };
                for i in 0..D {
                    let now = read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.phi.get(i));
                    let next =
                        read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.phi_next.get(i));
                    system.a[j][i] = now - gamma * next;
                }
                let of_level = explained(column(|c| &c.all), column(|c| &c.at_end));
                system.b[j] = read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.rewards.get(r))
                    - m * of_level;
                system.squares[j] = column(|c| &c.square);
            }
        }
    }
}

/// A = sum e (phi - gamma phi')^T, row by row, b = sum r e, and 2 F_ii: of each entry of G its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LstdSystem<S, const D: usize> {
    pub(crate) a: [[S; D]; D],
    pub(crate) b: [S; D],
    /// sum (phi_i^2 + phi'_i^2).
    pub(crate) squares: [S; D],
}

impl<S: Scalar, const D: usize> LstdSystem<S, D> {
    #[inline(always)]
    pub(crate) fn new<Mem: Memory<S>, const C: usize>(
        read: &DiscountedView<S, TdLambda<S>, Mem, D, C>,
    ) -> Self {
        let mut system =
            LstdSystem { a: [[S::ZERO; D]; D], b: [S::ZERO; D], squares: [S::ZERO; D] };
        for j in 0..D {
            for i in 0..D {
                let next = read.sum(|m| m.phi.get(j)?.phi_next.get(i));
                system.a[j][i] = read.sum(|m| m.phi.get(j)?.phi.get(i)) - read.gamma * next;
            }
            system.b[j] = read.sum(|m| m.phi.get(j)?.rewards.get(read.cumulant));
            system.squares[j] = read.sum(|m| m.auxiliary.phi.get(j)?.get(j));
        }
        system
    }
}
