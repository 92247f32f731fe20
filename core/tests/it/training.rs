use super::*;
use ictd_core::model::Linear;
use ictd_core::scalar::Lanes8;
use ictd_core::tasks::{FiniteTaskDistribution, FiniteTaskKind};
use ictd_core::training::*;

pub(crate) const CAPACITY: usize = 6 + 8 + 2;
/// A trainer with room for D features; the tasks have two.
type Trainer<S, const D: usize = 2, N = LinearNetwork<S, Vec<S>>> =
    MultiTaskTd<S, N, FiniteTaskDistribution<5>, D, CAPACITY>;

const TASKS: FiniteTaskDistribution<5> =
    FiniteTaskDistribution { kind: FiniteTaskKind::BoyanChain, states: 5, dim: 2 };

fn settings() -> TrainerSettings {
    // A large learning rate, so that a few tasks move the parameters far.
    let adam = AdamSettings::default().step_size(0.02);
    let (optimizer, default) = (Optimizer::Adam(adam), TrainerSettings::default());
    default.context_len(6).batch_size(8).batches_per_task(2).optimizer(optimizer)
}

/// Plain TD.
fn td(learning_rate: f64) -> TrainerSettings {
    settings().optimizer(Optimizer::Td { step_size: learning_rate })
}

/// Returns a network of a shape.
pub(crate) fn network_of<S: Scalar>(shape: LinearShape<S::Element>) -> LinearNetwork<S, Vec<S>> {
    LinearNetwork::<S, Vec<S>>::zeros(shape, |len| vec![S::ZERO; len]).unwrap()
}

/// Returns a network of two features.
fn linear<S: Scalar>(stored: usize, depth: usize) -> LinearNetwork<S, Vec<S>> {
    network_of(LinearShape::new(2, stored, depth))
}

fn reference<S: Scalar, const D: usize>() -> BatchTdReference<S, D> {
    BatchTdReference::new(3, S::ZERO).unwrap()
}

fn trainer<S: Scalar>(seeds: &[u64], settings: TrainerSettings) -> Trainer<S> {
    Trainer::new(settings, TASKS, linear(1, 3), reference(), seeds).unwrap()
}

fn train<S: Scalar, const D: usize>(trainer: &mut Trainer<S, D>, tasks: usize) {
    (0..tasks).for_each(|_| trainer.train_task().unwrap());
}

fn record<S: Scalar, const D: usize>(trainer: &Trainer<S, D>, lane: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    trainer.save(lane, |piece| bytes.extend_from_slice(piece));
    assert_eq!(bytes.len(), trainer.record_len());
    bytes
}

