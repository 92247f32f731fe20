//! Seeds that train in parallel, one in each lane of a SIMD register.

use crate::capacity::OWN;
use crate::log::{LogPoint, Matrices};
use crate::networks::Linear;
use crate::recipe::Recipe;
use crate::tasks::RecipeTasks;
use crate::words::NetworkKind;
use ictd_core::linalg::to_f64;
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::metrics::{BatchTdComparison, ElementwiseMetrics, EvaluationStates, batch_td};
use ictd_core::scalar::{Lanes8, Scalar};
use ictd_core::statistic::Statistic;
use ictd_core::training::{
    BatchTdReference, MultiTaskTd, Network, Parameters as _, SoftmaxNetwork, Window, Windows,
};
use ictd_core::transition::query_token;
use ictd_core::value_function::ValueFunction;
use ictd_core::{Error, Result};
use nalgebra::SVector;

pub trait SeedGroup {
    fn train_task(&mut self) -> Result<()>;

    fn tasks_done(&self) -> u64;

    /// Returns the metrics of a seed on the task just trained on, with a fresh context; the group does not change.
    fn measure(&self, lane: usize) -> LogPoint;

    fn parameters(&self, lane: usize) -> Vec<f32>;

    fn save(&self, lane: usize) -> Vec<u8>;

    /// Restores saved states, one per seed, in order. Returns an error unless they belong to this network and to one number of
    /// tasks.
    fn restore(&mut self, records: &[Vec<u8>]) -> Result<()>;
}

/// [`SeedGroup`] for a scalar S, a network N and room for D features and T states of a trajectory.
pub struct LaneGroup<S: Scalar<Element = f32>, N: Network<S>, const D: usize, const T: usize> {
    trainer: MultiTaskTd<S, N, RecipeTasks, D, T>,
    /// K of a transformer's matrices.
    token_len: Option<usize>,
    judge: Judge<D>,
}

impl<S: Scalar<Element = f32>, N: Network<S> + 'static, const D: usize, const T: usize>
    LaneGroup<S, N, D, T>
{
    /// Returns a group of these seeds (at most one per lane of S), with the recipe's settings.
    // Not inlined: it builds a trainer of this capacity on the stack.
    #[inline(never)]
    pub fn boxed(
        recipe: &Recipe,
        seeds: &[u64],
        network: N,
        judge: Judge<D>,
    ) -> Result<Box<dyn SeedGroup>> {
        let settings = recipe.trainer_settings();
        let reference = BatchTdReference::new(recipe.layers, S::splat(recipe.trace_decay as f32))?;
        let token_len = (recipe.network == NetworkKind::Transformer).then(|| 2 * recipe.dim + 1);
        let tasks = RecipeTasks(recipe.clone());
        let trainer = MultiTaskTd::new(settings, tasks, network, reference, seeds)?;
        Ok(Box::new(LaneGroup::<S, N, D, T> { trainer, token_len, judge }))
    }

    /// Returns the value function's distance from batch TD's, and its mean squared value error.
    fn evaluate(&self, lane: usize, parameters: &[f32]) -> Result<(BatchTdComparison<f32>, f64)> {
        let (trainer, unknown) = (&self.trainer, Error::Empty { parameter: "values" });
        let (gamma, task) = (trainer.gamma as f32, trainer.task(lane));
        let known = task.map_or(Ok(None), |task| task.known_values(gamma))?.ok_or(unknown)?;
        let trajectory = trainer.evaluation_trajectory(lane)?;
        let windows = trajectory.windows(trainer.settings().context_len, 1, gamma)?;
        let alpha = trainer.reference.step_size.lane(lane);
        let states = EvaluationStates::new(known.states, &known.weights, &known.features)?
            .with_dim(trainer.network().dim());
        let context = windows.window(0)?;
        (self.judge)(parameters, &Exam { alpha, context, states, values: known.values })
    }
}

