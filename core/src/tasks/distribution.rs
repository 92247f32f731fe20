use super::cart_pole::TileCoding;
use super::{CartPole, Task, cart_pole, cart_pole_single_grid};
use crate::error::Error;
use crate::rng::Rng;
use crate::scalar::Real;
use core::fmt::Debug;

/// d_task: a distribution over policy evaluation tasks.
pub trait TaskDistribution<R: Real, const D: usize>: Clone + Debug {
    /// The type of a task that is drawn.
    type Task: Task<R, D> + Clone + Debug;

    /// d <= D: how many features its tasks have; zeros beyond.
    fn dim(&self) -> usize {
        D
    }

    /// Returns a task for discount gamma.
    ///
    /// # Errors
    /// If the distribution's own settings are out of range.
    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Self::Task, Error>;

    /// Returns the task of that number in the run of a seed: a distribution of several kinds takes them in turn,
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
    /// [`Error::OutOfRange`] by default: the task has no value function in closed form.
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
    /// Draws a task of `dim` features, with zeros beyond; its random numbers are those of the task that has no more.
    ///
    /// # Errors
    /// [`Error::CapacityExceeded`], naming `dim`, and the refusals of the tiles.
    pub fn draw_of_dim<R: Real, const D: usize>(
        &self,
        dim: usize,
        rng: &mut Rng,
    ) -> Result<CartPole<R, D, M>, Error> {
        match *self {
            CartPoleTasks::Tilings { tilings, tiles } => {
                cart_pole(TileCoding::new(tilings, tiles)?, dim, rng)
            }
            CartPoleTasks::SingleGrid { bins } => cart_pole_single_grid(bins, dim, rng),
        }
    }
}

impl<R: Real, const D: usize, const M: usize> TaskDistribution<R, D> for CartPoleTasks<M> {
    type Task = CartPole<R, D, M>;

    fn draw(&self, _gamma: R, rng: &mut Rng) -> Result<CartPole<R, D, M>, Error> {
        self.draw_of_dim(D, rng)
    }
}
