//! Golden family theory: Theorem 1, its corollaries, and the average-reward theorem, layer by layer.

use ictd_core::attention::{Attention, AverageReward, Mask, MeanCentred, Td0, TdLambda};
use ictd_core::context::{Context, Growing, Sliding, Window};
use ictd_core::layer::Layer;
use ictd_core::layer::TwoHeadLayer;
use ictd_core::prompt::Prompt;
use ictd_core::scalar::Scalar;
use ictd_core::statistic::Statistic;
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::{constructions, linalg, td};
use nalgebra::{SMatrix, SVector};
use std::iter::once;
use tests::{
    Case, Computation, MAX_CONTEXT, MAX_LANE_DIMENSION, MAX_LAYERS, Outputs, check_family,
    with_dimension_few_lanes,
};

struct Theory;

impl Computation for Theory {
    fn run<S: Scalar>(&self, case: &Case, first_lane: usize) -> Outputs<S> {
        match case.word("kind") {
            "avg" => {
                with_dimension_few_lanes!(S, case.count("d"), +2, average_reward::<S>(case, first_lane))
            }
            _ => {
                with_dimension_few_lanes!(S, case.count("d"), +1, discounted::<S>(case, first_lane))
            }
        }
    }

    /// One case of each kind of layer and mask: the others have other numbers.
    fn has_lanes(&self, case: &Case) -> bool {
        let once =
            ["td0", "td_lambda_0.5", "residual_gradient", "avg_reward", "one_layer_corollary"];
        case.count("d") <= MAX_LANE_DIMENSION && once.contains(&case.name.as_str())
    }
}

/// A case's inputs.
struct Data<S: Scalar, const D: usize, const K: usize> {
    columns: Vec<SVector<S, K>>,
    prompt: Prompt<S, K, MAX_CONTEXT>,
    c: Vec<SMatrix<S, D, D>>,
}

impl<S: Scalar, const D: usize, const K: usize> Data<S, D, K> {
    fn read(case: &Case, first_lane: usize) -> Self {
        let columns = tests::columns(&case.input("Z0"), first_lane);
        let (query, context) = columns.split_last().expect("a prompt has its query");
        assert_eq!(context.len(), case.count("n"), "{}: n", case.label());
        let prompt = Prompt::from_columns(context, *query).unwrap();
        let c = tests::matrices(&case.input("C"), first_lane);
        assert_eq!(c.len(), case.count("L"), "{}: L", case.label());
        Data { columns, prompt, c }
    }

    fn phi_query(&self) -> SVector<S, D> {
        SVector::from_fn(|i, _| self.prompt.query()[i])
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
        update: impl Fn(&SVector<S, D>, &SMatrix<S, D, D>, &[Transition<S, D>]) -> SVector<S, D>,
        out: &mut Outputs<S>,
    ) {
        let transitions = self.transitions(1.0);
        let mut w = vec![linalg::zeros::<S, D, 1>()];
        for c in &self.c {
            w.push(update(&w[w.len() - 1], c, &transitions));
        }
        out.field("w", "classical", w.iter().flat_map(|w| w.iter().copied()));
        out.field("phi_dot_w", "classical", w.iter().map(|w| linalg::dot(w, &self.phi_query())));
    }
}

/// What the forward passes show, layer by layer.
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

fn discounted<S: Scalar, const D: usize, const K: usize>(
    case: &Case,
    first_lane: usize,
) -> Outputs<S> {
    let data = Data::<S, D, K>::read(case, first_lane);
    let mut out = Outputs::new();
    let one = S::ONE;
    match case.word("kind") {
        "td" => {
            forms(&data, Td0, constructions::td0, &mut out);
            data.classical(|w, c, t| td::td0::update(w, c, t, one).unwrap(), &mut out);
        }
        "one_layer" => {
            forms(&data, Td0, constructions::one_layer, &mut out);
            data.classical(|w, c, t| td::td0::update(w, c, t, one).unwrap(), &mut out);
        }
        "lambda" => {
            let lambda = S::from_f64(case.number("lambda"));
            let mask = TdLambda::new(lambda).unwrap();
            forms(&data, mask, constructions::td_lambda, &mut out);
            data.classical(
                |w, c, t| td::td_lambda::update(w, c, t, one, lambda).unwrap(),
                &mut out,
            );
        }
        "rg" => {
            forms(&data, Td0, constructions::residual_gradient, &mut out);
            data.classical(
                |w, c, t| td::residual_gradient::update(w, c, t, one).unwrap(),
                &mut out,
            );
        }
        other => panic!("{}: kind {other}", case.label()),
    }
    out
}

