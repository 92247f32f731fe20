//! What a recurrent network sees, how it begins, and how long a context it learns from.

use ictd_core::rng::Rng;
use ictd_core::training::{LayerInput, Network, Parameters, Rnn};

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

#[test]
fn nothing_is_learned_from_a_longer_context_than_it_takes() {
    let (mut rnn, _) = setting(LayerInput::Current, 5);
    assert_eq!(rnn.context_capacity(), Some(4));
    let windows = ictd_core::training::Windows::new(2, &[0.5; 16], &[1.0; 7], 5, 0.9).unwrap();
    let mut gradient = Small::zeros(LayerInput::Current);
    assert_eq!(rnn.value_and_gradient(&windows.window(0), |_| 1.0, &mut gradient), 0.0);
    assert!(gradient.numbers().all(|x| *x == 0.0));
    assert_ne!(rnn.value(&windows.window(0)), 0.0);
}
