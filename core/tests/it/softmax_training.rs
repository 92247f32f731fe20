use super::training::random_windows;
use super::*;
use ictd_core::training::*;

type Network3<S> = SoftmaxNetwork<S, 5, 3, 3, 6>;

#[test]
fn a_batch_is_its_windows_one_by_one() {
    let mut rng = Rng::new(1);
    let (features, rewards) = random_windows::<f64>(&mut rng);
    let given = [0.5, -1.0, 0.25, 0.0, 2.0, 1.0, -0.5, 0.75, 1.5, 0.1];
    // Contexts shorter and longer than the batch, in and beyond whole tiles of rows.
    for (n, depth, stored) in [(5, 3, 1), (1, 3, 1), (6, 2, 2), (4, 1, 1), (3, 3, 3), (6, 3, 1)] {
        let windows = Windows::new(2, features.as_flattened(), &rewards, n, 0.9).unwrap();
        let mut network = Network3::<f64>::zeros(stored, depth).unwrap();
        network.initialise_lane(0, &mut rng);
        network.parameters_mut().numbers_mut().for_each(|x| *x *= 20.0 * stored as f64);
        for targets in [Targets::Bootstrapped, Targets::Given(&given)] {
            let mut together = network.parameters().zeros_like();
            let mut one_by_one = together.clone();
            let loss = network.batch_gradient(&windows, targets, &mut together);
            let want = batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
            assert!((loss - want).abs() < 1e-13 * want, "{n} {depth} {stored}");
            for (a, b) in together.numbers().zip(one_by_one.numbers()) {
                assert!((a - b).abs() < 1e-12, "{n} {depth} {stored}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_network_that_blows_up_stays_finite() {
    let mut rng = Rng::new(3);
    let (features, rewards) = random_windows::<f32>(&mut rng);
    let windows = Windows::new(2, features.as_flattened(), &rewards, 5, 0.9).unwrap();
    let mut network = Network3::<f32>::zeros(1, 3).unwrap();
    // Scores in the tens, where each window is still itself; then in the thousands, where all but one
    // exponential of a row are at the lower end.
    for (size, same) in [(30.0, true), (3000.0, false)] {
        for (m, size) in network.parameters_mut().slices_mut().zip([0.1, size]) {
            m.fill_with(|| size * rng.uniform_in(-1.0, 1.0));
        }
        let mut together = network.parameters().zeros_like();
        let mut one_by_one = together.clone();
        let targets = Targets::Bootstrapped;
        let loss = network.batch_gradient(&windows, targets, &mut together);
        let want = batch_gradient_by_window(&mut network, &windows, targets, &mut one_by_one);
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
