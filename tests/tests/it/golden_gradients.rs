//! Golden family gradients: the value of a prompt, and its derivatives by hand, for linear and softmax
//! attention; and the literal forward pass of both.

use ictd_core::attention::{Attention, SoftmaxAttention, Td0};
use ictd_core::gradient::{Gradient, linear, softmax};
use ictd_core::layer::Layer;
use ictd_core::prompt::Prompt;
use ictd_core::scalar::Scalar;
use ictd_core::statistic::Statistic;
use ictd_core::transformer::Transformer;
use tests::{Case, Outputs, check_family, has_lanes, with_dimension};

/// The capacity for context columns.
const N: usize = 128;
/// The capacity for layers, stored or in the pass.
const L: usize = 16;

fn of_dimension<S: Scalar>(case: &Case, first_lane: usize) -> Outputs<S> {
    with_dimension!(S, case.count("d"), +1, gradients(case, first_lane))
}

fn gradients<S: Scalar, const D: usize, const K: usize>(
    case: &Case,
    first_lane: usize,
) -> Outputs<S> {
    let prompt = tests::prompt::<S, K, N>(case, first_lane);
    let transformer = tests::transformer::<S, K, L>(case, first_lane);
    let mut out = Outputs::new();
    match case.word("activation") {
        "identity" => {
            literal(&transformer, &prompt, &Td0, case, &mut out);
            let statistic = Statistic::of_prompt(&prompt, &Td0).unwrap();
            let y = -ictd_core::linalg::dot(&transformer.readout(&statistic), prompt.query());
            out.field("y", "readout", [y]);
            let gradient = linear::value_and_gradient::<S, K, L, L, N>(&transformer, &prompt);
            report::<S, D, K>(&gradient.unwrap(), case, &mut out);
        }
        "softmax" => {
            literal(&transformer, &prompt, &SoftmaxAttention, case, &mut out);
            let gradient = softmax::value_and_gradient::<S, K, L, L, N>(&transformer, &prompt);
            report::<S, D, K>(&gradient.unwrap(), case, &mut out);
        }
        other => panic!("{}: activation {other}", case.label()),
    }
    out
}

fn literal<S: Scalar, const K: usize>(
    transformer: &Transformer<Layer<S, K>, L>,
    prompt: &Prompt<S, K, N>,
    attention: &impl Attention<S, K, Layer = Layer<S, K>>,
    case: &Case,
    out: &mut Outputs<S>,
) {
    let mut z = prompt.clone();
    let mut all = Vec::new();
    transformer
        .forward(&mut z, attention, |z| all.extend(tests::rows(&tests::columns_of(z))))
        .unwrap();
    out.field("y", "literal", [z.output()]);
    if case.expects("Z") {
        out.field("Z", "literal", all);
    }
}

fn report<S: Scalar, const D: usize, const K: usize>(
    gradient: &Gradient<S, K, L, N>,
    case: &Case,
    out: &mut Outputs<S>,
) {
    out.field("y", "with gradient", [gradient.value]);
    let flat = |pick: fn(&Layer<S, K>) -> &nalgebra::SMatrix<S, K, K>| -> Vec<S> {
        gradient.layers.iter().flat_map(|layer| tests::row_major(pick(layer))).collect()
    };
    out.field("dy_dP", "by hand", flat(|layer| &layer.p));
    out.field("dy_dQ", "by hand", flat(|layer| &layer.q));
    out.field("dy_dquery", "by hand", gradient.query_features::<D>().iter().copied());
    if case.expects("dy_dZ0") {
        out.field("dy_dZ0", "by hand", tests::rows(&tests::columns_of(&gradient.prompt)));
    }
}

#[test]
fn golden_gradients() {
    check_family("gradients", of_dimension, of_dimension, |case| {
        has_lanes(case).then_some(of_dimension)
    });
}
