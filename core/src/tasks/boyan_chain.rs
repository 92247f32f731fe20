use super::{
    Mrp, check_states, normalised, positive_uniform, random_distribution, random_features,
    uniform_vector,
};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::{SMatrix, SVector};

/// What the transition function of a Boyan chain with m states is made from (Algorithm 2): draws in
/// (0, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct BoyanDraws<R: Real, const M: usize> {
    /// epsilon_s, the probability of s -> s + 1 rather than s + 2, for s = 0 to m - 3.
    pub epsilon: SVector<R, M>,
    /// The last state's weights before they are normalised, for s = 0 to m - 1.
    pub last_row: SVector<R, M>,
}

impl<R: Real, const M: usize> BoyanDraws<R, M> {
    /// The transition function p, (M, M): s -> s + 1 with probability epsilon_s and s -> s + 2
    /// otherwise, the last but one to the last, the last to a random state.
    pub fn transition(&self, states: usize) -> SMatrix<R, M, M> {
        let mut p = zeros::<R, M, M>();
        debug_assert!(states <= M, "{states} states of {M}");
        let states = states.min(M);
        for s in 0..states.saturating_sub(2) {
            p[(s, s + 1)] = self.epsilon[s];
            p[(s, s + 2)] = R::ONE - self.epsilon[s];
        }
        if states >= 2 {
            p[(states - 2, states - 1)] = R::ONE;
        }
        if states >= 1 {
            let mut last_row = self.last_row;
            last_row.iter_mut().skip(states).for_each(|weight| *weight = R::ZERO);
            p.set_row(states - 1, &normalised(last_row).transpose());
        }
        p
    }
}

/// Boyan's chain with random transition probabilities, rewards and features (Algorithm 2):
/// state i goes to i + 1 with probability epsilon_i and to i + 2 otherwise, the last but one to the
/// last, the last to a random state.
///
/// # Errors
/// [`Error::OutOfRange`] for fewer than 2 states, [`Error::CapacityExceeded`] beyond M.
pub fn boyan_chain<R: Real, const D: usize, const M: usize>(
    states: usize,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_states::<M>(states, 2)?;
    let features = random_features(states, rng);
    let initial = random_distribution(states, rng);
    let reward = uniform_vector(states, rng);
    let epsilon = positive_uniform(states - 2, rng);
    let draws = BoyanDraws { epsilon, last_row: positive_uniform(states, rng) };
    Ok(Mrp::from_parts(states, features, initial, &draws.transition(states), reward))
}

/// Boyan's chain whose true value function is <w*, phi(s)> with w* ~ U(-1, 1)^d (Algorithm 3).
///
/// # Errors
/// As [`boyan_chain`]; [`Error::OutOfRange`] for gamma outside [0, 1).
pub fn boyan_chain_representable<R: Real, const D: usize, const M: usize>(
    states: usize,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_gamma(gamma)?;
    let w = uniform_vector(D, rng);
    Ok(boyan_chain(states, rng)?.with_representable_value(&w, gamma))
}
