//! Finite tasks: Boyan's chain, random MDPs and the Loop.

use super::{
    Mrp, TaskDistribution, check_shape, positive_uniform, random_distribution, random_features,
    uniform_vector,
};
use crate::error::{Error, ensure, out_of_range};
use crate::linalg::{add_scaled, zeros};
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::{SMatrix, SVector};

/// The kinds of finite tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FiniteTaskKind {
    /// Boyan's chain (Algorithm 2).
    BoyanChain,
    /// Boyan's chain whose true value function is <w*, phi(s)> with w* ~ U(-1, 1)^d (Algorithm 3).
    BoyanChainRepresentable,
    /// A task of Figure 1: a random MDP under a random policy, p(s' | s) = sum_a pi(a | s) p_MDP(s' | s, a) of uniform
    /// numbers, normalised, with a representable value function as in Algorithm 3. The paper does not say how many actions
    /// there are.
    RandomMdp {
        /// The number of actions, 1 to [`MAX_ACTIONS`].
        actions: usize,
    },
    /// The Loop MRP of the authors' `demo.py`, which the paper does not describe ([`loop_transition`]), with U(-1, 1)
    /// features and a representable value function, w* ~ N(0, I).
    Loop {
        /// The threshold in (0, 1) that an edge's draw exceeds.
        threshold: f64,
    },
}

/// The most actions that a random MDP may have.
pub const MAX_ACTIONS: usize = 8;

impl FiniteTaskKind {
    /// Draws a task of this kind with m = `states` and d = `dim` for a discount. Features beyond `dim` are 0.
    /// Returns the errors of [`boyan_chain`]; [`Error::OutOfRange`] for actions or a threshold outside of their range, and, if
    /// the value is representable, for gamma outside [0, 1).
    pub fn draw<R: Real, const D: usize, const M: usize>(
        self,
        states: usize,
        dim: usize,
        gamma: R,
        rng: &mut Rng,
    ) -> Result<Mrp<R, D, M>, Error> {
        if self == FiniteTaskKind::BoyanChain {
            return boyan_chain(states, dim, rng);
        }
        check_gamma(gamma)?;
        let (mrp, w) = match self {
            FiniteTaskKind::BoyanChain | FiniteTaskKind::BoyanChainRepresentable => {
                let w = uniform_vector(dim, rng);
                (boyan_chain(states, dim, rng)?, w)
            }
            FiniteTaskKind::RandomMdp { actions } => {
                check_shape::<D, M>(states, 1, dim)?;
                ensure((1..=MAX_ACTIONS).contains(&actions), out_of_range("actions", "1 to 8"))?;
                let w = uniform_vector(dim, rng);
                let features = random_features(states, dim, rng);
                let initial = random_distribution(states, rng);
                let mut p = zeros::<R, M, M>();
                for s in 0..states {
                    let policy: SVector<R, MAX_ACTIONS> = random_distribution(actions, rng);
                    let mut p_s = zeros::<R, M, 1>();
                    for probability in policy.iter().take(actions) {
                        add_scaled(&mut p_s, *probability, &random_distribution(states, rng));
                    }
                    set_row(&mut p, s, &p_s);
                }
                (Mrp::from_parts(states, features, initial, &p, zeros()), w)
            }
            FiniteTaskKind::Loop { threshold } => {
                check_shape::<D, M>(states, 1, dim)?;
                let edge = R::from_f64(threshold);
                ensure(edge > R::ZERO && edge < R::ONE, out_of_range("threshold", "(0, 1)"))?;
                let features = random_features(states, dim, rng);
                let mut w = zeros::<R, D, 1>();
                for w_i in w.iter_mut().take(dim) {
                    *w_i = rng.normal();
                }
                let connect = positive_matrix(states, rng);
                let p = loop_transition(states, &connect, &positive_matrix(states, rng), edge);
                let initial = random_distribution(states, rng);
                (Mrp::from_parts(states, features, initial, &p, zeros()), w)
            }
        };
        Ok(mrp.with_representable_value(&w, gamma))
    }
}

/// Tasks with a finite state space of at most M states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiniteTaskDistribution<const M: usize> {
    /// The kind of the tasks.
    pub kind: FiniteTaskKind,
    /// The number of states m.
    pub states: usize,
    /// d, the number of features.
    pub dim: usize,
}

