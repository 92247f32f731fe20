//! Random Markov decision processes, whose values are known exactly.

use super::greedy;
use ictd_core::Error;
use ictd_core::linalg::linear_system;
use ictd_core::rng::Rng;
use nalgebra::{SMatrix, SVector};

pub(super) const STATES: usize = 8;
pub(super) const ACTIONS: usize = 4;
pub(super) const GAMMA: f64 = 0.9;

/// A Markov decision process of 8 states and 4 actions.
#[derive(Clone, Debug)]
pub struct RandomMdp {
    next: [[SVector<f64, STATES>; ACTIONS]; STATES],
    reward: [[f64; ACTIONS]; STATES],
    /// The mean values of the random and of the best policy.
    bounds: [f64; 2],
}

impl RandomMdp {
    /// Draws rewards ~ U(-1, 1), and three next states with probabilities ~ U(0, 1), normalised.
    /// Returns the core's error if the Bellman equation has no solution.
    pub fn draw(rng: &mut Rng) -> Result<Self, Error> {
        let mut distribution = || {
            let mut weights = SVector::<f64, STATES>::zeros();
            for _ in 0..3 {
                weights[rng.below(STATES as u32) as usize] += rng.uniform::<f64>() + 1e-9;
            }
            weights / weights.sum()
        };
        let next = [(); STATES].map(|()| [(); ACTIONS].map(|()| distribution()));
        let reward = [(); STATES].map(|()| [(); ACTIONS].map(|()| rng.uniform_in(-1.0, 1.0)));
        let mut mdp = RandomMdp { next, reward, bounds: [0.0; 2] };
        let random = mdp.values(|_, _| 1.0 / ACTIONS as f64)?;
        let (mut value, mut better) = (random, mdp.improved(&random)?);
        // Policy iteration ends when no action improves the values.
        while better.sum() > value.sum() + 1e-9 {
            (value, better) = (better, mdp.improved(&better)?);
        }
        mdp.bounds = [random.mean(), value.mean()];
        Ok(mdp)
    }

    /// Takes an action in a state, and returns the reward and the next state.
    pub fn step(&self, state: usize, action: usize, rng: &mut Rng) -> (f64, usize) {
        let next = rng.categorical(self.next[state][action].iter().copied());
        (self.reward[state][action], next)
    }

    /// Returns the score of the greedy policy of weights w by its exact mean value: 0 for the random policy, 1 for the best.
    pub fn share(&self, w: &[f64]) -> f64 {
        let mut rng = Rng::new(0);
        let best: [usize; STATES] = std::array::from_fn(|s| greedy(w, s, &mut rng));
        let value = self.values(|s, a| f64::from(a == best[s]));
        let [random, optimal] = self.bounds;
        value.map_or(f64::NAN, |value| (value.mean() - random) / (optimal - random))
    }

    /// Returns the values of a policy pi(s, a): (I - gamma P) v = r.
    fn values(&self, pi: impl Fn(usize, usize) -> f64) -> Result<SVector<f64, STATES>, Error> {
        let (mut a, mut b) = (SMatrix::<f64, STATES, STATES>::identity(), SVector::zeros());
        for s in 0..STATES {
            for action in 0..ACTIONS {
                let probability = pi(s, action);
                b[s] += probability * self.reward[s][action];
                for (next, p) in self.next[s][action].iter().enumerate() {
                    a[(s, next)] -= GAMMA * probability * p;
                }
            }
        }
        linear_system::solve(a, b, STATES, "the Bellman equation")
    }

    /// Returns the values of the policy that is greedy with respect to these values.
    fn improved(&self, value: &SVector<f64, STATES>) -> Result<SVector<f64, STATES>, Error> {
        let q = |s: usize, a: usize| self.reward[s][a] + GAMMA * self.next[s][a].dot(value);
        let best = |s| (1..ACTIONS).fold(0, |best, a| if q(s, a) > q(s, best) { a } else { best });
        self.values(|s, a| f64::from(a == best(s)))
    }
}
