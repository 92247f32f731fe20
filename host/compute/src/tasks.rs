//! Every distribution of tasks as one type, so that the trainer is compiled once for all of them.

use crate::capacity::{STATES, TILES};
use crate::recipe::{Fixed, Recipe, TaskKind};
use ictd_core::Error;
use ictd_core::rng::{Rng, Stream};
use ictd_core::tasks::cart_pole::CodedState;
use ictd_core::tasks::{
    CartPole, CartPoleTasks, FiniteTask, FiniteTasks, Mrp, Task, TaskDistribution,
};
use nalgebra::SVector;

/// A distribution of tasks chosen at run time.
#[derive(Clone, Debug)]
pub struct AnyTasks {
    dim: usize,
    /// Taken in turn.
    kinds: Vec<Kind>,
    fixed: Option<Fixed>,
}

#[derive(Clone, Debug)]
enum Kind {
    Finite(FiniteTasks<STATES>),
    CartPole(CartPoleTasks<TILES>),
}

/// A task of [`AnyTasks`].
#[derive(Clone, Debug)]
// Both are kilobytes; one lives in each lane.
#[allow(clippy::large_enum_variant)]
pub enum AnyTask<const D: usize> {
    Finite(Mrp<f32, D, STATES>),
    CartPole(CartPole<f32, D, TILES>),
}

/// A state of [`AnyTask`].
#[derive(Clone, Copy, Debug)]
pub enum AnyState {
    Finite(usize),
    CartPole(CodedState<f32>),
}

impl AnyTasks {
    /// Returns the distribution that the recipe asks for.
    pub fn new(recipe: &Recipe) -> Self {
        let Recipe { states, dim, actions, .. } = *recipe;
        let finite = |kind| Kind::Finite(FiniteTasks { kind, states, dim });
        let cart_pole = |[tilings, tiles]: [u16; 2], of_authors| {
            Kind::CartPole(CartPoleTasks { tilings, tiles, of_authors, dim })
        };
        let kinds = recipe.task.0.iter().map(|kind| match kind {
            TaskKind::Boyan => finite(FiniteTask::BoyanChain),
            TaskKind::BoyanRepresentable => finite(FiniteTask::BoyanChainRepresentable),
            TaskKind::Mdp => finite(FiniteTask::RandomMdp { actions }),
            TaskKind::Loop => finite(FiniteTask::Loop { threshold: 0.5 }),
            TaskKind::Cartpole => cart_pole([4, 2], false),
            TaskKind::CartpoleAuthors => cart_pole([1, 2], true),
            TaskKind::CartpoleUniform => cart_pole([1, 4], false),
        });
        AnyTasks { dim: recipe.dim, kinds: kinds.collect(), fixed: recipe.fixed }
    }

    fn draw_kind<const D: usize>(
        &self,
        number: u64,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<AnyTask<D>, Error> {
        let Some(kind) = self.kinds.get((number % self.kinds.len().max(1) as u64) as usize) else {
            return Err(Error::Empty { parameter: "tasks" });
        };
        Ok(match kind {
            Kind::Finite(tasks) => AnyTask::Finite(tasks.draw(gamma, rng)?),
            Kind::CartPole(tasks) => AnyTask::CartPole(tasks.draw(gamma, rng)?),
        })
    }
}

impl<const D: usize> TaskDistribution<f32, D> for AnyTasks {
    type Task = AnyTask<D>;

    fn dim(&self) -> usize {
        self.dim
    }

    fn draw(&self, gamma: f32, rng: &mut Rng) -> Result<AnyTask<D>, Error> {
        self.draw_kind(0, gamma, rng)
    }

    fn draw_in_turn(
        &self,
        seed: u64,
        number: u64,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<AnyTask<D>, Error> {
        let task = self.draw_kind(number, gamma, rng)?;
        let (Some(fixed), AnyTask::Finite(task)) = (self.fixed, &task) else { return Ok(task) };
        // The seed's first task, wherever the run stands.
        let first = self.draw_kind(0, gamma, &mut Rng::stream(seed, Stream::Tasks))?;
        let AnyTask::Finite(first) = first else { return Ok(first) };
        Ok(AnyTask::Finite(match fixed {
            Fixed::Dynamics => task.clone().with_dynamics_of(&first)?,
            Fixed::Features => task.clone().with_features_of(&first)?,
        }))
    }
}

impl<const D: usize> Task<f32, D> for AnyTask<D> {
    type State = AnyState;

    fn true_values(
        &self,
        gamma: f32,
        states: &[AnyState],
        values: &mut [f32],
    ) -> Result<(), Error> {
        match self {
            AnyTask::Finite(task) => {
                let states = states.iter().map(|state| match state {
                    AnyState::Finite(s) => *s,
                    AnyState::CartPole(_) => 0,
                });
                task.true_values(gamma, &states.collect::<Vec<_>>(), values)
            }
            AnyTask::CartPole(task) => task.true_values(gamma, &[], values),
        }
    }

    fn initial_state(&self, rng: &mut Rng) -> AnyState {
        match self {
            AnyTask::Finite(task) => AnyState::Finite(task.initial_state(rng)),
            AnyTask::CartPole(task) => AnyState::CartPole(task.initial_state(rng)),
        }
    }

    #[inline(always)]
    fn step(&self, state: AnyState, rng: &mut Rng) -> (f32, AnyState) {
        match (self, state) {
            (AnyTask::Finite(task), AnyState::Finite(s)) => {
                let (reward, next) = task.step(s, rng);
                (reward, AnyState::Finite(next))
            }
            (AnyTask::CartPole(task), AnyState::CartPole(s)) => {
                let (reward, next) = task.step(s, rng);
                (reward, AnyState::CartPole(next))
            }
            // Another task's state: this one starts anew.
            _ => (0.0, self.initial_state(rng)),
        }
    }

    #[inline(always)]
    fn features(&self, state: AnyState) -> SVector<f32, D> {
        match (self, state) {
            (AnyTask::Finite(task), AnyState::Finite(s)) => task.features(s),
            (AnyTask::CartPole(task), AnyState::CartPole(s)) => task.features(s),
            _ => SVector::zeros(),
        }
    }
}
