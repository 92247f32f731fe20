//! Policy evaluation tasks (p_0, p, r, phi): the distributions d_task of the paper.
//!
//! | task | paper | function |
//! |---|---|---|
//! | Boyan's chain | Algorithm 2 | [`boyan_chain`] |
//! | Boyan's chain, value representable | Algorithm 3 | [`FiniteTaskKind::draw`] |
//! | random MDP and policy, value representable | App. on Figure 1 | [`FiniteTaskKind::draw`] |
//! | Loop, value representable | the authors' `demo.py` | [`FiniteTaskKind::draw`] |
//! | CartPole | Algorithm 4, the authors' code | [`CartPoleDistribution`] |
//!
//! [`TaskSpec`] names them. In addition, [`random_signal`] draws signals as sensors might show them.
//!
//! ```
//! use ictd_core::rng::Rng;
//! use ictd_core::tasks::{CartPole, CartPoleDistribution, Mrp, Task, TaskDistribution, boyan_chain};
//!
//! // Room for 4 features, all of them used, and 10 states, and the same task for the same seed on any machine.
//! let rng = &mut Rng::new(7);
//! let chain: Mrp<f32, 4, 10> = boyan_chain(10, 4, rng)?;
//! assert_eq!(chain.trajectory::<30>(30, rng)?.len(), 30);
//!
//! // Four tilings of 3^4 tiles.
//! let tasks = CartPoleDistribution::<324> { tilings: 4, tiles: 2, authors_variant: false, dim: 4 };
//! let balancing: CartPole<f32, 4, 324> = tasks.draw(0.9, rng)?;
//! let mut state = balancing.initial_state(rng);
//! let first = balancing.transition(&mut state, rng);
//! assert_eq!(first.phi_next, balancing.features(state));
//! # Ok::<(), ictd_core::Error>(())
//! ```

pub mod cart_pole;
mod finite;
mod mrp;
mod signals;
mod spec;

pub use cart_pole::{CartPole, CartPoleDistribution};
pub use finite::{
    FiniteTaskDistribution, FiniteTaskKind, MAX_ACTIONS, boyan_chain, boyan_transition,
    loop_transition,
};
pub use mrp::Mrp;
pub use signals::random_signal;
pub use spec::{StateCounts, TaskKind, TaskSpec};

use crate::error::{Error, Result, ensure, out_of_range};
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::Transition;
use core::fmt::Debug;
use heapless::Vec;
use nalgebra::SVector;

/// A policy evaluation task seen through features.
pub trait Task<R: Real, const D: usize> {
    /// A state S_t.
    type State: Copy + Debug;

    /// Draws S_0 ~ p_0.
    fn initial_state(&self, rng: &mut Rng) -> Self::State;

    /// Draws R_{t+1} and S_{t+1} from S_t.
    fn step(&self, state: Self::State, rng: &mut Rng) -> (R, Self::State);

    /// Returns phi(s), (D).
    fn features(&self, state: Self::State) -> SVector<R, D>;

    /// Writes the true values v(s) of states to `values`.
    /// Returns [`Error::OutOfRange`] by default: the task has no value function in closed form.
    fn true_values(&self, gamma: R, states: &[Self::State], values: &mut [R]) -> Result<()> {
        let _ = (gamma, states, values);
        let expected = "the TD error or sampled returns: this task's true values are not known";
        Err(Error::OutOfRange { parameter: "loss", expected })
    }

    /// Draws the transition from a state, which moves on to the next.
    fn transition(&self, state: &mut Self::State, rng: &mut Rng) -> Transition<R, D> {
        let phi = self.features(*state);
        let (reward, next) = self.step(*state, rng);
        *state = next;
        Transition { phi, reward, phi_next: self.features(next) }
    }

    /// Draws the first `len` transitions of a fresh trajectory, or returns [`Error::CapacityExceeded`] if `len` > N.
    fn trajectory<const N: usize>(
        &self,
        len: usize,
        rng: &mut Rng,
    ) -> Result<Vec<Transition<R, D>, N>> {
        let mut state = self.initial_state(rng);
        let mut transitions = Vec::new();
        for _ in 0..len {
            transitions
                .push(self.transition(&mut state, rng))
                .map_err(|_| Error::capacity("trajectory", N))?;
        }
        Ok(transitions)
    }
}

/// d_task: a distribution over policy evaluation tasks.
pub trait TaskDistribution<R: Real, const D: usize>: Clone + Debug {
    /// The type of a task that is drawn.
    type Task: Task<R, D> + Clone + Debug;

    /// Returns the number d <= D of the tasks' features; the others are 0.
    fn dim(&self) -> usize {
        D
    }

    /// Returns a task for discount gamma.
    /// Returns the refusals of the distribution's own settings.
    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Self::Task>;

    /// Returns the task of that number in the run of a seed: a distribution of several kinds takes them in turn,
    /// one that keeps a part of its tasks fixed keeps that of the seed.
    /// Returns the errors of [`TaskDistribution::draw`].
    fn draw_in_turn(&self, seed: u64, number: u64, gamma: R, rng: &mut Rng) -> Result<Self::Task> {
        let _ = (seed, number);
        self.draw(gamma, rng)
    }
}

fn check_dim<const D: usize>(dim: usize) -> Result<()> {
    ensure((1..=D).contains(&dim), Error::capacity("dim", D))
}

fn check_shape<const D: usize, const M: usize>(
    states: usize,
    least: usize,
    dim: usize,
) -> Result<()> {
    ensure(
        states >= least,
        out_of_range("states", "at least 2 (Boyan's chain), at least 1 (other tasks)"),
    )?;
    ensure(states <= M, Error::capacity("states", M))?;
    check_dim::<D>(dim)
}

/// Draws `len` numbers ~ U(0, 1) from the paper's open interval, which excludes a probability of exactly 0; the other
/// entries are 0.
fn positive_uniform<R: Real, const N: usize>(len: usize, rng: &mut Rng) -> SVector<R, N> {
    let mut v = zeros::<R, N, 1>();
    for x in v.iter_mut().take(len) {
        while !(*x > R::ZERO) {
            *x = rng.uniform();
        }
    }
    v
}

fn random_distribution<R: Real, const N: usize>(len: usize, rng: &mut Rng) -> SVector<R, N> {
    let weights = positive_uniform::<R, N>(len, rng);
    let total = weights.iter().fold(R::ZERO, |total, w| total + *w);
    weights.map(|w| w / total)
}

/// Draws features phi(s) ~ U(-1, 1)^d for each of the states; zeros beyond d = `dim`.
fn random_features<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    rng: &mut Rng,
) -> [SVector<R, D>; M] {
    core::array::from_fn(|s| if s < states { uniform_vector(dim, rng) } else { zeros() })
}

/// Draws `len` numbers ~ U(-1, 1); zeros beyond.
fn uniform_vector<R: Real, const N: usize>(len: usize, rng: &mut Rng) -> SVector<R, N> {
    let mut v = zeros::<R, N, 1>();
    for x in v.iter_mut().take(len) {
        *x = rng.uniform_in(-R::ONE, R::ONE);
    }
    v
}
