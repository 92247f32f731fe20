use super::*;
use crate::error::Error;
use crate::rng::Rng;
use crate::scalar::{Lanes4, Lanes8, Lanes16, Real, Scalar};
use crate::tasks::{FiniteTask, FiniteTasks, Mrp, TaskDistribution};
use nalgebra::SVector;
use std::vec;
use std::vec::Vec;

pub(super) const CAPACITY: usize = 6 + 8 + 2;
type Auto<S> = Autoregressive<S, 2, 5, 3>;
type Trainer<S, N = Auto<S>> = MultiTaskTd<S, N, FiniteTasks<5>, 2, CAPACITY>;

pub(super) const TASKS: FiniteTasks<5> = FiniteTasks { kind: FiniteTask::BoyanChain, states: 5 };

pub(super) fn settings() -> Settings {
    // A large learning rate, so that a few tasks move the parameters far.
    let adam = AdamSettings { learning_rate: 0.02, ..Default::default() };
    let optimizer = Optimizer::Adam(adam);
    Settings { context_len: 6, windows: 8, batches: 2, optimizer, ..Default::default() }
}

fn trainer<S: Scalar>(seeds: &[u64], settings: Settings) -> Trainer<S> {
    Trainer::new(settings, TASKS, Auto::autoregressive(3).unwrap(), seeds).unwrap()
}

fn train<S: Scalar>(trainer: &mut Trainer<S>, tasks: usize) {
    for _ in 0..tasks {
        trainer.train_task().unwrap();
    }
}

fn record<S: Scalar>(trainer: &Trainer<S>, lane: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    trainer.save(lane, |piece| bytes.extend_from_slice(piece));
    assert_eq!(bytes.len(), trainer.record_len());
    bytes
}

fn lanes_are_the_scalar_run<S: Scalar<Element = f32>>(settings: Settings) {
    let seeds: Vec<u64> = (10..10 + S::LANES as u64).collect();
    let mut together = trainer::<S>(&seeds, settings);
    train(&mut together, 6);
    for (lane, seed) in seeds.iter().enumerate() {
        let mut alone = trainer::<f32>(&[*seed], settings);
        train(&mut alone, 6);
        assert_eq!(record(&together, lane), record(&alone, 0), "lane {lane} of {}", S::LANES);
        assert_eq!(together.loss().lane(lane).to_bits(), alone.loss().to_bits());
    }
}

#[test]
fn every_lane_is_bit_for_bit_its_seed_alone() {
    lanes_are_the_scalar_run::<Lanes4>(settings());
    lanes_are_the_scalar_run::<Lanes8>(settings());
    lanes_are_the_scalar_run::<Lanes16>(settings());
}

#[test]
fn every_lane_is_its_seed_alone_for_every_loss_and_optimiser() {
    for loss in [Loss::TrueValue, Loss::MonteCarlo { horizon: 5 }] {
        lanes_are_the_scalar_run::<Lanes4>(Settings { loss, ..settings() });
    }
    let optimizer = Optimizer::Td { step_size: 0.05 };
    lanes_are_the_scalar_run::<Lanes4>(Settings { optimizer, ..settings() });
    let loss = Loss::ResidualGradient;
    lanes_are_the_scalar_run::<Lanes4>(Settings { loss, ..settings() });
    lanes_are_the_scalar_run::<Lanes4>(Settings { loss, optimizer, ..settings() });
}

#[test]
fn a_resumed_run_is_the_uninterrupted_one() {
    for optimizer in [settings().optimizer, Optimizer::Td { step_size: 0.05 }] {
        let settings = Settings { optimizer, ..settings() };
        let seeds = [3, 4, 5, 6];
        let mut whole = trainer::<Lanes4>(&seeds, settings);
        train(&mut whole, 3);
        let records: Vec<Vec<u8>> = (0..4).map(|lane| record(&whole, lane)).collect();
        train(&mut whole, 3);
        let mut resumed = trainer::<Lanes4>(&[99], settings);
        resumed.restore(|lane| &records[lane]).unwrap();
        train(&mut resumed, 3);
        // Another grouping takes the same record.
        let mut alone = trainer::<f32>(&[99], settings);
        alone.restore(|_| &records[2]).unwrap();
        train(&mut alone, 3);
        assert_eq!(record(&alone, 0), record(&whole, 2));
        for lane in 0..4 {
            assert_eq!(record(&resumed, lane), record(&whole, lane));
        }
    }
}

