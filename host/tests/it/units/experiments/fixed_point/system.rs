use ictd::experiments::fixed_point::system::{System, jackknife};
use ictd::experiments::invariant_set::Sample;
use ictd_core::invariant_set::{Projection, linear_update, theta_star};
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};

const D: usize = 4;
const K: usize = 9;
const GAMMA: f64 = 0.9;
/// States of the trajectory.
const LENGTH: usize = 33;

/// The gradient of Algorithm 1 at u: what the system's residual says, by a network's own gradient.
#[test]
fn the_system_is_the_expected_update_in_theta_star() {
    let (eta, c, c_prime) = (0.5, -0.75, 0.25);
    let star = theta_star::<f64, D, K>(eta, c, c_prime);
    let theta = Transformer::<_, 1>::autoregressive(star, 1).unwrap();
    let mut rng = Rng::new(5);
    let sample = Sample::<D, LENGTH>::new(&mut rng).unwrap();
    let trajectory = sample.trajectory();
    let update = linear_update::<f64, D, K, 1, LENGTH>(&theta, &Td0, GAMMA, &trajectory).unwrap();
    let mut system = System::zero();
    system.add(trajectory.features, trajectory.rewards, LENGTH - 3, GAMMA);
    // One window: delta x, and by the chain rule eta delta x for (c, c') and (c, c') delta x for eta.
    let residual = system.b - system.a * SVector::from([eta * c, eta * c_prime]);
    let found = Projection::of::<D, K>(&update.layers()[0]);
    let d = D as f64;
    for (found, expected) in [
        (found.eta, c * residual[0] + c_prime * residual[1]),
        (d * found.c, eta * residual[0]),
        (d * found.c_prime, eta * residual[1]),
    ] {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn the_jackknife_gives_the_error_of_a_mean() {
    let system = |y: f64| System { a: SMatrix::identity(), b: SVector::from([y, 2.0]) };
    let (mean, stderr) = jackknife(&[1.0, 2.0, 3.0].map(system), |u| u[0]);
    assert!((mean - 2.0).abs() < 1e-12 && (stderr - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
}
