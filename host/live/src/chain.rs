//! The Markov chain that is evaluated, with what is known of it.

use crate::{D, GAMMA};
use ictd_core::error::Error;
use ictd_core::linalg::linear_system::least_squares;
use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use ictd_core::tasks::{self, Mrp};
use nalgebra::{SMatrix, SVector};

/// The most states of a chain.
pub const MAX_STATES: usize = 8;

/// Actions of a random MDP, as in the host's Figure 1.
const ACTIONS: usize = 3;

/// How a chain is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A random MDP under a random policy: the tasks of Figure 1.
    RandomMdp,
    /// Boyan's chain, on whose kind the trained transformer was trained.
    BoyanChain,
    /// The Loop of the authors' demo: few edges.
    Loop,
    /// A ring s -> s + 1 with a representable value, to draw on.
    Ring,
}

pub(crate) struct Chain {
    pub(crate) task: Mrp<f32, D, MAX_STATES>,
    pub(crate) value: SVector<f32, MAX_STATES>,
    pub(crate) stationary: SVector<f32, MAX_STATES>,
    pub(crate) least_msve: f32,
}

impl Chain {
    pub(crate) fn sample(kind: Kind, states: usize, seed: u32) -> Result<Self, Error> {
        let mut rng = Rng::new(seed.into());
        Self::of(match kind {
            Kind::RandomMdp => tasks::random_mdp(states, D, ACTIONS, GAMMA, &mut rng)?,
            Kind::BoyanChain => tasks::boyan_chain_representable(states, D, GAMMA, &mut rng)?,
            Kind::Loop => tasks::loop_mrp(states, D, 0.7, GAMMA, &mut rng)?,
            Kind::Ring => {
                let mut w = SVector::<f32, D>::zeros();
                for i in 0..D {
                    w[i] = rng.uniform_in(-1.0, 1.0);
                }
                let task: Mrp<f32, D, MAX_STATES> =
                    tasks::random_mdp(states, D, 1, GAMMA, &mut rng)?;
                let ring = SMatrix::<f32, MAX_STATES, MAX_STATES>::from_fn(|s, next| {
                    if s < states && next == (s + 1) % states { 1.0 } else { 0.0 }
                });
                Mrp::new(states, task.initial(), &ring, task.reward(), &features(&task))?
                    .with_representable_value(&w, GAMMA)
            }
        })
    }

    pub(crate) fn edited(
        &self,
        state: usize,
        weights: &[f32; MAX_STATES],
        reward: f32,
    ) -> Result<Self, Error> {
        let states = self.task.states();
        let weights = weights.get(..states).unwrap_or(weights);
        let mut total = 0.0;
        for w in weights {
            total += w;
        }
        if state >= states {
            return Err(Error::OutOfRange { parameter: "state", accepted: "a state of the chain" });
        }
        if !(total > 0.0 && weights.iter().all(|w| *w >= 0.0)) {
            return Err(Error::OutOfRange { parameter: "p", accepted: "weights, not all 0" });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_chains_have_a_representable_value_and_edited_ones_need_not() {
        for kind in [Kind::RandomMdp, Kind::BoyanChain, Kind::Loop, Kind::Ring] {
            for seed in 0..20 {
                let chain = Chain::sample(kind, MAX_STATES, seed).unwrap();
                assert!(chain.least_msve < 1e-8, "{kind:?} {seed} {}", chain.least_msve);
            }
        }
        let chain = Chain::sample(Kind::RandomMdp, MAX_STATES, 1).unwrap();
        assert!(chain.edited(2, &[1.0; 8], 5.0).unwrap().least_msve > 1e-3);
        let small = Chain::sample(Kind::Ring, D, 1).unwrap();
        assert_eq!(small.edited(2, &[1.0; 8], 5.0).unwrap().least_msve, 0.0);
    }

    #[test]
    fn edits_are_normalised_and_bad_ones_are_refused() {
        let chain = Chain::sample(Kind::Ring, 3, 0).unwrap();
        let row = |c: &Chain| [0, 1, 2].map(|s| c.task.transition_from(1)[s]);
        assert_eq!(row(&chain), [0.0, 0.0, 1.0]);
        let weights = [1.0, 0.0, 3.0, 9.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(row(&chain.edited(1, &weights, 0.5).unwrap()), [0.25, 0.0, 0.75]);
        let refused = |state, w: [f32; 3], reward| {
            let mut weights = [0.0; MAX_STATES];
            weights[..3].copy_from_slice(&w);
            chain.edited(state, &weights, reward).err().expect("it is refused")
        };
        assert!(matches!(refused(3, [1.0; 3], 0.0), Error::OutOfRange { parameter: "state", .. }));
        assert!(matches!(refused(0, [0.0; 3], 0.0), Error::OutOfRange { parameter: "p", .. }));
        assert!(matches!(refused(0, [-1.0, 2.0, 0.0], 0.0), Error::OutOfRange { .. }));
        assert!(matches!(refused(0, [1.0; 3], f32::NAN), Error::NonFinite { parameter: "r" }));
        // Two states that keep to themselves: no unique stationary distribution.
        let halves = chain.edited(0, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0).unwrap();
        let apart = halves.edited(1, &[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.0);
        assert!(matches!(apart.err(), Some(Error::Singular { .. })));
    }
}
