//! Golden family linear_forward: eqs. "Z_l update", "tf output convention".

use ictd_core::attention::Td0;
use ictd_core::context::{Context, Growing, Sliding};
use ictd_core::linalg;
use ictd_core::prompt::Prompt;
use ictd_core::scalar::Scalar;
use ictd_core::statistic::Statistic;
use ictd_core::transition::Transition;
use nalgebra::SVector;
use tests::with_dimension_few_lanes;
use tests::{
    Case, Computation, MAX_CONTEXT, MAX_LANE_DIMENSION, MAX_LAYERS, Outputs, check_family,
};

struct LinearForward;

impl Computation for LinearForward {
    const EVERY_WIDTH: bool = true;

    fn run<S: Scalar>(&self, case: &Case, first_lane: usize) -> Outputs<S> {
        with_dimension_few_lanes!(S, case.count("d"), +1, forward::<S>(case, first_lane))
    }

    fn has_lanes(&self, case: &Case) -> bool {
        case.count("d") <= MAX_LANE_DIMENSION
    }
}

fn forward<S: Scalar, const D: usize, const K: usize>(
    case: &Case,
    first_lane: usize,
) -> Outputs<S> {
    let columns = tests::columns::<S, K>(&case.input("Z0"), first_lane);
    let (query, context) = columns.split_last().expect("a prompt has its query");
    assert_eq!(context.len(), case.count("n"), "{}: n", case.label());
    let prompt = Prompt::<S, K, MAX_CONTEXT>::from_columns(context, *query).unwrap();
    let transformer = tests::transformer::<S, K, MAX_LAYERS>(case, first_lane);
    let mut out = Outputs::new();

    let mut z = prompt.clone();
    let (mut all, mut y) = (Vec::new(), Vec::new());
    transformer
        .forward(&mut z, &Td0, |z| {
            all.extend(tests::rows(&tests::columns_of(z)));
            y.push(z.output());
        })
        .unwrap();
    out.field("Z", "literal", all);
    out.field("y", "literal", [z.output()]);
    out.field("y_layers", "literal", y);

    let statistic = Statistic::of_prompt(&prompt, &Td0).unwrap();
    let mut z = columns.clone();
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

    let mut growing = Context::<D, _, _, S>::with(Td0, Growing);
    let mut sliding = Context::<D, _, _, S>::with(Td0, Sliding::<MAX_CONTEXT>);
    for z in context {
        let transition = transition_of(z);
        growing.observe_transition(&transition).unwrap();
        sliding.observe_transition(&transition).unwrap();
    }
    // As all layers' values: the last one alone may be near 0, and its tolerance with it.
    for (form, statistic) in
        [("growing", growing.statistic::<K>(half(), 0)), ("sliding", sliding.statistic(half(), 0))]
    {
        let mut y = Vec::new();
        transformer.values_by_layer(&statistic.unwrap(), query, |v| y.push(v));
        out.field("y_layers", form, y);
    }
    out
}

fn half<S: Scalar>() -> S {
    S::from_f64(0.5)
}

/// The transition whose token under gamma = 1/2 is exactly this column, whatever it holds.
fn transition_of<S: Scalar, const D: usize, const K: usize>(z: &SVector<S, K>) -> Transition<S, D> {
    Transition {
        phi: SVector::from_fn(|i, _| z[i]),
        reward: z[2 * D],
        phi_next: SVector::from_fn(|i, _| S::from_f64(2.0) * z[D + i]),
    }
}

#[test]
fn golden_linear_forward() {
    check_family("linear_forward", &LinearForward);
}
