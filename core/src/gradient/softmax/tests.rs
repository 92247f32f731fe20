use super::*;
use crate::attention::SoftmaxAttention;
use crate::rng::Rng;
use crate::scalar::Lanes8;
use heapless::Vec;
use nalgebra::SVector;

const H: f64 = 1e-6;

fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
    let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.9, 0.9));
    Layer { p: draw(), q: draw() }
}

fn random_prompt(rng: &mut Rng) -> Prompt<f64, 5, 8> {
    let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
    Prompt::from_columns(&columns, draw()).unwrap()
}

fn transformer(layers: &[Layer<f64, 5>], depth: usize) -> Transformer<f64, 5, 3> {
    if layers.len() == 1 {
        Transformer::autoregressive(layers[0], depth).unwrap()
    } else {
        Transformer::sequential(layers).unwrap()
    }
}

fn literal(layers: &[Layer<f64, 5>], depth: usize, prompt: &Prompt<f64, 5, 8>) -> f64 {
    transformer(layers, depth).value(prompt, &SoftmaxAttention).unwrap()
}

fn check(got: f64, plus: f64, minus: f64, what: &str) {
    let want = (plus - minus) / (2.0 * H);
    assert!((got - want).abs() < 1e-8 * (1.0 + want.abs()), "{what}: {got} and {want}");
}

fn agrees_with_finite_differences(layers: &[Layer<f64, 5>], depth: usize, seed: u64) {
    let prompt = random_prompt(&mut Rng::new(seed));
    let gradient =
        value_and_gradient::<_, 5, 3, 3, 8>(&transformer(layers, depth), &prompt).unwrap();
    assert!((gradient.value - literal(layers, depth, &prompt)).abs() < 1e-14);
    for l in 0..layers.len() {
        for i in 0..25 {
            for (got, pick) in [
                (gradient.layers[l].p[i], (|l| &mut l.p) as fn(&mut Layer<_, 5>) -> &mut _),
                (gradient.layers[l].q[i], |l| &mut l.q),
            ] {
                let at = |h: f64| {
                    let mut moved: Vec<Layer<f64, 5>, 3> = Vec::from_slice(layers).unwrap();
                    let m: &mut SMatrix<f64, 5, 5> = pick(&mut moved[l]);
                    m[i] += h;
                    literal(&moved, depth, &prompt)
                };
                check(got, at(H), at(-H), "parameter");
            }
        }
    }
    for c in 0..7 {
        for i in 0..5 {
            let at = |h: f64| {
                let mut moved = prompt.clone();
                moved.columns_mut().nth(c).unwrap()[i] += h;
                literal(layers, depth, &moved)
            };
            check(gradient.prompt.column(c)[i], at(H), at(-H), "prompt");
        }
    }
}

#[test]
fn autoregressive_gradient_agrees_with_finite_differences_at_every_depth() {
    let layer = random_layer(&mut Rng::new(1));
    for depth in 1..=3 {
        agrees_with_finite_differences(&[layer], depth, depth as u64);
    }
}

#[test]
fn sequential_gradient_agrees_with_finite_differences() {
    let mut rng = Rng::new(2);
    let layers = [random_layer(&mut rng), random_layer(&mut rng), random_layer(&mut rng)];
    agrees_with_finite_differences(&layers, 3, 4);
    agrees_with_finite_differences(&layers[..2], 2, 5);
}

#[test]
fn value_is_not_linear_in_the_query() {
    let mut rng = Rng::new(3);
    let layer = random_layer(&mut rng);
    let mut prompt = random_prompt(&mut rng);
    let gradient = |prompt: &_| {
        let gradient = value_and_gradient::<_, 5, 3, 3, 8>(&transformer(&[layer], 3), prompt);
        gradient.unwrap().query_features::<2>()
    };
    let here = gradient(&prompt);
    prompt.set_query(-prompt.query());
    assert!((gradient(&prompt) - here).norm() > 1e-3);
}

#[test]
fn every_lane_is_the_f32_gradient() {
    let mut rng = Rng::new(4);
    let layer = random_layer(&mut rng);
    let prompt = random_prompt(&mut rng);
    let narrow = |x: f64, lane: usize| x as f32 * (1.0 - lane as f32 / 16.0);
    let wide = |x: f64| {
        let mut lanes = Lanes8::ZERO;
        (0..8).for_each(|lane| lanes.set_lane(lane, narrow(x, lane)));
        lanes
    };
    fn run<S: Scalar>(
        layer: &Layer<f64, 5>,
        prompt: &Prompt<f64, 5, 8>,
        to: impl Fn(f64) -> S + Copy,
    ) -> Gradient<S, 5, 1, 8> {
        let layer = Layer {
            p: SMatrix::from_fn(|i, j| to(layer.p[(i, j)])),
            q: SMatrix::from_fn(|i, j| to(layer.q[(i, j)])),
        };
        let column = |z: &SVector<f64, 5>| SVector::from_fn(|i, _| to(z[i]));
        let columns: Vec<_, 8> = prompt.context().iter().map(column).collect();
        let prompt = Prompt::from_columns(&columns, column(prompt.query())).unwrap();
        let transformer = Transformer::<S, 5, 1>::autoregressive(layer, 3).unwrap();
        value_and_gradient::<S, 5, 1, 3, 8>(&transformer, &prompt).unwrap()
    }
    let all = run(&layer, &prompt, wide);
    for lane in 0..8 {
        let alone = run(&layer, &prompt, |x| narrow(x, lane));
        assert_eq!(all.value.lane(lane).to_bits(), alone.value.to_bits());
        for i in 0..25 {
            assert_eq!(all.layers[0].p[i].lane(lane).to_bits(), alone.layers[0].p[i].to_bits());
            assert_eq!(all.layers[0].q[i].lane(lane).to_bits(), alone.layers[0].q[i].to_bits());
        }
        for i in 0..5 {
            let (got, want) = (all.prompt.query()[i].lane(lane), alone.prompt.query()[i]);
            assert_eq!(got.to_bits(), want.to_bits());
        }
    }
}

#[test]
fn what_does_not_fit_the_tape_is_refused() {
    let mut rng = Rng::new(5);
    let deep = Transformer::<f64, 5, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
    let prompt = random_prompt(&mut rng);
    let got = value_and_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
    let got = value_and_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
