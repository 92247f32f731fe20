//! The invariant set of TD pretraining for one layer (Theorem 2).
//!
//! If the distribution of the features is unchanged by permutations and by sign flips of their
//! entries (Assumption 2) and independent of the rest (Assumption 1), the expected update of
//! eq. "expected theta update"
//!
//! ```text
//! Delta(theta) = E[(R + gamma TF_1(Z_0'; theta) - TF_1(Z_0; theta)) grad TF_1(Z_0; theta)]
//! ```
//!
//! never leaves Theta_* = { [`theta_star`]`(eta, c, c')` }. The expectation over the symmetries is a
//! finite sum: the group of the 2^d d! signed permutations g acts on the features, and
//! [`group_averaged_update`] averages the update over g phi for all of them, exactly. So the theorem
//! holds for each trajectory, up to rounding, and not without the average.
//!
//! (The paper's last line prints c_k + alpha_k delta I_d for the new block; it is
//! (c_k + alpha_k delta) I_d.)

use crate::error::Error;
use crate::gradient::linear::Tape;
use crate::layer::Layer;
use crate::linalg::{add_scaled, zeros};
use crate::scalar::Real;
use crate::training::Windows;
use crate::transformer::Transformer;
use nalgebra::SVector;

/// theta_*(eta, c, c') (eq. "optimal single layer"):
///
/// ```text
/// P = [ 0   0  ]      Q = [ c I   0  0 ]
///     [ 0  eta ]          [ c' I  0  0 ]
///                         [  0    0  0 ]
/// ```
///
/// ```
/// use ictd_core::invariant_set::{Projection, theta_star};
///
/// let mut layer = theta_star::<f32, 2, 5>(0.5, -1.0, 0.25);
/// layer.p[(0, 1)] = 0.125;
/// let expected = Projection { eta: 0.5, c: -1.0, c_prime: 0.25, departure: 0.125 };
/// assert_eq!(Projection::of::<2, 5>(&layer), expected);
/// ```
pub fn theta_star<R: Real, const D: usize, const K: usize>(
    eta: R,
    c: R,
    c_prime: R,
) -> Layer<R, K> {
    crate::transition::check_token_size::<D, K>();
    let mut layer = Layer { p: zeros(), q: zeros() };
    layer.p[(2 * D, 2 * D)] = eta;
    for i in 0..D {
        layer.q[(i, i)] = c;
        layer.q[(D + i, i)] = c_prime;
    }
    layer
}

/// Where a layer is with respect to Theta_*.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Projection<R: Real> {
    /// P\[2d, 2d\].
    pub eta: R,
    /// The mean diagonal entry of Q's upper-left (d, d) block.
    pub c: R,
    /// The mean diagonal entry of the block below it.
    pub c_prime: R,
    /// The largest absolute entry of what is left after theta_*(eta, c, c') is taken away: 0 on
    /// Theta_*.
    pub departure: R,
}

impl<R: Real> Projection<R> {
    /// Of a layer, or of an update.
    pub fn of<const D: usize, const K: usize>(layer: &Layer<R, K>) -> Self {
        let inverse_d = R::ONE / R::from_count(D as u64);
        let (mut c, mut c_prime) = (R::ZERO, R::ZERO);
        for i in 0..D {
            c += layer.q[(i, i)];
            c_prime += layer.q[(D + i, i)];
        }
        let (eta, c, c_prime) = (layer.p[(2 * D, 2 * D)], c * inverse_d, c_prime * inverse_d);
        let star = theta_star::<R, D, K>(eta, c, c_prime);
        let mut departure = R::ZERO;
        for (m, m_star) in [(&layer.p, &star.p), (&layer.q, &star.q)] {
            for (x, x_star) in m.iter().zip(m_star.iter()) {
                departure = departure.max((*x - *x_star).abs());
            }
        }
        Projection { eta, c, c_prime, departure }
    }
}