#[test]
fn adam_by_window_is_adam_on_batches_of_one_window() {
    let Optimizer::Adam(adam) = settings().optimizer else { panic!("Adam") };
    let numbers = |optimizer, batch_size| {
        let mut trainer: Trainer<f64> =
            trainer(&[3], settings().optimizer(optimizer).batch_size(batch_size));
        train(&mut trainer, 5);
        trainer.network().parameters().numbers().copied().collect::<Vec<f64>>()
    };
    let difference = |batch_size| {
        let [by_window, by_batch] = [Optimizer::AdamByWindow(adam), Optimizer::Adam(adam)]
            .map(|optimizer| numbers(optimizer, batch_size));
        by_window.iter().zip(&by_batch).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    // A batch sums its products in another order.
    assert!(difference(1) < 1e-12 && difference(8) > 1e-3);
}

/// Every shape, loss and optimiser: eight seeds side by side, with room for more features, are each alone, and each stopped
/// and resumed half way.
#[test]
fn lanes_and_roomy_and_resumed_runs_are_seeds_alone() {
    let shape = LinearShape::new(2, 2, 2);
    let (shared, traced) =
        (LinearShape::new(2, 1, 3), LinearShape { trace_decay: Some(0.9), ..shape });
    let plain = settings();
    let td = td(0.05);
    let Optimizer::Adam(adam) = plain.optimizer else { panic!("Adam") };
    let by_window = plain.optimizer(Optimizer::AdamByWindow(adam));
    let growing = plain.context_len_range(Some([1, 13])).gamma_range(Some([0.5, 0.95]));
    let [one, two, four] = [(1, 1), (1, 2), (4, 4)].map(|(n, depth)| LinearShape::new(2, n, depth));
    let [value, returns, residual] =
        [Loss::TrueValue, Loss::MonteCarlo { horizon: 5 }, Loss::ResidualGradient];
    for (case, (shape, settings, loss)) in [
        (shared, plain, Loss::TdError),
        (shared, td, Loss::TdError),
        (shared, growing, Loss::TdError),
        (shared, growing, value),
        (shared, growing, returns),
        (shared, plain, value),
        (shared, plain, residual),
        (shared, td, residual),
        (shared, by_window, Loss::TdError),
        (one, plain, Loss::TdError),
        (two, plain, Loss::TdError),
        (four, plain, Loss::TdError),
        (shape, plain, returns),
        (traced, growing, Loss::TdError),
        (traced, td, returns),
    ]
    .into_iter()
    .enumerate()
    {
        let settings = settings.loss(loss);
        let seeds: [u64; 8] = core::array::from_fn(|lane| 10 + lane as u64);
        let network = network_of::<Lanes8>(shape);
        let mut together =
            Trainer::<_, 4>::new(settings, TASKS, network, reference(), &seeds).unwrap();
        train(&mut together, 4);
        for (lane, seed) in seeds.iter().enumerate() {
            let alone = |seed| {
                Trainer::<_>::new(settings, TASKS, network_of::<f32>(shape), reference(), &[seed])
            };
            let (mut begun, mut resumed) = (alone(*seed).unwrap(), alone(99).unwrap());
            train(&mut begun, 2);
            let halfway = record(&begun, 0);
            resumed.restore(|_| &halfway).unwrap();
            train(&mut resumed, 2);
            assert_eq!(record(&together, lane), record(&resumed, 0), "case {case}, lane {lane}");
            assert_eq!(together.loss.lane(lane).to_bits(), resumed.loss.to_bits());
            assert!(resumed.loss.is_finite());
        }
        // Another grouping, without such room, takes the same records.
        let records: Vec<Vec<u8>> = (0..8).map(|lane| record(&together, lane)).collect();
        let network = network_of::<Lanes8>(shape);
        let mut again = Trainer::<_>::new(settings, TASKS, network, reference(), &[99]).unwrap();
        again.restore(|lane| &records[lane]).unwrap();
        train(&mut together, 1);
        train(&mut again, 1);
        assert!((0..8).all(|lane| record(&together, lane) == record(&again, lane)), "case {case}");
    }
}

/// A device trains batch by batch, and keeps itself in flash.
#[test]
fn a_stored_trainer_goes_on_and_damage_changes_nothing() {
    let mut whole = trainer::<f32>(&[1], settings());
    train(&mut whole, 4);
    let mut by_batch = trainer::<f32>(&[1], settings());
    let batches: Vec<bool> = (0..4).map(|_| by_batch.train_batch().unwrap()).collect();
    assert_eq!(batches, [false, true, false, true], "two batches a task");
    let mut page = vec![0xff; by_batch.byte_len() + 100];
    let stored = by_batch.write(&mut page).unwrap().to_vec();
    assert_eq!(stored.len(), by_batch.byte_len());
    assert!(by_batch.write(&mut page[..stored.len() - 1]).is_err(), "no room");

    // A reset in the middle of a task loses the task alone; what stands behind a stored trainer does not matter.
    let mut resumed = trainer::<f32>(&[99], settings());
    resumed.train_batch().unwrap();
    resumed.read(&page).unwrap();
    train(&mut resumed, 2);
    assert_eq!(record(&resumed, 0), record(&whole, 0));

    let before = record(&resumed, 0);
    for at in 0..stored.len() {
        let mut damaged = stored.clone();
        damaged[at] ^= 0x10;
        assert!(matches!(resumed.read(&damaged), Err(Error::Stored(_))), "byte {at}");
        assert!(matches!(resumed.read(&stored[..at]), Err(Error::Stored(_))), "{at} bytes");
    }
    assert!(trainer::<f32>(&[1], td(0.1)).read(&stored).is_err(), "another optimiser");
    assert_eq!(record(&resumed, 0), before);
}

#[test]
fn a_foreign_record_is_refused_and_changes_nothing() {
    let mut a = trainer::<Lanes8>(&[1, 2, 3, 4], settings());
    train(&mut a, 1);
    assert!(
        (0..8).all(|lane| a.reference.step_size.lane(lane) != 1.0),
        "the reference learns, too"
    );
    let before = record(&a, 0);
    let mut longer = a.clone();
    train(&mut longer, 1);
    let other = record(&longer, 1);
    assert!(a.restore(|lane| if lane == 1 { &other } else { &before }).is_err());
    assert!(a.restore(|_| &before[1..]).is_err());
    let mut no_stream = before.clone();
    no_stream[28..60].fill(0);
    assert!(a.restore(|lane| if lane == 2 { &no_stream } else { &before }).is_err());
    assert!(trainer::<Lanes8>(&[1], td(0.1)).restore(|_| &before).is_err());
    assert_eq!(record(&a, 0), before);
}

#[test]
fn evaluating_does_not_perturb_training_and_needs_a_task() {
    let mut plain = trainer::<f32>(&[7], settings());
    let mut observed = plain.clone();
    let none = Some(Error::Empty { parameter: "task" });
    assert_eq!(observed.evaluation_trajectory::<9>(0).err(), none);
    for _ in 0..4 {
        plain.train_task().unwrap();
        observed.train_task().unwrap();
        let trajectory = observed.evaluation_trajectory::<9>(0).unwrap();
        assert!(trajectory.windows(6, 1, 0.9).is_ok());
    }
    assert_eq!(record(&plain, 0), record(&observed, 0));
    assert_eq!(observed.evaluation_trajectory::<9>(1).err(), none);
    assert_eq!(observed.evaluation_trajectory::<9>(usize::MAX).err(), none);
    let too_long = Some(Error::CapacityExceeded { parameter: "trajectory", capacity: 8 });
    assert_eq!(observed.evaluation_trajectory::<8>(0).err(), too_long);
}

/// Random windows for networks of D = 2: (features, rewards) of n = 6 and W = 5.
pub(crate) fn random_windows<R: Real>(rng: &mut Rng) -> ([[R; 2]; 13], [R; 12]) {
    let features =
        core::array::from_fn(|_| core::array::from_fn(|_| rng.uniform_in(-R::ONE, R::ONE)));
    (features, core::array::from_fn(|_| rng.uniform_in(-R::ONE, R::ONE)))
}

/// Checks every loss's gradient on windows that slide and that grow, or on windows of each length that has room.
fn batch_gradient_agrees_with_differences<N: Network<f64> + Clone>(mut network: N, what: &str) {
    let (features, rewards) = random_windows(&mut Rng::new(11));
    let slide = |n| Windows::new(2, features.as_flattened(), &rewards, n, 0.9).unwrap();
    let of_network = match N::CONTEXT_CAPACITY {
        Some(capacity) => (1..=capacity).map(slide).collect(),
        None => vec![slide(6), slide(6).growing(&[1, 2, 5, 8, 10]).unwrap()],
    };
    for windows in &of_network {
        let count = windows.count();
        let mean = |errors: Vec<f64>| errors.iter().map(|x| x * x).sum::<f64>() / count as f64;
        let target = |t| {
            windows.td_target(t, network.value(&windows.successor(t).unwrap()).unwrap()).unwrap()
        };
        let bootstrapped: Vec<f64> = (0..count).map(target).collect();
        let given: Vec<f64> = bootstrapped.iter().map(|x| 0.5 - x).collect();
        for (targets, want) in
            [(Targets::Bootstrapped, &bootstrapped), (Targets::Given(&given), &given)]
        {
            let loss = |network: &mut N| {
                mean(
                    (0..count)
                        .map(|t| want[t] - network.value(&windows.window(t).unwrap()).unwrap())
                        .collect(),
                )
            };
            gradient_agrees(&mut network, windows, targets, loss, what);
        }
        let errors = |network: &mut N| {
            let mut errors = vec![0.0; count];
            td_errors(network, windows, &mut errors).unwrap();
            errors
        };
        let residual = errors(&mut network);
        let whole = |network: &mut N| mean(errors(network));
        gradient_agrees(&mut network, windows, Targets::Residual(&residual), whole, what);
    }
}

/// Checks a batch's loss and gradient against those of the windows one by one, and of every third number against
/// central differences of the loss.
fn gradient_agrees<N: Network<f64> + Clone>(
    network: &mut N,
    windows: &Windows<f64>,
    targets: Targets<f64>,
    loss: impl Fn(&mut N) -> f64,
    what: &str,
) {
    let want = loss(network);
    let mut gradients = [(); 2].map(|()| network.parameters().zeros_like());
    let [batch, by_window] = &mut gradients;
    for got in [
        network.batch_gradient(windows, targets, batch).unwrap(),
        batch_gradient_by_window(network, windows, targets, by_window).unwrap(),
    ] {
        assert!((got - want).abs() < 1e-13 * want, "{what}: {got} {want}");
    }
    for (i, (got, by_window)) in batch.numbers().zip(by_window.numbers()).enumerate() {
        assert!((by_window - got).abs() < 1e-12 * (1.0 + got.abs()), "{what} {i}");
        if i % 3 == 0 {
            let at = |h: f64| {
                let mut moved = network.clone();
                *moved.parameters_mut().numbers_mut().nth(i).unwrap() += h;
                loss(&mut moved)
            };
            let want = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what} {i}: {got} and {want}");
        }
    }
}

