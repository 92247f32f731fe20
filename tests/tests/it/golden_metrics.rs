//! Golden family metrics: VD, IWS, SS and the element-wise metrics.

use super::*;
use ictd_core::constructions::{scaled_identity, td0};
use ictd_core::linalg::{to_f64, zeros};
use ictd_core::metrics::{ElementwiseMetrics, ValueSample, batch_td};
use ictd_core::transition::query_token;

/// The capacity for states.
const M: usize = 64;

/// The capacity for layers in a softmax transformer's pass.
const DEPTH: usize = 16;

golden!(golden_metrics, "metrics", Real, metrics);

fn metrics<R: Real, const D: usize, const K: usize>(case: &Case, _: usize) -> Outputs<R> {
    let context = tests::columns::<R, K>(&case.input("context"), 0);
    assert_eq!(context.len(), case.count("n"));
    let [phi, d_p] = ["Phi", "d_p"].map(|name| tests::load::<R>(&case.input(name), 0));
    let states = case.count("s");
    assert_eq!((phi.len(), d_p.len()), (states * D, states));
    let (mut features, mut weights) = ([zeros::<R, D, 1>(); M], zeros::<R, M, 1>());
    for s in 0..states {
        (features[s], weights[s]) = (tests::vector(&phi[s * D..][..D]), d_p[s]);
    }
    let evaluation = EvaluationStates::new(states, &weights, &features).unwrap();
    let transformer = tests::transformer::<R, K, MAX_LAYERS>(case, ["P", "Q"], 0);
    let prompt = Prompt::<R, K, MAX_CONTEXT>::from_columns(&context, zeros()).unwrap();
    let statistic = Statistic::from_prompt(&prompt, &Td0).unwrap();

    let mut out = Outputs::new();
    let depth = transformer.depth();
    let alpha = R::from_f64(case.number("alpha"));
    let v_td = batch_td::<R, D, K>(&statistic, alpha, depth).unwrap();
    out.field("v_td", "batch TD", values(&evaluation.sample_linear(&v_td), states));
    out.field("grad_td", "batch TD", gradients(&evaluation.sample_linear(&v_td), states));
    out.field("w_td", "batch TD", v_td.weights.iter().copied());
    let theta_td =
        Transformer::<_, 1>::autoregressive(td0::<R, D, K>(&scaled_identity(alpha)), depth);
    let by_theorem_1 = linear::<R, D, K, 1>(&theta_td.unwrap(), &statistic);
    out.field("w_td", "theta_TD", by_theorem_1.weights.iter().copied());

    let v_tf = match case.word("activation") {
        "identity" => {
            let v_tf = linear::<R, D, K, MAX_LAYERS>(&transformer, &statistic);
            let sample = evaluation.sample_linear(&v_tf);
            let exact = evaluation.compare(&sample, &v_tf.weights, &v_td);
            out.field("IWS", "exact weights", [exact.iws]);
            // VD is the difference of two nearly equal functions: judged in f64.
            let wide = prompt.context().iter().map(to_f64);
            let wide = Statistic::from_columns(wide, &Td0).unwrap();
            let v_td = batch_td(&wide, alpha.to_f64(), depth).unwrap();
            let transformer = transformer.to_f64().unwrap();
            let v_tf_wide = linear::<f64, D, K, MAX_LAYERS>(&transformer, &wide);
            let in_f64 = evaluation.to_f64();
            let sample_wide = in_f64.sample_linear(&v_tf_wide);
            let judged = in_f64.compare(&sample_wide, &v_tf_wide.weights, &v_td);
            let narrow = |x| R::from_f64(x);
            out.field("VD", "in f64", [narrow(judged.vd)]);
            out.field("IWS", "in f64", [narrow(judged.iws)]);
            out.field("SS", "in f64", [narrow(judged.ss)]);
            out.field("w_tf", "exact weights", v_tf.weights.iter().copied());
            sample
        }
        "softmax" => {
            let network =
                SoftmaxNetwork::<R, K, MAX_LAYERS, DEPTH, MAX_CONTEXT>::new(transformer.clone())
                    .unwrap();
            let sampled = evaluation.sample(|phi| {
                let mut prompt = prompt.clone();
                prompt.query = query_token(phi);
                network
                    .value_and_query_gradient(&prompt)
                    .map(|(v, z_bar)| (v, SVector::from_fn(|i, _| z_bar[i])))
            });
            sampled.unwrap()
        }
        other => panic!("{}: activation {other}", case.label()),
    };
    let w_tf = evaluation.implicit_weights(&v_tf.values).unwrap();
    let sampled = evaluation.compare(&v_tf, &w_tf, &v_td);
    out.field("v_tf", "sampled", values(&v_tf, states));
    out.field("grad_tf", "sampled", gradients(&v_tf, states));
    out.field("w_tf", "least squares", w_tf.iter().copied());
    if case.word("activation") == "softmax" {
        out.field("VD", "sampled", [sampled.vd]);
    }
    out.field("IWS", "least squares", [sampled.iws]);
    out.field("SS", "sampled", [sampled.ss]);

    let layers = transformer.layers();
    let by_layer: Vec<ElementwiseMetrics> =
        layers.iter().map(ElementwiseMetrics::from_layer).collect();
    let mut element = |name: &str, value: fn(&ElementwiseMetrics) -> f64| {
        let values = by_layer.iter().map(|of| R::from_f64(value(of)));
        out.field(format!("elementwise_{name}"), "elements", values);
    };
    element("sign", |e| e.sign);
    element("P_bottom_right", |e| e.p_bottom_right);
    element("P_avg_abs_others", |e| e.p_avg_abs_others);
    element("Q_trace_upper_left", |e| e.q_trace_upper_left);
    element("Q_trace_upper_right", |e| e.q_trace_upper_right);
    element("Q_avg_abs_others", |e| e.q_avg_abs_others);
    // For pictures, each layer has its sign, and its largest entry is 1.
    let scaled = |of: fn(&Layer<R, K>) -> &SMatrix<R, K, K>| {
        let rows =
            layers.iter().zip(&by_layer).map(move |(layer, ElementwiseMetrics { sign, .. })| {
                let largest = of(layer).iter().fold(R::ZERO, |largest, x| largest.max(x.abs()));
                tests::row_major(&of(layer).map(|x| R::from_f64(*sign) * x / largest))
            });
        rows.flatten().collect::<Vec<R>>()
    };
    out.field("elementwise_P_scaled", "elements", scaled(|layer| &layer.p));
    out.field("elementwise_Q_scaled", "elements", scaled(|layer| &layer.q));
    out
}

fn linear<R: Real, const D: usize, const K: usize, const C: usize>(
    transformer: &Transformer<Layer<R, K>, C>,
    statistic: &Statistic<R, K>,
) -> ValueFunction<R, D> {
    ValueFunction::from_readout(transformer.readout(statistic).as_slice()).unwrap()
}

fn values<R: Real, const D: usize>(sample: &ValueSample<R, D, M>, states: usize) -> Vec<R> {
    sample.values.iter().take(states).copied().collect()
}

fn gradients<R: Real, const D: usize>(sample: &ValueSample<R, D, M>, states: usize) -> Vec<R> {
    sample.sensitivities[..states].iter().flat_map(|g| g.iter().copied()).collect()
}
