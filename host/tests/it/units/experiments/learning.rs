use ictd::experiments::learning::{numbers_of, others_of_mean};
use ictd::train::log::{LogPoint, Matrices, SeedRun};
use ictd_core::constructions::{one_layer, residual_gradient, scaled_identity, td0};
use ictd_core::invariant_set::theta_star;
use ictd_core::layer::Layer;
use ictd_core::metrics::FORM_DISTANCE;
use nalgebra::SMatrix;

type TestLayer = Layer<f64, 9>;

/// A seed with this layer at each of ten log points.
fn seed(layer: &TestLayer, alpha: impl Fn(u64) -> f64) -> SeedRun {
    let row_major = |m: &SMatrix<f64, 9, 9>| m.transpose().iter().map(|x| *x as f32).collect();
    let sign = if layer.p[(8, 8)] < 0.0 { -1.0 } else { 1.0 };
    let element = ictd::train::log::Element { sign, ..Default::default() };
    let layers = vec![Matrices { p: row_major(&layer.p), q: row_major(&layer.q), element }];
    let point = |t: u64| LogPoint {
        tasks: 100 * (t + 1),
        alpha: alpha(t),
        loss: 0.0,
        vd: 0.0,
        iws: t as f64,
        ss: 0.0,
        msve: 0.0,
        layers: layers.clone(),
    };
    let points = (0..10).map(point).collect();
    SeedRun { seed: 0, digest: String::new(), token_size: 9, parameters: Vec::new(), points }
}

fn value(run: &SeedRun, metric: &str, at: f64) -> f64 {
    let numbers = numbers_of(run);
    let found = numbers.iter().find(|number| number.metric == metric && number.at == at);
    found.map_or(f64::NAN, |number| number.value)
}

/// A measure of the mean over seeds.
fn of_mean(run: &[SeedRun], metric: &str) -> f64 {
    let found = others_of_mean(run).into_iter().find(|(name, _)| name == metric);
    found.map_or(f64::NAN, |(_, of)| of.estimate)
}

#[test]
fn seeds_are_averaged_with_their_signs_before_they_are_scaled() {
    let c = scaled_identity::<f64, 4>(0.3);
    // Of entries that differ in sign between seeds the mean leaves nothing; a sign of P and Q together is none.
    let with = |entry: f64, sign: f64| {
        let mut layer: TestLayer = td0(&c);
        (layer.p[(0, 1)], layer.q[(0, 1)]) = (entry, entry);
        seed(&TestLayer { p: layer.p * sign, q: layer.q * sign }, |_| 1.0)
    };
    for metric in ["p_others_of_mean_0", "q_others_of_mean_0"] {
        assert!(of_mean(&[with(0.5, 1.0), with(-0.5, -1.0)], metric) < 1e-9);
        assert!(of_mean(&[with(0.5, 1.0), with(0.5, -1.0)], metric) > 5e-3);
        // What is made absolute first stays.
        let of_sizes = metric.replace("mean", "sizes");
        assert!(of_mean(&[with(0.5, 1.0), with(-0.5, -1.0)], &of_sizes) > 5e-3);
    }
}

#[test]
fn the_forms_of_a_layer_are_told_apart() {
    let c = scaled_identity::<f64, 4>(0.3);
    let forms = ["q_distance_0", "q_distance_one_layer_0", "q_distance_residual_0"];
    for (layer, own) in [
        (td0(&c), Some(0)),
        (one_layer(&c), Some(1)),
        (residual_gradient(&c), Some(2)),
        // With c' = c Q is as far from the corollary's as from the residual gradient's.
        (theta_star::<f64, 4, 9>(1.0, -0.3, -0.3), None),
    ] {
        let run = seed(&layer, |_| 1.0);
        for (which, form) in forms.iter().enumerate() {
            assert_eq!(value(&run, form, 0.0) <= FORM_DISTANCE, own == Some(which), "{form}");
        }
        assert_eq!(value(&run, "p_blocks_0", 0.0), 0.0);
        // P has one entry alone.
        assert_eq!(of_mean(&[run], "p_others_of_mean_0"), 0.0);
    }
}

#[test]
fn diagonals_in_the_blocks_of_p_and_the_balance_of_qs_are_seen() {
    let mut layer: TestLayer = td0(&scaled_identity::<f64, 4>(0.3));
    for i in 0..4 {
        layer.p[(i, i)] = -0.25;
        layer.p[(i, 4 + i)] = -0.125;
        layer.q[(i, 4 + i)] *= 0.5;
    }
    let run = seed(&layer, |_| 1.0);
    assert_eq!(value(&run, "p_blocks_0", 0.0), 0.25);
    assert_eq!(value(&run, "p_block_00_0", 0.0), -0.25);
    assert_eq!(value(&run, "p_block_01_0", 0.0), -0.125);
    assert!((value(&run, "q_ratio_0", 0.0) - 0.5).abs() < 1e-6);
    let run = [run];
    assert!((of_mean(&run, "p_others_of_mean_0") - 1.5 / 80.0).abs() < 1e-9);
    assert_eq!(of_mean(&run, "p_largest_of_mean_0"), 0.25);
}

#[test]
fn a_learning_rate_settles_when_it_stays_within_a_tenth() {
    let layer = td0(&scaled_identity::<f64, 4>(0.3));
    let settled = |alpha: fn(u64) -> f64| value(&seed(&layer, alpha), "alpha_settled", 0.0);
    assert_eq!(settled(|t| if t < 3 { 1.0 } else { 0.5 }), 0.3);
    // One number away near the end is not settled before.
    assert_eq!(settled(|t| if t == 7 { 0.6 } else { 0.5 }), 0.8);
    assert_eq!(settled(|t| if t == 7 { f64::NAN } else { 0.5 }), 0.8);
    let run = seed(&layer, |_| 1.0);
    assert_eq!([0.0, 9.0].map(|tenth| value(&run, "iws_tenth", tenth)), [0.0, 9.0]);
}