#[test]
fn a_foreign_record_is_refused_and_changes_nothing() {
    let mut a = trainer::<Lanes4>(&[1, 2, 3, 4], settings());
    train(&mut a, 1);
    let before = record(&a, 0);
    let mut longer = a.clone();
    train(&mut longer, 1);
    let other = record(&longer, 1);
    assert!(a.restore(|lane| if lane == 1 { &other } else { &before }).is_err());
    assert!(a.restore(|_| &before[1..]).is_err());
    let mut no_stream = before.clone();
    no_stream[28..60].fill(0);
    assert!(a.restore(|lane| if lane == 2 { &no_stream } else { &before }).is_err());
    let td = Settings { optimizer: Optimizer::Td { step_size: 0.1 }, ..settings() };
    assert!(trainer::<Lanes4>(&[1], td).restore(|_| &before).is_err());
    assert_eq!(record(&a, 0), before);
}

#[test]
fn evaluating_does_not_perturb_training() {
    let mut plain = trainer::<f32>(&[7], settings());
    let mut observed = plain.clone();
    for _ in 0..4 {
        plain.train_task().unwrap();
        observed.train_task().unwrap();
        let mut rng = observed.evaluation_rng(0);
        let trajectory = observed.evaluation_trajectory(0, &mut rng).unwrap();
        assert!(trajectory.windows(6, 1, 0.9).is_ok());
    }
    assert_eq!(record(&plain, 0), record(&observed, 0));
}

#[test]
fn training_lowers_the_td_error() {
    let seeds: Vec<u64> = (0..4).collect();
    let optimizer = Optimizer::Adam(AdamSettings { learning_rate: 3e-3, ..Default::default() });
    let settings = Settings { batches: 5, windows: 8, optimizer, ..settings() };
    let tasks = FiniteTasks { kind: FiniteTask::BoyanChainRepresentable, states: 5 };
    let network = Auto::autoregressive(3).unwrap();
    let mut trainer = Trainer::<Lanes4>::new(settings, tasks, network, &seeds).unwrap();
    let mut mean_loss = |tasks: usize| {
        let mut sum = 0.0;
        for _ in 0..tasks {
            trainer.train_task().unwrap();
            sum += (0..4).map(|lane| trainer.loss().lane(lane) as f64).sum::<f64>() / 4.0;
        }
        sum / tasks as f64
    };
    let before = mean_loss(50);
    mean_loss(150);
    let after = mean_loss(100);
    assert!(after < 0.8 * before, "{before} to {after}");
}

/// Random windows for networks of D = 2: (features, rewards) of n = 6 and W = 5.
pub(super) fn random_windows<R: Real>(rng: &mut Rng) -> ([SVector<R, 2>; 13], [R; 12]) {
    let features = core::array::from_fn(|_| {
        SVector::from([rng.uniform_in(-R::ONE, R::ONE), rng.uniform_in(-R::ONE, R::ONE)])
    });
    (features, core::array::from_fn(|_| rng.uniform_in(-R::ONE, R::ONE)))
}

/// The derivative of (1/W) sum_t (target_t - v_t)^2 with constant targets, by central differences.
pub(super) fn batch_gradient_agrees_with_differences<N: Network<f64, 2> + Clone>(
    mut network: N,
    what: &str,
) {
    let (features, rewards) = random_windows(&mut Rng::new(11));
    // Once in one episode, once in four.
    let mut continues = [1.0; 12];
    gradient_agrees_on(&mut network, &features, &rewards, &continues, what);
    for end in [2, 8, 9] {
        continues[end] = 0.0;
    }
    gradient_agrees_on(&mut network, &features, &rewards, &continues, what);
}

/// Of how many numbers one is moved for a finite difference: the gradients of all are compared with those of the
/// windows one by one.
pub(super) const MOVED: usize = 3;

