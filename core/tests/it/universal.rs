use super::*;
use ictd_core::mask::Td0Trace;
use ictd_core::tasks::{FiniteTaskKind, Task as _};
use ictd_core::value_function::ClippedValueFunction;

type Task = Mrp<f64, 4, 10>;

fn unclipped<const D: usize>(value: &ClippedValueFunction<f64, D>, phi: &[f64; D]) -> f64 {
    value.level + value.weights.iter().zip(phi).map(|(w, x)| w * x).sum::<f64>()
}

/// Observes so many transitions of a task, with each feature changed.
fn observe<W: Memory<f64>, const D: usize>(
    context: &mut Context<D, Td0Trace<f64>, W, f64>,
    task: &Task,
    n: usize,
    change: impl Fn(&SVector<f64, 4>) -> [f64; D],
) {
    let mut rng = Rng::new(3);
    let mut state = task.initial_state(&mut rng);
    for _ in 0..n {
        let t = task.transition(&mut state, &mut rng);
        context.observe(&change(&t.phi), t.reward, &change(&t.phi_next)).unwrap();
    }
}

#[test]
fn every_damage_to_a_stored_model_is_found() {
    let model = UniversalModel::<f32>::new(0.9).unwrap();
    let mut buffer = [0; 300];
    let len = model.write(&mut buffer).unwrap().len();
    assert_eq!(len, model.byte_len());
    let stored = &buffer[..len];
    assert_eq!(UniversalModel::from_bytes(stored), Ok(model));
    every_damage_is_found(stored, None, 12, UniversalModel::<f32>::from_bytes);
    // Whole and undamaged, and yet not a model of the type that reads it, or of none.
    let changed = |at: usize, to: u8| {
        UniversalModel::<f32>::from_bytes(&resealed(stored, |bytes| bytes[at] = to))
    };
    let part = "format version";
    let older = StoredError::Mismatch { part, found: 3, expected: 4 };
    assert_eq!(changed(4, 3), Err(Error::Stored(older)));
    assert!(matches!(changed(8, 4), Err(Error::Stored(_))));
    assert!(matches!(changed(10, 1), Err(Error::Stored(_))));
    // gamma = 0.9 becomes about 2e38.
    assert!(matches!(changed(15, 0x7f), Err(Error::OutOfRange { parameter: "gamma", .. })));
    assert!(UniversalModel::<f64>::from_bytes(stored).is_err());
    assert!(ictd_core::Model::<4>::from_bytes(stored).is_err());
}

#[test]
fn a_context_of_other_traces_or_without_transitions_is_refused() {
    let model = UniversalModel::<f32>::new(0.9).unwrap();
    let empty = model.context::<2>();
    assert_eq!(model.value_function(&empty), Err(Error::Empty { parameter: "context" }));
    let other = Td0Trace::new(0.5).unwrap();
    let mut other = Context::<2, Td0Trace>::with_memory(other, Growing);
    other.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    let mismatch = Error::Mismatch { parameter: "trace decays of model and context" };
    assert_eq!(model.value_function(&other), Err(mismatch));
    assert!(UniversalModel::<f32>::new(1.0).is_err());
    assert!(Td0Trace::new(f32::NAN).is_err() && Td0Trace::new(1.5_f32).is_err());
}

#[test]
fn units_and_features_that_are_never_seen_change_no_bit() {
    let task: Task = boyan_chain(10, 4, &mut Rng::new(1)).unwrap();
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    let mut plain = model.context::<4>();
    observe(&mut plain, &task, 50, |phi| (*phi).into());
    let w = model.value_function(&plain).unwrap().weights;
    let mut scaled = model.context::<5>();
    let factors = [1024.0, 0.125, 1.0, 0.25];
    observe(&mut scaled, &task, 50, |phi| {
        core::array::from_fn(|i| if i < 4 { factors[i] * phi[i] } else { 0.0 })
    });
    let w_scaled = model.value_function(&scaled).unwrap().weights;
    for i in 0..4 {
        assert_eq!(w_scaled[i] * factors[i], w[i], "{i}");
    }
    assert_eq!(w_scaled[4], 0.0);
}

#[test]
fn ill_conditioned_features_give_bounded_values() {
    let task: Task = boyan_chain(10, 4, &mut Rng::new(2)).unwrap();
    for gamma in [0.0, 0.9, 0.995] {
        let model = UniversalModel::<f32>::new(gamma).unwrap();
        for n in [1, 2, 5, 30, 3000] {
            let mut rng = Rng::new(3);
            let (mut context, mut state) = (model.context::<8>(), task.initial_state(&mut rng));
            // Twice the same, nearly the same, a constant, and scales that are far apart.
            let change = |phi: &SVector<f64, 4>| {
                let [x, y, z] = [phi[0], phi[1], phi[2]];
                [x, x, x + 1e-3 * y, 1.0, 1.0, 1e6 * y, 1e-6 * z, 0.0].map(|x| x as f32)
            };
            let mut last = [0.0; 8];
            for _ in 0..n {
                let t = task.transition(&mut state, &mut rng);
                last = change(&t.phi_next);
                context.observe(&change(&t.phi), t.reward as f32, &last).unwrap();
            }
            let reading = model.estimate(&context, model.gvf(0)).unwrap();
            assert!((0.0..=1.0).contains(&reading.linearity));
            let value = reading.value_function;
            let [low, high] = value.value_clip;
            assert!(low <= value.at(&last) && value.at(&last) <= high);
            // (Rewards may be as far from their level as twice the largest.)
            assert!(high - low <= 4.0 / (1.0 - gamma));
        }
    }
}

