use ictd::experiments::ratio::{fixed_point, nearer_to_1, predicts, sample, update};
use ictd::options;
use ictd::run::report::Verdict;
use ictd::train::options::Recipe;
use ictd_core::rng::Rng;

#[test]
fn a_value_and_its_derivatives_are_those_of_differences() {
    let recipe: Recipe = options::parsed("");
    let (windows, _) = sample(&recipe, &mut Rng::new(1)).unwrap();
    let theta = [0.9, 0.7];
    let [_, by_alpha, by_rho] = windows[0].value(3, theta);
    let at = |alpha: f64, rho: f64| windows[0].value(3, [alpha, rho])[0];
    let h = 1e-6;
    let want_alpha = (at(theta[0] + h, theta[1]) - at(theta[0] - h, theta[1])) / (2.0 * h);
    let want_rho = (at(theta[0], theta[1] + h) - at(theta[0], theta[1] - h)) / (2.0 * h);
    assert!((by_alpha - want_alpha).abs() < 1e-8 && (by_rho - want_rho).abs() < 1e-8);
}

#[test]
fn at_the_fixed_point_the_expected_update_is_0() {
    let recipe: Recipe = options::parsed("");
    let [alpha, rho] = fixed_point(&recipe, 100, &mut Rng::new(2)).unwrap();
    let mut rng = Rng::new(2);
    let trajectories: Vec<_> = (0..100).map(|_| sample(&recipe, &mut rng).unwrap()).collect();
    let f = update(&trajectories, &recipe, [alpha, rho]);
    assert!(f[0].abs() < 1e-9 && f[1].abs() < 1e-9, "{f:?} at {alpha}, {rho}");
}

#[test]
fn verdicts_go_either_way() {
    use Verdict::{DoesNotHold, Holds, HoldsInPart};
    let around = |x: f64| (0..30).map(|i| x + 0.002 * f64::from(i) - 0.03).collect::<Vec<f64>>();
    let verdict = |predicted| predicts("", "", &around(0.81), &around(predicted)).verdict;
    assert_eq!([0.82, 0.92, 0.4].map(verdict), [Holds, HoldsInPart, DoesNotHold]);
    assert_eq!(predicts("", "", &around(0.81), &[]).verdict, DoesNotHold);
    let verdict = |representable| nearer_to_1(&around(0.8), &around(representable)).verdict;
    assert_eq!([0.98, 0.87, 0.7].map(verdict), [Holds, HoldsInPart, DoesNotHold]);
}
