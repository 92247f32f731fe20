//! Whatever numbers come in: no panic, and an error that names the parameter.

use super::*;
use ictd_core::linalg::linear_system;
use ictd_core::model::ConstructionSettings;
use ictd_core::rng::Rng;
use ictd_core::tasks::{FiniteTaskKind, Task, boyan_chain};
use proptest::prelude::*;

const D: usize = 2;
const K: usize = 5;
const N: usize = 4;

/// Numbers that break careless code, among ordinary ones.
fn any_number() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -2.0f32..2.0,
        1 => prop::sample::select(vec![
            f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, f32::MIN_POSITIVE,
            1e-45, -1e-45, 0.0, -0.0, 1.0, 1e20, -1e20,
        ]),
    ]
}

fn finite_number() -> impl Strategy<Value = f32> {
    any_number().prop_filter("finite", |x| x.is_finite())
}

fn matrix<const R: usize, const C: usize>(
    number: impl Strategy<Value = f32>,
) -> impl Strategy<Value = SMatrix<f32, R, C>> {
    prop::collection::vec(number, R * C).prop_map(|numbers| SMatrix::from_column_slice(&numbers))
}

prop_compose! {
    fn any_transition()(phi in matrix(any_number()), reward in any_number(), phi_next in matrix(any_number()))
        -> Transition<f32, D> { Transition { phi, reward, phi_next } }
}

/// The first parameter of a transition that is not finite, or too large to be summed up.
fn first_bad(t: &Transition<f32, D>) -> Option<&'static str> {
    // `any_number` has none between 2 and 1e20.
    let is_bad = |x: &f32| x.is_nan() || x.abs() > 1e15;
    let bad = |v: &SVector<f32, D>| v.iter().any(is_bad);
    if bad(&t.phi) {
        Some("phi")
    } else if is_bad(&t.reward) {
        Some("reward")
    } else if bad(&t.phi_next) {
        Some("phi_next")
    } else {
        None
    }
}

fn expect_range<T>(result: Result<T, Error>, x: f32, inside: bool, parameter: &'static str) {
    match result {
        Ok(_) => assert!(inside, "{parameter} = {x} is accepted"),
        Err(Error::NonFinite { parameter: p }) => assert!(p == parameter && !x.is_finite()),
        Err(Error::OutOfRange { parameter: p, .. }) => {
            assert!(p == parameter && x.is_finite() && !inside, "{parameter} = {x} is refused");
        }
        Err(other) => panic!("{parameter} = {x}: {other}"),
    }
}

