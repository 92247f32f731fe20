//! The sums that are read from a statistic: TD's systems.

use super::{DiscountedView, Memory};
use crate::entrywise::entrywise;
use crate::mask::{Td0Trace, TdLambda};
use crate::scalar::Scalar;

/// A feature whose root of the sum of squares is at most this counts as never seen: it was forgotten long ago, and the
/// inverse of the sum would overflow.
pub(crate) const fn least_root<R>() -> f64 {
    if size_of::<R>() == 4 { 6e-20 } else { 1e-150 }
}

/// The largest product of a feature and a reward that may be 0 because both were forgotten.
pub(crate) const fn least_product<R>() -> f64 {
    if size_of::<R>() == 4 { 1e-34 } else { 1e-290 }
}

/// The sums of a context under the mask [`Td0Trace`](crate::mask::Td0Trace), for a discount and a cumulant. Matrices are stored column by
/// column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdSums<S, const D: usize> {
    /// TD's systems for e = phi, lambda = 0, and for the trace.
    pub systems: [TdSystem<S, D>; 2],
    /// 2 F = sum (phi phi^T + phi' phi'^T), its upper triangle.
    pub second_moments: [[S; D]; D],
    /// sum x x^T with x = phi - gamma phi', its upper triangle.
    pub residual_gram: [[S; D]; D],
    /// sum r x, (D), with x as above.
    pub residual_rewards: [S; D],
    /// sum r^2.
    pub squared_rewards: S,
    /// The sums that show a level of the rewards.
    pub level: LevelSums<S, D>,
}

/// Sums that show a level of the rewards, with c = 1 - gamma \[not terminal\]: this is what a value of 1 in every state explains
/// of a reward.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelSums<S, const D: usize> {
    /// sum x, (D), with x = phi - gamma phi'.
    pub features: [S; D],
    /// sum x c, (D).
    pub residual: [S; D],
    /// sum r.
    pub rewards: S,
    /// sum r c.
    pub explained_rewards: S,
    /// sum c.
    pub explained: S,
    /// sum c^2.
    pub squares: S,
    /// The sum of the transitions' weights, in which importance weights count.
    pub weight: S,
    /// The sum of the squares of the importance weights; each counts as long as its transition is remembered.
    pub squared_weights: S,
}

/// A system A w = b whose solution is a fixed point of TD(lambda), with trace e.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TdSystem<S, const D: usize> {
    /// A = sum e (phi - gamma phi')^T.
    pub a: [[S; D]; D],
    /// b = sum r e.
    pub b: [S; D],
    /// sum c e, with c as in [`LevelSums`].
    pub c: [S; D],
    /// sum (e - phi)^2.
    pub squares: [S; D],
}

entrywise!([S: Scalar, const D: usize] S, TdSystem<S, D> { a, b, c, squares });
entrywise!([S: Scalar, const D: usize] S, LevelSums<S, D> {
    features, residual, rewards, explained_rewards, explained, squares, weight, squared_weights
});
entrywise!([S: Scalar, const D: usize] S, TdSums<S, D> {
    systems, second_moments, residual_gram, residual_rewards, squared_rewards, level
});

impl<S: Copy, const D: usize> TdSums<S, D> {
    /// Returns the same sums of another type.
    pub fn map<T>(&self, f: impl Fn(S) -> T + Copy) -> TdSums<T, D> {
        let matrix = |m: [[S; D]; D]| m.map(|column| column.map(f));
        let system = |TdSystem { a, b, c, squares }: TdSystem<S, D>| TdSystem {
            a: matrix(a),
            b: b.map(f),
            c: c.map(f),
            squares: squares.map(f),
        };
        TdSums {
            systems: self.systems.map(system),
            second_moments: matrix(self.second_moments),
            residual_gram: matrix(self.residual_gram),
            residual_rewards: self.residual_rewards.map(f),
            squared_rewards: f(self.squared_rewards),
            level: LevelSums {
                features: self.level.features.map(f),
                residual: self.level.residual.map(f),
                rewards: f(self.level.rewards),
                explained_rewards: f(self.level.explained_rewards),
                explained: f(self.level.explained),
                squares: f(self.level.squares),
                weight: f(self.level.weight),
                squared_weights: f(self.level.squared_weights),
            },
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

    /// Computes the sums in place.
    #[inline(always)]
    pub(crate) fn fill_from<Mem: Memory<S>, const C: usize>(
        &mut self,
        read: &DiscountedView<S, Td0Trace<S>, Mem, D, C>,
    ) {
        let r = read.cumulant;
        self.squared_rewards = read.sum(|m| m.rewards.get(r)?.rewards.first());
        let [plain, traced] = &mut self.systems;
        let (gamma, square) = (read.gamma, read.gamma * read.gamma);
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
            plain.b[j] = read.sum(|m| m.rewards.get(r)?.phi.get(j));
            self.residual_rewards[j] =
                plain.b[j] - gamma * read.sum(|m| m.rewards.get(r)?.phi_next.get(j));
            for i in 0..D {
                let now = read.sum(|m| m.auxiliary.columns.get(j)?.sums.phi.get(i));
                let next = read.sum(|m| m.auxiliary.columns.get(j)?.sums.phi_next.get(i));
                traced.a[j][i] = now - gamma * next;
            }
            traced.b[j] = read.sum(|m| m.auxiliary.columns.get(j)?.sums.rewards.get(r));
            traced.squares[j] = read.sum(|m| Some(&m.auxiliary.columns.get(j)?.square));
            traced.c[j] = explained(
                gamma,
                read.sum(|m| Some(&m.auxiliary.columns.get(j)?.all)),
                read.sum(|m| Some(&m.auxiliary.columns.get(j)?.at_end)),
            );
            let phi = read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi));
            let next = gamma * read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi_next));
            let at_end = read.sum(|m| Some(&m.auxiliary.features.get(j)?.at_end));
            plain.c[j] = explained(gamma, phi, at_end);
            self.level.features[j] = phi - next;
            self.level.residual[j] = plain.c[j] - (S::ONE - gamma) * next;
        }
        let rewards = |at: usize| read.sum(|m| m.auxiliary.rewards.get(r)?.get(at));
        let ends = read.sum(|m| Some(&m.auxiliary.weights.first()?.at_end));
        let of = &mut self.level;
        of.weight = read.sum(|m| Some(&m.auxiliary.weights.first()?.all));
        of.squared_weights = read.sum(|m| Some(&m.auxiliary.weights.first()?.squares));
        of.rewards = rewards(0);
        of.explained_rewards = explained(gamma, of.rewards, rewards(1));
        of.explained = explained(gamma, of.weight, ends);
        of.squares =
            explained(gamma, (S::ONE - gamma) * of.weight, (S::ONE + S::ONE - gamma) * ends);
    }
}

/// Returns sum x c from sum x over all transitions and over those that end an episode.
#[inline(always)]
fn explained<S: Scalar>(gamma: S, all: S, at_end: S) -> S {
    (S::ONE - gamma) * all + gamma * at_end
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