fn gradient_agrees_on<N: Network<f64, 2> + Clone>(
    network: &mut N,
    features: &[SVector<f64, 2>],
    rewards: &[f64],
    continues: &[f64],
    what: &str,
) {
    let windows = Windows::of_episodes(features, rewards, continues, 6, 0.9).unwrap();
    assert_eq!(windows.count(), 5);
    let values: Vec<f64> = (0..6).map(|t| network.value(&windows.window(t))).collect();
    let targets: Vec<f64> = (0..5).map(|t| windows.td_target(t, values[t + 1])).collect();
    let mut gradient = network.parameters().zeros_like();
    let loss = network.batch_gradient(&windows, Targets::Bootstrapped, &mut gradient);
    let mut given = network.parameters().zeros_like();
    let loss_given = network.batch_gradient(&windows, Targets::Given(&targets), &mut given);
    assert!((loss - loss_given).abs() < 1e-12 * loss);
    // The reference: one window at a time.
    let mut by_window = network.parameters().zeros_like();
    let loss_by_window =
        batch_gradient_by_window(network, &windows, Targets::Bootstrapped, &mut by_window);
    assert!((loss - loss_by_window).abs() < 1e-12 * loss, "{what}: loss");
    let others = given.numbers().zip(by_window.numbers());
    for (i, (got, (given, by_window))) in gradient.numbers().zip(others).enumerate() {
        let at = |h: f64| {
            let mut moved = network.clone();
            *moved.parameters_mut().numbers_mut().nth(i).unwrap() += h;
            let mut error = |t: usize| targets[t] - moved.value(&windows.window(t));
            (0..5).map(&mut error).map(|error| error * error).sum::<f64>() / 5.0
        };
        if i % MOVED == 0 {
            let want = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what} {i}: {got} and {want}");
        }
        assert!((given - got).abs() < 1e-12 * (1.0 + got.abs()));
        assert!((by_window - got).abs() < 1e-12 * (1.0 + got.abs()), "{what} {i}");
    }
    residual_gradient_agrees(network, &windows, what);
}

/// The whole derivative of (1/W) sum_t delta_t^2, whose targets move, too; the batch and the windows one by one.
fn residual_gradient_agrees<N: Network<f64, 2> + Clone>(
    network: &mut N,
    windows: &Windows<f64, 2>,
    what: &str,
) {
    let loss = |network: &mut N| {
        let mut errors = [0.0; 5];
        td_errors(network, windows, &mut errors);
        (errors, errors.iter().map(|error| error * error).sum::<f64>() / 5.0)
    };
    let (errors, want) = loss(network);
    let mut gradients = [(); 2].map(|()| network.parameters().zeros_like());
    let [batch, by_window] = &mut gradients;
    let targets = Targets::Residual(&errors);
    let of_batch = network.batch_gradient(windows, targets, batch);
    assert!((of_batch - want).abs() < 1e-12 * want, "{what}: {of_batch} {want}");
    batch_gradient_by_window(network, windows, targets, by_window);
    for (i, (got, by_window)) in batch.numbers().zip(by_window.numbers()).enumerate() {
        let at = |h: f64| {
            let mut moved = network.clone();
            *moved.parameters_mut().numbers_mut().nth(i).unwrap() += h;
            loss(&mut moved).1
        };
        if i % MOVED == 0 {
            let want = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what} {i}: {got} and {want}");
        }
        assert!((by_window - got).abs() < 1e-12 * (1.0 + got.abs()), "{what} {i}");
    }
}

#[test]
fn batch_gradients_agree_with_the_reference_and_with_finite_differences() {
    for depth in 1..=4 {
        let mut rng = Rng::new(depth as u64);
        let mut auto = Autoregressive::<f64, 2, 5, 4>::autoregressive(depth).unwrap();
        auto.initialise_lane(0, &mut rng);
        let mut sequential = Sequential::<f64, 2, 5, 4>::sequential(depth).unwrap();
        sequential.initialise_lane(0, &mut rng);
        for x in auto.parameters_mut().numbers_mut() {
            *x *= 8.0;
        }
        for x in sequential.parameters_mut().numbers_mut() {
            *x *= 8.0 * depth as f64;
        }
        batch_gradient_agrees_with_differences(auto, "autoregressive");
        batch_gradient_agrees_with_differences(sequential, "sequential");
        batch_gradient_agrees_with_differences(BatchTd::<f64, 2>::new(depth), "batch TD");
        let mut softmax = SoftmaxNetwork::<f64, 2, 5, 4, 4, 6>::sequential(depth).unwrap();
        softmax.initialise_lane(0, &mut rng);
        for x in softmax.parameters_mut().numbers_mut() {
            *x *= 8.0 * depth as f64;
        }
        batch_gradient_agrees_with_differences(softmax, "softmax");
    }
}

