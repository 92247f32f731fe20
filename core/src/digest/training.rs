//! Short training runs, and the bytes of their checkpoints.

use super::DigestRun;
use crate::error::Result;
use crate::scalar::Scalar;
use crate::tasks::{
    CartPoleDistribution, FiniteTaskDistribution, FiniteTaskKind, TaskDistribution,
};
use crate::training::{
    AdamSettings, BatchTdReference, LayerInput, LinearNetwork, LinearShape, Loss, MultiTaskTd,
    Network, Optimizer, Rnn, SoftmaxNetwork, TrainerSettings,
};
use heapless::Vec;

const D: usize = 2;
const K: usize = 2 * D + 1;
/// Feature vectors of a trajectory: n + W + 2.
const T: usize = 6 + 4 + 2;

const BOYAN: FiniteTaskDistribution<5> =
    FiniteTaskDistribution { kind: FiniteTaskKind::BoyanChain, states: 5, dim: D };

/// Returns small batches and a large learning rate, so that a few tasks move the parameters far.
fn settings() -> TrainerSettings {
    let optimizer = Optimizer::Adam(AdamSettings::default().step_size(0.02));
    TrainerSettings::default().context_len(6).batch_size(4).batches_per_task(2).optimizer(optimizer)
}

/// Trains on three tasks together with the batch-TD reference, and digests the loss after each task and then the
/// checkpoint of each lane.
fn train<S: Scalar<Element = f32>, N: Network<S>, E: TaskDistribution<f32, D>>(
    run: &mut DigestRun<S>,
    settings: TrainerSettings,
    distribution: E,
    network: N,
) -> Result<()> {
    let seeds = S::per_lane(|lane| run.seed(lane));
    let seeds = seeds.as_ref();
    let reference = BatchTdReference::new(2, S::ZERO)?;
    let mut trainer =
        MultiTaskTd::<S, N, E, D, T>::new(settings, distribution, network, reference, seeds)?;
    for _ in 0..3 {
        trainer.train_task()?;
        run.number(trainer.loss);
    }
    for (lane, digest) in run.digests.as_mut().iter_mut().enumerate() {
        trainer.save(lane, |bytes| digest.bytes(bytes));
    }
    Ok(())
}

/// Room for the parameters of two layers; one type for all shapes.
type Linear<S> = LinearNetwork<S, Vec<S, { 2 * 2 * K * K }>, [S; 1536]>;

fn network<S: Scalar<Element = f32>>(shape: LinearShape<f32>) -> Result<Linear<S>> {
    let mut parameters = Vec::new();
    // There is room for all shapes here; without it `new` would refuse the parameters.
    let _ = parameters.resize(shape.parameter_len(), S::ZERO);
    LinearNetwork::new(shape, parameters, [S::ZERO; 1536])
}

/// Trains linear attention on Boyan's chain: shared layers with Adam, own layers by plain TD on true values.
pub(super) fn linear<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    train(run, settings(), BOYAN, network(LinearShape::new(D, 1, 3))?)?;
    let own = network(LinearShape::new(D, 2, 2))?;
    let optimizer = Optimizer::Td { step_size: 0.05 };
    let settings = settings().loss(Loss::TrueValue).optimizer(optimizer);
    train(run, settings, BOYAN, own)
}

/// Trains linear attention under TD(lambda)'s mask, and on growing contexts, with a discount for each task, towards sampled
/// returns.
pub(super) fn any_shape<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let with_trace = LinearShape { trace_decay: Some(0.9), ..LinearShape::new(D, 1, 3) };
    train(run, settings(), BOYAN, network(with_trace)?)?;
    let (context_len_range, gamma_range) = (Some([1, 9]), Some([0.5, 0.95]));
    let loss = Loss::MonteCarlo { horizon: 5 };
    let settings =
        settings().context_len_range(context_len_range).gamma_range(gamma_range).loss(loss);
    train(run, settings, BOYAN, network(LinearShape::new(D, 2, 2))?)
}

pub(super) fn softmax<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let network = SoftmaxNetwork::<S, K, 1, 2, 6>::zeros(1, 2)?;
    train(run, settings(), BOYAN, network)
}

pub(super) fn rnn<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    const X: usize = 2 * D + 2;
    const H: usize = 3;
    const L: usize = 2;
    let network = Rnn::<S, X, H, L, 6>::zeros(LayerInput::Current);
    train(run, settings(), BOYAN, network)
}

/// Trains linear attention on CartPole: tilings with a random projection, then the authors' one grid.
pub(super) fn cart_pole<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let network = network(LinearShape::new(D, 1, 2))?;
    let tilings =
        CartPoleDistribution::<162> { tilings: 2, tiles: 2, authors_variant: false, dim: D };
    train(run, settings(), tilings, network.clone())?;
    let grid = CartPoleDistribution { tilings: 1, authors_variant: true, ..tilings };
    train(run, settings(), grid, network)
}
