//! Golden family rnn: values, hidden states, and gradients through time.

use super::*;
use ictd_core::training::{LayerInput, Rnn, RnnLayer};

/// Calls `rnn` for the case's d, h and L among those compiled in.
macro_rules! with_shape {
    ($case:expr, $lane:expr, [$(($d:literal, $h:literal, $l:literal)),*]) => {
        match ($case.count("d"), $case.count("h"), $case.count("L")) {
            $(($d, $h, $l) => rnn::<S, { 2 * $d + 2 }, $h, $l>($case, $lane),)*
            shape => panic!("(d, h, L) = {shape:?} is not compiled in"),
        }
    };
}

#[rustfmt::skip]
fn of_shape<S: Scalar>(case: &Case, lane: usize) -> Outputs<S> {
    assert_eq!(case.word("activation"), "tanh");
    with_shape!(case, lane, [
        (1, 4, 1), (1, 4, 2), (1, 4, 3), (2, 4, 1), (2, 4, 2), (2, 4, 3), (3, 4, 1),
        (3, 4, 2), (3, 4, 3), (4, 4, 1), (4, 4, 2), (4, 4, 3), (8, 4, 1), (8, 4, 3)
    ])
}

fn rnn<S: Scalar, const X: usize, const H: usize, const L: usize>(
    case: &Case,
    lane: usize,
) -> Outputs<S> {
    let layer_input = match case.word("layer_input") {
        "a_{t+1}^(l-1)" => LayerInput::Current,
        "a_t^(l-1)" => LayerInput::Delayed,
        other => panic!("{}: layer_input {other}", case.label()),
    };
    let mut network = Rnn::<S, X, H, L, MAX_CONTEXT>::zeros(layer_input);
    network.first = layer(case, 0, lane);
    for (l, to) in (1..L).zip(&mut network.upper) {
        *to = layer(case, l, lane);
    }
    network.output = tests::vector(&tests::load(&case.input("Wo"), lane));
    let d = case.count("d");
    let [features, rewards] = tests::trajectory::<S>(&case.input("Z"), d, lane);
    let gamma = S::from_f64(0.9);
    let windows = Windows::new(d, &features, &rewards, case.count("n"), gamma).unwrap();
    let mut gradient = Rnn::zeros(layer_input);
    let v =
        network.value_and_gradient(&windows.window(0).unwrap(), |_| S::ONE, &mut gradient).unwrap();
    let tokens = tests::columns::<S, X>(&case.input("Z"), lane);
    let start = [[S::ZERO; H]; L];
    let hidden = tokens.iter().fold(start, |hidden, z| network.step(&hidden, &z.data.0[0]));

    let mut out = Outputs::new();
    out.field("v", "with gradient", [v]);
    out.field("v", "step by step", [network.output(&hidden)]);
    out.field("final_hidden", "step by step", hidden.iter().flatten().copied());
    fields(&mut out, 0, &gradient.first);
    for (l, layer) in (1..L).zip(&gradient.upper) {
        fields(&mut out, l, layer);
    }
    out.field("dv_dWo", "through time", gradient.output.iter().copied());
    out
}

fn layer<S: Scalar, const I: usize, const H: usize>(
    case: &Case,
    l: usize,
    lane: usize,
) -> RnnLayer<S, I, H> {
    let given = |name: &str| case.input(&format!("{name}_{l}"));
    RnnLayer {
        input: tests::matrices(&given("Wax"), lane)[0],
        recurrent: tests::matrices(&given("Waa"), lane)[0],
        bias: tests::vector(&tests::load(&given("b"), lane)),
    }
}

fn fields<S: Scalar, const I: usize, const H: usize>(
    out: &mut Outputs<S>,
    l: usize,
    layer: &RnnLayer<S, I, H>,
) {
    out.field(format!("dv_dWax_{l}"), "through time", layer.input.transpose().iter().copied());
    out.field(format!("dv_dWaa_{l}"), "through time", layer.recurrent.transpose().iter().copied());
    out.field(format!("dv_db_{l}"), "through time", layer.bias.iter().copied());
}

#[test]
fn golden_rnn() {
    check_family("rnn", of_shape, of_shape, |_| Some(of_shape));
}
