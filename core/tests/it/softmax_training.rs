use super::training::random_windows;
use super::*;
use ictd_core::training::*;

#[test]
fn a_network_that_blows_up_stays_finite() {
    let mut rng = Rng::new(3);
    let (features, rewards) = random_windows::<f32>(&mut rng);
    let windows = Windows::new(2, features.as_flattened(), &rewards, 5, 0.9).unwrap();
    let mut network = SoftmaxNetwork::<f32, 5, 1, 3, 6>::zeros(1, 3).unwrap();
    // Scores in the tens, where each window is still itself; then in the thousands, where all but one
    // exponential of a row are at the lower end.
    for (size, same) in [(30.0, true), (3000.0, false)] {
        for (i, x) in network.parameters_mut().numbers_mut().enumerate() {
            *x = if i < 25 { 0.1 } else { size } * rng.uniform_in(-1.0, 1.0);
        }
        let mut together = network.parameters().zeros_like();
        let mut one_by_one = together.clone();
        let targets = Targets::Bootstrapped;
        let loss = network.batch_gradient(&windows, targets, &mut together).unwrap();
        let want =
            batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one).unwrap();
        assert!(loss.is_finite() && together.numbers().all(|g| g.is_finite()));
        assert!(!same || (loss - want).abs() < 1e-5 * want, "{loss} {want}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let deep = Transformer::<_, 1>::autoregressive(Layer::<f64, 5>::ZERO, 4).unwrap();
    let got = SoftmaxNetwork::<_, 5, 1, 3, 8>::new(deep.clone());
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], SVector::zeros()).unwrap();
    let fits = SoftmaxNetwork::<_, 5, 1, 4, 8>::new(deep).unwrap();
    let got = fits.value_and_query_gradient(&empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
