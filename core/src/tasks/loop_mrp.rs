use super::{Mrp, check_states, positive_uniform, random_distribution, random_features};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::SMatrix;

/// The transition function p, (M, M), of a Loop: no self loops, s -> s + 1 (mod m) always, every other
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
        let successor = (s + 1) % states;
        let mut total = R::ZERO;
        for next in 0..states {
            if next == successor || (next != s && connect[(s, next)] > threshold) {
                p[(s, next)] = weight[(s, next)];
                total += weight[(s, next)];
            }
        }
        for next in 0..states {
            p[(s, next)] = p[(s, next)] / total;
        }
    }
    p
}

/// The Loop MRP of the authors' `demo.py`, which the paper does not describe: random edges of
/// density 1 - threshold around a ring, random weights, U(-1, 1) features, and a representable
/// true value function with w* ~ N(0, I).
///
/// # Errors
/// [`Error::OutOfRange`] for no states, a threshold outside (0, 1) or gamma outside [0, 1);
/// [`Error::CapacityExceeded`] beyond M states.
pub fn loop_mrp<R: Real, const D: usize, const M: usize>(
    states: usize,
    threshold: R,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    draw(states, D, threshold, gamma, rng)
}

/// [`loop_mrp`] with `dim` <= D features.
pub(super) fn draw<R: Real, const D: usize, const M: usize>(
    states: usize,
    dim: usize,
    threshold: R,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, M>, Error> {
    check_states::<M>(states, 1)?;
    if !(threshold > R::ZERO && threshold < R::ONE) {
        return Err(Error::OutOfRange { parameter: "threshold", accepted: "(0, 1)" });
    }
    check_gamma(gamma)?;
    let features = random_features(states, dim, rng);
    let mut w = zeros::<R, D, 1>();
    for w_i in w.iter_mut().take(dim) {
        *w_i = rng.normal();
    }
    let connect = positive_matrix(states, rng);
    let p = loop_transition(states, &connect, &positive_matrix(states, rng), threshold);
    let initial = random_distribution(states, rng);
    let mrp = Mrp::from_parts(states, features, initial, &p, zeros());
    Ok(mrp.with_representable_value(&w, gamma))
}

/// A row of draws in (0, 1) for each state.
fn positive_matrix<R: Real, const M: usize>(states: usize, rng: &mut Rng) -> SMatrix<R, M, M> {
    let mut m = zeros::<R, M, M>();
    for s in 0..states.min(M) {
        m.set_row(s, &positive_uniform::<R, M>(states, rng).transpose());
    }
    m
}