/// A feature that is 1 in one state of ten has a small mean square, and counts in full all the same.
#[test]
fn a_rare_state_is_not_held_back() {
    let one_hot = |s: usize| core::array::from_fn::<f64, 10, _>(|i| f64::from(i == s % 10));
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    let mut context = model.context::<10>();
    for t in 0..100 {
        context.observe(&one_hot(t), f64::from(t % 10 == 9), &one_hot(t + 1)).unwrap();
    }
    let value = model.value_function(&context).unwrap();
    for s in 0..10 {
        // The reward follows after 9 - s states, and every ten states from then on.
        let truth = libm::pow(0.9, (9 - s) as f64) / (1.0 - libm::pow(0.9, 10.0));
        let (found, unclipped) = (value.at(&one_hot(s)), unclipped(&value, &one_hot(s)));
        assert_eq!(found, unclipped);
        // The ridge of some transitions draws values to their level.
        assert!(found > 0.7 * truth && found < 1.05 * truth, "{s}: {found} for {truth}");
    }
}

/// Layers of Theorem 1's form, looped, come to rest where A w = b; the model solves the same equation with a ridge.
#[test]
fn looped_layers_of_theorem_1_go_where_the_equation_is_solved() {
    let kind = FiniteTaskKind::BoyanChainRepresentable;
    let task: Task = kind.draw(10, 4, 0.9, &mut Rng::new(4)).unwrap();
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    let mut context = model.context::<4>();
    observe(&mut context, &task, 2000, |phi| (*phi).into());
    let sums = model.sums(&context, model.gvf(0)).unwrap();
    let system = sums.systems[0];
    // The model's mask has TD(0)'s statistic.
    let statistic = context.statistic::<9>(0.9, 0).unwrap();
    let layer = constructions::td0(&scaled_identity::<f64, 4>(0.5));
    let looped = Transformer::<_, 1>::autoregressive(layer, 2000).unwrap();
    let w = looped.value_function::<4>(&statistic).unwrap().weights;
    for i in 0..4 {
        let residual = (0..4).fold(system.b[i], |sum, j| sum - system.a[j][i] * w[j]);
        assert!(residual.abs() < 1e-6, "{residual}");
    }
    // Values are linear in the features here, and the context shows it.
    let reading = model.estimate(&context, model.gvf(0)).unwrap();
    let of_model = reading.value_function.weights;
    assert!((of_model - w).amax() < 0.02 * w.amax(), "{of_model} {w}");
    assert!(reading.linearity > 0.9, "{}", reading.linearity);
}

#[test]
fn the_sums_of_a_sliding_window_are_those_of_what_is_in_it() {
    let task: Task = boyan_chain(10, 4, &mut Rng::new(3)).unwrap();
    let all = task.trajectory::<500>(500, &mut Rng::new(5)).unwrap();
    let sums = |memory, seen: core::ops::Range<usize>| -> Vec<f64> {
        let model = UniversalModel::<f64>::new(0.9).unwrap();
        let mut context = Context::<4, _, Sliding<40>, f64>::with_memory(*model.mask(), memory);
        for t in seen {
            context.observe_transition(&all[t]).unwrap();
            if t % 13 == 12 {
                context.end_episode();
            }
        }
        let systems = model.sums(&context, model.gvf(0)).unwrap().systems;
        systems.iter().flat_map(|of| [of.a.as_flattened(), &of.b].concat()).collect()
    };
    for end in [40, 69, 70, 477, 500] {
        let [found, alone] = [0, end - 40].map(|start| sums(Sliding, start..end));
        assert!(found.iter().zip(alone).all(|(a, b)| (a - b).abs() < 1e-12), "{end}");
    }
}

