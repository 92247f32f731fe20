use super::{Mrp, check_states, normalise, random_features, uniform_vector};
use crate::error::Error;
use crate::kernel::zeros;
use crate::rng::Rng;
use crate::scalar::Real;

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
    let mut chain = Mrp {
        states,
        initial: zeros(),
        transition: [zeros(); M],
        reward: zeros(),
        features: random_features(states, rng),
    };
    let positive = |rng: &mut Rng| positive_uniform::<R>(rng);
    for s in 0..states {
        chain.initial[s] = positive(rng);
    }
    normalise(&mut chain.initial.data.0[0][..states]);
    for s in 0..states {
        chain.reward[s] = rng.uniform_in(-R::ONE, R::ONE);
    }
    for s in 0..states - 2 {
        let epsilon = positive(rng);
        chain.transition[s][s + 1] = epsilon;
        chain.transition[s][s + 2] = R::ONE - epsilon;
    }
    chain.transition[states - 2][states - 1] = R::ONE;
    for s in 0..states {
        chain.transition[states - 1][s] = positive(rng);
    }
    normalise(&mut chain.transition[states - 1].data.0[0][..states]);
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
