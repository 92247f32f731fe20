use super::{
    Mrp, check_states, positive_uniform, random_distribution, random_features, uniform_vector,
};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::{SMatrix, SVector};

/// The transition function p, (M, M), of a Boyan chain (Algorithm 2): s -> s + 1 with probability
/// epsilon_s and s -> s + 2 otherwise, the last but one to the last, the last to a random state, with
/// probabilities proportional to `last_row`.
pub fn boyan_transition<R: Real, const M: usize>(
    states: usize,
    epsilon: &SVector<R, M>,
    last_row: &SVector<R, M>,
) -> SMatrix<R, M, M> {
    debug_assert!(states <= M, "{states} states of {M}");
    let (mut p, states) = (zeros::<R, M, M>(), states.min(M));
    for s in 0..states.saturating_sub(2) {
        p[(s, s + 1)] = epsilon[s];
        p[(s, s + 2)] = R::ONE - epsilon[s];
    }
    if states >= 2 {
        p[(states - 2, states - 1)] = R::ONE;
    }
    let total = last_row.iter().take(states).fold(R::ZERO, |total, weight| total + *weight);
    for next in 0..states {
        p[(states - 1, next)] = last_row[next] / total;
    }
    p
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
    chain(states, D, rng)
}

/// [`boyan_chain`] with `dim` <= D features.
pub(super) fn chain<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_states::<M>(states, 2)?;
    let features = random_features(states, dim, rng);
    let initial = random_distribution(states, rng);
    let reward = uniform_vector(states, rng);
    let epsilon = positive_uniform(states - 2, rng);
    let p = boyan_transition(states, &epsilon, &positive_uniform(states, rng));
    Ok(Mrp::from_parts(states, features, initial, &p, reward))
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
    representable_chain(states, D, gamma, rng)
}

/// [`boyan_chain_representable`] with `dim` <= D features.
pub(super) fn representable_chain<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_gamma(gamma)?;
    let w = uniform_vector(dim, rng);
    Ok(chain(states, dim, rng)?.with_representable_value(&w, gamma))
}
