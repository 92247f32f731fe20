//! Every distribution of tasks as one type, so that the trainer is compiled once for all of them.

use super::capacity::{STATES, TILES};
use super::options::{TaskKind, Train};
use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::tasks::cart_pole::CodedState;
use ictd_core::tasks::{
    CartPole, CartPoleTasks, FiniteTask, FiniteTasks, Mrp, Task, TaskDistribution,
};
use nalgebra::SVector;

/// Bins per dimension of the authors' CartPole grid: 2^4 cells.
const AUTHORS_BINS: u16 = 2;

/// A distribution of tasks chosen at run time.
#[derive(Clone, Debug)]
pub struct AnyTasks {
    dim: usize,
    /// Taken in turn.
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Finite(FiniteTasks<STATES>),
    CartPole(CartPoleTasks<TILES>),
}

/// A task of [`AnyTasks`].
#[derive(Clone, Debug)]
// Both are kilobytes; one lives in each lane.
#[allow(clippy::large_enum_variant)]
pub enum AnyTask<const D: usize> {
    /// A finite Markov reward process.
    Finite(Mrp<f32, D, STATES>),
    /// A CartPole MRP.
    CartPole(CartPole<f32, D, TILES>),
}

/// A state of [`AnyTask`].
#[derive(Clone, Copy, Debug)]
pub enum AnyState {
    /// Of a finite task.
    Finite(usize),
    /// Of CartPole.
    CartPole(CodedState<f32>),
}

impl AnyTasks {
    /// The distribution that the options ask for.
    pub fn new(options: &Train) -> Self {
        let kinds = options.task.0.iter().map(|kind| {
            let finite = |kind| Kind::Finite(FiniteTasks { kind, states: options.states });
            match kind {
                TaskKind::Boyan => finite(FiniteTask::BoyanChain),
                TaskKind::BoyanRepresentable => finite(FiniteTask::BoyanChainRepresentable),
                TaskKind::Mdp => finite(FiniteTask::RandomMdp { actions: options.actions }),
                TaskKind::Loop => finite(FiniteTask::Loop { threshold: 0.5 }),
                TaskKind::Cartpole => {
                    Kind::CartPole(CartPoleTasks::Tilings { tilings: 4, tiles: 2 })
                }
                TaskKind::CartpoleAuthors => {
                    Kind::CartPole(CartPoleTasks::SingleGrid { bins: AUTHORS_BINS })
                }
            }
        });
        AnyTasks { dim: options.dim, kinds: kinds.collect() }
    }
}

impl<const D: usize> TaskDistribution<f32, D> for AnyTasks {
    type Task = AnyTask<D>;

    fn dim(&self) -> usize {
        self.dim
    }

    fn draw(&self, gamma: f32, rng: &mut Rng) -> Result<AnyTask<D>, Error> {
        self.draw_in_turn(0, gamma, rng)
    }

    fn draw_in_turn(&self, number: u64, gamma: f32, rng: &mut Rng) -> Result<AnyTask<D>, Error> {
        let Some(kind) = self.kinds.get((number % self.kinds.len().max(1) as u64) as usize) else {
            return Err(Error::Empty { parameter: "tasks" });
        };
        Ok(match kind {
            Kind::Finite(tasks) => AnyTask::Finite(tasks.draw_of_dim(self.dim, gamma, rng)?),
            Kind::CartPole(tasks) => AnyTask::CartPole(tasks.draw_of_dim(self.dim, rng)?),
        })
    }

    fn true_values(
        &self,
        task: &AnyTask<D>,
        gamma: f32,
        states: &[AnyState],
        values: &mut [f32],
    ) -> Result<(), Error> {
        let AnyTask::Finite(mrp) = task else {
            let accepted = "the TD error or sampled returns: CartPole's true values are not known";
            return Err(Error::OutOfRange { parameter: "loss", accepted });
        };
        let v = mrp.true_value(gamma)?;
        for (value, state) in values.iter_mut().zip(states) {
            if let AnyState::Finite(s) = state {
                *value = v[(*s).min(STATES - 1)];
            }
        }
        Ok(())
    }
}

impl<const D: usize> Task<f32, D> for AnyTask<D> {
    type State = AnyState;

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
