use ictd::experiments::function::{CANDIDATES, Function, Judge, candidate, is};
use ictd::options;
use ictd::train::log::{Matrices, Point, SeedRun};
use ictd::train::options::Recipe;
use ictd_core::constructions::{average_reward, learning_rate, residual_gradient, td0};
use ictd_core::layer::{Layer, LayerParameters as _, TwoHeadLayer};
use ictd_core::metrics::Algorithm;
use ictd_core::rng::Rng;
use nalgebra::SMatrix;

/// A seed whose parameters are these at its end.
pub(super) fn run_of<const K: usize>(layer: &Layer<f64, K>) -> SeedRun {
    let matrix = |m: &SMatrix<f64, K, K>| m.transpose().iter().map(|x| *x as f32).collect();
    let matrices =
        Matrices { p: matrix(&layer.p), q: matrix(&layer.q), element: Default::default() };
    let parameters = layer.matrices().flatten().map(|x| *x as f32).collect();
    let [alpha, loss, vd, iws, ss, msve] = [0.0; 6];
    let point = Point { tasks: 1, alpha, loss, vd, iws, ss, msve, layers: vec![matrices] };
    SeedRun { seed: 0, digest: String::new(), token_size: K, parameters, points: vec![point] }
}

#[test]
fn a_function_is_the_algorithm_that_it_was_made_from() {
    let recipe: Recipe = options::parsed("");
    let judge = Judge::<Layer<f64, 9>, 4>::new(&recipe, CANDIDATES, 60, 1).unwrap();
    let c = learning_rate::<f64, 4>(0.3);
    for (layer, which) in [(td0::<_, 4, 9>(&c), 0), (residual_gradient(&c), 4)] {
        let Function { explained, outside, lost } = judge.function(&run_of(&layer)).unwrap();
        assert!(is(&explained, which) && !is(&explained, 4 - which), "{explained:?}");
        assert!(outside < 1e-12 && lost < 1e-12);
    }
    let mut rng = Rng::new(3);
    let mut random = || SMatrix::<f64, 9, 9>::from_fn(|_, _| 0.3 * rng.normal::<f64>());
    let layer = Layer { p: random(), q: random() };
    let found = judge.function(&run_of(&layer)).unwrap();
    assert!((0..5).all(|i| !is(&found.explained, i)) && found.outside > 0.5, "{found:?}");
    let found = judge.function(&run_of(&Layer { p: layer.p * f64::NAN, ..layer })).unwrap();
    assert!(found.explained[0].is_nan() && !is(&found.explained, 0));
}

#[test]
fn two_heads_are_average_reward_td() {
    let recipe: Recipe = options::parsed("--heads 2");
    let candidates = [candidate("", Algorithm::AverageReward), candidate("", Algorithm::Td0)];
    let judge = Judge::<TwoHeadLayer<f64, 10>, 4>::new(&recipe, &candidates, 60, 1).unwrap();
    let layer: TwoHeadLayer<f64, 10> = average_reward(&learning_rate::<f64, 4>(0.3));
    let parameters = layer.matrices().flatten().map(|x| *x as f32).collect();
    let run = SeedRun { parameters, ..run_of(&Layer::<f64, 9>::ZERO) };
    let Function { explained, outside, lost } = judge.function(&run).unwrap();
    assert!(is(&explained, 0) && !is(&explained, 1), "{explained:?}");
    assert!(outside < 1e-12 && lost < 1e-12);
}
