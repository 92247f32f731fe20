//! TD(0): on transitions, as the paper writes it, and on their statistic.

use super::batch_step;
use crate::error::Error;
use crate::linalg::{add_scaled, check_finite, dot, zeros};
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transition::{Transition, check_token_size};
use crate::value_function::ValueFunction;
use nalgebra::{SMatrix, SVector};

/// The TD error delta = R + gamma w^T phi' - w^T phi.
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{td::td0::td_error, transition::Transition};
///
/// let (phi, phi_next) = (SVector::from([1.0, 0.0]), SVector::from([0.0, 1.0]));
/// let transition = Transition { phi, reward: 0.5, phi_next };
/// assert_eq!(td_error(&SVector::from([1.0, 2.0]), &transition, 0.5), 0.5 + 0.5 * 2.0 - 1.0);
/// ```
pub fn td_error<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    transition: &Transition<S, D>,
    gamma: S,
) -> S {
    transition.reward + gamma * dot(w, &transition.phi_next) - dot(w, &transition.phi)
}

/// Preconditioned batch TD(0) (eq. "TD(0) w_update"):
/// w_{l+1} = w_l + (1/n) C_l sum_j (R_{j+1} + gamma w_l^T phi_{j+1} - w_l^T phi_j) phi_j.
///
/// ```
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{constructions::learning_rate, td, transition::Transition};
///
/// // A state that leads to itself with reward 1: its value is 1 / (1 - gamma).
/// let phi = SVector::from([1.0]);
/// let transitions = [Transition { phi, reward: 1.0, phi_next: phi }];
/// let mut w = SVector::from([0.0]);
/// for _ in 0..100 {
///     w = td::td0::update(&w, &learning_rate(0.5), &transitions, 0.5)?;
/// }
/// assert!((w[0] - 2.0f64).abs() < 1e-9);
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Empty`] without transitions, [`Error::NonFinite`] if the new w is not finite.
pub fn update<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    c: &SMatrix<S, D, D>,
    transitions: &[Transition<S, D>],
    gamma: S,
) -> Result<SVector<S, D>, Error> {
    let mut sum = zeros();
    for transition in transitions {
        add_scaled(&mut sum, td_error(w, transition, gamma), &transition.phi);
    }
    batch_step(w, c, &sum, transitions.len())
}

/// The value function of L iterations of batch TD(0) with learning rate alpha from w_0 = 0, in
/// O(L d^2) whatever the length of the context: w_{l+1} = w_l + alpha (b - A w_l) with
/// A = (1/n) sum phi (phi - gamma phi')^T and b = (1/n) sum R phi, both read off G_0 under TD(0)'s mask. It is
/// that of Theorem 1's layers with C_l = alpha I.
///
/// Which alpha converges: [the module](super#step-sizes) says.
///
/// ```
/// use ictd_core::attention::Td0;
/// use ictd_core::nalgebra::SVector;
/// use ictd_core::{prompt::Prompt, statistic::Statistic, td, transition::Transition};
///
/// let phi = SVector::from([1.0]);
/// let transitions = [Transition { phi, reward: 1.0, phi_next: phi }];
/// let prompt = Prompt::<f64, 3, 1>::discounted(&transitions, 0.5, &phi)?;
/// let v = td::td0::value_function::<_, 1, 3>(&Statistic::of_prompt(&prompt, &Td0)?, 0.5, 100)?;
/// assert!((v.at(&[1.0]) - 2.0).abs() < 1e-9);
/// # Ok::<(), ictd_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::NonFinite`] if the iterates blow up.
pub fn value_function<S: Scalar, const D: usize, const K: usize>(
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

#[cfg(test)]
mod tests {
    use super::super::lstd;
    use super::*;
    use crate::constructions::learning_rate;
    use crate::rng::Rng;

    #[test]
    fn steps_below_the_bound_approach_lstd_where_next_states_are_distributed_as_states() {
        let mut rng = Rng::new(1);
        let gamma = 0.9;
        for _ in 0..20 {
            let features: [SVector<f64, 3>; 12] = core::array::from_fn(|_| rng_vector(&mut rng));
            let longest = features.iter().map(|phi| dot(phi, phi)).fold(0.0, f64::max);
            let alpha = 1.99 * (1.0 - gamma) / ((1.0 + gamma) * (1.0 + gamma) * longest);
            let transitions: [_; 12] = core::array::from_fn(|j| Transition {
                phi: features[j],
                reward: rng.uniform_in(-1.0, 1.0),
                phi_next: features[(j + 1) % 12],
            });
            let fixed_point = lstd::solve(&transitions, gamma, 0.0).unwrap();
            let mut w = zeros();
            for _ in 0..100 {
                let next = update(&w, &learning_rate(alpha), &transitions, gamma).unwrap();
                assert!((next - fixed_point).norm() < (w - fixed_point).norm());
                w = next;
            }
        }
    }

    fn rng_vector(rng: &mut Rng) -> SVector<f64, 3> {
        SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0))
    }
}
