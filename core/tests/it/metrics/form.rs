//! The forms of constructions, and of layers that have none.

use ictd_core::constructions::{learning_rate, one_layer, residual_gradient, td0};
use ictd_core::invariant_set::theta_star;
use ictd_core::layer::Layer;
use ictd_core::metrics::{Blocks, FORM_SHARE, LayerBlocks, Pattern};
use ictd_core::rng::Rng;
use nalgebra::SMatrix;

type Matrix = SMatrix<f64, 9, 9>;

fn blocks(layer: &Layer<f64, 9>) -> LayerBlocks {
    let of = |m: &Matrix| Blocks::of(4, 9, |i, j| m[(i, j)]);
    LayerBlocks::new(of(&layer.p), of(&layer.q))
}

fn has(layer: &Layer<f64, 9>, form: &Pattern) -> bool {
    blocks(layer).shares(form).iter().all(|share| *share >= FORM_SHARE)
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
    let c = learning_rate::<f64, 4>(0.3);
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
            assert!(!has(&perturbed(layer, 0.2, &mut rng), &forms[at]));
        }
    }
    for _ in 0..100 {
        let random = Layer { p: normal(&mut rng), q: normal(&mut rng) };
        assert!(!forms.iter().any(|form| has(&random, form)));
    }
}

#[test]
fn each_block_has_its_mean_its_share_and_its_sign() {
    let layer = theta_star::<f64, 4, 9>(-2.0, -1.0, 0.5);
    let LayerBlocks { p, q } = blocks(&layer);
    // Both are negated, as P[-1, -1] is negative.
    assert_eq!(q.means, Pattern::of_blocks([[1.0, 0.0], [-0.5, 0.0]]));
    assert_eq!((p.means.corner[0][0], q.energy), (2.0, 5.0));
    assert_eq!((q.along(&Pattern::ONE_LAYER_TD), q.along(&q.means)), (-0.8, 1.0));
    // An even spread of the same mean is not on the diagonal's mean.
    let mut uneven = layer;
    uneven.q[(0, 0)] -= 1.0;
    uneven.q[(1, 1)] += 1.0;
    let q = blocks(&uneven).q;
    assert!((q.along(&q.means) - 5.0 / 7.0).abs() < 1e-15);
}
