use compute::fixed_point::{System, fixed_point};
use ictd_core::invariant_set::{Projection, theta_star, update};
use ictd_core::layer::{Layer, LayerParameters};
use ictd_core::rng::Rng;
use ictd_core::training::{LinearNetwork, LinearShape, Network, Parameters, Targets, Windows};
use nalgebra::{SMatrix, SVector};

/// The gradient of Algorithm 1 at u: what the system's residual says, by a network's own gradient.
#[test]
fn the_system_is_the_expected_update_in_theta_star() {
    const LENGTH: usize = 33;
    let (eta, c, c_prime) = (0.5, -0.75, 0.25);
    let star = theta_star::<f64, 4, 9>(eta, c, c_prime);
    let shape = LinearShape::new(4, 1, 1).unwrap();
    let mut theta = LinearNetwork::<f64, Vec<f64>>::zeros(shape, |len| vec![0.0; len]).unwrap();
    let numbers = theta.parameters_mut().numbers_mut();
    numbers.zip(star.matrices().flatten()).for_each(|(to, from)| *to = *from);
    let mut rng = Rng::new(5);
    let features: [SVector<f64, 4>; LENGTH] =
        std::array::from_fn(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
    let rewards: [f64; LENGTH - 1] = std::array::from_fn(|_| rng.uniform_in(-1.0, 1.0));
    let flat: Vec<f64> = features.iter().flatten().copied().collect();
    let trajectory = Windows::new(4, &flat, &rewards, LENGTH - 3, 0.9).unwrap();
    let update = update(&mut theta, &trajectory, Targets::Bootstrapped);
    let mut system = System::ZERO;
    system.add(&features, &rewards, LENGTH - 3, 0.9);
    // One window: delta x, and by the chain rule eta delta x for (c, c') and (c, c') delta x for eta.
    let residual = system.b - system.a * SVector::from([eta * c, eta * c_prime]);
    let found = Projection::of::<4, 9>(&Layer::of_numbers(update.numbers()));
    for (found, expected) in [
        (found.eta, c * residual[0] + c_prime * residual[1]),
        (4.0 * found.c, eta * residual[0]),
        (4.0 * found.c_prime, eta * residual[1]),
    ] {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

#[test]
fn the_jackknife_gives_the_error_of_a_mean() {
    let system = |y: f64| System { a: SMatrix::identity(), b: SVector::from([y, 2.0]) };
    let [[mean, stderr], [constant, none], _] = fixed_point(&[1.0, 2.0, 3.0].map(system));
    assert!((mean - 2.0).abs() < 1e-12 && (stderr - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    assert!((constant - 2.0).abs() < 1e-12 && none < 1e-12);
}
