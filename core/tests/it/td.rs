use ictd_core::Error;
use ictd_core::constructions::scaled_identity;
use ictd_core::linalg::dot;
use ictd_core::nalgebra::SVector;
use ictd_core::rng::Rng;
use ictd_core::td::updates::{self, td0};
use ictd_core::td::{BatchTd, BatchTdSettings, Lstd, LstdSettings, OnlineTd, OnlineTdSettings};
use ictd_core::transition::Transition;

#[test]
fn what_cannot_be_learned_or_asked_is_refused_by_name() {
    let td = OnlineTd::new(OnlineTdSettings { gamma: 0.9_f32, lambda: 0.5, alpha: 10.0 }).unwrap();
    let mut learner = td.context::<1>();
    assert_eq!(td.value_function(&learner), Err(Error::Empty { parameter: "learner" }));
    assert!(learner.observe(&[f32::NAN], 0.0, &[0.0]).is_err() && learner.is_empty());
    for _ in 0..100 {
        learner.observe(&[10.0], 1.0, &[10.0]).unwrap();
    }
    let diverged = Err(Error::NonFinite { parameter: "online TD's weights" });
    assert_eq!(td.value_function(&learner), diverged);
    let other =
        OnlineTd::true_online(OnlineTdSettings { gamma: 0.9, lambda: 0.5, alpha: 10.0 }).unwrap();
    assert!(matches!(other.value_function(&learner), Err(Error::Mismatch { .. })));
    learner.clear();
    assert_eq!(learner, td.context());
    for (i, name) in ["gamma", "lambda", "alpha"].into_iter().enumerate() {
        let [gamma, lambda, alpha] = [0, 1, 2].map(|j| if i == j { -1.0_f32 } else { 0.5 });
        let online = OnlineTd::new(OnlineTdSettings { gamma, lambda, alpha }).unwrap_err();
        let batch =
            BatchTd::new(BatchTdSettings { gamma, lambda, alpha, iterations: 3 }).unwrap_err();
        for refused in [online, batch] {
            assert!(matches!(refused, Error::OutOfRange { parameter, .. } if parameter == name));
        }
    }
    assert!(
        Lstd::new(LstdSettings { gamma: 0.5_f32, lambda: 0.5, ridge: -1.0 }).is_err()
            && Lstd::new(LstdSettings { gamma: 0.5_f32, lambda: 0.5, ridge: 0.0 }).is_ok()
    );
}

#[test]
fn batch_algorithms_agree_and_refuse_what_does_not_determine_their_weights() {
    let lstd = Lstd::new(LstdSettings { gamma: 0.5_f64, lambda: 0.0, ridge: 0.0 }).unwrap();
    let td =
        BatchTd::new(BatchTdSettings { gamma: 0.5_f64, lambda: 0.0, alpha: 0.5, iterations: 200 })
            .unwrap();
    let mut context = lstd.context::<2>();
    assert_eq!(lstd.value_function(&context), Err(Error::Empty { parameter: "context" }));
    context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
    assert!(matches!(lstd.value_function(&context), Err(Error::Singular { .. })));
    context.observe(&[0.0, 1.0], 0.0, &[1.0, 0.0]).unwrap();
    // A ring of two states: 1 / (1 - gamma^2), gamma / (1 - gamma^2).
    let want = SVector::from([4.0 / 3.0, 2.0 / 3.0]);
    for value in [lstd.value_function(&context), td.value_function(&context)] {
        let value = value.unwrap();
        assert!((value.weights - want).amax() < 1e-9, "{value:?}");
    }
    let mismatch = Lstd::new(LstdSettings { gamma: 0.5_f64, lambda: 0.25, ridge: 0.0 })
        .unwrap()
        .value_function(&context);
    assert!(matches!(mismatch, Err(Error::Mismatch { .. })));
}

#[test]
fn units_of_features_change_no_value_of_lstd() {
    let lstd = Lstd::new(LstdSettings { gamma: 0.9_f32, lambda: 0.5, ridge: 0.25 }).unwrap();
    let [mut a, mut b] = [lstd.context::<2>(), lstd.context::<2>()];
    let rng = &mut Rng::new(3);
    let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
    let units = |phi: [f32; 2]| [1024.0 * phi[0], phi[1] / 256.0];
    for _ in 0..50 {
        let (phi, reward, next) = ([number(), 1.0], number(), [number(), 1.0]);
        a.observe(&phi, reward, &next).unwrap();
        b.observe(&units(phi), reward, &units(next)).unwrap();
        let [v, w] = [&a, &b].map(|context| lstd.value_function(context).unwrap());
        assert_eq!(v.at(&phi), w.at(&units(phi)));
    }
}

#[test]
fn each_update_is_its_equation_by_hand() {
    let transition = |phi, reward, phi_next| {
        let [phi, phi_next] = [phi, phi_next].map(|x| SVector::from([x]));
        Transition { phi, reward, phi_next }
    };
    let (w, c) = (SVector::from([0.0]), scaled_identity(0.5));
    let two = [0.0, 2.0].map(|reward| transition(1.0, reward, 1.0));
    let got = updates::td_lambda(&w, &c, &two, 0.9, 0.5).unwrap();
    assert_eq!(got[0], 0.5 * 0.5 * (2.0 * (1.0 + 0.5)));
    let one = [transition(1.0, 3.0, 2.0)];
    let got = updates::residual_gradient(&w, &scaled_identity(0.25), &one, 0.25).unwrap();
    assert_eq!(got[0], 0.25 * 3.0 * (1.0 - 0.25 * 2.0));
    let two = [3.0, 1.0].map(|reward| transition(1.0, reward, -1.0));
    let got = updates::average_reward(&w, &c, &two).unwrap();
    assert_eq!(got[0], 0.5 * 0.5 * ((3.0 - 3.0) + (1.0 - 2.0)));
}

#[test]
fn steps_below_the_bound_approach_lstd_where_next_states_are_distributed_as_states() {
    let (mut rng, gamma) = (Rng::new(1), 0.9);
    for _ in 0..20 {
        let features: [SVector<f64, 3>; 12] =
            [(); 12].map(|()| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)));
        let longest = features.iter().map(|phi| dot(phi, phi)).fold(0.0, f64::max);
        let alpha = 1.99 * (1.0 - gamma) / ((1.0 + gamma) * (1.0 + gamma) * longest);
        let transitions: [_; 12] = core::array::from_fn(|j| Transition {
            phi: features[j],
            reward: rng.uniform_in(-1.0, 1.0),
            phi_next: features[(j + 1) % 12],
        });
        let lstd = Lstd::new(LstdSettings { gamma, lambda: 0.0, ridge: 0.0 }).unwrap();
        let mut context = lstd.context::<3>();
        transitions.iter().for_each(|t| context.observe_transition(t).unwrap());
        let fixed_point = lstd.value_function(&context).unwrap().weights;
        let mut w = SVector::zeros();
        for _ in 0..100 {
            let next = td0(&w, &scaled_identity(alpha), &transitions, gamma).unwrap();
            assert!((next - fixed_point).norm() < (w - fixed_point).norm());
            w = next;
        }
    }
}