/// Feeds transitions; a refused one changes nothing; what comes out is finite or a typed error.
fn feed<M: Mask<f32>, W: Memory<f32>>(
    mask: M,
    window: W,
    transitions: &[Transition<f32, D>],
    layer: Layer<f32, K>,
) {
    let mut context = Context::<D, M, W>::with_memory(mask, window);
    assert_eq!(context.statistic::<K>(0.9, 0).unwrap_err(), Error::Empty { parameter: "context" });
    for t in transitions {
        let before = format!("{context:?}");
        match context.observe_transition(t) {
            Ok(()) => assert_eq!(first_bad(t), None),
            Err(Error::NonFinite { parameter } | Error::OutOfRange { parameter, .. }) => {
                assert_eq!(Some(parameter), first_bad(t));
                assert_eq!(before, format!("{context:?}"), "a refused transition left a trace");
            }
            Err(other) => panic!("{other}"),
        }
    }
    let statistic = context.statistic::<K>(0.9, 0);
    let is_finite = statistic.map(|s| s.g.iter().all(|x| x.is_finite()));
    let empty = Error::Empty { parameter: "context" };
    assert_eq!(is_finite, if context.is_empty() { Err(empty) } else { Ok(true) });
    let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
    match statistic.and_then(|statistic| transformer.value_function::<D>(&statistic)) {
        Ok(value) => assert!(value.weights.iter().all(|w| w.is_finite())),
        Err(Error::Empty { parameter: "context" }) => assert!(context.is_empty()),
        Err(Error::NonFinite { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// A bug of the caller: said where assertions are checked, elsewhere the last state.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "state 9 of 3"))]
fn a_state_of_another_process_is_an_assertion() {
    let task = boyan_chain::<f32, D, 5>(3, D, &mut Rng::new(1)).unwrap();
    let (reward, next) = task.step(9, &mut Rng::new(2));
    assert!(reward.is_finite() && next < 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn contexts_refuse_what_is_not_finite_and_stay_as_they_were(
        transitions in prop::collection::vec(any_transition(), 0..12),
        p in matrix::<K, K>(finite_number()),
        q in matrix::<K, K>(finite_number()),
    ) {
        let layer = Layer { p, q };
        let lambda = TdLambda::new(1.0f32).unwrap();
        let forgetting = Forgetting::new(0.5).unwrap();
        feed(Td0, Growing, &transitions, layer);
        feed(lambda, Growing, &transitions, layer);
        feed(MeanCentred, Growing, &transitions, layer);
        feed(lambda, forgetting, &transitions, layer);
        feed(MeanCentred, forgetting, &transitions, layer);
        feed(Td0, Sliding::<3>, &transitions, layer);
        feed(lambda, Sliding::<3>, &transitions, layer);
        feed(MeanCentred, Sliding::<3>, &transitions, layer);
    }

    #[test]
    fn ranges_are_enforced_and_named(x in any_number()) {
        let discount = (0.0..1.0).contains(&x);
        expect_range(TdLambda::new(x), x, (0.0..=1.0).contains(&x), "trace_decay");
        expect_range(Forgetting::new(x), x, x > 0.0 && x < 1.0, "retention");
        expect_range(Context::<D>::new().with_limit(x), x, x > 0.0, "limit");
        expect_range(Model::<D>::td0(ConstructionSettings::new(0.9).step_size(x).depth(3)), x, x > 0.0, "step_size");
        expect_range(Model::<D>::td0(ConstructionSettings::new(x).step_size(0.5).depth(3)), x, discount, "gamma");
        expect_range(
            Prompt::<f32, K, N>::discounted::<D>(&[], x, &linalg::zeros()), x, discount, "gamma",
        );
        // One bad lane is enough.
        let lanes = Lanes8::new([0.5, 0.5, x, 0.5, 0.5, 0.5, 0.5, 0.5]);
        expect_range(TdLambda::new(lanes), x, (0.0..=1.0).contains(&x), "trace_decay");
    }

    #[test]
    fn prompts_and_attention_survive_any_numbers(
        transitions in prop::collection::vec(any_transition(), 0..7),
        query in matrix::<D, 1>(any_number()),
        p in matrix::<K, K>(any_number()),
        q in matrix::<K, K>(any_number()),
    ) {
        let layer = Layer { p, q };
        let prompt = match Prompt::<f32, K, N>::discounted(&transitions, 0.9, &query) {
            Ok(prompt) => prompt,
            Err(Error::CapacityExceeded { parameter: "context", capacity: N }) => {
                prop_assert!(transitions.len() > N);
                return Ok(());
            }
            Err(Error::NonFinite { parameter } | Error::OutOfRange { parameter, .. }) => {
                let bad = transitions.iter().find_map(first_bad);
                prop_assert!(parameter == "query" || Some(parameter) == bad);
                return Ok(());
            }
            Err(other) => panic!("{other}"),
        };
        let transformer = match Transformer::<_, 2>::autoregressive(layer, 2) {
            Ok(transformer) => transformer,
            Err(Error::NonFinite { parameter }) => {
                let bad = if p.iter().all(|x| x.is_finite()) { "Q" } else { "P" };
                prop_assert_eq!(parameter, bad);
                return Ok(());
            }
            Err(other) => panic!("{other}"),
        };
        for value in [
            transformer.value(&prompt, &Linear(Td0)),
            transformer.value(&prompt, &SoftmaxAttention),
        ] {
            prop_assert_eq!(value.is_err(), transitions.is_empty());
        }
        let mut z = prompt.clone();
        prop_assert_eq!(SoftmaxAttention.apply(&layer, &mut z).is_err(), transitions.is_empty());
    }

    #[test]
    fn solvers_return_a_finite_solution_or_a_typed_error(
        a in matrix::<3, 3>(any_number()), b in matrix::<3, 1>(any_number()), size in 0usize..5,
    ) {
        for solution in [
            linear_system::solve(a, b, size, "A"),
            linear_system::least_squares(a, b, [size, size], "A"),
        ] {
            match solution {
                Ok(x) => prop_assert!(x.iter().all(|x| x.is_finite())),
                Err(Error::CapacityExceeded { parameter: "A", capacity: 3 }) => prop_assert!(size > 3),
                Err(Error::Singular { system: "A" } | Error::NonFinite { parameter: "A" }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn classical_algorithms_survive_any_transitions(
        transitions in prop::collection::vec(any_transition(), 0..6), gamma in any_number(),
    ) {
        let w = linalg::zeros::<f32, D, 1>();
        let c = constructions::scaled_identity(0.1);
        let empty = Error::Empty { parameter: "transitions" };
        let ordinary = transitions.iter().all(|t| first_bad(t).is_none()) && gamma.abs() < 1e15;
        for updated in [
            td::updates::td0(&w, &c, &transitions, gamma),
            td::updates::residual_gradient(&w, &c, &transitions, gamma),
            td::updates::td_lambda(&w, &c, &transitions, gamma, 0.5),
            td::updates::average_reward(&w, &c, &transitions),
        ] {
            match updated {
                Ok(w) => prop_assert!(!transitions.is_empty() && w.iter().all(|x| x.is_finite())),
                Err(e) if transitions.is_empty() => prop_assert_eq!(e, empty),
                Err(e) => {
                    prop_assert_eq!(e, Error::NonFinite { parameter: "w" });
                    prop_assert!(!ordinary);
                }
            }
        }
    }

    #[test]
    fn tasks_refuse_what_they_cannot_be(
        states in 0usize..8, actions in 0usize..10, x in any_number(), seed in any::<u64>(),
    ) {
        const M: usize = 5;
        let rng = &mut Rng::new(seed);
        let discount = (0.0..1.0).contains(&x);
        let fits = states <= M;
        prop_assert_eq!(boyan_chain::<f32, D, M>(states, D, rng).is_ok(), fits && states >= 2);
        let task = FiniteTaskKind::BoyanChainRepresentable.draw::<f32, D, M>(states, D, x, rng);
        prop_assert_eq!(task.is_ok(), fits && states >= 2 && discount);
        let task = FiniteTaskKind::RandomMdp { actions }.draw::<f32, D, M>(states, D, 0.9, rng);
        prop_assert_eq!(task.is_ok(), fits && states >= 1 && (1..=8).contains(&actions));
        let kind = FiniteTaskKind::Loop { threshold: x.into() };
        let task = kind.draw::<f32, D, M>(states, D, 0.9, rng);
        prop_assert_eq!(task.is_ok(), fits && states >= 1 && x > 0.0 && x < 1.0);
        if let Ok(task) = task {
            // More steps than there is room for.
            prop_assert_eq!(
                task.trajectory::<3>(4, rng).err(),
                Some(Error::CapacityExceeded { parameter: "trajectory", capacity: 3 })
            );
            prop_assert_eq!(task.true_value(x).is_ok(), discount);
        }
    }

    #[test]
    fn processes_refuse_what_is_no_distribution(
        states in 0usize..6,
        initial in matrix::<4, 1>(any_number()),
        p in matrix::<4, 4>(any_number()),
        reward in matrix::<4, 1>(any_number()),
    ) {
        let features = SMatrix::<f32, D, 4>::zeros();
        match Mrp::new(states, &initial, &p, &reward, &features) {
            Ok(_) => prop_assert!((1..=4).contains(&states)),
            Err(Error::Empty { parameter: "states" }) => prop_assert_eq!(states, 0),
            Err(Error::CapacityExceeded { parameter: "states", .. }) => prop_assert!(states > 4),
            Err(Error::NonFinite { parameter } | Error::OutOfRange { parameter, .. }) => {
                prop_assert!(["p", "p_0", "r"].contains(&parameter));
            }
            Err(other) => panic!("{other}"),
        }
    }
}
