use super::*;
use ictd_core::td::updates::td0;
use ictd_core::td::{
    BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineAlgorithm, OnlineTd,
    OnlineTdSettings, RecursiveLstd, RecursiveLstdSettings,
};

#[test]
fn what_cannot_be_learned_or_asked_is_refused_by_name() {
    let td = OnlineTd::new(OnlineTdSettings::new(0.9_f32).lambda(0.5).step_size(10.0)).unwrap();
    let mut learner = td.context::<1>();
    assert_eq!(td.value_function(&learner), Err(Error::Empty { parameter: "learner" }));
    assert!(learner.observe(&[f32::NAN], 0.0, &[0.0]).is_err() && learner.is_empty());
    for _ in 0..100 {
        learner.observe(&[10.0], 1.0, &[10.0]).unwrap();
    }
    assert_eq!(td.value_function(&learner), Err(Error::Diverges));
    let other =
        OnlineTd::true_online(OnlineTdSettings::new(0.9).lambda(0.5).step_size(10.0)).unwrap();
    assert!(matches!(other.value_function(&learner), Err(Error::Mismatch { .. })));
    learner.clear();
    assert_eq!(learner, td.context());
    for (i, name) in ["gamma", "lambda", "step_size"].into_iter().enumerate() {
        let [gamma, lambda, alpha] = [0, 1, 2].map(|j| if i == j { -1.0_f32 } else { 0.5 });
        let online = OnlineTd::new(OnlineTdSettings::new(gamma).lambda(lambda).step_size(alpha))
            .unwrap_err();
        let batch =
            BatchTd::new(BatchTdSettings::new(gamma).lambda(lambda).step_size(alpha).iterations(3))
                .unwrap_err();
        for refused in [online, batch] {
            assert!(matches!(refused, Error::OutOfRange { parameter, .. } if parameter == name));
        }
    }
    let lstd = |ridge: f32| Lstd::new(LstdSettings::new(0.5).lambda(0.5).ridge(ridge));
    assert!(lstd(-1.0).is_err() && lstd(0.0).is_ok());
}

#[test]
fn lstd_refuses_what_does_not_determine_its_weights_and_an_unseen_feature_has_none() {
    let lstd = Lstd::new(LstdSettings::new(0.5_f64).lambda(0.0).ridge(0.0)).unwrap();
    let mut context = lstd.context::<3>();
    assert_eq!(lstd.value_function(&context), Err(Error::Empty { parameter: "context" }));
    context.observe(&[1.0, 0.0, 0.0], 1.0, &[0.0, 1.0, 0.0]).unwrap();
    assert!(matches!(lstd.value_function(&context), Err(Error::Singular { .. })));
    context.observe(&[0.0, 1.0, 0.0], 0.0, &[1.0, 0.0, 0.0]).unwrap();
    // A ring of two states: 1 / (1 - gamma^2), gamma / (1 - gamma^2).
    let weights = lstd.value_function(&context).unwrap().weights;
    let want = SVector::from([4.0 / 3.0, 2.0 / 3.0, 0.0]);
    assert!((weights - want).amax() < 1e-9 && weights[2] == 0.0, "{weights}");
    let other = Lstd::new(LstdSettings::new(0.5_f64).lambda(0.25).ridge(0.0)).unwrap();
    assert!(matches!(other.value_function(&context), Err(Error::Mismatch { .. })));
}

/// A step size too large for features around 10, with the number of transitions at which nothing overflows.
#[test]
fn divergence_is_an_error_before_it_overflows() {
    let batch = |alpha| BatchTdSettings::new(0.9_f64).lambda(0.0).step_size(alpha).iterations(15);
    let [batch, small] = [0.2, 1e-4].map(|alpha| BatchTd::new(batch(alpha)).unwrap());
    let online = |alpha| OnlineTdSettings::new(0.9_f64).lambda(0.9).step_size(alpha);
    let algorithms = [OnlineTd::new, OnlineTd::true_online];
    let [learners, slow] =
        [0.1, 1e-4].map(|alpha| algorithms.map(|new| new(online(alpha)).unwrap()));
    let [mut learners, mut slow] = [learners, slow].map(|all| all.map(|td| td.context::<2>()));
    let (mut context, mut rng) = (batch.context::<2>(), Rng::new(0));
    let mut state = || SVector::<f64, 2>::from_fn(|_, _| 10.0 + rng.uniform::<f64>());
    for i in 0..20 {
        let t = Transition { phi: state(), reward: f64::from(i % 3), phi_next: state() };
        context.observe_transition(&t).unwrap();
        for learner in learners.iter_mut().chain(&mut slow) {
            learner.observe_transition(&t).unwrap();
        }
    }
    assert_eq!(batch.value_function(&context), Err(Error::Diverges));
    assert!(small.value_function(&context).is_ok());
    for (learner, slow) in learners.iter().zip(&slow) {
        assert_eq!(learner.value_function(), Err(Error::Diverges));
        assert!(slow.value_function().is_ok());
    }
}

