//! CartPole MRPs (Algorithm 4): random physics under a random policy, seen through random features.

mod physics;
mod tile_coding;

pub use physics::{ANGLE_LIMIT, CartPolePhysics, CartPoleState, POSITION_LIMIT};
pub use tile_coding::{MAX_TILINGS, TileCoding};

use super::{Task, TaskDistribution, check_dim, uniform_vector};
use crate::error::{Error, Result, ensure};
use crate::linalg::{add_scaled, zeros};
use crate::rng::Rng;
use crate::scalar::Real;
use nalgebra::SVector;

/// One CartPole MRP: an infinite horizon by reset, one policy, features and rewards by tile coding
/// with a random projection.
///
/// The paper says no more of phi and r than "tile coding with random projection" and U(-1, 1). This code reads it as: each tile of
/// each of T overlapping tilings has a random vector w ~ U(-1, 1)^d and a random number ~ U(-1, 1), and
///
/// ```text
/// phi(s) = (1 / sqrt T) sum over the T active tiles of w(tile)
/// ```
///
/// and likewise r(s): the factor gives each entry the mean and the variance of U(-1, 1) whatever T is. M is the capacity
/// for tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct CartPole<R: Real, const D: usize, const M: usize> {
    physics: CartPolePhysics<R>,
    epsilon: R,
    coding: TileCoding<R>,
    rewards_next: bool,
    projection: [SVector<R, D>; M],
    reward: [R; M],
}

/// A state, and the tiles it lies in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedState<R: Real> {
    state: CartPoleState<R>,
    tiles: [u16; MAX_TILINGS],
}

/// CartPole MRPs (Algorithm 4) with at most M tiles. The paper gives no numbers of tiles; four tilings of two need
/// M = 324.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CartPoleDistribution<const M: usize> {
    /// 1, 2, 4 or 8.
    pub tilings: u16,
    /// Per dimension: 1 to 8, and at most 32 / tilings.
    pub tiles: u16,
    /// As in the authors' code, which has one tiling: a light pole, and R_{t+1} = r(S_{t+1}), after a reset, in place of
    /// r(S_t).
    pub authors_variant: bool,
    /// d, the number of features.
    pub dim: usize,
}

impl<R: Real, const D: usize, const M: usize> TaskDistribution<R, D> for CartPoleDistribution<M> {
    type Task = CartPole<R, D, M>;

    fn dim(&self) -> usize {
        self.dim
    }

    /// Draws physics, a policy that pushes to the right with probability epsilon ~ U(0, 1), features and rewards.
    fn draw(&self, _gamma: R, rng: &mut Rng) -> Result<CartPole<R, D, M>> {
        check_dim::<D>(self.dim)?;
        let coding = TileCoding::new(self.tilings, self.tiles)?;
        let tiles = coding.total_tiles();
        ensure(tiles <= M, Error::capacity("tiles", M))?;
        let pole_mass = if self.authors_variant { [0.05, 0.15] } else { [0.5, 1.5] };
        let physics = CartPolePhysics::sample(pole_mass, rng);
        let epsilon = rng.uniform();
        let scale = R::ONE / R::from_count(coding.tilings() as u64).sqrt();
        let mut task = CartPole {
            physics,
            epsilon,
            coding,
            rewards_next: self.authors_variant,
            projection: [zeros::<R, D, 1>(); M],
            reward: [R::ZERO; M],
        };
        for i in 0..tiles {
            let w: SVector<R, D> = uniform_vector(self.dim, rng);
            add_scaled(&mut task.projection[i], scale, &w);
        }
        for i in 0..tiles {
            task.reward[i] = scale * rng.uniform_in(-R::ONE, R::ONE);
        }
        Ok(task)
    }
}

impl<R: Real, const D: usize, const M: usize> CartPole<R, D, M> {
    #[inline(always)]
    fn reward(&self, state: &CodedState<R>) -> R {
        self.active(state).fold(R::ZERO, |sum, tile| sum + self.reward[tile])
    }

    #[inline(always)]
    fn active(&self, state: &CodedState<R>) -> impl Iterator<Item = usize> {
        let tilings = self.coding.tilings();
        state.tiles.into_iter().take(tilings).map(|tile| {
            // A state that another task handed out may lie in tiles that this one does not have.
            debug_assert!((tile as usize) < M, "tile {tile} of {M}");
            (tile as usize).min(M - 1)
        })
    }

    #[inline(always)]
    fn coded(&self, state: CartPoleState<R>) -> CodedState<R> {
        CodedState { state, tiles: self.coding.active_tiles(&state) }
    }
}

impl<R: Real, const D: usize, const M: usize> Task<R, D> for CartPole<R, D, M> {
    type State = CodedState<R>;

    fn initial_state(&self, rng: &mut Rng) -> CodedState<R> {
        self.coded(CartPoleState::sample(rng))
    }

    #[inline(always)]
    fn step(&self, state: CodedState<R>, rng: &mut Rng) -> (R, CodedState<R>) {
        let push_right = rng.uniform::<R>() < self.epsilon;
        let mut next = self.physics.step(&state.state, push_right);
        if next.has_failed() {
            next = CartPoleState::sample(rng);
        }
        let next = self.coded(next);
        (self.reward(if self.rewards_next { &next } else { &state }), next)
    }

    #[inline(always)]
    fn features(&self, state: CodedState<R>) -> SVector<R, D> {
        let mut phi = zeros::<R, D, 1>();
        for tile in self.active(&state) {
            for i in 0..D {
                phi[i] += self.projection[tile][i];
            }
        }
        phi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_single_grid_rewards_the_next_state() {
        let mut rng = Rng::new(4);
        let of =
            |tiles| CartPoleDistribution::<16> { tilings: 1, tiles, authors_variant: true, dim: 4 };
        let task: CartPole<f64, 4, 16> = of(2).draw(0.9, &mut rng).unwrap();
        let mut state = task.initial_state(&mut rng);
        for _ in 0..100 {
            let (reward, next) = task.step(state, &mut rng);
            assert_eq!(reward, task.reward(&next));
            state = next;
        }
        for tiles in [3, 9] {
            let refused: Result<CartPole<f64, 4, 16>, _> = of(tiles).draw(0.9, &mut rng);
            assert!(refused.is_err());
        }
        assert!(TileCoding::<f32>::new(3, 2).is_err());
    }
}
