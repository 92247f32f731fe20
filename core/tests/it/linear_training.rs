//! Ten numbers a layer, and contexts read without units, on every path.

use super::training::{
    batch_gradient_agrees_with_differences, diagonals, network_of, random_windows,
};
use ictd_core::invariant_set::commuting_part;
use ictd_core::layer::{Layer, LayerParameters};
use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use ictd_core::training::LinearNetwork;
use ictd_core::training::{LinearShape, Network, ParameterSet, Parameters, Targets, Windows};

type Any<S> = LinearNetwork<S, Vec<S>>;

/// With ten numbers a layer, and normalised if there is a prior count.
fn network<S: Scalar>(
    [stored, depth]: [usize; 2],
    lambda: f64,
    parameters: ParameterSet,
    prior_count: Option<f64>,
) -> Any<S> {
    network_of(LinearShape {
        parameters,
        lambda: Scalar::from_f64(lambda),
        prior_count: prior_count.map(Scalar::from_f64),
        ..LinearShape::new(2, stored, depth)
    })
}

/// Returns the matrices of ten numbers.
fn dense(numbers: &[f64]) -> Layer<f64, 5> {
    let mut layer = Layer::ZERO;
    for (m, five) in layer.matrices_mut().zip(numbers.chunks(5)) {
        for (x, diagonal) in five.iter().zip(diagonals()) {
            m.iter_mut().zip(diagonal).for_each(|(to, on)| *to += x * on);
        }
    }
    layer
}

fn numbers(parameters: &impl Parameters<f64>) -> Vec<f64> {
    parameters.numbers().copied().collect()
}

#[test]
fn a_step_of_ten_numbers_is_the_contraction_of_the_full_gradient_at_the_projected_point() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(1));
    for ([stored, depth], prior_count) in [([1, 3], None), ([2, 2], None), ([3, 3], Some(6.0))] {
        let make = |set| network::<f64>([stored, depth], 0.5, set, prior_count);
        let (mut full, mut ten) = (make(ParameterSet::Full), make(ParameterSet::Equivariant));
        full.initialise_lane(0, &mut Rng::new(7));
        ten.initialise_lane(0, &mut Rng::new(7));
        // The ten numbers are the full network's, projected.
        let nearest = |x: &[f64]| commuting_part::<2, Layer<f64, 5>>(&Layer::from_numbers(x));
        let projected: Vec<_> = numbers(full.parameters()).chunks(50).map(nearest).collect();
        let of_ten: Vec<_> = numbers(ten.parameters()).chunks(10).map(dense).collect();
        assert_eq!(of_ten, projected);
        let dense = projected.iter().flat_map(|layer| layer.matrices().flatten());
        full.parameters_mut().numbers_mut().zip(dense).for_each(|(to, from)| *to = *from);

        let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
        let growing = windows.growing(&[1, 4, 10]).unwrap();
        for windows in [windows, growing] {
            let (mut of_full, mut of_ten) =
                (full.parameters().zeros_like(), ten.parameters().zeros_like());
            let loss = full.batch_gradient(&windows, Targets::Bootstrapped, &mut of_full);
            assert_eq!(loss, ten.batch_gradient(&windows, Targets::Bootstrapped, &mut of_ten));
            // Growing windows each add to the contraction, and to the gradient.
            for (got, m) in numbers(&of_ten).chunks(5).zip(numbers(&of_full).chunks(25)) {
                let contracted =
                    diagonals().map(|on| m.iter().zip(on).map(|(x, on)| x * on).sum::<f64>());
                for (got, want) in got.iter().zip(contracted) {
                    assert!((got - want).abs() <= 1e-14 * want.abs().max(1.0), "{got} {want}");
                }
            }
        }
    }
}

#[test]
fn gradients_of_ten_numbers_and_of_normalised_contexts_agree_with_finite_differences() {
    let mut rng = Rng::new(2);
    for shape in [[1, 1], [1, 2], [2, 2], [1, 3], [4, 4]] {
        for lambda in [0.0, 0.9] {
            for (set, prior_count) in [
                (ParameterSet::Equivariant, None),
                (ParameterSet::Equivariant, Some(6.0)),
                (ParameterSet::Full, Some(3.0)),
            ] {
                let mut network = network::<f64>(shape, lambda, set, prior_count);
                network.initialise_lane(0, &mut rng);
                network.parameters_mut().numbers_mut().for_each(|x| *x *= 5.0 * shape[0] as f64);
                batch_gradient_agrees_with_differences(network, "any");
            }
        }
    }
}

#[test]
fn an_initial_gain_scales_the_first_parameters() {
    let shape = LinearShape::<f32>::new(2, 2, 2);
    for parameters in [ParameterSet::Full, ParameterSet::Equivariant] {
        let drawn = |gain| {
            let mut network = network_of::<f32>(LinearShape { parameters, gain, ..shape });
            network.initialise_lane(0, &mut Rng::new(9));
            network.parameters().numbers().copied().collect::<Vec<f32>>()
        };
        // Two layers of their own start with a gain of 0.1 / 2.
        assert_eq!(shape.gain, 0.05);
        assert_eq!(drawn(0.1), drawn(0.05).iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
    }
}