impl<R: Real, const D: usize, const M: usize> TaskDistribution<R, D> for FiniteTaskDistribution<M> {
    type Task = Mrp<R, D, M>;

    fn dim(&self) -> usize {
        self.dim
    }

    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Mrp<R, D, M>, Error> {
        self.kind.draw(self.states, self.dim, gamma, rng)
    }
}

/// Returns the transition function p, (M, M), of a Boyan chain (Algorithm 2): s -> s + 1 with probability
/// epsilon_s and s -> s + 2 otherwise, the last but one to the last, the last to a random state, with
/// probabilities proportional to `last_row`.
pub fn boyan_transition<R: Real, const M: usize>(
    states: usize,
    epsilon: &SVector<R, M>,
    last_row: &SVector<R, M>,
) -> SMatrix<R, M, M> {
    debug_assert!(states <= M, "{states} states of {M}");
    let (mut p, states) = (zeros::<R, M, M>(), states.min(M));
    let mut set = |s: usize, next: usize, x: R| {
        if let Some(entry) = p.data.0.get_mut(next).and_then(|column| column.get_mut(s)) {
            *entry = x;
        }
    };
    for (s, epsilon) in epsilon.iter().enumerate().take(states.saturating_sub(2)) {
        set(s, s + 1, *epsilon);
        set(s, s + 2, R::ONE - *epsilon);
    }
    if states >= 2 {
        set(states - 2, states - 1, R::ONE);
    }
    let total = last_row.iter().take(states).fold(R::ZERO, |total, weight| total + *weight);
    for (next, weight) in last_row.iter().enumerate().take(states) {
        set(states - 1, next, *weight / total);
    }
    p
}

/// Writes row s of a matrix.
fn set_row<R: Real, const M: usize>(p: &mut SMatrix<R, M, M>, s: usize, row: &SVector<R, M>) {
    for (column, x) in p.data.0.iter_mut().zip(row) {
        if let Some(entry) = column.get_mut(s) {
            *entry = *x;
        }
    }
}

/// Draws Boyan's chain with random transition probabilities ([`boyan_transition`]), rewards and features (Algorithm 2).
/// Features beyond `dim` are 0.
/// Returns [`Error::OutOfRange`] for too few states, [`Error::CapacityExceeded`] beyond M, and unless 1 <= `dim` <= D.
pub fn boyan_chain<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_shape::<D, M>(states, 2, dim)?;
    let features = random_features(states, dim, rng);
    let initial = random_distribution(states, rng);
    let reward = uniform_vector(states, rng);
    let epsilon = positive_uniform(states.saturating_sub(2), rng);
    let p = boyan_transition(states, &epsilon, &positive_uniform(states, rng));
    Ok(Mrp::from_parts(states, features, initial, &p, reward))
}

/// Returns the transition function p, (M, M), of a Loop: no self loops, s -> s + 1 (mod m) always, every other
/// edge where `connect`, (M, M), exceeds the threshold; probabilities proportional to `weight`, (M, M).
pub fn loop_transition<R: Real, const M: usize>(
    states: usize,
    connect: &SMatrix<R, M, M>,
    weight: &SMatrix<R, M, M>,
    threshold: R,
) -> SMatrix<R, M, M> {
    debug_assert!(states <= M, "{states} states of {M}");
    let (mut p, states) = (zeros::<R, M, M>(), states.min(M));
    for s in 0..states {
        let successor = if s + 1 == states { 0 } else { s + 1 };
        let (mut row, mut total) = (zeros::<R, M, 1>(), R::ZERO);
        let edges = connect.data.0.iter().zip(&weight.data.0).enumerate().take(states);
        for (to, (next, (connect, weight))) in row.iter_mut().zip(edges) {
            let (Some(connect), Some(weight)) = (connect.get(s), weight.get(s)) else { continue };
            if next == successor || (next != s && *connect > threshold) {
                *to = *weight;
                total += *weight;
            }
        }
        row.iter_mut().take(states).for_each(|p| *p = *p / total);
        set_row(&mut p, s, &row);
    }
    p
}

fn positive_matrix<R: Real, const M: usize>(states: usize, rng: &mut Rng) -> SMatrix<R, M, M> {
    let mut m = zeros::<R, M, M>();
    for s in 0..states.min(M) {
        set_row(&mut m, s, &positive_uniform::<R, M>(states, rng));
    }
    m
}