#[test]
fn a_limit_of_the_norm_changes_no_smaller_gradient_and_keeps_parameters_finite() {
    let numbers = |step_size, clip_norm| {
        let adam = AdamSettings::default().step_size(step_size);
        let optimizers = [Optimizer::Adam(adam), Optimizer::AdamByWindow(adam)];
        optimizers.map(|optimizer| {
            let settings = settings().optimizer(optimizer).clip_norm(clip_norm);
            let mut trainer: Trainer<Lanes8> = trainer(&[1, 2, 3, 4], settings);
            train(&mut trainer, 5);
            (0..4).map(|lane| record(&trainer, lane)).collect::<Vec<_>>()
        })
    };
    assert_eq!(numbers(0.02, Some(1e6)), numbers(0.02, None));
    assert_ne!(numbers(0.02, Some(1e-3)), numbers(0.02, None));
    // Steps of 10 make layers overflow at once.
    let is_finite = |clip_norm| {
        let optimizer = Optimizer::Adam(AdamSettings::default().step_size(10.0));
        let settings = settings().optimizer(optimizer).clip_norm(clip_norm);
        let mut trainer: Trainer<f32> = trainer(&[1], settings);
        train(&mut trainer, 5);
        trainer.network().parameters().numbers().all(|x| x.is_finite())
    };
    assert!(is_finite(Some(1.0)) && !is_finite(None));
}

