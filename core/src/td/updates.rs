//! The paper's updates on transitions: the references that the constructions of [`crate::constructions`] are tested
//! against, and LSTD, the limit that their iterations approach.
//!
//! Each update is one step w + (1/n) C sum_j delta_j e_j from the weights w with the preconditioner C, (D, D), over n
//! transitions; they differ in the error delta and the direction e. Which C = alpha I converges:
//! [the module above](super#step-sizes).
//!
//! ```
//! use ictd_core::nalgebra::SVector;
//! use ictd_core::{constructions::learning_rate, td::updates, transition::Transition};
//!
//! // A state that leads to itself with reward 1: its value is 1 / (1 - gamma).
//! let phi = SVector::from([1.0]);
//! let transitions = [Transition { phi, reward: 1.0, phi_next: phi }];
//! let mut w = SVector::from([0.0]);
//! for _ in 0..100 {
//!     w = updates::td0(&w, &learning_rate(0.5), &transitions, 0.5)?;
//! }
//! assert!((w[0] - 2.0f64).abs() < 1e-9);
//! assert_eq!(updates::lstd(&transitions, 0.5, 0.0)?[0], 2.0);
//! # Ok::<(), ictd_core::Error>(())
//! ```
//!
//! # Errors
//! Each returns [`Error::Empty`] without transitions and [`Error::NonFinite`] if the new w is not finite.

use crate::error::Error;
use crate::linalg::{add_outer, add_scaled, check_finite, dot, linear_system, mul_vector, zeros};
use crate::scalar::{Real, Scalar};
use crate::statistic::Statistic;
use crate::transition::{Transition, check_token_size};
use crate::value_function::ValueFunction;
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
) -> Result<SVector<S, D>, Error> {
    if transitions.is_empty() {
        return Err(Error::Empty { parameter: "transitions" });
    }
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
) -> Result<SVector<S, D>, Error> {
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
) -> Result<SVector<S, D>, Error> {
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
) -> Result<SVector<S, D>, Error> {
    step(w, c, transitions, |t| (td_error(w, t, gamma), difference(t, gamma)))
}

/// Computes phi - gamma phi'.
fn difference<S: Scalar, const D: usize>(t: &Transition<S, D>, gamma: S) -> SVector<S, D> {
    let mut difference = t.phi;
    add_scaled(&mut difference, -gamma, &t.phi_next);
    difference
}

/// Takes a step of preconditioned batch average-reward TD (Tsitsiklis and Van Roy, 1999; the average-reward theorem):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_j - rbar_j + w_l^T phi_j - w_l^T phi_{j-1}) phi_{j-1},
/// with rbar_j the mean of the first j rewards.
pub fn average_reward<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
) -> Result<SVector<S, D>, Error> {
    let (mut rewards, mut count) = (S::ZERO, 0);
    step(w, c, transitions, |t| {
        rewards += t.reward;
        count += 1;
        let mean = rewards / S::from_count(count);
        (td_error(w, t, S::ONE) - mean, t.phi)
    })
}

/// Computes the value function of L iterations of batch TD(0) with learning rate alpha from w_0 = 0, in
/// O(L d^2) whatever the length of the context: w_{l+1} = w_l + alpha (b - A w_l) with
/// A = (1/n) sum phi (phi - gamma phi')^T and b = (1/n) sum R phi, both read off G_0 under TD(0)'s mask. It is
/// that of Theorem 1's layers with C_l = alpha I.
pub fn td0_value_function<S: Scalar, const D: usize, const K: usize>(
    statistic: &Statistic<S, K>,
    alpha: S,
    iterations: usize,
) -> Result<ValueFunction<S, D>, Error> {
    check_token_size::<D, K>();
    let (g, scale) = (&statistic.g, alpha * statistic.inverse_len);
    let mut weights = zeros::<S, D, 1>();
    for _ in 0..iterations {
        let w = weights;
        for i in 0..D {
            let mut expected_error = g[(i, 2 * D)];
            for j in 0..D {
                expected_error += (g[(i, D + j)] - g[(i, j)]) * w[j];
            }
            weights[i] += scale * expected_error;
        }
    }
    check_finite(&weights, "batch TD's weights")?;
    Ok(ValueFunction { weights })
}

/// Solves LSTD(lambda): returns the w with sum_i delta_i e_i = 0, that is A w = b for
/// A = sum_i e_i (phi_i - gamma phi_{i+1})^T and b = sum_i R_{i+1} e_i, where
/// e_i = lambda e_{i-1} + phi_i as in [`td_lambda`]. lambda = 0 is LSTD.
///
/// # Errors
/// [`Error::Singular`] if the transitions do not determine w, [`Error::NonFinite`] for NaN or an infinity in them.
pub fn lstd<R: Real, const D: usize>(
    transitions: &[Transition<R, D>],
    gamma: R,
    lambda: R,
) -> Result<SVector<R, D>, Error> {
    if transitions.is_empty() {
        return Err(Error::Empty { parameter: "transitions" });
    }
    let (mut a, mut b) = (zeros::<R, D, D>(), zeros::<R, D, 1>());
    let mut trace = zeros::<R, D, 1>();
    for transition in transitions {
        let mut e = transition.phi;
        add_scaled(&mut e, lambda, &trace);
        trace = e;
        add_outer(&mut a, &trace, &difference(transition, gamma));
        add_scaled(&mut b, transition.reward, &trace);
    }
    linear_system::solve(a, b, D, super::of_context::SYSTEM)
}
