//! Short training runs, and the bytes of their checkpoints.

use crate::digest::{MAX_LANES, Run};
use crate::error::Error;
use crate::rnn::LayerInput;
use crate::scalar::Scalar;
use crate::tasks::{CartPoleTasks, FiniteTask, FiniteTasks, TaskDistribution};
use crate::training::{
    AdamSettings, AnyLinear, Autoregressive, BatchTdReference, Loss, MultiTaskTd, Network,
    Optimizer, ParameterSet, RnnNetwork, Sequential, Settings, SoftmaxNetwork,
};

const D: usize = 2;
const K: usize = 2 * D + 1;
/// Feature vectors of a trajectory: n + W + 2.
const T: usize = 6 + 4 + 2;

const BOYAN: FiniteTasks<5> = FiniteTasks { kind: FiniteTask::BoyanChain, states: 5 };

/// Small batches and a large learning rate, so that a few tasks move the parameters far.
fn settings() -> Settings {
    let adam = AdamSettings { learning_rate: 0.02, ..Default::default() };
    let optimizer = Optimizer::Adam(adam);
    Settings { context_len: 6, windows: 4, batches: 2, optimizer, ..Default::default() }
}

/// Trains on three tasks, with the batch-TD reference beside: the loss after each, then the checkpoints
/// of every lane.
fn train<S, N, E>(
    run: &mut Run<S>,
    settings: Settings,
    distribution: E,
    network: N,
) -> Result<(), Error>
where
    S: Scalar<Element = f32>,
    N: Network<S, D>,
    E: TaskDistribution<f32, D>,
{
    let list: [u64; MAX_LANES] = core::array::from_fn(|i| run.first.wrapping_add(i as u64));
    let list = list.get(..S::LANES).unwrap_or(&list);
    let mut trainer = MultiTaskTd::<S, N, E, D, T>::new(settings, distribution, network, list)?;
    let mut reference = BatchTdReference::new(2, &settings.optimizer)?;
    for _ in 0..3 {
        trainer.train_task_beside(|windows, targets| reference.train(windows, targets))?;
        run.digests.number(trainer.loss());
    }
    for (lane, digest) in run.digests.lanes_mut().enumerate().take(S::LANES) {
        trainer.save(lane, |bytes| digest.bytes(bytes));
        reference.save(lane, |bytes| digest.bytes(bytes));
    }
    Ok(())
}

/// Linear attention on Boyan's chain: shared layers with Adam, own layers by plain TD on true values.
pub(super) fn linear<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let shared = Autoregressive::<S, D, K, 3>::autoregressive(3)?;
    train(run, settings(), BOYAN, shared)?;
    let own = Sequential::<S, D, K, 2>::sequential(2)?;
    let optimizer = Optimizer::Td { step_size: 0.05 };
    let settings = Settings { loss: Loss::TrueValue, optimizer, ..settings() };
    train(run, settings, BOYAN, own)
}

/// Linear attention whose shape is a value: under TD(lambda)'s mask; on contexts that grow, with a discount
/// for each task, towards sampled returns.
pub(super) fn any_shape<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    const ROOM: usize = 1536;
    type AnyShape<S> = AnyLinear<S, [S; ROOM], D, K>;
    let zeros = |_| [S::ZERO; ROOM];
    let with_trace = AnyShape::new(D, 1, 3, zeros)?.with_lambda(0.9, zeros)?;
    train(run, settings(), BOYAN, with_trace)?;
    let (lengths, gammas) = (Some([1, 9]), Some([0.5, 0.95]));
    let loss = Loss::MonteCarlo { horizon: 5 };
    let settings = Settings { lengths, gammas, loss, ..settings() };
    train(run, settings, BOYAN, AnyShape::new(D, 2, 2, zeros)?)
}

/// Ten numbers a layer on contexts without units, under TD(lambda)'s mask; and dense layers on such contexts.
pub(super) fn without_units<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    const ROOM: usize = 1536;
    let zeros = |_| [S::ZERO; ROOM];
    let network = || AnyLinear::<S, [S; ROOM], D, K>::new(D, 2, 2, zeros)?.normalised(6.0);
    let ten_numbers = network()?.with_parameters(ParameterSet::Equivariant, zeros)?;
    train(run, settings(), BOYAN, ten_numbers.with_lambda(0.9, zeros)?)?;
    train(run, Settings { lengths: Some([1, 9]), ..settings() }, BOYAN, network()?)
}

/// Softmax attention on Boyan's chain.
pub(super) fn softmax<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let network = SoftmaxNetwork::<S, D, K, 1, 2, 6>::autoregressive(2)?;
    train(run, settings(), BOYAN, network)
}

/// The recurrent network on Boyan's chain.
pub(super) fn rnn<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    const X: usize = 2 * D + 2;
    const H: usize = 3;
    const L: usize = 2;
    let network = RnnNetwork::<S, D, X, H, L, 6>::new(LayerInput::Current);
    train(run, settings(), BOYAN, network)
}

/// Linear attention on CartPole: tilings with a random projection, then the authors' one grid.
pub(super) fn cart_pole<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let network = Autoregressive::<S, D, K, 2>::autoregressive(2)?;
    let tilings = CartPoleTasks::<162>::Tilings { tilings: 2, tiles: 2 };
    train(run, settings(), tilings, network.clone())?;
    train(run, settings(), CartPoleTasks::<16>::SingleGrid { bins: 2 }, network)
}