#[test]
fn a_network_with_room_for_more_features_is_the_one_without() {
    let (features, rewards) = random_windows::<f64>(&mut Rng::new(11));
    let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    fn gradient<N: Network<f64>>(mut network: N, windows: &Windows<f64>) -> Vec<f64> {
        network.initialise_lane(0, &mut Rng::new(3));
        let mut gradient = network.parameters().zeros_like();
        network.batch_gradient(windows, Targets::Bootstrapped, &mut gradient).unwrap();
        network.parameters().numbers().chain(gradient.numbers()).copied().collect()
    }
    for input in [LayerInput::Current, LayerInput::Delayed] {
        let exact = Rnn::<f64, 6, 4, 3, 10>::zeros(input);
        let roomy = Rnn::<f64, 20, 4, 3, 10>::zeros(input);
        assert!(roomy.clone().with_dim(10).is_err());
        let roomy = roomy.with_dim(2).unwrap();
        assert_eq!(gradient(roomy, &windows), gradient(exact, &windows));
    }
    for (stored, depth) in [(1, 1), (1, 3), (2, 2)] {
        let exact = SoftmaxNetwork::<f64, 5, 2, 3, 6>::zeros(stored, depth).unwrap();
        let roomy = SoftmaxNetwork::<f64, 13, 2, 4, 8>::zeros(stored, depth).unwrap();
        assert!(roomy.clone().with_dim(7).is_err());
        let roomy = roomy.with_dim(2).unwrap();
        assert_eq!(gradient(roomy, &windows), gradient(exact, &windows));
    }
}

