use super::super::tests::{CAPACITY, MOVED, TASKS, random_windows, settings};
use super::super::{
    Loss, MultiTaskTd, Network, Optimizer, Parameters, Settings, Targets, Windows,
    batch_gradient_by_window,
};
use super::TwoHeads;
use crate::attention::AverageReward;
use crate::constructions::{average_reward, learning_rate};
use crate::error::Error;
use crate::layer::LayerParameters as _;
use crate::prompt::Prompt;
use crate::rng::Rng;
use crate::scalar::{Lanes4, Lanes16, Scalar};
use crate::td;
use crate::training::Window;
use crate::transition::Transition;
use nalgebra::SVector;
use std::vec;
use std::vec::Vec;

type Heads<S> = TwoHeads<S, Vec<S>, 2>;

fn heads<S: Scalar>([stored, depth]: [usize; 2]) -> Heads<S> {
    Heads::new(2, stored, depth, |len| vec![S::ZERO; len]).unwrap()
}

/// Of a size at which the layers matter.
fn random_heads(shape: [usize; 2]) -> Heads<f64> {
    let mut network = heads::<f64>(shape);
    network.initialise_lane(0, &mut Rng::new(7));
    network.parameters_mut().numbers_mut().for_each(|x| *x *= 11.0 * shape[0] as f64);
    network
}

fn transitions(window: &Window<f64, 2>) -> Vec<Transition<f64, 2>> {
    let here = window.context_features().windows(2).zip(window.rewards());
    here.map(|(phi, reward)| Transition { phi: phi[0], reward: *reward, phi_next: phi[1] })
        .collect()
}

#[test]
fn a_value_is_that_of_the_literal_transformer() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(1));
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    for shape in [[1, 1], [1, 2], [2, 2], [1, 3], [4, 4]] {
        let mut network = random_heads(shape);
        let transformer = network.transformer::<6, 4>(0).unwrap();
        for t in 0..3 {
            let window = windows.window(t);
            let prompt =
                Prompt::<f64, 6, 8>::average_reward(&transitions(&window), window.query()).unwrap();
            let want = transformer.value(&prompt, &AverageReward).unwrap();
            let got = network.value(&window);
            assert!((got - want).abs() < 1e-13 * (1.0 + want.abs()), "{shape:?}: {got} {want}");
            assert!(want.abs() > 1e-5);
        }
    }
}

#[test]
fn the_construction_performs_average_reward_td() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(2));
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    let mut network = heads::<f64>([1, 3]);
    let layer = average_reward::<f64, 2, 6>(&learning_rate(0.3));
    let numbers = layer.matrices().flatten().copied().collect::<Vec<f64>>();
    network.parameters_mut().numbers_mut().zip(numbers).for_each(|(to, from)| *to = from);
    let window = windows.window(1);
    let mut w = SVector::zeros();
    for _ in 0..3 {
        let c = learning_rate(0.3);
        w = td::average_reward::update(&w, &c, &transitions(&window)).unwrap();
    }
    let (got, want) = (network.value(&window), crate::linalg::dot(&w, window.query()));
    assert!((got - want).abs() < 1e-14, "{got} {want}");
}

#[test]
fn the_differential_td_error_has_the_mean_of_the_rewards_received() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(3));
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    // From phi_9, the query of window 2, the reward is the tenth.
    let mean = rewards[..10].iter().sum::<f64>() / 10.0;
    let want = rewards[9] - mean + 0.5;
    assert!((windows.differential_target(2, 0.5) - want).abs() < 1e-15);
}

