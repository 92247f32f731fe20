//! Golden family gradients: the value of a prompt, and its derivatives by hand, for linear and softmax
//! attention; and the literal forward pass of both.

use super::*;

/// The capacity for context columns.
const N: usize = 128;
/// The capacity for layers, stored or in the pass.
const L: usize = 16;

golden!(golden_gradients, "gradients", Scalar, gradients);

fn gradients<S: Scalar, const D: usize, const K: usize>(case: &Case, lane: usize) -> Outputs<S> {
    let prompt = tests::prompt::<S, K, N>(case, lane);
    let transformer = tests::transformer::<S, K, L>(case, ["P", "Q"], lane);
    let mut out = Outputs::new();
    match case.word("activation") {
        "identity" => {
            literal(&transformer, &prompt, &Linear(Td0), case, &mut out);
            let readout = transformer.readout(&Statistic::from_prompt(&prompt, &Td0).unwrap());
            out.field("y", "readout", [-linalg::dot(&readout, &prompt.query)]);
            out.field("dy_dquery", "readout", readout.iter().take(D).map(|x| -*x));
            let shape = LinearShape::new(D, transformer.layers().len(), transformer.depth());
            let numbers = tests::numbers(&transformer);
            let network = LinearNetwork::new(shape, numbers, vec![S::ZERO; shape.work_len()]);
            learn::<S, K>(network.unwrap(), case, lane, &mut out);
        }
        "softmax" => {
            literal(&transformer, &prompt, &SoftmaxAttention, case, &mut out);
            let network = SoftmaxNetwork::<S, K, L, L, N>::new(transformer).unwrap();
            let (v, z_bar) = network.value_and_query_gradient(&prompt).unwrap();
            out.field("y", "with gradient", [v]);
            out.field("dy_dquery", "by hand", z_bar.iter().take(D).copied());
            learn::<S, K>(network, case, lane, &mut out);
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

/// The prompt as a window of a trajectory: its value, and the derivatives by P and Q.
fn learn<S: Scalar, const K: usize>(
    mut network: impl Network<S>,
    case: &Case,
    lane: usize,
    out: &mut Outputs<S>,
) {
    let d = case.count("d");
    let [features, rewards] = tests::trajectory::<S>(&case.input("Z0"), d, lane);
    let gamma = S::from_f64(0.9);
    let windows = Windows::new(d, &features, &rewards, case.count("n"), gamma).unwrap();
    let mut gradient = network.parameters().zeros_like();
    let v =
        network.value_and_gradient(&windows.window(0).unwrap(), |_| S::ONE, &mut gradient).unwrap();
    out.field("y", "of a window", [v]);
    let numbers: Vec<S> = gradient.numbers().copied().collect();
    for (m, field) in ["dy_dP", "dy_dQ"].into_iter().enumerate() {
        let matrices = numbers.chunks(K * K).skip(m).step_by(2);
        let rows = matrices.map(|m| tests::row_major(&SMatrix::<S, K, K>::from_column_slice(m)));
        out.field(field, "by hand", rows.flatten());
    }
}
