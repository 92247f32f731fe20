//! The paper's updates on transitions: the references that the constructions of [`crate::constructions`] are tested
//! against.
//!
//! Each update is one step w + (1/n) C sum_j delta_j e_j from the weights w with the preconditioner C, (D, D), over n
//! transitions; they differ in the error delta and the direction e. Which C = alpha I converges:
//! [the module above](super#step-sizes).
//!
//! Each returns [`Error::Empty`] without transitions and [`Error::NonFinite`] if the new w is not finite.

use crate::error::{Error, Result, ensure};
use crate::linalg::{add_scaled, check_finite, dot, mul_vector, zeros};
use crate::scalar::Scalar;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// Computes the TD error delta = R + gamma w^T phi' - w^T phi.
pub fn td_error<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    transition: &Transition<S, D>,
    gamma: S,
) -> S {
    transition.reward + gamma * dot(w, &transition.phi_next) - dot(w, &transition.phi)
}

/// Computes w + (1/n) C sum_j delta_j e_j, of each transition's delta and e.
fn step<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    mut term: impl FnMut(&Transition<S, D>) -> (S, SVector<S, D>),
) -> Result<SVector<S, D>> {
    ensure(!transitions.is_empty(), Error::Empty { parameter: "transitions" })?;
    let mut sum = zeros();
    for transition in transitions {
        let (delta, e) = term(transition);
        add_scaled(&mut sum, delta, &e);
    }
    let mut next = *w;
    add_scaled(&mut next, S::ONE / S::from_count(transitions.len() as u64), &mul_vector(c, &sum));
    check_finite(&next, "w")?;
    Ok(next)
}

/// Takes a step of preconditioned batch TD(0) (eq. "TD(0) w_update"):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_{j+1} + gamma w_l^T phi_{j+1} - w_l^T phi_j) phi_j.
pub fn td0<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    gamma: S,
) -> Result<SVector<S, D>> {
    step(w, c, transitions, |t| (td_error(w, t, gamma), t.phi))
}

/// Takes a step of preconditioned batch TD(lambda), as in the corollary: e_j = lambda e_{j-1} + phi_j,
/// w_{k+1} = w_k + (1/n) C_k sum_i delta_i e_i.
///
/// The trace decays by lambda alone, as the corollary and its mask have it (the paper's background
/// section has gamma lambda), and starts from e_{-1} = 0, so that phi_0 counts.
pub fn td_lambda<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    gamma: S,
    lambda: S,
) -> Result<SVector<S, D>> {
    let mut trace = zeros::<S, D, 1>();
    step(w, c, transitions, |t| {
        let mut e = t.phi;
        add_scaled(&mut e, lambda, &trace);
        trace = e;
        (td_error(w, t, gamma), e)
    })
}

/// Takes a step of the preconditioned batch (naive) residual gradient of Baird (1995) (eq. "w_update RG"):
/// w_{l+1} = w_l + (1/n) C_l sum_j delta_j (phi_j - gamma phi_{j+1}).
pub fn residual_gradient<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    gamma: S,
) -> Result<SVector<S, D>> {
    step(w, c, transitions, |t| {
        let mut difference = t.phi;
        add_scaled(&mut difference, -gamma, &t.phi_next);
        (td_error(w, t, gamma), difference)
    })
}

/// Takes a step of preconditioned batch average-reward TD (Tsitsiklis and Van Roy, 1999; the average-reward theorem):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_j - rbar_j + w_l^T phi_j - w_l^T phi_{j-1}) phi_{j-1},
/// with rbar_j the mean of the first j rewards.
pub fn average_reward<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
) -> Result<SVector<S, D>> {
    let (mut rewards, mut count) = (S::ZERO, 0);
    step(w, c, transitions, |t| {
        rewards += t.reward;
        count += 1;
        let mean = rewards / S::from_count(count);
        (td_error(w, t, S::ONE) - mean, t.phi)
    })
}
