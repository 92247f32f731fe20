//! The sums that are read from a statistic: TD's systems.

use super::{DiscountedView, Memory};
use crate::auxiliary::{FeatureSums, TraceColumn, WeightSums};
use crate::entrywise::entrywise;
use crate::linalg::linear_system::epsilon;
use crate::mask::{TdLambda, TwoTraces};
use crate::scalar::{Real, Scalar};

/// A feature whose root of the sum of squares is at most this counts as never seen: it was forgotten long ago, and the
/// inverse of the sum would overflow.
pub(crate) const fn least_root<R>() -> f64 {
    if size_of::<R>() == 4 { 6e-20 } else { 1e-150 }
}

/// The largest product of a feature and a reward that may be 0 because both were forgotten.
pub(crate) const fn least_product<R>() -> f64 {
    if size_of::<R>() == 4 { 1e-34 } else { 1e-290 }
}

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
    /// The level m of the values: r above is r - m c, with c = 1 - gamma \[not terminal\].
    pub level: S,
    /// The level of the features, (D), at which values have the level m: phi - gamma phi' above is this less c times it.
    pub feature_levels: [S; D],
}

/// What the rewards of a context say of their level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RewardSums<S> {
    /// sum r.
    pub(crate) rewards: S,
    /// sum (r - m c)^2 with m = sum r / sum c and c = 1 - gamma [not terminal].
    pub(crate) left: S,
    /// The sum of the transitions' weights, in which importance weights count.
    pub(crate) weight: S,
    /// The sum of the squares of the importance weights; each counts as long as its transition is remembered.
    pub(crate) squared_weights: S,
    /// The number of states seen, (sum n_i)^2 / sum n_i^2 with n_i transitions from state i, if features tell states apart.
    pub(crate) states: Option<S>,
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
    systems, second_moments, residual_gram, residual_rewards, squared_rewards, level, feature_levels
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
            feature_levels: self.feature_levels.map(f),
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

    /// Returns true if no two features were ever nonzero in the same state, as with a feature for each state.
    #[inline(never)]
    pub(crate) fn tells_states_apart(&self) -> bool {
        let mut sum = S::ZERO;
        for j in 0..D {
            for i in 0..j {
                sum += self.second_moments[j][i].abs();
            }
        }
        sum == S::ZERO
    }
}