impl<S: Scalar<Element = f32>, N: Network<S> + 'static, const D: usize, const T: usize> SeedGroup
    for LaneGroup<S, N, D, T>
{
    fn train_task(&mut self) -> Result<()> {
        self.trainer.train_task()
    }

    fn tasks_done(&self) -> u64 {
        self.trainer.tasks_done
    }

    fn measure(&self, lane: usize) -> LogPoint {
        let parameters = self.parameters(lane);
        // A seed that diverged, or a degenerate task, has no metrics; the other seeds continue.
        let (comparison, msve) =
            self.evaluate(lane, &parameters).unwrap_or((NOT_COMPARED, f64::NAN));
        LogPoint {
            tasks: self.trainer.tasks_done,
            alpha: self.trainer.reference.step_size.lane(lane).into(),
            loss: self.trainer.loss.lane(lane).into(),
            vd: comparison.vd.into(),
            iws: comparison.iws.into(),
            ss: comparison.ss.into(),
            msve,
            layers: self.token_len.map_or(Vec::new(), |k| matrices(k, &parameters)),
        }
    }

    fn parameters(&self, lane: usize) -> Vec<f32> {
        self.trainer.network().parameters().numbers().map(|x| x.lane(lane)).collect()
    }

    fn save(&self, lane: usize) -> Vec<u8> {
        let mut record = Vec::with_capacity(self.trainer.record_len());
        self.trainer.save(lane, |piece| record.extend_from_slice(piece));
        record
    }

    fn restore(&mut self, records: &[Vec<u8>]) -> Result<()> {
        let last = records.last().ok_or(Error::Empty { parameter: "checkpoint" })?;
        self.trainer.restore(|lane| records.get(lane).unwrap_or(last))
    }
}

/// What a value function is measured on: a context, the states of its task with their true values, and the learning rate of
/// batch TD to compare with.
pub struct Exam<'a, const D: usize> {
    alpha: f32,
    context: Window<'a, f32>,
    states: EvaluationStates<f32, D, OWN>,
    values: SVector<f32, OWN>,
}

/// Measures parameters: the value function's distance from batch TD's, NaN for an RNN, and its mean squared value error. Returns
/// an error if the parameters diverged, or if a metric is not defined for the task.
pub type Judge<const D: usize> =
    Box<dyn Fn(&[f32], &Exam<D>) -> Result<(BatchTdComparison<f32>, f64)>>;

const NOT_COMPARED: BatchTdComparison<f32> =
    BatchTdComparison { vd: f32::NAN, iws: f32::NAN, ss: f32::NAN };

/// Returns the judge of a network's parameters: compiled once, whatever the lanes that train them.
fn judge<N: Network<Lanes8> + Clone + 'static, const D: usize>(
    network: N,
    compare: fn(&N, &Exam<D>) -> Result<BatchTdComparison<f32>>,
) -> Judge<D> {
    Box::new(move |parameters, exam| {
        let (mut network, context, dim) = (network.clone(), &exam.context, network.dim());
        set(&mut network, parameters);
        let comparison = compare(&network, exam)?;
        let mut features = Vec::new();
        for j in 0..=context.context_len() {
            features.extend(context.phi(j)?);
        }
        let queries = exam.states.features().iter().flat_map(|phi| phi.iter().take(dim).copied());
        let (queries, gamma): (Vec<f32>, _) = (queries.collect(), context.gamma());
        let v_hat = values(&mut network, dim, &features, context.rewards(), gamma, &queries)?;
        let v_hat = SVector::from_fn(|s, _| v_hat.get(s).copied().unwrap_or(0.0));
        Ok((comparison, exam.states.squared_difference(&v_hat, &exam.values).into()))
    })
}

/// Returns the judge of linear attention; its tokens have at most K = 2 D + 1 numbers, and it stores at most C layers.
pub fn linear_judge<const D: usize, const K: usize, const C: usize>(
    network: Linear<Lanes8>,
) -> Judge<D> {
    judge(network, |network, Exam { alpha, context, states, .. }| {
        let transformer = network.transformer::<K, C>(0)?;
        let mask = TdLambda::new(f64::from(network.shape().trace_decay.unwrap_or_default()))?;
        let tokens = (0..context.context_len()).map(|j| context.token::<K>(j));
        let columns = tokens.map(|z| Ok(to_f64(&z?))).collect::<Result<Vec<_>>>()?;
        let statistic = Statistic::from_columns(columns.into_iter(), &mask)?;
        let readout = transformer.to_f64()?.readout(&statistic);
        let v_tf = ValueFunction::from_readout(readout.as_slice())?;
        let v_td = batch_td(&statistic, (*alpha).into(), network.shape().depth)?;
        let states = states.to_f64();
        let BatchTdComparison { vd, iws, ss } =
            states.compare(&states.sample_linear(&v_tf), &v_tf.weights, &v_td);
        Ok(BatchTdComparison { vd: vd as f32, iws: iws as f32, ss: ss as f32 })
    })
}

