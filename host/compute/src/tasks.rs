//! Every distribution of tasks as one type, so that the trainer is compiled once for all of them.

use crate::capacity::{OWN, STATES, TILES};
use crate::logged::LoggedTask;
use crate::mixture::{NamedTask, TaskMixture, draw_added};
use crate::own_tasks::OwnData;
use crate::recipe::Recipe;
use crate::words::Fixed;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::cart_pole::CodedState;
use ictd_core::tasks::{
    CartPole, CartPoleDistribution, FiniteTaskDistribution, Mrp, Task, TaskDistribution, TaskKind,
};
use ictd_core::{Error, Result};
use nalgebra::SVector;

#[derive(Clone, Debug)]
pub struct RecipeTasks(pub Recipe);

/// A task with room for D features; boxed, since some are a hundred times as large as others.
#[derive(Clone, Debug)]
pub enum AnyTask<const D: usize> {
    Finite(Box<Mrp<f32, D, STATES>>),
    CartPole(Box<CartPole<f32, D, TILES>>),
    Own(Box<Mrp<f32, D, OWN>>),
    Logged(LoggedTask),
}

#[derive(Clone, Copy, Debug)]
pub enum AnyState {
    Finite(usize),
    CartPole(CodedState<f32>),
}

impl RecipeTasks {
    fn draw_number<const D: usize>(
        &self,
        number: u64,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<AnyTask<D>> {
        let Recipe { ref task, states, dim, actions, .. } = self.0;
        let named = match task {
            TaskMixture::Named(named) => named,
            TaskMixture::Own(own) => match own.read() {
                Err(_) => return Err(Error::Empty { parameter: "task" }),
                Ok(OwnData::Mrps(arrays)) => {
                    let one = rng.below(arrays.count() as u32) as usize;
                    return arrays.task(one).map(|task| AnyTask::Own(Box::new(task)));
                }
                Ok(OwnData::Log(log)) => {
                    let len = self.0.trainer_settings().trajectory_len();
                    return log.draw(len, rng).map(AnyTask::Logged);
                }
            },
        };
        let spec = match named.get((number % named.len().max(1) as u64) as usize) {
            Some(NamedTask::Paper(spec)) => spec,
            Some(NamedTask::Added(family)) => {
                let arrays = draw_added(*family, states, dim, gamma.into(), rng)?;
                return arrays.task(0).map(|task| AnyTask::Own(Box::new(task)));
            }
            None => return Err(Error::Empty { parameter: "task" }),
        };
        match spec.kind(actions) {
            TaskKind::Finite(kind) => {
                let tasks = FiniteTaskDistribution { kind, states, dim };
                tasks.draw(gamma, rng).map(|task| AnyTask::Finite(Box::new(task)))
            }
            TaskKind::CartPole { tilings, tiles, authors_variant } => {
                let tasks = CartPoleDistribution { tilings, tiles, authors_variant, dim };
                tasks.draw(gamma, rng).map(|task| AnyTask::CartPole(Box::new(task)))
            }
        }
    }
}

impl<const D: usize> TaskDistribution<f32, D> for RecipeTasks {
    type Task = AnyTask<D>;

    fn dim(&self) -> usize {
        self.0.dim
    }

    fn draw(&self, gamma: f32, rng: &mut Rng) -> Result<AnyTask<D>> {
        self.draw_number(0, gamma, rng)
    }

