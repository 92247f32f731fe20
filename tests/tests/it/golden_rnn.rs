//! Golden family rnn: values, hidden states, and gradients through time.

use ictd_core::rnn::{LayerInput, Rnn, RnnTape, parameter_columns};
use ictd_core::scalar::Scalar;
use nalgebra::{SMatrix, SVector};
use tests::{Case, Computation, MAX_CONTEXT, Outputs, check_family};

struct RecurrentNetwork;

/// Calls `rnn` for the case's d, h and L among those compiled in.
macro_rules! with_shape {
    ($case:expr, $lane:expr, [$(($d:literal, $h:literal, $l:literal)),*]) => {
        match ($case.count("d"), $case.count("h"), $case.count("L")) {
            $(($d, $h, $l) => rnn::<
                S, { 2 * $d + 2 }, $h, $l, { parameter_columns(2 * $d + 2, $h, $l) },
            >($case, $lane),)*
            shape => panic!("(d, h, L) = {shape:?} is not compiled in"),
        }
    };
}

impl Computation for RecurrentNetwork {
    fn run<S: Scalar>(&self, case: &Case, first_lane: usize) -> Outputs<S> {
        assert_eq!(case.word("activation"), "tanh");
        with_shape!(
            case,
            first_lane,
            [
                (1, 4, 1),
                (1, 4, 2),
                (1, 4, 3),
                (2, 4, 1),
                (2, 4, 2),
                (2, 4, 3),
                (3, 4, 1),
                (3, 4, 2),
                (3, 4, 3),
                (4, 4, 1),
                (4, 4, 2),
                (4, 4, 3),
                (8, 4, 1),
                (8, 4, 3)
            ]
        )
    }
}

fn rnn<S: Scalar, const X: usize, const H: usize, const L: usize, const C: usize>(
    case: &Case,
    lane: usize,
) -> Outputs<S> {
    let layer_input = match case.word("layer_input") {
        "a_{t+1}^(l-1)" => LayerInput::Current,
        "a_t^(l-1)" => LayerInput::Delayed,
        other => panic!("{}: layer_input {other}", case.label()),
    };
    let input = |name: &str, l: usize| case.input(&format!("{name}_{l}"));
    let vector = |name: &str, l: usize| tests::vector::<S, H>(&tests::load(&input(name, l), lane));
    let mut network = Rnn::<S, X, H, L, C>::zeros(layer_input);
    for l in 0..L {
        let waa = tests::matrices(&input("Waa", l), lane)[0];
        let wax = input("Wax", l);
        if l == 0 {
            network.set_first_layer(&tests::matrices(&wax, lane)[0], &waa, &vector("b", 0));
        } else {
            network.set_upper_layer(l, &tests::matrices(&wax, lane)[0], &waa, &vector("b", l));
        }
    }
    network.set_output_layer(&tests::vector(&tests::load(&case.input("Wo"), lane)));
    let tokens: Vec<[S; X]> =
        tests::columns::<S, X>(&case.input("Z"), lane).iter().map(|z| z.data.0[0]).collect();
    let (query, context) = tokens.split_last().expect("a prompt has its query");
    assert_eq!(context.len(), case.count("n"));

    let mut tape = RnnTape::<S, X, H, L, MAX_CONTEXT>::new();
    let v = tape.forward(&network, context.iter().copied(), *query).unwrap();
    let mut gradient = Rnn::<S, X, H, L, C>::zeros(layer_input);
    let adjoints = tape.backward_to_tokens(&network, S::ONE, &mut gradient);

    let mut out = Outputs::new();
    out.field("v", "tape", [v]);
    out.field("v", "step by step", [network.value(&tokens)]);
    out.field("final_hidden", "tape", tape.final_hidden().iter().flatten().copied());
    let (wax, waa, b) = gradient.first_layer();
    layer(&mut out, 0, &wax, &waa, &b);
    for l in 1..L {
        let (wax, waa, b) = gradient.upper_layer(l).expect("a layer above the first");
        layer(&mut out, l, &wax, &waa, &b);
    }
    out.field("dv_dWo", "tape", gradient.output_layer().iter().copied());
    let mut columns = adjoints.context[..context.len()].to_vec();
    columns.push(adjoints.query);
    out.field("dv_dZ", "tape", (0..X).flat_map(|i| columns.iter().map(move |z| z[i])));
    out
}

fn layer<S: Scalar, const I: usize, const H: usize>(
    out: &mut Outputs<S>,
    l: usize,
    wax: &SMatrix<S, H, I>,
    waa: &SMatrix<S, H, H>,
    b: &SVector<S, H>,
) {
    out.field(format!("dv_dWax_{l}"), "tape", wax.transpose().iter().copied());
    out.field(format!("dv_dWaa_{l}"), "tape", waa.transpose().iter().copied());
    out.field(format!("dv_db_{l}"), "tape", b.iter().copied());
}

#[test]
fn golden_rnn() {
    check_family("rnn", &RecurrentNetwork);
}