/// One trajectory (S_0, R_1, ..., R_{n+2}, S_{n+2}) through features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeatureTrajectory<'a, R: Real, const D: usize> {
    /// phi_0 to phi_{n+2}, (D) each.
    pub features: &'a [SVector<R, D>],
    /// R_1 to R_{n+2}.
    pub rewards: &'a [R],
}

/// A signed permutation: (g phi)_i = sign_i phi_{source_i}.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedPermutation<const D: usize> {
    source: [usize; D],
    negated: [bool; D],
}

impl<const D: usize> SignedPermutation<D> {
    /// How many there are: 2^d d!, for d up to 12.
    pub const ORDER: u64 = {
        assert!(D >= 1 && D <= 12, "2^d d! signed permutations: d from 1 to 12");
        let (mut order, mut i) = (1, 1);
        while i <= D {
            order *= 2 * i as u64;
            i += 1;
        }
        order
    };

    /// Number `index` of them (modulo their number); 0 is the identity.
    pub fn number(index: u64) -> Self {
        let mut rest = index % Self::ORDER;
        let mut g = SignedPermutation { source: [0; D], negated: [false; D] };
        let mut taken = [false; D];
        for i in 0..D {
            let free = (D - i) as u64;
            let choice = rest % (2 * free);
            rest /= 2 * free;
            g.negated[i] = choice >= free;
            // The choice-th of the sources that are still free.
            let mut skip = choice % free;
            for source in 0..D {
                if !taken[source] {
                    if skip == 0 {
                        g.source[i] = source;
                        taken[source] = true;
                        break;
                    }
                    skip -= 1;
                }
            }
        }
        g
    }

    /// g phi.
    pub fn apply<R: Real>(&self, phi: &SVector<R, D>) -> SVector<R, D> {
        let mut out = zeros::<R, D, 1>();
        for i in 0..D {
            let x = phi[self.source[i]];
            out[i] = if self.negated[i] { -x } else { x };
        }
        out
    }
}

/// The update of one trajectory, (R + gamma TF_1(Z_0') - TF_1(Z_0)) grad TF_1(Z_0), with Z_0 and Z_0'
/// as in eq. "prompt for invariant set": contexts of n transitions and the queries phi_{n+1} and
/// phi_{n+2}, R = R_{n+2}.
///
/// # Errors
/// [`Error::Empty`] or [`Error::OutOfRange`] if the trajectory is too short for one transition of
/// context or has not one reward per step; [`Error::NonFinite`] for a bad parameter.
pub fn update<R: Real, const D: usize, const K: usize>(
    layer: &Layer<R, K>,
    trajectory: &FeatureTrajectory<R, D>,
    gamma: R,
) -> Result<Layer<R, K>, Error> {
    let transformer = Transformer::<_, 1>::autoregressive(*layer, 1)?;
    let context_len = trajectory.features.len().saturating_sub(3);
    let windows = Windows::new(trajectory.features, trajectory.rewards, context_len, gamma)?;
    let pass = |t| {
        let window = windows.window(t);
        Tape::<R, K, 1>::forward(&transformer, &window.statistic(), &window.query_token())
    };
    let (now, next) = (pass(0), pass(1));
    let delta = windows.td_target(0, next.value()) - now.value();
    let mut update = [Layer { p: zeros(), q: zeros() }];
    now.backward(&transformer, delta, &mut update);
    Ok(update[0])
}

