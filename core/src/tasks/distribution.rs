use super::cart_pole::TileCoding;
use super::{CartPole, Mrp, Task, boyan_chain, cart_pole, loop_mrp, random_mdp};
use crate::error::Error;
use crate::rng::Rng;
use crate::scalar::Real;
use core::fmt::Debug;

/// d_task: a distribution over policy evaluation tasks.
pub trait TaskDistribution<R: Real, const D: usize>: Clone + Debug {
    /// What is drawn.
    type Task: Task<R, D> + Clone + Debug;

    /// d <= D: how many features its tasks have; zeros beyond.
    fn dim(&self) -> usize {
        D
    }

    /// A task for discount gamma.
    ///
    /// # Errors
    /// If the distribution's own settings are out of range.
    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Self::Task, Error>;

    /// The task of that number in the run of a seed: a distribution of several kinds takes them in turn,
    /// one that keeps a part of its tasks fixed keeps that of the seed.
    ///
    /// # Errors
    /// As [`TaskDistribution::draw`].
    fn draw_in_turn(
        &self,
        seed: u64,
        number: u64,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Self::Task, Error> {
        let _ = (seed, number);
        self.draw(gamma, rng)
    }

    /// The true values v(s) of states of a task, written to `values`.
    ///
    /// # Errors
    /// By default [`Error::OutOfRange`]: the task has no value function in closed form.
    fn true_values(
        &self,
        task: &Self::Task,
        gamma: R,
        states: &[<Self::Task as Task<R, D>>::State],
        values: &mut [R],
    ) -> Result<(), Error> {
        let _ = (task, gamma, states, values);
        let accepted = "the TD error or sampled returns: this task's true values are not known";
        Err(Error::OutOfRange { parameter: "loss", accepted })
    }
}

/// Which finite task.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum FiniteTask {
    /// Boyan's chain (Algorithm 2).
    BoyanChain,
    /// Boyan's chain with a representable value function (Algorithm 3).
    BoyanChainRepresentable,
    /// A random MDP under a random policy, value representable.
    RandomMdp {
        /// The number of actions, 1 to 8.
        actions: usize,
    },
    /// The authors' Loop, value representable.
    Loop {
        /// Which edges there are: those whose draw exceeds it, in (0, 1).
        threshold: f64,
    },
}

/// Tasks with a finite state space of at most M states.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FiniteTasks<const M: usize> {
    /// Which.
    pub kind: FiniteTask,
    /// The number of states m.
    pub states: usize,
}

impl<const M: usize> FiniteTasks<M> {
    /// A task of `dim` features, with zeros beyond; its random numbers are those of the task that has no
    /// more.
    ///
    /// # Errors
    /// As [`TaskDistribution::draw`]; [`Error::OutOfRange`] unless 1 <= `dim` <= D.
    pub fn draw_of_dim<R: Real, const D: usize>(
        &self,
        dim: usize,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, M>, Error> {
        let (dim, states) = (check_dim::<D>(dim)?, self.states);
        match self.kind {
            FiniteTask::BoyanChain => boyan_chain::chain(states, dim, rng),
            FiniteTask::BoyanChainRepresentable => {
                boyan_chain::representable_chain(states, dim, gamma, rng)
            }
            FiniteTask::RandomMdp { actions } => random_mdp::draw(states, dim, actions, gamma, rng),
            FiniteTask::Loop { threshold } => {
                loop_mrp::draw(states, dim, R::from_f64(threshold), gamma, rng)
            }
        }
    }
}

fn check_dim<const D: usize>(dim: usize) -> Result<usize, Error> {
    let refused = Error::CapacityExceeded { parameter: "dim", capacity: D };
    if (1..=D).contains(&dim) { Ok(dim) } else { Err(refused) }
}

impl<R: Real, const D: usize, const M: usize> TaskDistribution<R, D> for FiniteTasks<M> {
    type Task = Mrp<R, D, M>;

    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Mrp<R, D, M>, Error> {
        self.draw_of_dim(D, gamma, rng)
    }

    fn true_values(
        &self,
        task: &Mrp<R, D, M>,
        gamma: R,
        states: &[usize],
        values: &mut [R],
    ) -> Result<(), Error> {
        let v = task.true_value(gamma)?;
        for (value, s) in values.iter_mut().zip(states) {
            *value = v[(*s).min(M - 1)];
        }
        Ok(())
    }
}

/// CartPole MRPs (Algorithm 4) with at most M tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CartPoleTasks<const M: usize> {
    /// As in the paper, with overlapping tilings: 4 of 2 tiles per dimension need M = 324.
    Tilings {
        /// 1, 2, 4 or 8.
        tilings: u16,
        /// Per dimension: 1 to 8, and at most 32 / tilings.
        tiles: u16,
    },
    /// As in the authors' code, with one grid: M = bins^4.
    SingleGrid {
        /// Per dimension, 1 to 8.
        bins: u16,
    },
}

impl<const M: usize> CartPoleTasks<M> {
    /// As [`FiniteTasks::draw_of_dim`].
    ///
    /// # Errors
    /// As [`FiniteTasks::draw_of_dim`].
    pub fn draw_of_dim<R: Real, const D: usize>(
        &self,
        dim: usize,
        rng: &mut Rng,
    ) -> Result<CartPole<R, D, M>, Error> {
        let dim = check_dim::<D>(dim)?;
        match *self {
            CartPoleTasks::Tilings { tilings, tiles } => {
                cart_pole::draw(TileCoding::new(tilings, tiles)?, dim, rng)
            }
            CartPoleTasks::SingleGrid { bins } => cart_pole::draw_single_grid(bins, dim, rng),
        }
    }
}

impl<R: Real, const D: usize, const M: usize> TaskDistribution<R, D> for CartPoleTasks<M> {
    type Task = CartPole<R, D, M>;

    fn draw(&self, _gamma: R, rng: &mut Rng) -> Result<CartPole<R, D, M>, Error> {
        self.draw_of_dim(D, rng)
    }
}
