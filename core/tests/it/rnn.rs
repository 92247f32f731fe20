//! What a recurrent network sees, how it begins, and how long a context its tape holds.

use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::rnn::{LayerInput, Rnn, RnnTape};

type Small = Rnn<f64, 6, 4, 3>;

fn setting(layer_input: LayerInput, seed: u64) -> (Small, [[f64; 6]; 6]) {
    let mut rng = Rng::new(seed);
    let mut rnn = Small::zeros(layer_input);
    rnn.initialise_lane(0, &mut rng);
    (rnn, core::array::from_fn(|_| core::array::from_fn(|_| rng.uniform_in(-1.0, 1.0))))
}

#[test]
fn delayed_layers_never_see_the_query() {
    let (rnn, mut tokens) = setting(LayerInput::Delayed, 2);
    let before = rnn.value(&tokens);
    tokens[5] = [9.0; 6];
    assert_eq!(rnn.value(&tokens), before);
    let (rnn, _) = setting(LayerInput::Current, 2);
    let v = rnn.value(&tokens);
    tokens[5] = [-9.0; 6];
    assert_ne!(rnn.value(&tokens), v);
}

#[test]
fn initial_parameters_are_uniform_within_1_over_sqrt_h() {
    let mut rnn = Rnn::<f32, 10, 4, 3>::zeros(LayerInput::Current);
    rnn.initialise_lane(0, &mut Rng::new(3));
    let largest = rnn.slices().flatten().fold(0.0f32, |m, x| m.max(x.abs()));
    assert!(largest < 0.5 && largest > 0.45, "{largest}");
    assert_eq!(rnn.slices().flatten().count(), 10 * 4 + 2 * 16 + 3 * 16 + 3 * 4 + 4);
}

#[test]
fn a_longer_context_than_the_tape_is_refused() {
    let (rnn, tokens) = setting(LayerInput::Current, 5);
    let got =
        RnnTape::<f64, 6, 4, 3, 4>::new().forward(&rnn, tokens[..5].iter().copied(), tokens[5]);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "context", capacity: 4 }));
}