#[test]
fn the_reference_is_theorem_1s_transformer() {
    use crate::attention::Td0;
    use crate::layer::Layer;
    use crate::transformer::Transformer;
    use nalgebra::SMatrix;
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(5));
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    let mut reference = BatchTd::new(3);
    reference.parameters_mut()[0] = 0.7;
    let mut layer = Layer { p: SMatrix::<f64, 5, 5>::zeros(), q: SMatrix::zeros() };
    layer.p[(4, 4)] = 1.0;
    for i in 0..2 {
        layer.q[(i, i)] = -0.7;
        layer.q[(i, 2 + i)] = 0.7;
    }
    let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
    let prompt = windows.window(2).prompt::<5, 6>().unwrap();
    let want = transformer.value(&prompt, &Td0).unwrap();
    let got = reference.value(&windows.window(2));
    assert!((got - want).abs() < 1e-14, "{got} {want}");
}

#[test]
fn plain_td_moves_along_delta_times_the_gradient_of_the_value() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(6));
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    let mut reference = BatchTd::new(2);
    let mut before = reference.clone();
    let mut scratch = [0.0];
    let delta = td_step(&mut reference, &windows, 1, Targets::Bootstrapped, 0.1, &mut scratch);
    let (v, v_next) = (before.value(&windows.window(1)), before.value(&windows.window(2)));
    assert!((delta - (windows.td_target(1, v_next) - v)).abs() < 1e-15);
    let mut slope = [0.0];
    before.value_and_gradient(&windows.window(1), |_| 1.0, &mut slope);
    assert!((reference.alpha() - (1.0 + 0.1 * delta * slope[0])).abs() < 1e-15);
    // The residual gradient also moves v_{t+1}, away.
    let mut residual = before.clone();
    let targets = Targets::Residual(&[]);
    assert_eq!(td_step(&mut residual, &windows, 1, targets, 0.1, &mut scratch), delta);
    let mut slope_next = [0.0];
    before.value_and_gradient(&windows.window(2), |_| 1.0, &mut slope_next);
    let want = 1.0 + 0.1 * delta * (slope[0] - 0.9 * slope_next[0]);
    assert!((residual.alpha() - want).abs() < 1e-15);
}

#[test]
fn targets_belong_to_the_querys_own_state() {
    // One-step returns are R of the query's own state, and true values solve v = r + gamma p v there.
    let rng = &mut Rng::new(8);
    let tasks: [Option<Mrp<f64, 2, 5>>; 1] = [crate::tasks::boyan_chain(5, rng).ok()];
    let settings = Settings { context_len: 3, windows: 4, ..settings() };
    let sample = |loss| {
        let mut trajectory = Trajectory::<f64, 2, 9>::new();
        let settings = Settings { loss, ..settings };
        trajectory.sample(&settings, &TASKS, &tasks, &mut [Rng::new(9)]).unwrap();
        trajectory
    };
    let plain = sample(Loss::TdError);
    let one_step = sample(Loss::MonteCarlo { horizon: 1 });
    let truth = sample(Loss::TrueValue);
    assert_eq!(plain.features, one_step.features);
    let [Some(task)] = tasks else { panic!("no task") };
    let v = task.true_value(0.9).unwrap();
    for t in 0..4 {
        let query = plain.features[3 + 1 + t];
        let state = task.feature_map().iter().position(|phi| *phi == query).unwrap();
        assert_eq!(one_step.targets[t], task.reward()[state]);
        assert_eq!(truth.targets[t], v[state]);
    }
}

