//! Every distribution of tasks as one type, so that the trainer is compiled once for all of them.

use super::capacity::{STATES, TILES};
use super::options::{TaskKind, Train};
use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::tasks::cart_pole::{CodedState, TileCoding};
use ictd_core::tasks::{
    CartPole, FiniteTask, FiniteTasks, Mrp, Task, TaskDistribution, cart_pole,
    cart_pole_single_grid,
};
use nalgebra::SVector;

/// Bins per dimension of the authors' CartPole grid: 2^4 cells.
const AUTHORS_BINS: u16 = 2;

/// A distribution of tasks chosen at run time.
#[derive(Clone, Copy, Debug)]
pub enum AnyTasks {
    /// A finite state space.
    Finite(FiniteTasks<STATES>),
    /// CartPole (Algorithm 4).
    CartPole,
    /// CartPole of the authors' code.
    CartPoleAuthors,
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
        let kind = match options.task {
            TaskKind::Boyan => FiniteTask::BoyanChain,
            TaskKind::BoyanRepresentable => FiniteTask::BoyanChainRepresentable,
            TaskKind::Mdp => FiniteTask::RandomMdp { actions: options.actions },
            TaskKind::Loop => FiniteTask::Loop { threshold: 0.5 },
            TaskKind::Cartpole => return AnyTasks::CartPole,
            TaskKind::CartpoleAuthors => return AnyTasks::CartPoleAuthors,
        };
        AnyTasks::Finite(FiniteTasks { kind, states: options.states })
    }
}

impl<const D: usize> TaskDistribution<f32, D> for AnyTasks {
    type Task = AnyTask<D>;

    fn draw(&self, gamma: f32, rng: &mut Rng) -> Result<AnyTask<D>, Error> {
        Ok(match self {
            AnyTasks::Finite(tasks) => AnyTask::Finite(tasks.draw(gamma, rng)?),
            AnyTasks::CartPole => AnyTask::CartPole(cart_pole(TileCoding::standard(), rng)?),
            AnyTasks::CartPoleAuthors => {
                AnyTask::CartPole(cart_pole_single_grid(AUTHORS_BINS, rng)?)
            }
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
