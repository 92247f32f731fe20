use ictd::experiments::fresh::{best_weights, share_left};
use ictd_core::rng::Rng;
use nalgebra::SVector;

/// Random queries.
const RANDOM: usize = 48;

#[test]
fn what_a_linear_function_leaves_over_is_found() {
    let mut rng = Rng::new(1);
    let queries: Vec<SVector<f64, 4>> =
        (0..RANDOM).map(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0))).collect();
    let left = |v: fn(&SVector<f64, 4>) -> f64| {
        let values: Vec<f64> = queries.iter().map(v).collect();
        let w = best_weights::<4, RANDOM>(&queries, &values).unwrap();
        share_left(&queries, &values, &w)
    };
    assert!(left(|phi| 2.0 * phi[0] - phi[3]) < 1e-28);
    assert!(left(|phi| 2.0 * phi[0] - phi[3] + 0.2 * phi[1] * phi[2]) > 1e-4);
}
