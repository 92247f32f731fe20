//! The judge of trained layers, on layers that are known.

use compute::Recipe;
use compute::log::{LogPoint, Matrices, SeedRun};
use ictd_core::constructions::{
    one_layer, preconditioned_td, residual_gradient, scaled_identity, td0,
};
use ictd_core::layer::{Layer, LayerParameters as _};
use ictd_core::rng::Rng;
use judge::judge::{ALGORITHMS, EvaluationPlan, judge, left_by_linear};
use nalgebra::{SMatrix, SVector};

type OneHead = Layer<f64, 9>;

/// A seed whose parameters are these at its end.
fn run_of(layer: &OneHead) -> SeedRun {
    let matrix = |m: &SMatrix<f64, 9, 9>| m.transpose().iter().map(|x| *x as f32).collect();
    let (p, q) = (matrix(&layer.p), matrix(&layer.q));
    let layers = vec![Matrices { p, q, element: Default::default() }];
    let [alpha, loss, vd, iws, ss, msve] = [0.3, 0.0, 0.0, 0.0, 0.0, 0.0];
    let points = vec![LogPoint { tasks: 1, alpha, loss, vd, iws, ss, msve, layers }];
    let parameters = layer.matrices().flatten().map(|x| *x as f32).collect();
    SeedRun { seed: 0, digest: String::new(), token_size: 9, parameters, points }
}

/// What a judge says of a run with this layer, metric by metric.
fn judged(recipe: &Recipe, layer: &OneHead) -> impl Fn(&str) -> f64 + use<> {
    let plan = EvaluationPlan { lost: true, ..EvaluationPlan::FUNCTION };
    let said = judge(recipe, plan, 1).unwrap().unwrap()(&run_of(layer)).unwrap();
    move |metric| said.iter().find(|of| of.metric == metric).map_or(f64::NAN, |of| of.value)
}

#[test]
fn a_function_is_the_algorithm_that_it_was_made_from() {
    let c = scaled_identity::<f64, 4>(0.3);
    let residual = Some(("loss", "residual-gradient"));
    for (changed, layer, own) in [
        (None, td0(&c), "TD(0)"),
        (residual, residual_gradient(&c), "residual gradient"),
        (Some(("layers", "1")), one_layer(&c), "TD(0)"),
    ] {
        let recipe = Recipe::default().with_settings(changed).unwrap();
        let said = judged(&recipe, &layer);
        for (name, _) in ALGORITHMS {
            let share = said(&format!("explained by {name}"));
            assert_eq!(share > 0.999, name == own, "{own}: {share}");
        }
        let outside = said("outside_p") + said("outside_q");
        assert!(said("expected") > 0.999 && said("form_distance") < 1e-12);
        assert!(outside < 1e-12 && said("lost") < 1e-12 && said("nonlinear") < 1e-20);
        let is_td = own == "TD(0)";
        for [vd, iws] in [["vd_converged", "iws_converged"], ["vd_judged", "iws_judged"]] {
            assert_eq!(said(vd) < 1e-10, is_td);
            assert_eq!(said(iws) > 0.999_999, is_td);
        }
    }
    let recipe = Recipe::default();
    let mut rng = Rng::new(3);
    let mut random = || SMatrix::<f64, 9, 9>::from_fn(|_, _| 0.3 * rng.normal::<f64>());
    let layer = Layer { p: random(), q: random() };
    let said = judged(&recipe, &layer);
    assert!(said("explained by TD(0)") < 0.9 && said("outside_p") > 0.5);
    assert!(said("form_distance") > 0.5 && said("lost") > 0.5);
    // The other sign of P alone is another layer.
    let other = OneHead { p: -td0::<f64, 4, 9>(&c).p, ..td0(&c) };
    assert!(judged(&recipe, &other)("form_distance") > 1.0);
    let diverged = judged(&recipe, &Layer { p: layer.p * f64::NAN, ..layer });
    for metric in
        ["explained by TD(0)", "lost", "outside_p", "vd_relative", "one_step", "nonlinear"]
    {
        assert!(diverged(metric).is_nan(), "{metric}");
    }
}

#[test]
fn preconditioned_td_is_found_with_its_numbers() {
    let recipe = Recipe::default();
    let mut layer: OneHead = preconditioned_td::<f64, 4, 9>(2.4, 0.44);
    let said = judged(&recipe, &layer);
    assert!(said("explained by preconditioned TD") > 1.0 - 1e-6 && said("stuck") == 0.0);
    assert!((said("fitted alpha") - 2.4).abs() < 0.01 && (said("fitted beta") - 0.44).abs() < 0.01);
    assert!((said("own discount") - 1.0).abs() < 0.01 && said("preconditioned_lead") > 0.0);
    assert!(said("explained by ten numbers") > 1.0 - 1e-12);
    assert!(said("explained by without p_00") > 1.0 - 1e-12 && said("exploding") < 0.01);
    // Unequal diagonals of Q are a smaller discount.
    layer.q.view_mut((0, 4), (4, 4)).scale_mut(0.5);
    let said = judged(&recipe, &layer);
    assert!((said("own discount") - 0.5).abs() < 0.01);
    assert!(said("explained by preconditioned TD, own discount") > 1.0 - 1e-6);
    assert!(said("explained by preconditioned TD") < 0.99);
}

/// The layer of ten numbers with which a seed ended its training (`reproduce figure-2`, seed 2): P's blocks and corner, and Q's.
const TRAINED: [([[f64; 2]; 2], f64); 2] =
    [([[0.047, -0.095], [-0.439, 0.186]], 2.347), ([[-1.524, 1.222], [-0.029, 0.025]], -0.017)];

#[test]
fn a_trained_seed_is_preconditioned_td_by_its_block_alone() {
    let [p, q] = TRAINED.map(|(blocks, corner)| {
        SMatrix::from_fn(|i, j| match (i, j) {
            (8, 8) => corner,
            (8, _) | (_, 8) => 0.0,
            _ if i % 4 == j % 4 => blocks[i / 4][j / 4],
            _ => 0.0,
        })
    });
    let said = judged(&Recipe::default(), &Layer { p, q });
    let explained = |by: &str| said(&format!("explained by {by}"));
    assert!(explained("ten numbers") > 1.0 - 1e-12);
    let [preconditioned, steps] = ["preconditioned TD", "a step size a layer"].map(explained);
    assert!(preconditioned > 0.98 && steps < 0.965, "{preconditioned} {steps}");
    for other in ["p_00", "p_01", "p_11", "q_10", "q_11"] {
        assert!(explained(&format!("without {other}")) > 0.97, "{other}");
    }
    let without = ["without p_10", "Theorem 1's entries"].map(explained);
    assert!(without[0] < 0.85 && without[1] < 0.5, "{without:?}");
}

#[test]
fn what_a_linear_function_leaves_over_is_found() {
    let mut rng = Rng::new(1);
    let queries: Vec<SVector<f64, 4>> =
        (0..48).map(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0))).collect();
    let left = |v: fn(&SVector<f64, 4>) -> f64| {
        let values: Vec<f64> = queries.iter().map(v).collect();
        left_by_linear(&queries, &values).unwrap()
    };
    assert!(left(|phi| 2.0 * phi[0] - phi[3]) < 1e-28);
    assert!(left(|phi| 2.0 * phi[0] - phi[3] + 0.2 * phi[1] * phi[2]) > 1e-4);
}
