use super::{Mrp, check_states, positive_uniform, random_distribution, random_features};
use crate::error::Error;
use crate::linalg::zeros;
use crate::rng::Rng;
use crate::scalar::Real;
use crate::transition::check_gamma;
use nalgebra::SMatrix;

/// What a Loop's transition function is made from: draws in (0, 1), (M, M) each.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopDraws<R: Real, const M: usize> {
    /// An edge s -> s' is there if its draw exceeds the threshold.
    pub connect: SMatrix<R, M, M>,
    /// The edges' weights before each row is normalised.
    pub weight: SMatrix<R, M, M>,
}

impl<R: Real, const M: usize> LoopDraws<R, M> {
    /// The transition function p, (M, M): no self loops, s -> s + 1 (mod m) always, every other
    /// edge where `connect` exceeds the threshold.
    pub fn transition(&self, states: usize, threshold: R) -> SMatrix<R, M, M> {
        let mut p = zeros::<R, M, M>();
        debug_assert!(states <= M, "{states} states of {M}");
        let states = states.min(M);
        for s in 0..states {
            let successor = (s + 1) % states;
            let mut total = R::ZERO;
            for next in 0..states {
                let edge = next == successor || (next != s && self.connect[(s, next)] > threshold);
                if edge {
                    p[(s, next)] = self.weight[(s, next)];
                    total += self.weight[(s, next)];
                }
            }
            for next in 0..states {
                p[(s, next)] = p[(s, next)] / total;
            }
        }
        p
    }
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
    check_states::<M>(states, 1)?;
    if !(threshold > R::ZERO && threshold < R::ONE) {
        return Err(Error::OutOfRange { parameter: "threshold", accepted: "(0, 1)" });
    }
    check_gamma(gamma)?;
    let features = random_features(states, rng);
    let mut w = zeros::<R, D, 1>();
    for i in 0..D {
        w[i] = rng.normal();
    }
    let connect = positive_matrix(states, rng);
    let p =
        LoopDraws { connect, weight: positive_matrix(states, rng) }.transition(states, threshold);
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