/// Squares of features that underflow would make weights 0, or any.
#[test]
fn lstd_refuses_features_whose_squares_are_lost() {
    fn weights<R: Real>(scale: f64) -> ictd_core::Result<f64> {
        let [gamma, lambda, ridge] = [0.5, 0.0, 0.0].map(R::from_f64);
        let lstd = Lstd::new(LstdSettings::new(gamma).lambda(lambda).ridge(ridge)).unwrap();
        let (mut context, x) = (lstd.context::<1>(), R::from_f64(scale));
        context.observe(&[x], R::from_f64(1.0), &[x]).unwrap();
        Ok(lstd.value_function(&context)?.at(&[x]).to_f64())
    }
    for scale in [1e-15, 1e-100] {
        assert!((weights::<f64>(scale).unwrap() - 2.0).abs() < 1e-12);
    }
    assert!((weights::<f32>(1e-15).unwrap() - 2.0).abs() < 1e-6);
    for scale in [1e-162, 1e-163, 1e-170] {
        assert_eq!(weights::<f64>(scale), Err(Error::NonFinite { parameter: "context" }));
    }
    for scale in [1e-20, 1e-23, 1e-30] {
        assert_eq!(weights::<f32>(scale), Err(Error::NonFinite { parameter: "context" }));
    }
}

#[test]
fn a_singular_system_is_refused_and_heals() {
    let settings = RecursiveLstdSettings::new(0.5).lambda(0.0).retention(0.5).ridge(1.0);
    assert!(RecursiveLstd::new(settings.retention(1.0)).is_err());
    let lstd = RecursiveLstd::<f64>::new(settings).unwrap();
    let mut learner = lstd.context::<1>();
    // A = 0.5 + 1 (1 - 0.5 phi') + 0.5 = 0 for phi' = 4.
    learner.observe(&[1.0], 1.0, &[4.0]).unwrap();
    assert!(matches!(lstd.value_function(&learner), Err(Error::Singular { .. })));
    (0..100).for_each(|_| learner.observe(&[1.0], 1.0, &[1.0]).unwrap());
    // A = 1 + 2 * 0.5, b = 2.
    let value = lstd.value_function(&learner).unwrap().at(&[1.0]);
    assert!((value - 1.0).abs() < 1e-12, "{value}");
}