/// Delta(theta) for features that are equally likely to be any signed permutation of the given ones:
/// the mean of [`update`] over all g and all trajectories. T is the capacity for a trajectory's
/// n + 3 feature vectors. Meant for d <= 3 (8 and 48 signed permutations).
///
/// # Errors
/// As [`update`]; [`Error::CapacityExceeded`] if a trajectory is longer than T.
pub fn group_averaged_update<R: Real, const D: usize, const K: usize, const T: usize>(
    layer: &Layer<R, K>,
    trajectories: &[FeatureTrajectory<R, D>],
    gamma: R,
) -> Result<Layer<R, K>, Error> {
    if trajectories.is_empty() {
        return Err(Error::Empty { parameter: "trajectories" });
    }
    let order = SignedPermutation::<D>::ORDER;
    let share = R::ONE / R::from_count(order * trajectories.len() as u64);
    let mut sum = Layer { p: zeros(), q: zeros() };
    for trajectory in trajectories {
        let len = trajectory.features.len();
        let mut features = [zeros::<R, D, 1>(); T];
        let Some(features) = features.get_mut(..len) else {
            return Err(Error::CapacityExceeded { parameter: "trajectory", capacity: T });
        };
        for index in 0..order {
            let g = SignedPermutation::<D>::number(index);
            for (to, phi) in features.iter_mut().zip(trajectory.features) {
                *to = g.apply(phi);
            }
            let moved = FeatureTrajectory { features, rewards: trajectory.rewards };
            let update = update::<R, D, K>(layer, &moved, gamma)?;
            add_scaled(&mut sum.p, share, &update.p);
            add_scaled(&mut sum.q, share, &update.q);
        }
    }
    Ok(sum)
}

/// theta + alpha Delta.
pub fn step<R: Real, const K: usize>(
    layer: &Layer<R, K>,
    alpha: R,
    delta: &Layer<R, K>,
) -> Layer<R, K> {
    let mut next = *layer;
    add_scaled(&mut next.p, alpha, &delta.p);
    add_scaled(&mut next.q, alpha, &delta.q);
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn trajectory(rng: &mut Rng) -> ([SVector<f64, 2>; 8], [f64; 7]) {
        let mut draw = || rng.uniform_in(-1.0, 1.0);
        let states: [SVector<f64, 2>; 4] =
            core::array::from_fn(|_| SVector::from_fn(|_, _| draw()));
        let rewards = core::array::from_fn(|_| draw());
        (core::array::from_fn(|_| states[rng.below(4) as usize]), rewards)
    }

    #[test]
    fn signed_permutations_are_all_different() {
        let phi = SVector::<f64, 3>::new(1.0, 2.0, 3.0);
        let order = SignedPermutation::<3>::ORDER;
        assert_eq!(order, 48);
        for i in 0..order {
            for j in 0..i {
                let image = |k| SignedPermutation::<3>::number(k).apply(&phi);
                assert_ne!(image(i), image(j));
            }
        }
        assert_eq!(SignedPermutation::<3>::number(0).apply(&phi), phi);
    }

    #[test]
    fn expected_updates_stay_in_theta_star_and_single_ones_do_not() {
        let mut rng = Rng::new(1);
        for _ in 0..10 {
            let (features, rewards) = trajectory(&mut rng);
            let one = FeatureTrajectory { features: &features, rewards: &rewards };
            let mut theta = theta_star::<f64, 2, 5>(0.9, -1.1, 0.7);
            let alone = update::<f64, 2, 5>(&theta, &one, 0.9).unwrap();
            assert!(Projection::of::<2, 5>(&alone).departure > 1e-4);
            for _ in 0..20 {
                let delta = group_averaged_update::<f64, 2, 5, 8>(&theta, &[one], 0.9).unwrap();
                theta = step(&theta, 0.1, &delta);
            }
            let end = Projection::of::<2, 5>(&theta);
            assert!(end.departure < 1e-14 && (end.eta - 0.9).abs() > 1e-4, "{end:?}");
        }
    }

    #[test]
    fn outside_theta_star_the_average_has_no_such_form() {
        let mut rng = Rng::new(2);
        let (features, rewards) = trajectory(&mut rng);
        let one = FeatureTrajectory { features: &features, rewards: &rewards };
        let mut theta = theta_star::<f64, 2, 5>(0.9, -1.1, 0.7);
        theta.p[(4, 0)] = 0.3;
        theta.q[(0, 1)] = -0.4;
        let delta = group_averaged_update::<f64, 2, 5, 8>(&theta, &[one], 0.9).unwrap();
        assert!(Projection::of::<2, 5>(&delta).departure > 1e-4);
        let too_long = group_averaged_update::<f64, 2, 5, 7>(&theta, &[one], 0.9);
        assert_eq!(too_long, Err(Error::CapacityExceeded { parameter: "trajectory", capacity: 7 }));
    }
}