#[test]
fn batch_gradients_agree_with_the_reference_and_with_finite_differences() {
    fn grown<N: Network<f64>>(mut network: N, size: f64) -> N {
        network.initialise_lane(0, &mut Rng::new(3));
        network.parameters_mut().numbers_mut().for_each(|x| *x *= size);
        network
    }
    for depth in [1, 2, 4] {
        let size = 8.0 * depth as f64;
        let (auto, sequential) = (linear::<f64>(1, depth), linear::<f64>(depth, depth));
        batch_gradient_agrees_with_differences(grown(auto, 8.0), "autoregressive");
        batch_gradient_agrees_with_differences(grown(sequential, size), "sequential");
        let softmax = SoftmaxNetwork::<f64, 5, 4, 4, 6>::zeros(depth, depth).unwrap();
        batch_gradient_agrees_with_differences(grown(softmax, size), "softmax");
        let shared = SoftmaxNetwork::<f64, 5, 1, 4, 6>::zeros(1, depth).unwrap();
        batch_gradient_agrees_with_differences(grown(shared, 20.0), "softmax shared");
    }
    for (depth, stored) in [(1, 1), (2, 2), (3, 1), (6, 1)] {
        for lambda in [0.9, 1.0] {
            let shape =
                LinearShape { trace_decay: Some(lambda), ..LinearShape::new(2, stored, depth) };
            let network = grown(network_of(shape), 16.0 * stored as f64 / depth as f64);
            batch_gradient_agrees_with_differences(network, "TD(lambda)");
        }
    }
}

