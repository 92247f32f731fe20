//! Golden family theory: Theorem 1, its corollaries, and the average-reward theorem, layer by layer.

use super::*;
use tests::{has_lanes, with_dimension};

fn of_dimension<S: Scalar>(case: &Case, lane: usize) -> Outputs<S> {
    match case.word("kind") {
        "avg" => with_dimension!(S, case.count("d"), +2, average_reward(case, lane)),
        _ => with_dimension!(S, case.count("d"), +1, discounted(case, lane)),
    }
}

/// One case of each kind of layer runs in lanes, of TD those with a mask that TD(0) is a case of: others have other numbers.
const IN_LANES: [&str; 4] =
    ["td_lambda_0.5", "residual_gradient", "avg_reward", "one_layer_corollary"];

type Phi<S, const D: usize> = SVector<S, D>;

/// A case's inputs.
struct Data<S: Scalar, const D: usize, const K: usize> {
    columns: Vec<SVector<S, K>>,
    prompt: Prompt<S, K, MAX_CONTEXT>,
    c: Vec<SMatrix<S, D, D>>,
}

impl<S: Scalar, const D: usize, const K: usize> Data<S, D, K> {
    fn read(case: &Case, lane: usize) -> Self {
        let prompt = tests::prompt(case, lane);
        let c = tests::matrices(&case.input("C"), lane);
        assert_eq!(c.len(), case.count("L"), "{}: L", case.label());
        Data { columns: tests::columns_of(&prompt), prompt, c }
    }

    /// The transitions whose tokens for this gamma are the context's columns, bit for bit if
    /// gamma is 1/2 or 1.
    fn transitions(&self, gamma: f64) -> Vec<Transition<S, D>> {
        let transition = |z: &SVector<S, K>| Transition {
            phi: SVector::from_fn(|i, _| z[i]),
            reward: z[2 * D],
            phi_next: SVector::from_fn(|i, _| z[D + i] / S::from_f64(gamma)),
        };
        self.prompt.context().iter().map(transition).collect()
    }

    /// w_0 .. w_L of a classical algorithm; the discount stands in the columns.
    fn classical(
        &self,
        update: impl Fn(&Phi<S, D>, &SMatrix<S, D, D>, &[Transition<S, D>]) -> Result<Phi<S, D>, Error>,
        out: &mut Outputs<S>,
    ) {
        let transitions = self.transitions(1.0);
        let mut w = vec![linalg::zeros::<S, D, 1>()];
        for c in &self.c {
            w.push(update(&w[w.len() - 1], c, &transitions).unwrap());
        }
        out.field("w", "classical", w.iter().flat_map(|w| w.iter().copied()));
        let query = SVector::from_fn(|i, _| self.prompt.query[i]);
        out.field("phi_dot_w", "classical", w.iter().map(|w| linalg::dot(w, &query)));
    }
}

/// The results of the forward passes, layer by layer.
struct Pass<S: Scalar, const K: usize> {
    y: Vec<S>,
    last_rows: Vec<Vec<S>>,
}

impl<S: Scalar, const K: usize> Pass<S, K> {
    fn from(columns: &[SVector<S, K>]) -> Self {
        let mut pass = Pass { y: vec![], last_rows: vec![] };
        pass.show(columns);
        pass
    }

    fn show(&mut self, columns: &[SVector<S, K>]) {
        self.y.push(columns[columns.len() - 1][K - 1]);
        self.last_rows.push(columns.iter().map(|z| z[K - 1]).collect());
    }

    fn report(self, form: &'static str, out: &mut Outputs<S>) {
        out.field("phi_dot_w", form, self.y.iter().map(|y| -*y));
        out.field("y_query", form, self.y);
        out.field("last_row_Z1", form, self.last_rows[1].iter().copied());
        out.field("last_row_ZL", form, self.last_rows[self.last_rows.len() - 1].iter().copied());
    }
}

/// From the maps B_0, B_1, ..: every layer's columns, and w_l = -(first d of) (B_{l-1}..B_0)^T e_K.
fn report_maps<S: Scalar, const D: usize, const K: usize>(
    data: &Data<S, D, K>,
    maps: &[SMatrix<S, K, K>],
    form: &'static str,
    out: &mut Outputs<S>,
) {
    let mut columns = data.columns.clone();
    let mut pass = Pass::from(&columns);
    let mut product = linalg::identity::<S, K>();
    let mut w = vec![S::ZERO; D];
    for b in maps {
        for z in &mut columns {
            *z = linalg::mul_vector(b, z);
        }
        pass.show(&columns);
        product = linalg::mul(b, &product);
        w.extend((0..D).map(|i| -product[(K - 1, i)]));
    }
    pass.report(form, out);
    out.field("w", form, w);
}

