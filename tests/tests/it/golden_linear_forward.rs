//! Golden family linear_forward: eqs. "Z_l update", "tf output convention".

use super::*;

golden!(golden_linear_forward, "linear_forward", Scalar, forward);

fn forward<S: Scalar, const D: usize, const K: usize>(case: &Case, lane: usize) -> Outputs<S> {
    let prompt = tests::prompt::<S, K, MAX_CONTEXT>(case, lane);
    let query = &prompt.query;
    let transformer = tests::transformer::<S, K, MAX_LAYERS>(case, ["P", "Q"], lane);
    let mut out = Outputs::new();

    let mut z = prompt.clone();
    let (mut all, mut y) = (Vec::new(), Vec::new());
    transformer
        .forward(&mut z, &Linear(Td0), |z| {
            all.extend(tests::rows(&tests::columns_of(z)));
            y.push(z.output());
        })
        .unwrap();
    out.field("Z", "literal", all);
    out.field("y", "literal", [z.output()]);
    out.field("y_layers", "literal", y);

    let statistic = Statistic::from_prompt(&prompt, &Td0).unwrap();
    let mut z = tests::columns_of(&prompt);
    let mut all = Vec::new();
    transformer.column_maps(&statistic, |_, b| {
        for column in &mut z {
            *column = linalg::mul_vector(b, column);
        }
        all.extend(tests::rows(&z));
    });
    out.field("Z", "streaming", all);
    let mut y = Vec::new();
    transformer.values_by_layer(&statistic, query, |v| y.push(v));
    out.field("y_layers", "streaming", y);
    out
}