/// The literal pass, and the streaming one from each way to the statistic.
fn forms<S: Scalar, const D: usize, const K: usize, M>(
    data: &Data<S, D, K>,
    mask: M,
    layer: impl Fn(&SMatrix<S, D, D>) -> Layer<S, K>,
    out: &mut Outputs<S>,
) where
    M: Mask<S> + Attention<S, K, Layer = Layer<S, K>>,
{
    let layers: Vec<_> = data.c.iter().map(layer).collect();
    let transformer = Transformer::<_, MAX_LAYERS>::sequential(&layers).unwrap();
    let mut pass = Pass::from(&data.columns);
    transformer
        .forward(&mut data.prompt.clone(), &mask, |z| {
            pass.show(&tests::columns_of(z));
        })
        .unwrap();
    pass.report("literal", out);

    let half = S::from_f64(0.5);
    let mut growing = Context::<D, _, _, S>::with(mask, Growing);
    let mut sliding = Context::<D, _, _, S>::with(mask, Sliding::<MAX_CONTEXT>);
    for t in data.transitions(0.5) {
        growing.observe_transition(&t).unwrap();
        sliding.observe_transition(&t).unwrap();
    }
    for (form, statistic) in [
        ("streaming", Statistic::of_prompt(&data.prompt, &mask).unwrap()),
        ("growing", growing.statistic(half, 0).unwrap()),
        ("sliding", sliding.statistic(half, 0).unwrap()),
    ] {
        report_maps(data, &tests::column_maps(&transformer, &statistic), form, out);
        let values = tests::values(&transformer, &statistic, data.prompt.query());
        out.field("y_query", form, once(S::ZERO).chain(values.iter().map(|v| -*v)));
    }
}

fn average_reward<S: Scalar, const D: usize, const K: usize>(
    case: &Case,
    first_lane: usize,
) -> Outputs<S> {
    let data = Data::<S, D, K>::read(case, first_lane);
    let mut out = Outputs::new();
    data.classical(|w, c, t| td::average_reward::update(w, c, t).unwrap(), &mut out);

    let layers: Vec<TwoHeadLayer<S, K>> =
        data.c.iter().map(constructions::average_reward).collect();
    let transformer = Transformer::<_, MAX_LAYERS>::sequential(&layers).unwrap();
    let mut pass = Pass::from(&data.columns);
    transformer
        .forward(&mut data.prompt.clone(), &AverageReward, |z| pass.show(&tests::columns_of(z)))
        .unwrap();
    pass.report("literal", &mut out);

    let transitions = data.transitions(1.0);
    let statistics = [
        (
            "streaming",
            Statistic::of_prompt(&data.prompt, &MeanCentred).unwrap(),
            Statistic::of_prompt(&data.prompt, &Td0).unwrap(),
        ),
        ("growing", fed(MeanCentred, Growing, &transitions), fed(Td0, Growing, &transitions)),
        (
            "sliding",
            fed(MeanCentred, Sliding::<MAX_CONTEXT>, &transitions),
            fed(Td0, Sliding::<MAX_CONTEXT>, &transitions),
        ),
    ];
    for (form, head1, head2) in statistics {
        let mut maps = Vec::new();
        let heads = [head1, head2];
        transformer.column_maps(&heads, |b| maps.push(*b));
        report_maps(&data, &maps, form, &mut out);
        let mut y = vec![S::ZERO];
        transformer.values_by_layer(&heads, data.prompt.query(), |v| y.push(-v));
        out.field("y_query", form, y);
    }
    out
}

fn fed<S: Scalar, const D: usize, const K: usize>(
    mask: impl Mask<S>,
    window: impl Window<S>,
    transitions: &[Transition<S, D>],
) -> Statistic<S, K> {
    let mut context = Context::<D, _, _, S>::with(mask, window);
    for t in transitions {
        context.observe_transition(t).unwrap();
    }
    context.statistic(S::ONE, 0).unwrap()
}

#[test]
fn golden_theory() {
    check_family("theory", &Theory);
}