#[test]
fn features_long_forgotten_and_units_of_any_size_are_no_error() {
    let model = UniversalModel::<f32>::new(0.9).unwrap();
    let value = |phi: f32, other: f32, reward: f32| {
        let mut context = model.context::<2>();
        for t in 0..50 {
            let s = [phi, other * (t % 2) as f32];
            context.observe(&s, reward, &[phi, other - s[1]]).unwrap();
        }
        model.value_function(&context).map(|v| v.at(&[phi, 0.0]) / reward)
    };
    let expected = value(1.0, 1.0, 1.0).unwrap();
    assert!(expected > 5.0);
    let units = [1e-34, 1e-30, 1e-25, 1e-22, 1e-20, 1e-18, 1e-9, 1.0, 1e6, 1e13];
    for (phi, reward) in units.iter().flat_map(|phi| units.map(|reward| (*phi, reward))) {
        for other in [1.0, phi] {
            let found = value(phi, other, reward);
            // Right within the limits; beyond them right or an error, never 0, unless a product is below every number.
            let is_within = phi >= 1e-18 && reward >= 1e-18;
            let is_lost = phi * reward < 1e-35;
            let is_right = found.is_ok_and(|v| (v - expected).abs() < 1e-2 * expected);
            let is_allowed = is_right || !is_within && (found.is_err() || is_lost);
            assert!(is_allowed, "{phi} {reward}: {found:?}");
        }
    }
    // One state of two is not seen again, until its sums are below every number.
    let mut context = model.forgetting::<2>(0.99).unwrap();
    for t in 0..20_000 {
        let s = if t < 10 { [1.0, 0.0] } else { [0.0, 1.0] };
        context.observe(&s, 1.0, &s).unwrap();
        if t % 100 == 99 {
            assert!(model.value_function(&context).is_ok(), "{t}");
        }
    }
}

/// A feature for each of eight states shows no other solution to be right; one for each half of them does, unless the trace decays
/// more slowly than gamma, 0.828.
#[test]
fn values_beyond_the_features_are_seen_by_the_trace() {
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    let linearity = |states: usize, gamma: f64| {
        let phi = |s: usize| core::array::from_fn(|i| f64::from(i == s / states));
        let (mut context, mut rng, mut s) = (model.context::<8>(), Rng::new(13), 0);
        for _ in 0..3000 {
            let next = (s + rng.below(2) as usize) % 8;
            let reward = f64::from(s == 7) + 0.1 * rng.normal::<f64>();
            context.observe(&phi(s), reward, &phi(next)).unwrap();
            s = next;
        }
        model.estimate(&context, Gvf { cumulant: 0, gamma }).unwrap().linearity
    };
    assert_eq!([0.82, 0.9].map(|gamma| linearity(1, gamma)), [1.0; 2]);
    assert_eq!(linearity(4, 0.82), 1.0);
    let found = linearity(4, 0.9);
    assert!(found < 0.9, "{found}");
}

#[test]
fn nothing_seen_is_worth_nothing() {
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    for (phi, reward) in [(0.0, 1.0), (1.0, 0.0)] {
        let mut context = model.context::<2>();
        context.observe(&[phi, 0.0], reward, &[0.5 * phi, 0.0]).unwrap();
        let estimate = model.estimate(&context, model.gvf(0)).unwrap();
        assert_eq!((estimate.value_function.at(&[1.0, 1.0]), estimate.linearity), (0.0, 1.0));
    }
}

/// Where A is next to 0 the ridge of a few transitions leaves large weights; their TD errors ask for a larger one.
#[test]
fn a_solution_that_explodes_is_held_back() {
    let model = UniversalModel::<f64>::new(0.9).unwrap();
    let mut context = model.context::<1>();
    for t in 0..1000 {
        let sign = if t % 4 < 2 { 1.0 } else { -1.0 };
        let next = if t % 2 == 0 { 2.0 / 0.9 } else { 0.0 };
        context.observe(&[sign], sign, &[sign * next]).unwrap();
    }
    let w = model.value_function(&context).unwrap().weights[0];
    assert!(w.abs() < 2.0, "{w}");
}

/// Neither rewards that go on, nor states that were seen within twice its effective length, are held back by a context that
/// forgets.
#[test]
fn a_context_that_forgets_holds_back_no_value_that_goes_on() {
    let model = UniversalModel::<f64>::new(0.99).unwrap();
    let mut forgetting = model.forgetting::<1>(0.99).unwrap();
    for _ in 0..5000 {
        forgetting.observe(&[1.0], 1.0, &[1.0]).unwrap();
    }
    let value = model.value_function(&forgetting).unwrap().at(&[1.0]);
    assert!((value - 100.0).abs() < 3.0, "{value}");
    // A cycle of 20 states, a reward after the last one.
    let model = UniversalModel::<f64>::new(0.0).unwrap();
    let mut context = model.forgetting::<20>(0.95).unwrap();
    let state =
        |t: usize| -> [f64; 20] { core::array::from_fn(|i| if i == t % 20 { 1.0 } else { 0.0 }) };
    for t in 0..2000 {
        context.observe(&state(t), if t % 20 == 19 { 1.0 } else { 0.0 }, &state(t + 1)).unwrap();
    }
    let value = model.value_function(&context).unwrap();
    assert_eq!(value.at(&state(19)), unclipped(&value, &state(19)));
}
