//! Many contexts at once, and the room that a stream has for features, change no bit of values.

use compute::transitions::{EpisodeEnd, Transitions};
use ictd_core::UniversalModel;
use ictd_core::rng::Rng;
use judge::estimator::{Contexts, Estimator, Method};

fn estimators() -> Vec<Estimator> {
    let universal = UniversalModel::<f64>::new(0.9).unwrap();
    let methods = [
        Method::Universal(Box::new(universal)),
        Method::Constructed { alpha: 0.2, trace_decay: 0.5 },
        Method::PreconditionedTd { alpha: 0.2, beta: 0.05 },
        Method::BatchTd { lambda: 0.9, alpha: 0.2 },
        Method::Lstd { lambda: 0.9, ridge: 0.3 },
        Method::OnlineTd { lambda: 0.9, alpha: 0.1, true_online: true },
    ];
    methods.map(|method| Estimator { method, gamma: 0.9, layers: 4 }).into()
}

/// Contexts of `len` transitions with d features, and zeros for those up to `room`.
fn contexts(count: usize, len: usize, d: usize, room: usize) -> Contexts {
    let mut rng = Rng::new(7);
    let mut state = || {
        let features: Vec<f64> = (0..d).map(|_| rng.uniform_in(-1.0, 1.0)).collect();
        features.into_iter().chain(vec![0.0; room - d])
    };
    let (mut phi, mut phi_next) = (Vec::new(), Vec::new());
    for _ in 0..count * len {
        phi.extend(state());
        phi_next.extend(state());
    }
    let n = count * len;
    let marks = (0..n).map(|i| EpisodeEnd::from_marks(i % 7 == 3, i % 7 == 6)).collect();
    let reward = (0..n).map(|i| (i % 5) as f64 - 2.0).collect();
    let transitions =
        Transitions { d: room, from: (0..n).collect(), reward, phi_next, marks, phi, rho: None };
    let queries = transitions.phi[..3 * count * room].to_vec();
    Contexts { transitions, len, queries, query_count: 3, has_own_queries: true }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn many_contexts_have_the_values_of_each_alone() {
    let data = contexts(11, 9, 3, 3);
    for estimator in estimators() {
        let mut alone = Vec::new();
        for context in 0..11 {
            let mut stream = estimator.stream(3, None).unwrap();
            stream.observe_rows(&data.transitions, data.rows(context)).unwrap();
            alone.extend(stream.values(data.queries(context)).unwrap());
        }
        let together = estimator.values_in_contexts(&data, 0..11).unwrap();
        assert_eq!(bits(&together), bits(&alone), "{:?}", estimator.method);
        let some = estimator.values_in_contexts(&data, 4..6).unwrap();
        assert_eq!(bits(&some), bits(&alone[12..18]), "{:?}", estimator.method);
    }
}

#[test]
fn an_error_says_which_context_it_is_about() {
    let mut data = contexts(5, 9, 3, 3);
    data.transitions.reward[30] = f64::NAN;
    for estimator in estimators() {
        assert_eq!(estimator.values_in_contexts(&data, 1..5).unwrap_err().0, 3);
    }
}

#[test]
fn room_for_more_features_changes_no_bit() {
    for (d, room) in [(2, 5), (4, 8), (8, 9), (9, 13), (11, 16), (12, 17), (16, 20)] {
        let [alone, roomy] = [d, room].map(|room| contexts(2, 40, d, room));
        for estimator in estimators() {
            let [alone, roomy] =
                [&alone, &roomy].map(|data| estimator.values_in_contexts(data, 0..2).unwrap());
            assert_eq!(bits(&alone), bits(&roomy), "{d} of {room}: {:?}", estimator.method);
        }
    }
}
