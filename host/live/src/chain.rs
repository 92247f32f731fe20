//! The Markov chain that is evaluated, with its true values.

use crate::{D, GAMMA};
use ictd_core::error::Error;
use ictd_core::linalg::linear_system::least_squares;
use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use ictd_core::tasks::{FiniteTaskKind, Mrp};
use nalgebra::{SMatrix, SVector};

pub const MAX_STATES: usize = 8;

/// The number of actions of a random MDP, as in the host's Figure 1.
const ACTIONS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A random MDP under a random policy: the tasks of Figure 1.
    RandomMdp,
    /// Boyan's chain: the kind of the trained transformer's training tasks.
    BoyanChain,
    /// The Loop of the authors' demo: few edges.
    Loop,
    /// A ring s -> s + 1 with a representable value, to draw on.
    Ring,
}

/// The chain, with its true values.
pub struct Chain {
    pub task: Mrp<f32, D, MAX_STATES>,
    /// The true values v(s), (m).
    pub value: SVector<f32, MAX_STATES>,
    /// The stationary distribution d(s), (m).
    pub stationary: SVector<f32, MAX_STATES>,
    /// The smallest MSVE of a function that is linear in the features.
    pub least_msve: f32,
}

impl Chain {
    pub fn sample(kind: Kind, states: usize, seed: u32) -> Result<Self, Error> {
        let rng = &mut Rng::new(seed.into());
        let mdp = |actions| FiniteTaskKind::RandomMdp { actions };
        Self::of(match kind {
            Kind::RandomMdp => mdp(ACTIONS).draw(states, D, GAMMA, rng)?,
            Kind::BoyanChain => {
                FiniteTaskKind::BoyanChainRepresentable.draw(states, D, GAMMA, rng)?
            }
            Kind::Loop => FiniteTaskKind::Loop { threshold: 0.7 }.draw(states, D, GAMMA, rng)?,
            Kind::Ring => {
                let w = SVector::<f32, D>::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
                let task: Mrp<f32, D, MAX_STATES> = mdp(1).draw(states, D, GAMMA, rng)?;
                let ring = SMatrix::<f32, MAX_STATES, MAX_STATES>::from_fn(|s, next| {
                    if s < states && next == (s + 1) % states { 1.0 } else { 0.0 }
                });
                Mrp::new(states, task.initial(), &ring, task.reward(), &features(&task))?
                    .with_representable_value(&w, GAMMA)
            }
        })
    }

    /// Returns the chain with p(. | s) proportional to `weights`, and reward r(s); the features do not change.
    pub fn edited(
        &self,
        state: usize,
        weights: &[f32; MAX_STATES],
        reward: f32,
    ) -> Result<Self, Error> {
        let states = self.task.states();
        let weights = weights.get(..states).unwrap_or(weights);
        let total: f32 = weights.iter().sum();
        if state >= states {
            return Err(Error::OutOfRange { parameter: "state", expected: "a state of the chain" });
        }
        if !(total > 0.0 && weights.iter().all(|w| *w >= 0.0)) {
            return Err(Error::OutOfRange { parameter: "p", expected: "weights, not all 0" });
        }
        let mut p = SMatrix::<f32, MAX_STATES, MAX_STATES>::from_fn(|s, next| {
            self.task.transition_from(s)[next]
        });
        for (next, w) in weights.iter().enumerate() {
            p[(state, next)] = w / total;
        }
        let mut r = *self.task.reward();
        r[state] = reward;
        Self::of(Mrp::new(states, self.task.initial(), &p, &r, &features(&self.task))?)
    }

    fn of(task: Mrp<f32, D, MAX_STATES>) -> Result<Self, Error> {
        let (value, stationary) = (task.true_value(GAMMA)?, task.stationary_distribution()?);
        let mut chain = Chain { task, value, stationary, least_msve: 0.0 };
        // With at most D states any values are linear in the features.
        if chain.task.states() > D {
            let root = |s: usize| Scalar::sqrt(stationary[s].max(0.0));
            let a = SMatrix::<f32, MAX_STATES, D>::from_fn(|s, i| {
                root(s) * chain.task.feature_map()[s][i]
            });
            let b = SVector::<f32, MAX_STATES>::from_fn(|s, _| root(s) * value[s]);
            let best = least_squares(a, b, [chain.task.states(), D], "the features")?;
            let values = chain.task.values_of(&best);
            chain.least_msve = chain.task.msve(&stationary, &values, &value);
        }
        Ok(chain)
    }
}

fn features(task: &Mrp<f32, D, MAX_STATES>) -> SMatrix<f32, D, MAX_STATES> {
    SMatrix::from_fn(|i, s| task.feature_map()[s][i])
}
