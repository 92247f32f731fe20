use super::{Mrp, check_states, normalise, random_features, uniform_vector};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
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
            normalise(&mut last_row.data.0[0][..states]);
            for s in 0..states {
                p[(states - 1, s)] = last_row[s];
            }
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
    let mut chain = Mrp::with_features(states, random_features(states, rng));
    let positive = |rng: &mut Rng| positive_uniform::<R>(rng);
    for s in 0..states {
        chain.initial[s] = positive(rng);
    }
    normalise(&mut chain.initial.data.0[0][..states]);
    for s in 0..states {
        chain.reward[s] = rng.uniform_in(-R::ONE, R::ONE);
    }
    let mut draws = BoyanDraws::<R, M> { epsilon: zeros(), last_row: zeros() };
    for s in 0..states - 2 {
        draws.epsilon[s] = positive(rng);
    }
    for s in 0..states {
        draws.last_row[s] = positive(rng);
    }
    let p = draws.transition(states);
    for s in 0..states {
        for next in 0..states {
            chain.transition[s][next] = p[(s, next)];
        }
    }
    chain.accumulate();
    Ok(chain)
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
    if !(gamma >= R::ZERO && gamma < R::ONE) {
        return Err(Error::OutOfRange { parameter: "gamma", accepted: "[0, 1)" });
    }
    let w = uniform_vector(rng);
    Ok(boyan_chain(states, rng)?.with_representable_value(&w, gamma))
}

/// A number in the paper's open interval (0, 1), in which a probability of exactly 0 has no chance.
pub(super) fn positive_uniform<R: Real>(rng: &mut Rng) -> R {
    loop {
        let x = rng.uniform::<R>();
        if x > R::ZERO {
            return x;
        }
    }
}
