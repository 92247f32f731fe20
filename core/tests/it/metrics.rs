//! What training is judged by: elements and forms of parameters, IWS and SS of linear value functions.

use super::*;
use ictd_core::ValueFunction;
use ictd_core::constructions::{one_layer, residual_gradient, td0};
use ictd_core::invariant_set::theta_star;
use ictd_core::metrics::comparison::cosine;
use ictd_core::metrics::{EvaluationStates, FORM_DISTANCE, LayerBlocks, Pattern, batch_td};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::Task;

fn setting(seed: u64) -> (EvaluationStates<f64, 4, 10>, Statistic<f64, 9>) {
    let mut rng = Rng::new(seed);
    let chain: Mrp<f64, 4, 10> = boyan_chain(10, 4, &mut rng).unwrap();
    let transitions = chain.trajectory::<30>(30, &mut rng).unwrap();
    let query = chain.feature_map()[0];
    let prompt = Prompt::<f64, 9, 30>::discounted(&transitions, 0.9, &query).unwrap();
    (EvaluationStates::from_mrp(&chain).unwrap(), Statistic::from_prompt(&prompt, &Td0).unwrap())
}

#[test]
fn iws_is_ss_for_linear_attention() {
    let mut rng = Rng::new(9);
    for seed in 0..50 {
        let (states, statistic) = setting(seed);
        let mut draw = || SMatrix::<f64, 9, 9>::from_fn(|_, _| rng.uniform_in(-0.5, 0.5));
        let layer = Layer { p: draw(), q: draw() };
        let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
        let v_tf = transformer.value_function(&statistic).unwrap();
        let v_td = batch_td(&statistic, 0.5, 3).unwrap();
        let sample = states.sample_linear(&v_tf);
        let exact = states.compare(&sample, &v_tf.weights, &v_td);
        // The paper's definition, by least squares on the states' values, finds the same weights.
        let found = states.implicit_weights(&sample.values).unwrap();
        let fitted = states.compare(&sample, &found, &v_td);
        assert!((exact.iws - exact.ss).abs() < 1e-14, "{exact:?}");
        assert!((fitted.iws - exact.iws).abs() < 1e-9, "{fitted:?} {exact:?}");
        assert_eq!((fitted.vd, fitted.ss), (exact.vd, exact.ss));
        // Of itself it is all alike, and of its negative nothing.
        let [same, negated] = [v_td, ValueFunction { weights: -v_td.weights }]
            .map(|v| states.compare(&states.sample_linear(&v), &v.weights, &v_td));
        assert!(same.vd == 0.0 && (same.iws - 1.0).abs() < 1e-14, "{same:?}");
        assert!((negated.iws + 1.0).abs() < 1e-14, "{negated:?}");
    }
}

#[test]
fn the_cosine_neither_overflows_nor_vanishes() {
    let x = SVector::<f32, 2>::new(3e30, 4e30);
    assert!((cosine(&x, &(x * 1e-38)) - 1.0).abs() < 1e-6);
    assert_eq!(cosine(&x, &SVector::zeros()), 0.0);
}

type Matrix = SMatrix<f64, 9, 9>;

fn blocks(layer: &Layer<f64, 9>) -> LayerBlocks {
    LayerBlocks::from_entries(4, 9, [&layer.p, &layer.q].map(|m| |i, j| m[(i, j)]))
}

fn has(layer: &Layer<f64, 9>, form: &Pattern) -> bool {
    blocks(layer).distances(form).iter().all(|distance| *distance <= FORM_DISTANCE)
}

fn normal(rng: &mut Rng) -> Matrix {
    Matrix::from_fn(|_, _| rng.normal())
}

/// Returns the layer with noise whose energy is a share of that of the sum, in the mean.
fn perturbed(layer: &Layer<f64, 9>, share: f64, rng: &mut Rng) -> Layer<f64, 9> {
    let mut noisy = |m: &Matrix| {
        let noise = normal(rng);
        m + noise * (m.norm() / noise.norm() * (share / (1.0 - share)).sqrt())
    };
    Layer { p: noisy(&layer.p), q: noisy(&layer.q) }
}

#[test]
fn the_constructions_and_random_layers_are_told_apart_with_noise_and_either_sign() {
    let c = scaled_identity::<f64, 4>(0.3);
    let mut rng = Rng::new(1);
    let forms = [Pattern::TD, Pattern::ONE_LAYER_TD, Pattern::RESIDUAL_GRADIENT];
    let layers = [td0::<_, 4, 9>(&c), one_layer(&c), residual_gradient(&c)];
    for (at, layer) in layers.iter().enumerate() {
        let negated = Layer { p: -layer.p, q: -layer.q };
        // With Q alone negated it goes the other way.
        let other = Layer { q: -layer.q, ..*layer };
        for (i, form) in forms.iter().enumerate() {
            assert_eq!((has(layer, form), has(&negated, form)), (i == at, i == at));
            assert!(!has(&other, form));
        }
        for _ in 0..50 {
            assert!(has(&perturbed(layer, 0.04, &mut rng), &forms[at]));
            let far = (0..3).filter(|i| *i != at);
            assert!(!far.into_iter().any(|i| has(&perturbed(layer, 0.04, &mut rng), &forms[i])));
        }
    }
}

#[test]
fn each_block_has_its_mean_and_its_sign_and_distances_do_not_depend_on_scale() {
    let layer = theta_star::<f64, 4, 9>(-2.0, -1.0, 0.5);
    let of = blocks(&layer);
    // Both are negated, as P[-1, -1] is negative.
    assert_eq!(of.q, Pattern::from_blocks([[1.0, 0.0], [-0.5, 0.0]]));
    assert_eq!(of.p.corner[0][0], 2.0);
    // The sign is the other one, which is a step of length 2 away.
    assert_eq!(of.distances(&Pattern::ONE_LAYER_TD), [0.0, 2.0]);
    for scale in [0.1, 1.0, 30.0] {
        let mut layer = theta_star::<f64, 4, 9>(2.0 * scale, -scale, 0.25 * scale);
        (0..4).for_each(|i| layer.p[(4 + i, i)] = -0.5 * scale);
        let [p, q] = blocks(&layer).distances(&Pattern::ONE_LAYER_TD);
        assert!((p - 0.25).abs() < 1e-12 && (q - 0.25).abs() < 1e-12, "{p} {q}");
        let [_, q] = blocks(&layer).distances(&Pattern::TD);
        assert!((q - 1.0).abs() < 1e-12);
    }
    let nothing = Layer { q: Matrix::zeros(), ..layer };
    assert!(!blocks(&nothing).distances(&Pattern::TD)[1].is_finite());
}