fn discounted<S: Scalar, const D: usize, const K: usize>(case: &Case, lane: usize) -> Outputs<S> {
    let data = Data::<S, D, K>::read(case, lane);
    let mut out = Outputs::new();
    let (one, kind) = (S::ONE, case.word("kind"));
    match kind {
        "td" => forms(&data, Td0, constructions::td0, &mut out),
        "one_layer" => forms(&data, Td0, constructions::one_layer, &mut out),
        "lambda" => {
            let lambda = S::from_f64(case.number("lambda"));
            let mask = TdLambda::new(lambda).unwrap();
            forms(&data, mask, constructions::td_lambda, &mut out);
            data.classical(|w, c, t| td::updates::td_lambda(w, c, t, one, lambda), &mut out);
        }
        "rg" => {
            forms(&data, Td0, constructions::residual_gradient, &mut out);
            data.classical(|w, c, t| td::updates::residual_gradient(w, c, t, one), &mut out);
        }
        other => panic!("{}: kind {other}", case.label()),
    }
    if ["td", "one_layer"].contains(&kind) {
        data.classical(|w, c, t| td::updates::td0(w, c, t, one), &mut out);
    }
    out
}

/// The literal pass, and the streaming one from each way to the statistic.
fn forms<S: Scalar, const D: usize, const K: usize>(
    data: &Data<S, D, K>,
    mask: impl Mask<S>,
    layer: impl Fn(&SMatrix<S, D, D>) -> Layer<S, K>,
    out: &mut Outputs<S>,
) {
    let layers: Vec<_> = data.c.iter().map(layer).collect();
    let transformer = Transformer::<_, MAX_LAYERS>::sequential(&layers).unwrap();
    let mut pass = Pass::from(&data.columns);
    transformer
        .forward(&mut data.prompt.clone(), &Linear(mask), |z| {
            pass.show(&tests::columns_of(z));
        })
        .unwrap();
    pass.report("literal", out);

    for (form, statistic) in statistics(data, mask, 0.5) {
        let (mut maps, mut y) = (Vec::new(), vec![S::ZERO]);
        transformer.column_maps(&statistic, |_, b| maps.push(*b));
        report_maps(data, &maps, form, out);
        transformer.values_by_layer(&statistic, &data.prompt.query, |v| y.push(-v));
        out.field("y_query", form, y);
    }
}

fn average_reward<S: Scalar, const D: usize, const K: usize>(
    case: &Case,
    lane: usize,
) -> Outputs<S> {
    let data = Data::<S, D, K>::read(case, lane);
    let mut out = Outputs::new();
    data.classical(td::updates::average_reward, &mut out);

    let layers: Vec<TwoHeadLayer<S, K>> =
        data.c.iter().map(constructions::average_reward).collect();
    let transformer = Transformer::<_, MAX_LAYERS>::sequential(&layers).unwrap();
    let mut pass = Pass::from(&data.columns);
    transformer
        .forward(&mut data.prompt.clone(), &AverageReward, |z| pass.show(&tests::columns_of(z)))
        .unwrap();
    pass.report("literal", &mut out);

    let heads = statistics(&data, MeanCentred, 1.0).into_iter().zip(statistics(&data, Td0, 1.0));
    for ((form, head1), (_, head2)) in heads {
        let mut maps = Vec::new();
        let heads = [head1, head2];
        transformer.column_maps(&heads, |b| maps.push(*b));
        report_maps(&data, &maps, form, &mut out);
        let (mut z, mut y) = (data.prompt.query, vec![S::ZERO]);
        for b in &maps {
            z = linalg::mul_vector(b, &z);
            y.push(z[K - 1]);
        }
        out.field("y_query", form, y);
    }
    out
}

/// The statistic by each way to it: of the prompt, and of contexts that grow and that slide.
fn statistics<S: Scalar, const D: usize, const K: usize>(
    data: &Data<S, D, K>,
    mask: impl Mask<S>,
    gamma: f64,
) -> [(&'static str, Statistic<S, K>); 3] {
    let mut growing = Context::<D, _, _, S>::with_memory(mask, Growing);
    let mut sliding = Context::<D, _, _, S>::with_memory(mask, Sliding::<MAX_CONTEXT>);
    for t in data.transitions(gamma) {
        growing.observe_transition(&t).unwrap();
        sliding.observe_transition(&t).unwrap();
    }
    let gamma = S::from_f64(gamma);
    [
        ("streaming", Statistic::from_prompt(&data.prompt, &mask).unwrap()),
        ("growing", growing.statistic(gamma, 0).unwrap()),
        ("sliding", sliding.statistic(gamma, 0).unwrap()),
    ]
}

#[test]
fn golden_theory() {
    check_family("theory", of_dimension, of_dimension, |case| {
        (has_lanes(case) && IN_LANES.contains(&case.name.as_str())).then_some(of_dimension)
    });
}
