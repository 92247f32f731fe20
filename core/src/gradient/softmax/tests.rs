use super::*;
use crate::attention::SoftmaxAttention;
use crate::gradient::tests::{agree, random_layer, random_prompt, transformer};
use crate::rng::Rng;
use crate::scalar::Lanes8;
use heapless::Vec;
use nalgebra::{SMatrix, SVector};

#[test]
fn gradient_agrees_with_finite_differences() {
    agree(value_and_gradient::<_, 5, 3, 3, 8>, &SoftmaxAttention);
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
        let transformer = Transformer::<_, 1>::autoregressive(layer, 3).unwrap();
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
    let deep = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
    let prompt = random_prompt(&mut rng);
    let got = value_and_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
    let got = value_and_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
