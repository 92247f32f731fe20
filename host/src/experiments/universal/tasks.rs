//! The families of tasks that the model that ships is trained on and judged by.

use ictd_core::rng::Rng;
use ictd_core::tasks::{self, Mrp};
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

/// The most states of a task.
pub(super) const STATES: usize = 32;

/// A family of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Boyan's chains with random rewards.
    Boyan,
    /// Boyan's chains whose values the features can represent.
    Representable,
    /// Random MDPs whose values the features can represent.
    Mdp,
    /// Loop.
    Loop,
    /// Random MDPs with random rewards.
    Dense,
}

impl Family {
    /// As records and figures call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Boyan => "Boyan's chains",
            Family::Representable => "representable chains",
            Family::Mdp => "random MDPs",
            Family::Loop => "Loop",
            Family::Dense => "random MDPs, random rewards",
        }
    }

    pub(super) fn draw<R: ictd_core::scalar::Real, const D: usize>(
        self,
        states: usize,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, STATES>, ictd_core::Error> {
        match self {
            Family::Boyan => tasks::boyan_chain(states, rng),
            Family::Representable => tasks::boyan_chain_representable(states, gamma, rng),
            Family::Mdp => tasks::random_mdp(states, 3, gamma, rng),
            Family::Loop => tasks::loop_mrp(states, R::from_f64(0.5), gamma, rng),
            Family::Dense => {
                let task: Mrp<R, D, STATES> = tasks::random_mdp(states, 3, gamma, rng)?;
                let reward =
                    SVector::from_fn(|_, _| rng.uniform_in(R::from_f64(-1.0), R::from_f64(1.0)));
                let p = SMatrix::from_fn(|s, next| task.transition_from(s)[next]);
                let phi = SMatrix::from_fn(|i, s| task.feature_map()[s][i]);
                Mrp::new(states, task.initial(), &p, &reward, &phi)
            }
        }
    }
}

/// How many states a task with so many features has.
pub(super) fn states(d: usize) -> usize {
    (2 * d).max(10)
}
