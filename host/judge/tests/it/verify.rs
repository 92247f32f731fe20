use judge::verify::softmax_td::Problem;
use nalgebra::SVector;

/// Two states with units as features: softmax TD at a low temperature is tabular batch TD.
#[test]
fn softmax_td_of_units_is_tabular_td() {
    let [a, b] = [SVector::from([1.0, 0.0, 0.0, 0.0]), SVector::from([0.0, 1.0, 0.0, 0.0])];
    let transitions = vec![(a, 1.0, b), (a, 3.0, a), (b, -1.0, a)];
    let (alpha, gamma) = (0.5, 0.9);
    let (mut at_a, mut at_b) = (0.0, 0.0);
    let tabular: Vec<f64> = (0..40)
        .map(|_| {
            let of_a = (1.0 + gamma * at_b - at_a + 3.0 + gamma * at_a - at_a) / 2.0;
            let of_b = -1.0 + gamma * at_a - at_b;
            (at_a, at_b) = (at_a + alpha * of_a, at_b + alpha * of_b);
            at_a
        })
        .collect();
    let problem = Problem { transitions, query: a, alpha, temperature: 0.01, gamma };
    for (found, want) in problem.values(40).iter().zip(&tabular) {
        assert!((found.literal - want).abs() < 1e-13 && (found.algorithm - want).abs() < 1e-13);
    }
    assert!(tabular[39] > 5.0);
}