#[test]
fn a_lane_without_a_task_has_no_evaluation() {
    use crate::Error;
    let network = Auto::<f32>::autoregressive(3).unwrap();
    let mut trainer = Trainer::new(settings(), TASKS, network, &[1]).unwrap();
    let none = Some(Error::Empty { parameter: "task" });
    let mut rng = trainer.evaluation_rng(0);
    assert_eq!(trainer.evaluation_trajectory(0, &mut rng).err(), none);
    trainer.train_task().unwrap();
    assert!(trainer.evaluation_trajectory(0, &mut rng).is_ok());
    assert_eq!(trainer.evaluation_trajectory(1, &mut rng).err(), none);
    assert_eq!(trainer.evaluation_trajectory(usize::MAX, &mut rng).err(), none);
}

#[test]
fn bad_settings_are_named() {
    let make = |settings: Settings, seeds: &[u64]| {
        let network = Auto::<f32>::autoregressive(3).unwrap();
        Trainer::new(settings, TASKS, network, seeds).err()
    };
    use crate::Error;
    let one = [1];
    assert_eq!(make(settings(), &[]), Some(Error::Empty { parameter: "seeds" }));
    assert!(matches!(make(settings(), &[1, 2]), Some(Error::CapacityExceeded { .. })));
    let long = Settings { context_len: 7, ..settings() };
    assert!(matches!(make(long, &one), Some(Error::CapacityExceeded { capacity: 16, .. })));
    for (settings, name) in [
        (Settings { gamma: 1.0, ..settings() }, "gamma"),
        (Settings { batches: 0, ..settings() }, "batches"),
        (Settings { loss: Loss::MonteCarlo { horizon: 0 }, ..settings() }, "horizon"),
        (Settings { optimizer: Optimizer::Td { step_size: -1.0 }, ..settings() }, "step_size"),
    ] {
        match make(settings, &one) {
            Some(Error::OutOfRange { parameter, .. }) => assert_eq!(parameter, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_context_longer_than_the_network_takes_is_refused() {
    let trainer = |context_len| {
        let network = SoftmaxNetwork::<f32, 2, 5, 1, 3, 6>::autoregressive(3)?;
        let settings = Settings { context_len, windows: 4, ..settings() };
        MultiTaskTd::<f32, _, _, 2, CAPACITY>::new(settings, TASKS, network, &[1])
    };
    assert!(trainer(6).is_ok());
    let refused = Error::CapacityExceeded { parameter: "context_len", capacity: 6 };
    assert_eq!(trainer(7).err(), Some(refused));
}

#[test]
fn counts_of_a_damaged_record_do_not_overflow() {
    let mut trainer = trainer::<f32>(&[1], settings());
    let mut bytes = record(&trainer, 0);
    bytes[20..28].fill(0xff);
    let parameters = trainer.network().parameters().numbers().count();
    let steps = 12 + 16 + 32 + 4 * parameters;
    bytes[steps..steps + 8].fill(0xff);
    trainer.restore(|_| &bytes).unwrap();
    trainer.train_task().unwrap();
    assert_eq!(trainer.tasks_done(), u64::MAX);
}

#[test]
fn the_reference_learns_beside_the_network_and_is_resumed_like_it() {
    let mut trainer = trainer::<Lanes4>(&[1, 2, 3, 4], settings());
    let mut reference = BatchTdReference::new(3, &settings().optimizer).unwrap();
    let mut learn = |reference: &mut BatchTdReference<Lanes4, 2>| {
        trainer.train_task_beside(|windows, targets| reference.train(windows, targets)).unwrap();
    };
    learn(&mut reference);
    assert!((0..4).all(|lane| reference.alpha().lane(lane) != 1.0));
    let records = [0, 1, 2, 3].map(|lane| {
        let mut bytes = Vec::new();
        reference.save(lane, |piece| bytes.extend_from_slice(piece));
        bytes
    });
    let mut resumed = BatchTdReference::new(3, &settings().optimizer).unwrap();
    assert!(resumed.restore(|lane| &records[lane][1..]).is_err());
    resumed.restore(|lane| &records[lane]).unwrap();
    assert_eq!(resumed, reference);
}

/// [`TASKS`] with fewer features than there is room for.
#[derive(Clone, Copy, Debug)]
struct OfDim(usize);

impl<R: Real, const D: usize> TaskDistribution<R, D> for OfDim {
    type Task = Mrp<R, D, 5>;

    fn dim(&self) -> usize {
        self.0
    }

    fn draw(&self, gamma: R, rng: &mut Rng) -> Result<Mrp<R, D, 5>, Error> {
        TASKS.draw_of_dim(self.0, gamma, rng)
    }

    fn true_values(
        &self,
        task: &Mrp<R, D, 5>,
        gamma: R,
        states: &[usize],
        values: &mut [R],
    ) -> Result<(), Error> {
        TASKS.true_values(task, gamma, states, values)
    }
}

pub(super) type Any<S, const D: usize, const K: usize> = AnyLinear<S, Vec<S>, D, K>;

pub(super) fn any<S: Scalar, const D: usize, const K: usize>(
    dim: usize,
    stored: usize,
    depth: usize,
) -> Any<S, D, K> {
    AnyLinear::new(dim, stored, depth, |len| vec![S::ZERO; len]).unwrap()
}

/// Trains networks of 2 features where there is room for 2 and for 4, beside one whose shape is a type: the
/// same bits, whatever the depth, the optimiser and the kind of number.
fn any_shape_is_the_shape_of_the_type<S: Scalar<Element = f32>, const C: usize>(depth: usize) {
    let seeds: Vec<u64> = (10..10 + S::LANES as u64).collect();
    let fixed = LinearNetwork::<S, 2, 5, C, 4>::sequential(depth);
    let fixed = if C == 1 { LinearNetwork::autoregressive(depth) } else { fixed }.unwrap();
    for optimizer in [settings().optimizer, Optimizer::Td { step_size: 0.1 }] {
        let settings = Settings { optimizer, ..settings() };
        let mut of_type = Trainer::<S, _>::new(settings, TASKS, fixed.clone(), &seeds).unwrap();
        (0..3).for_each(|_| of_type.train_task().unwrap());
        let exact = any::<S, 2, 5>(2, C.min(depth), depth);
        let mut exact = Trainer::<S, _>::new(settings, TASKS, exact, &seeds).unwrap();
        (0..3).for_each(|_| exact.train_task().unwrap());
        let roomy = any::<S, 4, 9>(2, C.min(depth), depth);
        let tasks = OfDim(2);
        let mut roomy =
            MultiTaskTd::<S, _, _, 4, CAPACITY>::new(settings, tasks, roomy, &seeds).unwrap();
        (0..3).for_each(|_| roomy.train_task().unwrap());
        for lane in 0..S::LANES {
            let mut records = [Vec::new(), Vec::new()];
            exact.save(lane, |piece| records[0].extend_from_slice(piece));
            roomy.save(lane, |piece| records[1].extend_from_slice(piece));
            let mut want = Vec::new();
            of_type.save(lane, |piece| want.extend_from_slice(piece));
            assert!(records.iter().all(|record| *record == want), "{depth} layers, lane {lane}");
        }
    }
}

#[test]
fn a_shape_that_is_a_value_trains_to_the_bits_of_the_one_that_is_a_type() {
    for depth in 1..=4 {
        any_shape_is_the_shape_of_the_type::<f32, 1>(depth);
        any_shape_is_the_shape_of_the_type::<Lanes4, 1>(depth);
    }
    any_shape_is_the_shape_of_the_type::<f32, 4>(3);
    any_shape_is_the_shape_of_the_type::<Lanes8, 4>(4);
}

#[test]
fn gradients_under_td_lambdas_mask_agree_with_finite_differences() {
    for (depth, stored) in [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1), (4, 4), (6, 1)] {
        let mut rng = Rng::new(depth as u64);
        for lambda in [0.9, 1.0] {
            let network = any::<f64, 2, 5>(2, stored, depth);
            let room = |len| vec![0.0; len];
            let mut network = network.with_lambda(lambda, room).unwrap();
            network.initialise_lane(0, &mut rng);
            for x in network.parameters_mut().numbers_mut() {
                *x *= 16.0 * stored as f64 / depth as f64;
            }
            batch_gradient_agrees_with_differences(network, "TD(lambda)");
        }
    }
}

#[test]
fn the_statistic_of_a_trace_is_td_lambdas() {
    let mut rng = Rng::new(3);
    let (features, rewards) = random_windows::<f64>(&mut rng);
    let windows = Windows::new(&features, &rewards, 6, 0.9).unwrap();
    let mut network = any::<f64, 2, 5>(2, 1, 3).with_lambda(0.7, |len| vec![0.0; len]).unwrap();
    network.initialise_lane(0, &mut rng);
    network.parameters_mut().numbers_mut().for_each(|x| *x *= 8.0);
    let transformer = network.transformer::<1>(0).unwrap();
    let mask = crate::mask::TdLambda::new(0.7).unwrap();
    for t in 0..5 {
        let prompt = windows.window(t).prompt::<5, 6>().unwrap();
        let want = transformer.value(&prompt, &mask).unwrap();
        let got = network.value(&windows.window(t));
        assert!((got - want).abs() < 1e-13, "{got} {want}");
    }
}

#[test]
fn a_growing_window_holds_the_first_transitions_and_bootstraps_from_one_more() {
    let features: [SVector<f64, 1>; 8] = core::array::from_fn(|k| SVector::from([k as f64]));
    let rewards = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let windows = Windows::new(&features, &rewards, 5, 0.5).unwrap().growing(&[1, 3, 5]).unwrap();
    assert_eq!(windows.count(), 3);
    let window = windows.window(1);
    assert_eq!((window.context_len(), window.query()[0]), (3, 4.0));
    assert_eq!(window.token::<3>(0), SVector::from([0.0, 0.5, 1.0]));
    let next = windows.successor(1);
    assert_eq!((next.context_len(), next.query()[0], next.token::<3>(0)[2]), (4, 5.0, 1.0));
    // From phi_4 to phi_5.
    assert_eq!(windows.td_target(1, 2.0), 6.0);
    let windows = Windows::new(&features, &rewards, 5, 0.5).unwrap();
    assert!(windows.growing(&[]).is_err() && windows.growing(&[0]).is_err());
    assert!(windows.growing(&[6]).is_err());
}

#[test]
fn gradients_on_growing_windows_agree_with_finite_differences() {
    let mut rng = Rng::new(5);
    let (features, rewards) = random_windows::<f64>(&mut rng);
    let windows =
        Windows::new(&features, &rewards, 6, 0.9).unwrap().growing(&[1, 2, 5, 10]).unwrap();
    for lambda in [0.0, 0.9] {
        let mut network =
            any::<f64, 2, 5>(2, 1, 3).with_lambda(lambda, |len| vec![0.0; len]).unwrap();
        network.initialise_lane(0, &mut rng);
        network.parameters_mut().numbers_mut().for_each(|x| *x *= 5.0);
        let mut gradient = network.parameters().zeros_like();
        network.batch_gradient(&windows, Targets::Bootstrapped, &mut gradient);
        let next: Vec<f64> = (0..4).map(|t| network.value(&windows.successor(t))).collect();
        for i in 0..50 {
            let at = |h: f64| {
                let mut moved = network.clone();
                *moved.parameters_mut().numbers_mut().nth(i).unwrap() += h;
                let error = |t| windows.td_target(t, next[t]) - moved.value(&windows.window(t));
                (0..4).map(error).map(|error| error * error).sum::<f64>() / 4.0
            };
            let want = (at(1e-6) - at(-1e-6)) / 2e-6;
            let got = gradient.numbers().nth(i).unwrap();
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{lambda}, {i}: {got} {want}");
        }
    }
}

#[test]
fn lengths_and_discounts_are_the_same_for_every_seed() {
    let settings = Settings { lengths: Some([1, 13]), gammas: Some([0.5, 0.95]), ..settings() };
    for loss in [Loss::TdError, Loss::TrueValue, Loss::MonteCarlo { horizon: 5 }] {
        lanes_are_the_scalar_run::<Lanes4>(Settings { loss, ..settings });
    }
    let mut seen = [false; 14];
    for task in 0..20 {
        let mut lengths = [0; 8];
        assert!(settings.write_lengths(task, 1, &mut lengths));
        assert!(lengths.is_sorted() && lengths[0] == 1 && lengths[7] >= 10, "{lengths:?}");
        lengths.iter().for_each(|n| seen[*n] = true);
        assert!((0.5..0.95).contains(&settings.gamma_of(task)));
    }
    assert!(seen[1..].iter().all(|seen| *seen));
    assert!(settings.gamma_of(0) != settings.gamma_of(1));
}
