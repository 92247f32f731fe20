//! The derivative of softmax attention's value by the query. The golden data have those by the parameters.

use ictd_core::Error;
use ictd_core::layer::Layer;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::training::value_and_query_gradient;
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};

fn random_layer(rng: &mut Rng) -> Layer<f64, 5> {
    let mut draw = || SMatrix::from_fn(|_, _| rng.uniform_in(-0.6, 0.6));
    Layer { p: draw(), q: draw() }
}

/// Six context columns and a query; d = 2.
fn random_prompt(rng: &mut Rng) -> Prompt<f64, 5, 8> {
    let mut draw = || SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let columns: [SVector<f64, 5>; 6] = core::array::from_fn(|_| draw());
    Prompt::from_columns(&columns, draw()).unwrap()
}

#[test]
fn value_is_not_linear_in_the_query() {
    let mut rng = Rng::new(3);
    let transformer = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 3).unwrap();
    let mut prompt = random_prompt(&mut rng);
    let gradient = |prompt: &_| value_and_query_gradient::<_, 5, 1, 3, 8>(&transformer, prompt);
    let here = gradient(&prompt).unwrap().1;
    prompt.set_query(-prompt.query());
    let there = gradient(&prompt).unwrap().1;
    assert!((there - here).fixed_rows::<2>(0).norm() > 1e-3);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = Rng::new(5);
    let deep = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 4).unwrap();
    let prompt = random_prompt(&mut rng);
    let got = value_and_query_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
    let got = value_and_query_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
