//! TD's read of the signal: regularised LSTD(lambda) of its features, for any discount.

use super::State;
use crate::linalg::linear_system::solve;
use crate::scalar::Scalar;
use crate::value_function::clamp;
use nalgebra::SMatrix;

/// The features, those of [`SignalFeatures`](crate::signal::SignalFeatures).
pub(super) const D: usize = 4;
/// The trace decay lambda, whatever the discount: the errors are much the same from 0.5 to 0.9.
const LAMBDA: f32 = 0.8;
/// The ridge, in transitions.
const RIDGE: f32 = 1.0;
/// A feature may reach so many root mean squares.
const REACH: f32 = 12.0;

/// The sums of LSTD(lambda) over a forgetting context: what [`Context`](crate::context::Context) keeps, for one signal whose
/// average is not centred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Td {
    /// phi_t, the features of the sample before.
    phi: [f32; D],
    /// e_t = lambda e_{t-1} + phi_t.
    trace: [f32; D],
    /// The sums of e phi^T and of e phi'^T.
    now: [[f32; D]; D],
    next: [[f32; D]; D],
    /// The sums of e r, and of phi^2 + phi'^2.
    rewards: [f32; D],
    squares: [f32; D],
    /// How many transitions there are, and the largest |r|; both forget.
    len: f32,
    largest: f32,
}

impl Td {
    pub(super) const NEW: Self = Td {
        phi: [0.0; D],
        trace: [0.0; D],
        now: [[0.0; D]; D],
        next: [[0.0; D]; D],
        rewards: [0.0; D],
        squares: [0.0; D],
        len: 0.0,
        largest: 0.0,
    };

    /// Takes the transition to features phi' with a reward, or the first features of another episode.
    pub(super) fn observe(&mut self, retention: f32, transition: Option<f32>, phi_next: [f32; D]) {
        if let Some(reward) = transition {
            for i in 0..D {
                let e = LAMBDA * self.trace[i] + self.phi[i];
                self.trace[i] = e;
                for j in 0..D {
                    self.now[i][j] = retention * self.now[i][j] + e * self.phi[j];
                    self.next[i][j] = retention * self.next[i][j] + e * phi_next[j];
                }
                self.rewards[i] = retention * self.rewards[i] + e * reward;
                let squares = self.phi[i] * self.phi[i] + phi_next[i] * phi_next[i];
                self.squares[i] = retention * self.squares[i] + squares;
            }
            self.len = retention * self.len + 1.0;
            self.largest = (retention * self.largest).max(reward.abs());
        } else {
            self.trace = [0.0; D];
        }
        self.phi = phi_next;
    }

    /// Returns the weights of the value function, (sum e (phi - gamma phi')^T + ridge) w = sum e r, and the largest size of its
    /// values; none of a singular system.
    pub(super) fn value_function(&self, gamma: f32) -> Option<([f32; D], f32)> {
        let n = self.len;
        let ridge = RIDGE * (1.0 + D as f32 / n) / n;
        let mut a = SMatrix::<f32, D, D>::from_fn(|i, j| self.now[i][j] - gamma * self.next[i][j]);
        for i in 0..D {
            // A feature that was always 0 has the weight 0.
            let square = 0.5 * self.squares[i];
            a[(i, i)] += if square > 0.0 { ridge * square } else { 1.0 };
        }
        let weights = solve(a, self.rewards.into(), D, "A of the signal").ok()?;
        let bound = self.largest * n / (n * (1.0 - gamma) + gamma) * n / (n + 1.0);
        Some((weights.data.0[0], bound))
    }

    /// Returns the features of the latest sample, each within its reach.
    pub(super) fn clipped(&self) -> [f32; D] {
        let scale = REACH * REACH * 0.5 / self.len.max(1.0);
        let mut phi = self.phi;
        for (x, square) in phi.iter_mut().zip(self.squares) {
            // A square root only where it is needed.
            if *x * *x > scale * square {
                *x = clamp(*x, Scalar::sqrt(scale * square));
            }
        }
        phi
    }
}

impl State for Td {
    fn numbers(&mut self, visit: &mut impl FnMut(&mut f32)) {
        let Td { phi, trace, now, next, rewards, squares, len, largest } = self;
        let matrices = now.iter_mut().chain(next).flatten();
        matrices.chain(phi).chain(trace).chain(rewards).chain(squares).for_each(&mut *visit);
        [len, largest].into_iter().for_each(visit);
    }
}