/// More windows than the traces that are kept at once, with contexts that are longer and shorter than there are windows.
#[test]
fn the_traces_of_a_long_batch_are_those_of_its_windows_alone() {
    let mut rng = Rng::new(5);
    let mut numbers = |count| (0..count).map(|_| rng.uniform_in(-1.0, 1.0)).collect::<Vec<f64>>();
    let (features, rewards) = (numbers(2 * 63), numbers(62));
    for (n, lambda) in [(3, 0.9), (20, 0.9), (20, 1.0), (44, 0.5), (60, 1.0)] {
        let windows = Windows::new(2, &features, &rewards, n, 0.9).unwrap();
        let shape = LinearShape { trace_decay: Some(lambda), ..LinearShape::new(2, 1, 3) };
        let mut network = network_of(shape);
        network.initialise_lane(0, &mut Rng::new(3));
        network.parameters_mut().numbers_mut().for_each(|x| *x *= 5.0);
        let mut gradients = [(); 2].map(|()| network.parameters().zeros_like());
        let [batch, by_window] = &mut gradients;
        let losses = [
            network.batch_gradient(&windows, Targets::Bootstrapped, batch).unwrap(),
            batch_gradient_by_window(&mut network, &windows, Targets::Bootstrapped, by_window)
                .unwrap(),
        ];
        assert!((losses[0] - losses[1]).abs() < 1e-13 * losses[1], "{n} {lambda}: {losses:?}");
        for (got, want) in batch.numbers().zip(by_window.numbers()) {
            assert!((got - want).abs() < 1e-12 * (1.0 + want.abs()), "{n} {lambda}");
        }
        let reference = BatchTdReference::<f64, 2>::new(2, lambda).unwrap();
        let value = |t| reference.value(&windows.window(t).unwrap()).unwrap();
        let next = |t| reference.value(&windows.successor(t).unwrap()).unwrap();
        let error = |t| windows.td_target(t, next(t)).unwrap() - value(t);
        let squares: f64 = (0..windows.count()).map(error).map(|error| error * error).sum();
        let [got, _] = reference.batch_gradient(&windows, Targets::Bootstrapped).unwrap();
        let want = squares / windows.count() as f64;
        assert!((got - want).abs() < 1e-12 * want, "{n} {lambda}: {got} and {want}");
    }
}

#[test]
fn the_references_derivative_agrees_with_differences_and_with_the_windows_one_by_one() {
    let (features, rewards) = random_windows(&mut Rng::new(11));
    let slide = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    let growing = slide.growing(&[1, 2, 5, 8, 10]).unwrap();
    for (depth, lambda) in [(1, 0.0), (2, 0.9), (4, 0.0)] {
        let reference = BatchTdReference::<f64, 2>::new(depth, lambda).unwrap();
        for windows in [slide, growing] {
            let target = |t| {
                windows
                    .td_target(t, reference.value(&windows.successor(t).unwrap()).unwrap())
                    .unwrap()
            };
            let targets: [f64; 5] = core::array::from_fn(target);
            let loss = |alpha: f64| {
                let mut reference = reference.clone();
                reference.step_size = alpha;
                let error =
                    |t: usize| targets[t] - reference.value(&windows.window(t).unwrap()).unwrap();
                (0..5).map(error).map(|error| error * error).sum::<f64>() / 5.0
            };
            for targets in [Targets::Bootstrapped, Targets::Given(&targets)] {
                let [got, slope] = reference.batch_gradient(&windows, targets).unwrap();
                assert!((got - loss(1.0)).abs() < 1e-12 * got, "{depth}: {got}");
                let want = (loss(1.0 + 1e-6) - loss(1.0 - 1e-6)) / 2e-6;
                assert!((slope - want).abs() < 1e-7 * (1.0 + want.abs()), "{slope} and {want}");
            }
        }
    }
}

