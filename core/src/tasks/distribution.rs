use super::Task;
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
    /// The refusals of the distribution's own settings.
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
}