    fn draw_in_turn(
        &self,
        seed: u64,
        number: u64,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<AnyTask<D>> {
        let task = self.draw_number(number, gamma, rng)?;
        let (Some(fixed), AnyTask::Finite(task)) = (self.0.fixed, &task) else { return Ok(task) };
        // Draw the seed's first task again.
        let first = self.draw_number(0, gamma, &mut Rng::stream(seed, RngStream::Tasks))?;
        let AnyTask::Finite(first) = first else { return Ok(first) };
        let task = Mrp::clone(task);
        Ok(AnyTask::Finite(Box::new(match fixed {
            Fixed::Dynamics => task.with_dynamics_of(&first)?,
            Fixed::Features => task.with_features_of(&first)?,
        })))
    }
}

/// The states of a task, with their true values.
pub struct KnownValues {
    /// phi(s), (m, d), of the m states.
    pub features: Vec<f32>,
    /// The stationary distribution, (m).
    pub weights: Vec<f32>,
    /// v(s), (m).
    pub values: Vec<f32>,
}

impl KnownValues {
    fn new<const D: usize, const M: usize>(
        task: &Mrp<f32, D, M>,
        dim: usize,
        gamma: f32,
    ) -> Result<Self> {
        let of_states = |of: SVector<f32, M>| of.iter().take(task.states()).copied().collect();
        let states = task.feature_map().iter().take(task.states());
        Ok(Self {
            features: states.flat_map(|phi| phi.iter().take(dim)).copied().collect(),
            // Elimination may leave a state that is never visited with a weight of minus a rounding error.
            weights: of_states(task.stationary_distribution()?.map(|w| w.max(0.0))),
            values: of_states(task.true_value(gamma)?),
        })
    }
}

impl<const D: usize> AnyTask<D> {
    /// Returns the values of states with `dim` features, or `None` for a task whose true values are not known.
    pub fn known_values(&self, dim: usize, gamma: f32) -> Result<Option<KnownValues>> {
        match self {
            AnyTask::Finite(task) => KnownValues::new(task, dim, gamma).map(Some),
            AnyTask::Own(task) => KnownValues::new(task, dim, gamma).map(Some),
            AnyTask::CartPole(_) | AnyTask::Logged(_) => Ok(None),
        }
    }
}

/// Evaluates an expression for a task whose states are indices, or another one for CartPole.
macro_rules! of_task {
    ($any:expr, $task:ident => $finite:expr, else $cart_pole:expr) => {
        match $any {
            AnyTask::Finite(task) => {
                let $task = &**task;
                $finite
            }
            AnyTask::Own(task) => {
                let $task = &**task;
                $finite
            }
            AnyTask::Logged($task) => $finite,
            AnyTask::CartPole(task) => {
                let $task = &**task;
                $cart_pole
            }
        }
    };
}

impl AnyState {
    /// Returns the state's index; 0 for CartPole's, which no finite task has.
    #[inline(always)]
    fn index(&self) -> usize {
        match self {
            AnyState::Finite(s) => *s,
            AnyState::CartPole(_) => 0,
        }
    }
}

impl<const D: usize> Task<f32, D> for AnyTask<D> {
    type State = AnyState;

    fn true_values(&self, gamma: f32, states: &[AnyState], values: &mut [f32]) -> Result<()> {
        let indices: Vec<_> = states.iter().map(AnyState::index).collect();
        of_task!(
            self, task => Task::<f32, D>::true_values(task, gamma, &indices, values),
            else task.true_values(gamma, &[], values)
        )
    }

    fn initial_state(&self, rng: &mut Rng) -> AnyState {
        of_task!(
            self, task => AnyState::Finite(Task::<f32, D>::initial_state(task, rng)),
            else AnyState::CartPole(task.initial_state(rng))
        )
    }

    #[inline(always)]
    fn step(&self, state: AnyState, rng: &mut Rng) -> (f32, AnyState) {
        of_task!(self, task => {
            let (reward, next) = Task::<f32, D>::step(task, state.index(), rng);
            (reward, AnyState::Finite(next))
        }, else {
            // A state of another kind of task: restart.
            let AnyState::CartPole(s) = state else { return (0.0, self.initial_state(rng)) };
            let (reward, next) = task.step(s, rng);
            (reward, AnyState::CartPole(next))
        })
    }

    #[inline(always)]
    fn features(&self, state: AnyState) -> SVector<f32, D> {
        of_task!(self, task => Task::<f32, D>::features(task, state.index()), else {
            let AnyState::CartPole(s) = state else { return SVector::zeros() };
            task.features(s)
        })
    }
}
