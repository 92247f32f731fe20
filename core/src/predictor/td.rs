//! TD's estimate of the signal's value: regularised LSTD(lambda) of its features, for any discount.

use super::features::{D, following};
use super::larger;
use crate::entrywise::{Entrywise as _, entrywise};
use crate::linalg::linear_system::solve;
use crate::scalar::Scalar;
use crate::value_function::clamp;
use nalgebra::SMatrix;

/// The trace decay lambda, whatever the discount: the errors are much the same from 0.5 to 0.9.
const LAMBDA: f32 = 0.6;
/// The ridge, in transitions.
const RIDGE: f32 = 2.0;
/// A feature is clipped at this many root mean squares.
const REACH: f32 = 4.0;

/// The sums of LSTD(lambda) over a forgetting context. The features that follow are a linear function of the features and of the
/// reward, the next value's distance from the slow average: so is sum e phi'^T of sum e phi^T and of sum e r, and is not kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Td {
    /// e_t = lambda e_{t-1} + phi_t, with the features phi_t.
    trace: [f32; D],
    /// All sums have this factor, which grows in the place of forgetting: a transition then costs no multiplication of the past.
    pub(super) factor: f32,
    /// The sum of e phi^T.
    now: [[f32; D]; D],
    /// The sums of e r, and of phi'^2.
    rewards: [f32; D],
    squares: [f32; D],
    /// How many transitions there are, with forgetting.
    len: f32,
}

impl Td {
    pub(super) const NEW: Self = Td { factor: 1.0, ..Self::ZERO };

    /// Takes the transition between features, with a reward, and returns true if all sums were halved.
    #[inline]
    pub(super) fn observe(
        &mut self,
        growth: f32,
        phi: &[f32; D],
        reward: f32,
        next: &[f32; D],
    ) -> bool {
        self.factor *= growth;
        let halves = self.factor >= 2.0;
        if halves {
            let Td { trace: _, factor, now, rewards, squares, len } = self;
            let vectors = rewards.iter_mut().chain(squares).chain([len, factor]);
            now.iter_mut().flatten().chain(vectors).for_each(|x| *x *= 0.5);
        }
        for i in 0..D {
            self.trace[i] = LAMBDA * self.trace[i] + phi[i];
            let e = self.factor * self.trace[i];
            for j in 0..D {
                self.now[i][j] += e * phi[j];
            }
            self.rewards[i] += e * reward;
            self.squares[i] += self.factor * next[i] * next[i];
        }
        self.len += self.factor;
        halves
    }

    pub(super) fn begin(&mut self) {
        self.trace = [0.0; D];
    }

    /// Returns the weights of the value function, (sum e (phi - gamma phi')^T + ridge) w = sum e r, or
    /// `None` if the system is singular. `share` is the newest value's weight in the mean.
    #[inline]
    pub(super) fn value_function(&self, gamma: f32, share: f32) -> Option<[f32; D]> {
        let n = self.len / self.factor;
        let ridge = RIDGE * (1.0 + D as f32 / n) / n;
        let mut a = SMatrix::<f32, D, D>::zeros();
        // (An index in brackets may panic, at opt-level z.)
        let mut add = |at, x| a.get_mut(at).map(|entry: &mut f32| *entry += x);
        for (i, (now, reward)) in self.now.iter().zip(self.rewards).enumerate() {
            let next = following(now, reward, share);
            for j in 0..D {
                add((i, j), now[j] - gamma * next[j]);
            }
            // A feature that was always 0 has the weight 0.
            let square = self.squares.get(i).copied().unwrap_or_default();
            add((i, i), if square > 0.0 { ridge * square } else { 1.0 });
        }
        let weights = solve(a, self.rewards.into(), D, "A of the signal").ok()?;
        Some(weights.data.0[0])
    }

    #[inline]
    pub(super) fn clipped(&self, phi: &[f32; D]) -> [f32; D] {
        let scale = REACH * REACH / larger(self.len, self.factor);
        let mut clipped = [0.0; D];
        for (out, (x, square)) in clipped.iter_mut().zip(phi.iter().zip(self.squares)) {
            // A square root only where it is needed.
            let within = *x * *x <= scale * square;
            *out = if within { *x } else { clamp(*x, Scalar::sqrt(scale * square)) };
        }
        clipped
    }
}

entrywise!([] f32, Td { now, trace, rewards, squares, factor, len });
