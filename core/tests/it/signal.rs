use super::*;
use ictd_core::signal::{FeatureScaler, SignalFeatures};

#[test]
fn the_discounted_sum_of_deviations_gives_that_of_the_values() {
    let (mut rng, mut signal) = (Rng::new(2), SignalFeatures::<1, f64>::new());
    let values: Vec<f64> = (0..600).map(|_| 1e3 + rng.normal::<f64>()).collect();
    let (mut seen, mut deviations) = (Vec::new(), Vec::new());
    for value in &values {
        deviations.push(signal.observe(*value).unwrap().1);
        seen.push(signal);
    }
    for (gamma, t) in [0.0, 0.5, 0.9].into_iter().flat_map(|gamma| [0, 1, 17].map(|t| (gamma, t))) {
        let sum = |of: &[f64]| of[t + 1..].iter().rev().fold(0.0, |sum, x| x + gamma * sum);
        let want = sum(&values);
        let got = seen[t].level().discounted_sum(gamma, sum(&deviations));
        assert!((got - want).abs() < 1e-9 * want, "{gamma} {t}: {got}, not {want}");
        let back = seen[t].level().deviation_sum(gamma, got);
        assert!((back - sum(&deviations)).abs() < 1e-9, "{gamma} {t}");
    }
}

#[test]
fn a_level_changes_no_feature_and_an_episode_forgets_lags_alone() {
    let (mut here, mut there) = (SignalFeatures::<6>::new(), SignalFeatures::<6>::new());
    for value in [0.0, 1.0, -2.0, 5.0] {
        let (here, there) = (here.observe(value).unwrap(), there.observe(value + 64.0).unwrap());
        for (x, y) in here.0.iter().zip(&there.0).chain([(&here.1, &there.1)]) {
            assert!((x - y).abs() < 1e-4, "{value}: {x} {y}");
        }
    }
    here.end_episode();
    let (features, _) = here.observe(8.0).unwrap();
    assert_eq!((features[1], features[4]), (0.0, features[0]));
    let before = here;
    assert!(here.observe(f32::NAN).is_err());
    assert_eq!(here, before);
    assert_eq!(SignalFeatures::<1>::new().observe(3.0), Ok(([0.0], 0.0)));
}

#[test]
fn a_scale_follows_its_features() {
    let mut scale = FeatureScaler::<1>::new(0.5).unwrap();
    for (x, want) in [(2.0, 1.0), (-4.0, -4.0 / 12.0_f32.sqrt()), (0.0, 0.0)] {
        let [got] = scale.scaled(&[x]);
        assert!((got - want).abs() < 1e-6, "{x}: {got}, not {want}");
    }
    let mut quiet = FeatureScaler::<1>::new(0.999).unwrap();
    for _ in 0..99 {
        quiet.scaled(&[0.01]);
    }
    assert_eq!(quiet.scaled(&[-100.0]), [-2.0]);
    assert!(FeatureScaler::<1>::new(1.0_f32).is_err());
}
