//! What all networks' numbers have in common; what a recurrent network sees, how it begins, and what it learns from.

use super::*;
use ictd_core::training::{LayerInput, Rnn};

#[test]
fn bad_constants_are_named() {
    let adam = |settings| Adam::new::<f64>(settings, &[0.0]).err();
    let bad = AdamSettings::default().beta2(1.0);
    let expected = "[0, 1)";
    assert_eq!(adam(bad), Some(Error::OutOfRange { parameter: "beta2", expected }));
    assert!(adam(AdamSettings::default().step_size(f64::NAN)).is_some());
    assert_eq!(adam(AdamSettings::default()), None);
}

#[test]
fn initial_parameters_have_xaviers_deviation() {
    let shape = LinearShape::new(8, 3, 3);
    let mut network = LinearNetwork::<f32, Vec<f32>>::zeros(shape, |len| vec![0.0; len]).unwrap();
    network.initialise_lane(0, &mut Rng::new(4));
    let numbers: Vec<f64> = network.parameters().numbers().map(|x| 3.0 * *x as f64).collect();
    assert_eq!(numbers.len(), 3 * 2 * 17 * 17);
    let mean_square = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
    // The standard deviation of this estimate is sqrt(2 / 1734), 3.4 %.
    assert!((mean_square * 17.0 / 0.01 - 1.0).abs() < 0.12, "{mean_square}");
}

type Small = Rnn<f64, 6, 4, 3, 4>;

fn setting(layer_input: LayerInput, seed: u64) -> (Small, [[f64; 6]; 6]) {
    let mut rng = Rng::new(seed);
    let mut rnn = Small::zeros(layer_input);
    rnn.initialise_lane(0, &mut rng);
    (rnn, core::array::from_fn(|_| core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0))))
}

fn value(rnn: &Small, tokens: &[[f64; 6]]) -> f64 {
    rnn.output(&tokens.iter().fold([[0.0; 4]; 3], |hidden, token| rnn.step(&hidden, token)))
}

#[test]
fn delayed_layers_never_see_the_query() {
    let (rnn, mut tokens) = setting(LayerInput::Delayed, 2);
    let before = value(&rnn, &tokens);
    tokens[5] = [9.0; 6];
    assert_eq!(value(&rnn, &tokens), before);
    let (rnn, _) = setting(LayerInput::Current, 2);
    let v = value(&rnn, &tokens);
    tokens[5] = [-9.0; 6];
    assert_ne!(value(&rnn, &tokens), v);
}

#[test]
fn initial_parameters_are_uniform_within_1_over_sqrt_h() {
    let mut rnn = Rnn::<f32, 10, 4, 3, 4>::zeros(LayerInput::Current);
    rnn.initialise_lane(0, &mut Rng::new(3));
    let largest = rnn.numbers().fold(0.0f32, |m, x| m.max(x.abs()));
    assert!(largest < 0.5 && largest > 0.45, "{largest}");
    assert_eq!(rnn.numbers().count(), 10 * 4 + 2 * 16 + 3 * 16 + 3 * 4 + 4);
}