impl<R: Real, const D: usize> TdSums<R, D> {
    /// Computes the sums in place, for features and rewards without their level; of that counts the share that `share` returns for
    /// the sums of the rewards.
    #[inline(always)]
    pub(crate) fn fill_from<Mem: Memory<R>, const C: usize>(
        &mut self,
        read: &DiscountedView<R, TwoTraces<R>, Mem, D, C>,
        share: impl FnOnce(&RewardSums<R>) -> R,
    ) {
        let r = read.cumulant;
        let (gamma, square) = (read.gamma, read.gamma * read.gamma);
        let (one_step, two) = (R::ONE - gamma, R::ONE + R::ONE);
        // sum x c with c = 1 - gamma [not terminal], from sum x over all transitions and over those that end an episode.
        let explained = |all: R, at_end: R| one_step * all + gamma * at_end;
        let of_rewards = |at| read.sum(|m| m.auxiliary.rewards.get(r)?.get(at));
        let weights =
            |at: fn(&WeightSums<R>) -> &R| read.sum(|m| Some(at(m.auxiliary.weights.first()?)));
        let (weight, ends) = (weights(|w| &w.all), weights(|w| &w.at_end));
        // sum c, sum c^2 and sum r c.
        let all = explained(weight, ends);
        let squares = explained(one_step * weight, (two - gamma) * ends);
        let (rewards, squared_rewards) =
            (of_rewards(0), read.sum(|m| m.rewards.get(r)?.rewards.first()));
        let of_rewards = explained(rewards, of_rewards(1));
        // sum (r - m c)^2. (Rounding may leave something of rewards that a level explains.)
        let left = |m: R| {
            let left = squared_rewards - m * (two * of_rewards - m * squares);
            let rounding = R::from_f64(16.0) * epsilon::<R>(1) * squared_rewards;
            if left > rounding { left } else { R::ZERO }
        };
        for j in 0..D {
            for i in 0..j + 1 {
                let now = read.sum(|m| m.phi.get(j)?.phi.get(i));
                let next = read.sum(|m| m.phi_next.get(j)?.phi_next.get(i));
                self.second_moments[j][i] = now + next;
            }
        }
        let mut states = None;
        if self.tells_states_apart() {
            let (mut sum, mut square) = (R::ZERO, R::ZERO);
            for j in 0..D {
                let phi = read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi));
                let squares = read.sum(|m| m.phi.get(j)?.phi.get(j));
                if squares > R::ZERO {
                    let n = phi * (phi / squares);
                    (sum, square) = (sum + n, square + n * n);
                }
            }
            // (Otherwise features are any numbers, or some states have none.)
            states = (sum > R::from_f64(0.99) * weight).then(|| sum * sum / square);
        }
        let mut share_over_all = R::ZERO;
        if all > R::ZERO {
            let left = left(rewards / all);
            let squared_weights = weights(|w| &w.squares);
            let sums = RewardSums { rewards, left, weight, squared_weights, states };
            share_over_all = share(&sums) / all;
        }
        let level = share_over_all * rewards;
        (self.level, self.squared_rewards) = (level, left(level));
        // sum e c, for each trace, and sum x c with x = phi - gamma phi'.
        let (mut of_traces, mut of_residual) = ([[R::ZERO; D]; 3], [R::ZERO; D]);
        for j in 0..D {
            let feature = |at: fn(&FeatureSums<R>) -> &R| {
                read.sum(|m| Some(at(m.auxiliary.features.get(j)?)))
            };
            let (phi, next) = (feature(|f| &f.phi), gamma * feature(|f| &f.phi_next));
            let of_phi = explained(phi, feature(|f| &f.at_end));
            self.feature_levels[j] = share_over_all * (phi - next);
            of_traces[0][j] = of_phi;
            of_residual[j] = of_phi - one_step * next;
            for (l, of_trace) in of_traces.iter_mut().skip(1).enumerate() {
                let column = |at: fn(&TraceColumn<R, D, C>) -> &R| {
                    read.sum(|m| Some(at(m.auxiliary.columns.get(l)?.get(j)?)))
                };
                of_trace[j] = explained(column(|c| &c.all), column(|c| &c.at_end));
            }
        }
        let TdSums { systems: [plain, traces @ ..], feature_levels, .. } = self;
        let [of_plain, of_traces @ ..] = &of_traces;
        for j in 0..D {
            for i in 0..D {
                plain.a[j][i] = gamma * read.sum(|m| m.phi_next.get(j)?.phi.get(i));
            }
        }
        for j in 0..D {
            let level_j = feature_levels[j];
            let of_j = of_residual[j] - squares * level_j;
            for i in 0..j + 1 {
                // G is symmetric: sum phi phi^T and sum phi' phi'^T, and sum phi phi'^T on both sides of the diagonal.
                let now = read.sum(|m| m.phi.get(j)?.phi.get(i));
                let next = read.sum(|m| m.phi_next.get(j)?.phi_next.get(i));
                let (across, back) = (plain.a[j][i], plain.a[i][j]);
                plain.a[j][i] = now - across - of_plain[i] * level_j;
                if i < j {
                    plain.a[i][j] = now - back - of_plain[j] * feature_levels[i];
                }
                self.residual_gram[j][i] = now - across + (square * next - back)
                    - (of_residual[i] * level_j + feature_levels[i] * of_j);
            }
            let of_phi = read.sum(|m| m.rewards.get(r)?.phi.get(j));
            let of_next = gamma * read.sum(|m| m.rewards.get(r)?.phi_next.get(j));
            plain.b[j] = of_phi - level * of_plain[j];
            self.residual_rewards[j] = of_phi - of_next - (level * of_j + level_j * of_rewards);
            for (l, (system, of_level)) in traces.iter_mut().zip(of_traces).enumerate() {
                for i in 0..D {
                    let now = read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.phi.get(i));
                    let next =
                        read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.phi_next.get(i));
                    system.a[j][i] = now - gamma * next - of_level[i] * level_j;
                }
                let b = read.sum(|m| m.auxiliary.columns.get(l)?.get(j)?.sums.rewards.get(r));
                system.b[j] = b - level * of_level[j];
                system.squares[j] = read.sum(|m| Some(&m.auxiliary.columns.get(l)?.get(j)?.square));
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
