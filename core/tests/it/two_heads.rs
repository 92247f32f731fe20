use super::training::{gradient_agrees, network_of, random_windows};
use ictd_core::attention::AverageReward;
use ictd_core::error::Error;
use ictd_core::layer::{LayerParameters as _, TwoHeadLayer};
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::scalar::Scalar;
use ictd_core::training::Window;
use ictd_core::training::{LinearNetwork, LinearShape, ParameterSet};
use ictd_core::training::{Network, Parameters, Targets, Windows};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use nalgebra::SVector;

type Heads<S> = LinearNetwork<S, Vec<S>>;

fn heads<S: Scalar>([stored, depth]: [usize; 2]) -> Heads<S> {
    network_of(LinearShape { heads: 2, ..LinearShape::new(2, stored, depth) })
}

/// Returns heads of a size at which the layers matter.
fn random_heads(shape: [usize; 2]) -> Heads<f64> {
    let mut network = heads::<f64>(shape);
    network.initialise_lane(0, &mut Rng::new(7));
    network.parameters_mut().numbers_mut().for_each(|x| *x *= 11.0 * shape[0] as f64);
    network
}

fn vector(phi: &[f64]) -> SVector<f64, 2> {
    SVector::from_column_slice(phi)
}

fn transitions(window: &Window<f64>) -> Vec<Transition<f64, 2>> {
    let phi = |j: usize| vector(window.phi(j));
    let transition = |(j, reward): (usize, &f64)| Transition {
        phi: phi(j),
        reward: *reward,
        phi_next: phi(j + 1),
    };
    window.rewards().iter().enumerate().map(transition).collect()
}

#[test]
fn a_value_is_that_of_the_literal_transformer() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(1));
    let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    for shape in [[1, 1], [1, 2], [2, 2], [1, 3], [4, 4]] {
        let mut network = random_heads(shape);
        let numbers: Vec<f64> = network.parameters().numbers().copied().collect();
        let layers: Vec<TwoHeadLayer<f64, 6>> =
            numbers.chunks(6 * 36).map(TwoHeadLayer::from_numbers).collect();
        let transformer = match &layers[..] {
            [layer] => Transformer::<_, 4>::autoregressive(*layer, shape[1]),
            layers => Transformer::sequential(layers),
        };
        let transformer = transformer.unwrap();
        for t in 0..3 {
            let window = windows.window(t);
            let prompt =
                Prompt::<f64, 6, 8>::average_reward(&transitions(&window), &vector(window.query()))
                    .unwrap();
            let want = transformer.value(&prompt, &AverageReward).unwrap();
            let got = network.value(&window);
            assert!((got - want).abs() < 1e-13 * (1.0 + want.abs()), "{shape:?}: {got} {want}");
            assert!(want.abs() > 1e-5);
        }
    }
}

#[test]
fn the_differential_td_error_has_the_mean_of_the_rewards_received() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(3));
    let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    // From phi_9, the query of window 2, the reward is the tenth.
    let mean = rewards[..10].iter().sum::<f64>() / 10.0;
    let want = rewards[9] - mean + 0.5;
    assert!((windows.differential_target(2, 0.5) - want).abs() < 1e-15);
}

#[test]
fn gradients_agree_with_finite_differences_and_with_the_windows_one_by_one() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(4));
    let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    let growing = windows.growing(&[1, 2, 5, 9, 10]).unwrap();
    for shape in [[1, 1], [2, 2], [1, 3], [4, 4]] {
        for windows in [windows, growing] {
            let mut network = random_heads(shape);
            let mut targets = [0.0; 5];
            for (t, target) in targets.iter_mut().enumerate() {
                *target = windows.differential_target(t, network.value(&windows.successor(t)));
            }
            let loss = |network: &mut Heads<f64>| {
                let error = |t: usize| targets[t] - network.value(&windows.window(t));
                (0..5).map(error).map(|error| error * error).sum::<f64>() / 5.0
            };
            let what = format!("{shape:?}");
            gradient_agrees(&mut network, &windows, Targets::Differential, loss, &what);
        }
    }
}

#[test]
fn other_shapes_are_refused() {
    let refused = |shape: LinearShape<f32>| {
        let zeros = |len| vec![0.0_f32; len];
        match LinearNetwork::<f32, Vec<f32>>::zeros(shape, zeros) {
            Err(Error::OutOfRange { parameter, .. }) => parameter,
            other => panic!("{shape:?}: {other:?}"),
        }
    };
    let shape = LinearShape::new(2, 1, 3);
    for (shape, name) in [
        (LinearShape { dim: 0, ..shape }, "dim"),
        (LinearShape { depth: 0, ..shape }, "layers"),
        (LinearShape { stored: 2, ..shape }, "layers"),
        (LinearShape { lambda: 1.5, ..shape }, "lambda"),
        (LinearShape { prior_count: Some(0.0), ..shape }, "prior_count"),
        (LinearShape { gain: -0.1, ..shape }, "gain"),
        (LinearShape { heads: 2, lambda: 0.5, ..shape }, "heads"),
        (LinearShape { heads: 2, parameters: ParameterSet::Equivariant, ..shape }, "heads"),
        (LinearShape { heads: 3, ..shape }, "heads"),
    ] {
        assert_eq!(refused(shape), name, "{shape:?}");
    }
    for gain in [f64::NAN, f64::INFINITY] {
        let shape = LinearShape { gain, ..shape };
        assert!(LinearNetwork::<f32, Vec<f32>>::zeros(shape, |len| vec![0.0; len]).is_err());
    }
    let two = LinearShape { heads: 2, ..shape };
    let small = LinearNetwork::<f32, Vec<f32>>::zeros(two, |_| vec![0.0_f32; 5]);
    assert!(matches!(small, Err(Error::OutOfRange { parameter: "room", .. })));
    assert!(heads::<f32>([1, 3]).transformer::<6, 1>(0).is_err());
}
