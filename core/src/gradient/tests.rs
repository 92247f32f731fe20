//! Every derivative of a gradient function against central differences of the literal forward pass.

use super::Gradient;
use crate::attention::Attention;
use crate::error::Error;
use crate::layer::Layer;
use crate::prompt::Prompt;
use crate::rng::Rng;
use crate::transformer::Transformer;
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

const H: f64 = 1e-6;

/// d = 2, at most 3 layers and 8 columns.
pub(super) type SmallTransformer = Transformer<Layer<f64, 5>, 3>;
pub(super) type SmallPrompt = Prompt<f64, 5, 8>;
type GradientFunction =
    fn(&SmallTransformer, &SmallPrompt) -> Result<Gradient<f64, 5, 3, 8>, Error>;

pub(super) fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
    let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.6, 0.6));
    Layer { p: draw(), q: draw() }
}

/// Six context columns and a query.
pub(super) fn random_prompt(rng: &mut Rng) -> SmallPrompt {
    let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
    Prompt::from_columns(&columns, draw()).unwrap()
}

/// Autoregressive of that depth if there is one layer, else sequential.
pub(super) fn transformer(layers: &[Layer<f64, 5>], depth: usize) -> SmallTransformer {
    match layers {
        [layer] => Transformer::autoregressive(*layer, depth).unwrap(),
        _ => Transformer::sequential(layers).unwrap(),
    }
}

/// Autoregressive at every depth, and sequential.
pub(super) fn agree(
    gradient: GradientFunction,
    attention: &impl Attention<f64, 5, Layer = Layer<f64, 5>>,
) {
    let mut rng = Rng::new(1);
    for depth in 1..=3 {
        agrees(gradient, attention, &[random_layer(&mut rng)], depth, &mut rng);
    }
    for depth in 2..=3 {
        let layers = [(); 3].map(|()| random_layer(&mut rng));
        agrees(gradient, attention, &layers[..depth], depth, &mut rng);
    }
}

fn agrees(
    gradient: GradientFunction,
    attention: &impl Attention<f64, 5, Layer = Layer<f64, 5>>,
    layers: &[Layer<f64, 5>],
    depth: usize,
    rng: &mut Rng,
) {
    let prompt = random_prompt(rng);
    let literal = |layers: &[Layer<f64, 5>], prompt: &SmallPrompt| {
        transformer(layers, depth).value(prompt, attention).unwrap()
    };
    let got = gradient(&transformer(layers, depth), &prompt).unwrap();
    assert!((got.value - literal(layers, &prompt)).abs() < 1e-13);
    let check = |got: f64, at: &dyn Fn(f64) -> f64, what: &str| {
        let want = (at(H) - at(-H)) / (2.0 * H);
        assert!((got - want).abs() < 1e-7 * (1.0 + want.abs()), "{what}: {got} and {want}");
    };
    for l in 0..layers.len() {
        for i in 0..25 {
            for (got, pick) in [
                (got.layers[l].p[i], (|l| &mut l.p) as fn(&mut Layer<_, 5>) -> &mut _),
                (got.layers[l].q[i], |l| &mut l.q),
            ] {
                let at = |h: f64| {
                    let mut moved: Vec<Layer<f64, 5>, 3> = Vec::from_slice(layers).unwrap();
                    let m: &mut SMatrix<f64, 5, 5> = pick(&mut moved[l]);
                    m[i] += h;
                    literal(&moved, &prompt)
                };
                check(got, &at, "parameter");
            }
        }
    }
    for c in 0..7 {
        for i in 0..5 {
            let at = |h: f64| {
                let mut moved = prompt.clone();
                moved.columns_mut().nth(c).unwrap()[i] += h;
                literal(layers, &moved)
            };
            check(got.prompt.column(c)[i], &at, "prompt");
        }
    }
}
