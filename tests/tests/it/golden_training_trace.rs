//! Golden family training_trace: three batches of the semi-gradient with Adam, Algorithm 1's plain TD
//! window by window, and the batch-TD reference with its trained step size.

use super::*;
use ictd_core::training::{Adam, AdamSettings, BatchTdReference, td_update};

/// The capacity for layers, stored or in the pass.
const L: usize = 4;
/// The capacity for context columns.
const N: usize = 64;

fn of_dimension<S: Scalar>(case: &Case, lane: usize) -> Outputs<S> {
    // A whole trainer for each shape takes long to compile: the lanes' shapes are few.
    match case.count("d") {
        2 => trace::<S, 2, 5>(case, lane),
        4 => trace::<S, 4, 9>(case, lane),
        d if const { S::LANES > 1 } => panic!("d = {d}: in lanes only d = 2 and 4"),
        1 => trace::<S, 1, 3>(case, lane),
        3 => trace::<S, 3, 7>(case, lane),
        5 => trace::<S, 5, 11>(case, lane),
        d => panic!("d = {d}: this test is compiled for d from 1 to 5"),
    }
}

fn trace<S: Scalar, const D: usize, const K: usize>(case: &Case, lane: usize) -> Outputs<S> {
    let transformer = tests::transformer::<S, K, L>(case, ["P0", "Q0"], lane);
    let (stored, depth) = (transformer.layers().len(), transformer.depth());
    let batches = Batches::<S, D>::read(case, lane);
    let mut out = Outputs::new();
    match case.word("activation") {
        "identity" => {
            let shape = LinearShape::new(D, stored, depth);
            let numbers = tests::numbers(&transformer);
            let network = LinearNetwork::new(shape, numbers, vec![S::ZERO; shape.work_len()]);
            learn::<S, D, K, _>(case, &batches, network.unwrap(), &mut out);
        }
        "softmax" => {
            let network = SoftmaxNetwork::<S, K, L, L, N>::new(transformer);
            learn::<S, D, K, _>(case, &batches, network.unwrap(), &mut out);
        }
        other => panic!("{}: activation {other}", case.label()),
    }
    reference(case, &batches, depth, &mut out);
    out
}

/// The trajectories of a case, one for each batch.
struct Batches<S: Scalar, const D: usize> {
    features: Vec<Vec<S>>,
    rewards: Vec<Vec<S>>,
    context_len: usize,
    gamma: S,
}

impl<S: Scalar, const D: usize> Batches<S, D> {
    fn read(case: &Case, lane: usize) -> Self {
        let (features, rewards) = (case.input("features"), case.input("rewards"));
        let (context_len, windows) = (case.count("n"), case.count("windows_per_batch"));
        let batches = case.count("batches");
        let states = context_len + 2 + windows;
        assert_eq!(features.shape, [batches, states, D], "{}: features", case.label());
        assert_eq!(rewards.shape, [batches, states - 1], "{}: rewards", case.label());
        let numbers = tests::load::<S>(&features, lane);
        let rewards = tests::load::<S>(&rewards, lane);
        Batches {
            features: numbers.chunks(states * D).map(<[_]>::to_vec).collect(),
            rewards: rewards.chunks(states - 1).map(<[_]>::to_vec).collect(),
            context_len,
            gamma: S::from_f64(case.number("gamma")),
        }
    }

    fn iter(&self) -> impl Iterator<Item = Windows<'_, S>> {
        let batches = self.features.iter().zip(&self.rewards);
        batches.map(|(phi, r)| Windows::new(D, phi, r, self.context_len, self.gamma).unwrap())
    }
}

fn adam_settings(case: &Case) -> AdamSettings {
    AdamSettings::default()
        .step_size(case.number("lr"))
        .beta1(case.number("beta1"))
        .beta2(case.number("beta2"))
        .epsilon(case.number("eps"))
        .weight_decay(case.number("weight_decay"))
}

/// Returns P (`first` 0) or Q (1) of each layer, row by row.
fn flat<S: Scalar, const K: usize>(parameters: &impl Parameters<S>, first: usize) -> Vec<S> {
    let numbers: Vec<S> = parameters.numbers().copied().collect();
    let matrices = numbers.chunks(K * K).skip(first).step_by(2);
    matrices.flat_map(|m| tests::row_major(&SMatrix::<S, K, K>::from_column_slice(m))).collect()
}

