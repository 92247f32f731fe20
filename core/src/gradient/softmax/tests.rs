use super::*;
use crate::gradient::tests::{random_layer, random_prompt};
use crate::rng::Rng;

#[test]
fn value_is_not_linear_in_the_query() {
    let mut rng = Rng::new(3);
    let transformer = Transformer::<_, 1>::autoregressive(random_layer(&mut rng), 3).unwrap();
    let mut prompt = random_prompt(&mut rng);
    let gradient = |prompt: &_| {
        let gradient = value_and_gradient::<_, 5, 1, 3, 8>(&transformer, prompt);
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
    let got = value_and_gradient::<_, 5, 1, 3, 8>(&deep, &prompt);
    assert_eq!(got, Err(Error::CapacityExceeded { parameter: "layers", capacity: 3 }));
    let empty = Prompt::from_columns(&[], *prompt.query()).unwrap();
    let got = value_and_gradient::<_, 5, 1, 4, 8>(&deep, &empty);
    assert_eq!(got, Err(Error::Empty { parameter: "context" }));
}
