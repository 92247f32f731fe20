use ictd::experiments::statistics::{
    Interval, mean_and_stderr, mean_interval, median_interval, quartiles, wilson,
};
use ictd_core::rng::Rng;

#[test]
fn an_interval_holds_the_mean_in_about_95_of_100_samples() {
    let mut rng = Rng::new(3);
    let held = (0..400)
        .filter(|_| {
            let sample: Vec<f64> = (0..30).map(|_| 1.0 + rng.normal::<f64>()).collect();
            let Interval { low, high, .. } = mean_interval(&sample);
            low < 1.0 && 1.0 < high
        })
        .count();
    assert!((360..=395).contains(&held), "{held}");
    // Twice the same, and without a spread a point.
    let sample = [1.0, 2.0, 4.0];
    assert_eq!(median_interval(&sample), median_interval(&sample));
    assert_eq!(mean_interval(&[2.0; 5]), Interval { estimate: 2.0, low: 2.0, high: 2.0 });
    assert!(mean_interval(&[1.0, f64::NAN, 2.0]).low.is_nan());
    assert!(mean_interval(&[]).estimate.is_nan());
}

#[test]
fn a_share_of_none_or_all_has_an_interval() {
    let near = |interval: Interval, low: f64, high: f64| {
        assert!((interval.low - low).abs() < 5e-4 && (interval.high - high).abs() < 5e-4);
    };
    near(wilson(0, 30), 0.0, 0.1135);
    near(wilson(27, 30), 0.7438, 0.9654);
    near(wilson(30, 30), 0.8865, 1.0);
    assert!(wilson(0, 0).low.is_nan());
}

#[test]
fn standard_error_is_that_of_the_mean_with_ddof_1_and_unknown_of_one_value() {
    let (mean, stderr) = mean_and_stderr([1.0, 2.0, 3.0, 6.0].into_iter());
    assert_eq!((mean, stderr), (3.0, (14.0f64 / 3.0).sqrt() / 2.0));
    assert!(mean_and_stderr([2.0].into_iter()).1.is_nan());
    assert!(mean_and_stderr([1.0, f64::NAN].into_iter()).0.is_nan());
}

#[test]
fn quartiles_interpolate_and_skip_what_is_not_finite() {
    assert_eq!(quartiles(vec![4.0, 1.0, 3.0, 2.0, 5.0, f64::NAN]), [2.0, 3.0, 4.0]);
    assert_eq!(quartiles(vec![1.0, 2.0]), [1.25, 1.5, 1.75]);
    assert!(quartiles(Vec::new())[1].is_nan());
}
