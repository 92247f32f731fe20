//! The level of the rewards, and sums without it.

use super::{DiscountedView, Memory, TdSums, TdSystem};
use crate::chip::rolled;
use crate::linalg::linear_system::epsilon;
use crate::mask::TwoTraces;
use crate::scalar::Real;

/// The sums that show the level of a context's rewards.
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

/// Sums of x c for vectors x, (D), where c = 1 - gamma \[not terminal\] is what a value of 1 in every state explains of a reward.
struct Explained<R, const D: usize> {
    /// sum e c, for lambda = 0 and both traces.
    traces: [[R; D]; 3],
    /// sum (phi - gamma phi') c.
    residual: [R; D],
}

/// Returns sum x c from sum x over all transitions and over those that end an episode.
fn explained<R: Real>(gamma: R, all: R, at_end: R) -> R {
    (R::ONE - gamma) * all + gamma * at_end
}

impl<R: Real, const D: usize> TdSums<R, D> {
    /// Takes the level out of the rewards and the features; of that counts the share that `share` returns for the sums of the
    /// rewards.
    #[inline(never)]
    pub(crate) fn subtract_level<Mem: Memory<R>, const C: usize>(
        &mut self,
        read: &DiscountedView<R, TwoTraces<R>, Mem, D, C>,
        share: impl FnOnce(&RewardSums<R>) -> R,
    ) {
        let (gamma, two) = (read.gamma, R::ONE + R::ONE);
        let sum_of_rewards =
            |at: usize| read.sum(|m| m.auxiliary.rewards.get(read.cumulant)?.get(at));
        let (weight, ends) = (
            read.sum(|m| Some(&m.auxiliary.weights.first()?.all)),
            read.sum(|m| Some(&m.auxiliary.weights.first()?.at_end)),
        );
        // sum c, sum c^2 and sum r c.
        let all = explained(gamma, weight, ends);
        let squares = explained(gamma, (R::ONE - gamma) * weight, (two - gamma) * ends);
        let rewards = sum_of_rewards(0);
        let of_rewards = explained(gamma, rewards, sum_of_rewards(1));
        let squared_rewards = self.squared_rewards;
        // sum (r - m c)^2. (Rounding may leave something of rewards that a level explains.)
        let left = |m: R| {
            let left = squared_rewards - m * (two * of_rewards - m * squares);
            let rounding = R::from_f64(16.0) * epsilon::<R>(1) * squared_rewards;
            if left > rounding { left } else { R::ZERO }
        };
        (self.level, self.feature_levels) = (R::ZERO, [R::ZERO; D]);
        if all == R::ZERO {
            return;
        }
        let share = share(&RewardSums {
            rewards,
            left: left(rewards / all),
            weight,
            squared_weights: read.sum(|m| Some(&m.auxiliary.weights.first()?.squares)),
            states: if self.tells_states_apart() { states(read, weight) } else { None },
        }) / all;
        self.level = share * rewards;
        self.squared_rewards = left(self.level);
        let of = self.explained(read, share);
        self.remove(&of, squares, of_rewards);
    }

    /// Computes the level of the features, sum (phi - gamma phi') times `share`, and returns the sums with c.
    #[inline(never)]
    fn explained<Mem: Memory<R>, const C: usize>(
        &mut self,
        read: &DiscountedView<R, TwoTraces<R>, Mem, D, C>,
        share: R,
    ) -> Explained<R, D> {
        let gamma = read.gamma;
        let mut of = Explained { traces: [[R::ZERO; D]; 3], residual: [R::ZERO; D] };
        for j in 0..D {
            let phi = read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi));
            let next = gamma * read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi_next));
            let at_end = read.sum(|m| Some(&m.auxiliary.features.get(j)?.at_end));
            let of_phi = explained(gamma, phi, at_end);
            self.feature_levels[j] = share * (phi - next);
            of.residual[j] = of_phi - (R::ONE - gamma) * next;
            let [plain, traces @ ..] = &mut of.traces;
            plain[j] = of_phi;
            for (l, of) in traces.iter_mut().enumerate() {
                let all = read.sum(|m| Some(&m.auxiliary.columns.get(l)?.get(j)?.all));
                let at_end = read.sum(|m| Some(&m.auxiliary.columns.get(l)?.get(j)?.at_end));
                of[j] = explained(gamma, all, at_end);
            }
        }
        of
    }

    /// Takes the levels out of the systems, given sum c^2 and sum r c.
    #[inline(never)]
    fn remove(&mut self, of: &Explained<R, D>, squares: R, of_rewards: R) {
        let Explained { traces, residual } = of;
        // (Without an index, which opt-level "z" would check.)
        let (levels, level) = (self.feature_levels, self.level);
        let columns = self.residual_gram.iter_mut().zip(&mut self.residual_rewards);
        for (j, ((gram, rewards), (&level_j, &residual_j))) in
            columns.zip(levels.iter().zip(residual)).enumerate()
        {
            let of_j = residual_j - squares * level_j;
            for ((entry, &residual_i), &level_i) in
                gram.iter_mut().zip(residual).zip(&levels).take(j + 1)
            {
                *entry -= residual_i * level_j + level_i * of_j;
            }
            *rewards -= level * of_j + level_j * of_rewards;
        }
        for (system, of) in self.systems.iter_mut().zip(traces) {
            system.remove(of, self.level, &self.feature_levels);
        }
    }
}

impl<R: Real, const D: usize> TdSystem<R, D> {
    /// Takes the levels out of the system, given sum e c.
    #[inline(never)]
    fn remove(&mut self, of: &[R; D], level: R, feature_levels: &[R; D]) {
        for j in 0..D {
            for i in 0..D {
                self.a[j][i] -= of[i] * feature_levels[j];
            }
            self.b[j] -= level * of[j];
        }
    }
}

/// Returns the number of states seen, if each transition is from a state with a feature of its own.
#[inline(never)]
fn states<R: Real, Mem: Memory<R>, const D: usize, const C: usize>(
    read: &DiscountedView<R, TwoTraces<R>, Mem, D, C>,
    weight: R,
) -> Option<R> {
    let (mut sum, mut square) = (R::ZERO, R::ZERO);
    for j in rolled(D) {
        let phi = read.sum(|m| Some(&m.auxiliary.features.get(j)?.phi));
        let squares = read.sum(|m| m.phi.get(j)?.phi.get(j));
        if squares > R::ZERO {
            let n = phi * (phi / squares);
            (sum, square) = (sum + n, square + n * n);
        }
    }
    // (Otherwise features are any numbers, or some states have none.)
    (sum > R::from_f64(0.99) * weight).then(|| sum * sum / square)
}