/// The network's values, TD errors, losses, gradients and updates.
fn learn<S, const D: usize, const K: usize, N>(
    case: &Case,
    batches: &Batches<S, D>,
    start: N,
    out: &mut Outputs<S>,
) where
    S: Scalar,
    N: Network<S> + Clone,
{
    let mut network = start.clone();
    let mut adam = Adam::new::<S>(adam_settings(case), network.parameters()).unwrap();
    let (mut v, mut delta, mut loss) = (vec![], vec![], vec![]);
    let (mut p_bar, mut q_bar, mut p, mut q) = (vec![], vec![], vec![], vec![]);
    for windows in batches.iter() {
        let values: Vec<S> = (0..=windows.count())
            .map(|t| network.value(&windows.window(t).unwrap()).unwrap())
            .collect();
        delta.extend(
            (0..windows.count()).map(|t| windows.td_target(t, values[t + 1]).unwrap() - values[t]),
        );
        v.extend(values);
        let mut gradient = network.parameters().zeros_like();
        loss.push(network.batch_gradient(&windows, Targets::Bootstrapped, &mut gradient).unwrap());
        p_bar.extend(flat::<S, K>(&gradient, 0));
        q_bar.extend(flat::<S, K>(&gradient, 1));
        adam.step(network.parameters_mut(), &gradient);
        p.extend(flat::<S, K>(network.parameters(), 0));
        q.extend(flat::<S, K>(network.parameters(), 1));
    }
    out.field("v", "", v);
    out.field("delta", "", delta);
    out.field("loss", "", loss);
    out.field("dloss_dP", "", p_bar);
    out.field("dloss_dQ", "", q_bar);
    out.field("adam_P", "", p);
    out.field("adam_Q", "", q);

    let windows = batches.iter().next().expect("a batch");
    if case.expects("windows_batch0") {
        let prompts = (0..=windows.count()).flat_map(|t| {
            tests::rows(&tests::columns_of(&windows.window(t).unwrap().prompt::<K, 64>().unwrap()))
        });
        out.field("windows_batch0", "", prompts);
    }

    let mut network = start;
    let mut scratch = network.parameters().zeros_like();
    let step_size = S::from_f64(case.number("sgd_lr"));
    let (mut delta, mut p, mut q) = (vec![], vec![], vec![]);
    for t in 0..windows.count() {
        let targets = Targets::Bootstrapped;
        delta.push(td_update(&mut network, &windows, t, targets, step_size, &mut scratch).unwrap());
        for (theta, g) in network.parameters_mut().numbers_mut().zip(scratch.numbers()) {
            *theta += *g;
        }
        p.extend(flat::<S, K>(network.parameters(), 0));
        q.extend(flat::<S, K>(network.parameters(), 1));
    }
    out.field("sgd_delta", "", delta);
    out.field("sgd_P", "", p);
    out.field("sgd_Q", "", q);
}

/// The batch-TD reference transformer, its step size trained by its own Adam.
fn reference<S: Scalar, const D: usize>(
    case: &Case,
    batches: &Batches<S, D>,
    depth: usize,
    out: &mut Outputs<S>,
) {
    let mut network = BatchTdReference::<S, D>::new(depth, S::ZERO).unwrap();
    network.step_size = S::from_f64(case.number("hard_alpha0"));
    let mut adam = Adam::new(adam_settings(case), &[network.step_size]).unwrap();
    let (mut v, mut loss, mut alpha_bar, mut alpha) = (vec![], vec![], vec![], vec![]);
    for windows in batches.iter() {
        v.extend(
            (0..=windows.count()).map(|t| network.value(&windows.window(t).unwrap()).unwrap()),
        );
        let [loss_of_batch, slope] =
            network.batch_gradient(&windows, Targets::Bootstrapped).unwrap();
        loss.push(loss_of_batch);
        alpha_bar.push(slope);
        adam.step(std::array::from_mut(&mut network.step_size), &[slope]);
        alpha.push(network.step_size);
    }
    out.field("hard_v", "", v);
    out.field("hard_loss", "", loss);
    out.field("dloss_dalpha", "", alpha_bar);
    out.field("alpha", "", alpha);
}

#[test]
fn golden_training_trace() {
    check_family("training_trace", of_dimension, of_dimension, |case| {
        [2, 4].contains(&case.count("d")).then_some(of_dimension)
    });
}