#[test]
fn units_of_features_change_no_value_of_lstd() {
    let lstd = Lstd::new(LstdSettings::new(0.9_f32).lambda(0.5).ridge(0.25)).unwrap();
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
        let lstd = Lstd::new(LstdSettings::new(gamma).lambda(0.0).ridge(0.0)).unwrap();
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

fn restored<A: OnlineAlgorithm<f64>>(learner: &Learner<3, A, f64>) -> Learner<3, A, f64> {
    let (mut from, mut numbers) = (learner.clone(), Vec::new());
    from.visit_state(learner.len(), &mut |x| numbers.push(*x));
    let (mut to, mut numbers) = (Learner::new(*learner.algorithm()), numbers.into_iter());
    to.visit_state(learner.len(), &mut |x| *x = numbers.next().unwrap());
    to
}

/// Golden family classical has the equations; here a feature is never seen.
#[test]
fn learners_go_on_from_any_restored_state() {
    fn check<A: OnlineAlgorithm<f64>>(
        algorithm: A,
        damage: impl Fn(usize, &mut Learner<3, A, f64>),
    ) {
        let [mut whole, mut other] = [(); 2].map(|()| Learner::<3, A, f64>::new(algorithm));
        let mut rng = Rng::new(21);
        let mut number = || rng.uniform_in::<f64>(-1.0, 1.0);
        for t in 0..60 {
            other = restored(&other);
            damage(t, &mut other);
            let (phi, reward) = ([number(), number(), 0.0], number());
            let next = [number(), number(), 0.0];
            for learner in [&mut whole, &mut other] {
                learner.observe(&phi, reward, &next).unwrap();
                assert_eq!(learner.len(), t as u64 + 1);
            }
            let [want, found] = [&whole, &other].map(|of| of.value_function().unwrap().weights);
            assert!((found - want).amax() < 1e-9 && found[2] == 0.0, "{t}: {found} {want}");
            if t % 7 == 6 {
                whole.end_episode();
                other.end_episode();
            }
        }
    }
    let (gamma, lambda) = (0.9, 0.5);
    let settings = OnlineTdSettings::new(gamma).lambda(lambda).step_size(0.1);
    check(OnlineTd::new(settings).unwrap(), |_, _| {});
    check(OnlineTd::true_online(settings).unwrap(), |_, _| {});
    let settings = RecursiveLstdSettings::new(gamma).lambda(lambda).retention(0.8).ridge(0.25);
    check(RecursiveLstd::new(settings).unwrap(), |t, lstd| {
        // An inverse that was lost is computed anew; a singular one is said to be.
        let mut change = |from, to, by| {
            let mut k = 0;
            lstd.visit_state(t as u64, &mut |x| {
                *x = if (from..to).contains(&k) { by } else { *x };
                k += 1;
            });
            lstd.value_function()
        };
        if t % 10 == 5 {
            change(9, 18, 0.0).unwrap();
            assert!(matches!(change(29, 30, 1.0), Err(Error::Singular { .. })));
            change(29, 30, 0.0).unwrap();
        }
    });
}

/// 8,000 transitions: where nothing is returned to it, a ridge fades, and its inverse overflows.
#[test]
fn recursive_lstd_of_three_features_is_the_same_in_vectors_of_eight() {
    let settings = RecursiveLstdSettings::new(0.9).lambda(0.5).retention(0.9).ridge(1.0);
    let lstd = RecursiveLstd::<f64>::new(settings).unwrap();
    let (mut exact, mut padded) = (lstd.context::<3>(), lstd.with_features(3).context::<8>());
    let mut rng = Rng::new(1);
    let mut phi = [0.0; 8];
    for _ in 0..8000 {
        let (before, reward) = (phi, rng.uniform_in(-1.0, 1.0));
        phi[..3].iter_mut().for_each(|x| *x = rng.uniform_in(-1.0, 1.0));
        exact
            .observe(&[before[0], before[1], before[2]], reward, &[phi[0], phi[1], phi[2]])
            .unwrap();
        padded.observe(&before, reward, &phi).unwrap();
    }
    let exact = lstd.value_function(&exact).unwrap().weights;
    let padded = lstd.with_features(3).value_function(&padded).unwrap().weights;
    assert_eq!(padded.as_slice(), [exact.as_slice(), &[0.0; 5]].concat());
}

#[test]
fn emphasis_follows_the_ratios_and_encodings_refuse_by_name() {
    use ictd_core::td::encodings::{Emphasis, actor_critic, gtd2, tdc};
    let mut emphasis = Emphasis::default();
    let weights = [2.0, 0.5, 0.0, 3.0].map(|rho| emphasis.weight(rho, 0.5));
    // F = 1, 1 + 0.5 2 = 2, 1 + 0.5 0.5 2 = 1.5, 1.
    assert_eq!(weights, [2.0, 1.0, 0.0, 3.0]);
    let phi = SVector::from([1.0, 2.0]);
    let transition = Transition { phi, reward: 1.0, phi_next: phi };
    for (gamma, ratio, name) in [(0.0, 1.0, "gamma"), (1.0, 1.0, "gamma"), (0.5, 0.0, "ratio")] {
        for encode in [gtd2::<f64, 2, 4>, tdc::<f64, 2, 4>] {
            let refused = encode(&transition, gamma, ratio).unwrap_err();
            assert!(matches!(refused, Error::OutOfRange { parameter, .. } if parameter == name));
        }
    }
    assert!(actor_critic::<f64, 2, 2, 4>(&transition, &phi, 0.0).is_err());
}