#[test]
fn gradients_agree_with_finite_differences_and_with_the_windows_one_by_one() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(4));
    let mut continues = [1.0; 12];
    continues[7] = 0.0;
    let windows = Windows::of_episodes(&features, &rewards, &continues, 6, 0.9).unwrap();
    let growing = windows.growing(&[1, 2, 5, 9, 10]).unwrap();
    for shape in [[1, 1], [2, 2], [1, 3], [4, 4]] {
        for windows in [windows, growing] {
            let mut network = random_heads(shape);
            let mut targets = [0.0; 5];
            for (t, target) in targets.iter_mut().enumerate() {
                *target = windows.differential_target(t, network.value(&windows.successor(t)));
            }
            let mut gradients = [(); 2].map(|()| network.parameters().zeros_like());
            let [batch, by_window] = &mut gradients;
            let loss = network.batch_gradient(&windows, Targets::Differential, batch);
            let same =
                batch_gradient_by_window(&mut network, &windows, Targets::Differential, by_window);
            assert!((loss - same).abs() < 1e-12 * loss, "{shape:?}: {loss} {same}");
            for (i, (got, by_window)) in batch.numbers().zip(by_window.numbers()).enumerate() {
                let at = |h: f64| {
                    let mut moved = network.clone();
                    *moved.parameters_mut().numbers_mut().nth(i).unwrap() += h;
                    let mut error = |t: usize| targets[t] - moved.value(&windows.window(t));
                    (0..5).map(&mut error).map(|error| error * error).sum::<f64>() / 5.0
                };
                if i % MOVED == 0 {
                    let want = (at(1e-6) - at(-1e-6)) / 2e-6;
                    assert!(
                        (got - want).abs() < 1e-7 * (1.0 + want.abs()),
                        "{shape:?} {i}: {got} {want}"
                    );
                }
                assert!((by_window - got).abs() < 1e-12 * (1.0 + got.abs()), "{shape:?} {i}");
            }
            assert!(batch.numbers().any(|x| x.abs() > 1e-3));
        }
    }
}

type Trainer<S> = MultiTaskTd<S, Heads<S>, crate::tasks::FiniteTasks<5>, 2, CAPACITY>;

fn lanes_are_seeds_alone<S: Scalar<Element = f32>>(settings: Settings) {
    fn record<S: Scalar<Element = f32>>(trainer: &Trainer<S>, lane: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        trainer.save(lane, |piece| bytes.extend_from_slice(piece));
        bytes
    }
    let seeds: Vec<u64> = (10..10 + S::LANES as u64).collect();
    let mut all = Trainer::new(settings, TASKS, heads::<S>([1, 3]), &seeds).unwrap();
    (0..4).for_each(|_| all.train_task().unwrap());
    for (lane, seed) in seeds.iter().enumerate() {
        let mut one = Trainer::new(settings, TASKS, heads::<f32>([1, 3]), &[*seed]).unwrap();
        (0..2).for_each(|_| one.train_task().unwrap());
        let halfway = record(&one, 0);
        let mut resumed = Trainer::new(settings, TASKS, heads::<f32>([1, 3]), &[99]).unwrap();
        resumed.restore(|_| &halfway).unwrap();
        (0..2).for_each(|_| resumed.train_task().unwrap());
        assert!(record(&all, lane) == record(&resumed, 0), "lane {lane} of {}", S::LANES);
    }
}

#[test]
fn lanes_and_resumed_runs_are_seeds_alone() {
    let td = Optimizer::Td { step_size: 0.05 };
    let settings = Settings { loss: Loss::DifferentialTdError, ..settings() };
    lanes_are_seeds_alone::<Lanes16>(settings);
    lanes_are_seeds_alone::<Lanes4>(Settings { optimizer: td, ..settings });
}

#[test]
fn other_shapes_are_refused() {
    let zeros = |len| vec![0.0_f32; len];
    assert!(matches!(
        Heads::new(3, 1, 1, zeros),
        Err(Error::CapacityExceeded { parameter: "dim", .. })
    ));
    assert!(matches!(Heads::new(2, 1, 0, zeros), Err(Error::Empty { .. })));
    assert!(matches!(Heads::new(2, 2, 3, zeros), Err(Error::OutOfRange { .. })));
    assert!(matches!(
        Heads::new(2, 1, 3, |_| vec![0.0_f32; 5]),
        Err(Error::OutOfRange { parameter: "room", .. })
    ));
    assert!(heads::<f32>([1, 3]).transformer::<5, 1>(0).is_err());
}