pub fn softmax_judge<
    const D: usize,
    const K: usize,
    const C: usize,
    const L: usize,
    const N: usize,
>(
    network: SoftmaxNetwork<Lanes8, K, C, L, N>,
) -> Judge<D> {
    judge(network, |network, Exam { alpha, context, states, .. }| {
        let network = SoftmaxNetwork::<_, K, C, L, N>::new(network.transformer(0)?)?;
        let mut prompt = context.prompt::<K, N>()?;
        let statistic = Statistic::from_prompt(&prompt, &Td0)?;
        let v_td = batch_td(&statistic, *alpha, network.depth())?;
        let v_tf = states.sample(|phi| {
            prompt.query = query_token(phi);
            let (v, z_bar) = network.value_and_query_gradient(&prompt)?;
            Ok((v, SVector::from_fn(|i, _| z_bar[i])))
        })?;
        Ok(states.compare(&v_tf, &states.implicit_weights(&v_tf.values)?, &v_td))
    })
}

pub fn rnn_judge<N: Network<Lanes8> + Clone + 'static, const D: usize>(network: N) -> Judge<D> {
    judge(network, |_, _| Ok(NOT_COMPARED))
}

/// Sets the parameters of all lanes; missing ones do not change.
pub fn set(network: &mut impl Network<Lanes8>, parameters: &[f32]) {
    let numbers = network.parameters_mut().numbers_mut();
    numbers.zip(parameters).for_each(|(to, from)| *to = Lanes8::splat(*from));
}

/// Returns P and Q of layers, which alternate, each column by column with k^2 entries, with their element-wise metrics.
fn matrices(k: usize, parameters: &[f32]) -> Vec<Matrices> {
    let row_major = |m: &[f32]| (0..k * k).map(|at| m[at % k * k + at / k]).collect();
    let of_layer = |(p, q)| {
        let element = ElementwiseMetrics::from_columns(k, p, q);
        Matrices { p: row_major(p), q: row_major(q), element }
    };
    parameters.chunks_exact(2 * k * k).map(|m| of_layer(m.split_at(k * k))).collect()
}

/// Returns the values of queries, (m, dim), in the context of the transitions between the rows of `features`, (n + 1, dim). All
/// lanes of the network have equal parameters: each takes a query of its own. Returns [`Error::Empty`] without a transition
/// and [`Error::OutOfRange`] unless each has one reward.
pub fn values(
    network: &mut impl Network<Lanes8>,
    dim: usize,
    features: &[f32],
    rewards: &[f32],
    gamma: f32,
    queries: &[f32],
) -> Result<Vec<f32>> {
    let (context_len, splat) = (rewards.len(), |x: &f32| Lanes8::splat(*x));
    // The query follows the context; a window needs one more state, which is not read.
    let rewards: Vec<_> = rewards.iter().chain(&[0.0, 0.0]).map(splat).collect();
    let mut features: Vec<_> = features.iter().map(splat).collect();
    let (context, mut values) = (features.len(), Vec::new());
    for queries in queries.chunks(Lanes8::LANES * dim.max(1)) {
        let lanes = queries.len() / dim.max(1);
        features.truncate(context);
        for i in 0..2 * dim {
            let mut of_lanes = Lanes8::ZERO;
            (0..lanes).for_each(|lane| of_lanes.set_lane(lane, queries[lane * dim + i % dim]));
            features.push(of_lanes);
        }
        let windows = Windows::new(dim, &features, &rewards, context_len, Lanes8::splat(gamma))?;
        let v = network.value(&windows.window(0)?)?;
        values.extend((0..lanes).map(|lane| v.lane(lane)));
    }
    Ok(values)
}