#[test]
fn bad_settings_are_named() {
    let make = |settings: TrainerSettings, seeds: &[u64]| {
        Trainer::<_>::new(settings, TASKS, linear::<f32>(1, 3), reference(), seeds).err()
    };
    let one = [1];
    assert_eq!(make(settings(), &[]), Some(Error::Empty { parameter: "seeds" }));
    assert!(matches!(make(settings(), &[1, 2]), Some(Error::CapacityExceeded { .. })));
    let long = settings().context_len(7);
    assert!(matches!(make(long, &one), Some(Error::CapacityExceeded { capacity: 16, .. })));
    for (settings, name) in [
        (settings().gamma(1.0), "gamma"),
        (settings().batches_per_task(0), "batches_per_task"),
        (settings().loss(Loss::MonteCarlo { horizon: 0 }), "horizon"),
        (td(-1.0), "step_size"),
        (settings().clip_norm(Some(0.0)), "clip_norm"),
        (td(0.1).clip_norm(Some(1.0)), "clip_norm"),
    ] {
        match make(settings, &one) {
            Some(Error::OutOfRange { parameter, .. }) => assert_eq!(parameter, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_context_longer_than_the_network_takes_is_refused() {
    let trainer = |context_len, context_len_range| {
        let network = SoftmaxNetwork::<f32, 5, 1, 3, 6>::zeros(1, 3)?;
        let settings =
            settings().context_len(context_len).context_len_range(context_len_range).batch_size(4);
        Trainer::<_, 2, _>::new(settings, TASKS, network, reference(), &[1]).map(|_| ())
    };
    let refused = |parameter| Err(Error::CapacityExceeded { parameter, capacity: 6 });
    assert_eq!([trainer(6, None), trainer(7, None)], [Ok(()), refused("context_len")]);
    let growing = [trainer(6, Some([1, 5])), trainer(6, Some([1, 6]))];
    assert_eq!(growing, [Ok(()), refused("context_len_range + 1")]);
}

#[test]
fn an_initial_gain_scales_the_first_parameters() {
    let shape = LinearShape::<f32>::new(2, 2, 2);
    let drawn = |gain| {
        let mut network = network_of::<f32>(LinearShape { gain, ..shape });
        network.initialise_lane(0, &mut Rng::new(9));
        network.parameters().numbers().copied().collect::<Vec<f32>>()
    };
    // Two layers of their own start with a gain of 0.1 / 2.
    assert_eq!(shape.gain, 0.05);
    assert_eq!(drawn(0.1), drawn(0.05).iter().map(|x| 2.0 * x).collect::<Vec<f32>>());
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
    assert_eq!(trainer.tasks_done, u64::MAX);
}

#[test]
fn the_statistic_of_a_trace_is_td_lambdas() {
    let mut rng = Rng::new(3);
    let (features, rewards) = random_windows::<f64>(&mut rng);
    let windows = Windows::new(2, features.as_flattened(), &rewards, 6, 0.9).unwrap();
    let shape = LinearShape { trace_decay: Some(0.7), ..LinearShape::new(2, 1, 3) };
    let mut network = network_of::<f64>(shape);
    network.initialise_lane(0, &mut rng);
    network.parameters_mut().numbers_mut().for_each(|x| *x *= 8.0);
    let transformer = network.transformer::<5, 1>(0).unwrap();
    let mask = TdLambda::new(0.7).unwrap();
    for t in 0..5 {
        let prompt = windows.window(t).unwrap().prompt::<5, 6>().unwrap();
        let want = transformer.value(&prompt, &Linear(mask)).unwrap();
        let got = network.value(&windows.window(t).unwrap()).unwrap();
        assert!((got - want).abs() < 1e-13, "{got} {want}");
    }
}

#[test]
fn a_growing_window_holds_the_first_transitions_and_bootstraps_from_one_more() {
    let features: [f64; 8] = core::array::from_fn(|k| k as f64);
    let rewards = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    let windows =
        Windows::new(1, &features, &rewards, 5, 0.5).unwrap().growing(&[1, 3, 5]).unwrap();
    assert_eq!(windows.count(), 3);
    let window = windows.window(1).unwrap();
    assert_eq!((window.context_len(), window.query()[0]), (3, 4.0));
    assert_eq!(window.token::<3>(0).unwrap(), SVector::from([0.0, 0.5, 1.0]));
    let next = windows.successor(1).unwrap();
    assert_eq!(
        (next.context_len(), next.query()[0], next.token::<3>(0).unwrap()[2]),
        (4, 5.0, 1.0)
    );
    // From phi_4 to phi_5.
    assert_eq!(windows.td_target(1, 2.0).unwrap(), 6.0);
    let windows = Windows::new(1, &features, &rewards, 5, 0.5).unwrap();
    assert!(windows.growing(&[]).is_err() && windows.growing(&[0]).is_err());
    assert!(windows.growing(&[6]).is_err());
}
