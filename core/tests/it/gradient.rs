//! Small transformers and prompts. The golden data have the derivatives of both kinds of attention.

use ictd_core::Error;
use ictd_core::gradient::{linear, softmax};
use ictd_core::layer::Layer;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};

/// d = 2, at most 8 columns.
type SmallPrompt = Prompt<f64, 5, 8>;

fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
    let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.6, 0.6));
    Layer { p: draw(), q: draw() }
}

/// Six context columns and a query.
fn random_prompt(rng: &mut Rng) -> SmallPrompt {
    let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
    Prompt::from_columns(&columns, draw()).unwrap()
}

#[test]
fn the_query_features_are_the_first_entries() {
    let mut rng = Rng::new(4);
    let transformer = Transformer::<_, 3>::autoregressive(random_layer(&mut rng), 2).unwrap();
    let prompt = random_prompt(&mut rng);
    let gradient = linear::value_and_gradient::<_, 5, 3, 3, 8>(&transformer, &prompt).unwrap();
    assert_eq!(gradient.query_features::<2>()[1], gradient.prompt.query()[1]);
}

#[test]
fn a_transformer_deeper_than_the_tape_is_refused() {
    let mut rng = Rng::new(3);
    let deep = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
    let got = linear::value_and_gradient::<_, 5, 1, 3, 8>(&deep, &random_prompt(&mut rng));
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
}

#[test]
fn value_is_not_linear_in_the_query() {
    let mut rng = Rng::new(3);
    let transformer = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 3).unwrap();
    let mut prompt = random_prompt(&mut rng);
    let gradient = |prompt: &_| {
        let gradient = softmax::value_and_gradient::<_, 5, 1, 3, 8>(&transformer, prompt);
        gradient.unwrap().query_features::<2>()
    };
    let here = gradient(&prompt);
    prompt.set_query(-prompt.query());
    assert!((gradient(&prompt) - here).norm() > 1e-3);
}

#[test]
fn what_does_not_fit_the_tape_is_refused() {
    let mut rng = Rng::new(5);
    let deep = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
    let prompt = random_prompt(&mut rng);
    let got = softmax::value_and_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
    let got = softmax::value_and_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
