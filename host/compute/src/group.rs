//! Seeds that train in parallel, one in each lane of a SIMD register.

use crate::capacity::OWN;
use crate::log::{LogPoint, Matrices};
use crate::networks::Linear;
use crate::recipe::Recipe;
use crate::tasks::{AnyTask, KnownValues, RecipeTasks};
use crate::words::NetworkKind;
use ictd_core::linalg::{to_f64, weighted_squared_difference};
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::metrics::{BatchTdComparison, ElementwiseMetrics, EvaluationStates, batch_td};
use ictd_core::prompt::Prompt;
use ictd_core::scalar::{Lanes8, Scalar};
use ictd_core::statistic::Statistic;
use ictd_core::training::{
    BatchTdReference, MultiTaskTd, Network, Parameters as _, SoftmaxNetwork, TrajectoryBuffer,
    Window, Windows,
};
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
    judge: Judge,
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
        judge: Judge,
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
        let trainer = &self.trainer;
        let task = trainer.task(lane).ok_or(UNKNOWN)?;
        let alpha = trainer.reference.step_size.lane(lane);
        let asked = Asked { judge: &self.judge, parameters, gamma: trainer.gamma as f32, alpha };
        let n = trainer.settings().context_len;
        if n < SHORT {
            asked.examine(n, task, &trainer.evaluation_trajectory::<{ SHORT + 2 }>(lane)?)
        } else {
            asked.examine(n, task, &trainer.evaluation_trajectory::<T>(lane)?)
        }
    }
}

/// A context of fewer transitions has a trajectory of its own type: clearing a long one would take longer than all else.
const SHORT: usize = 126;

/// What is asked about a seed's parameters, whatever trained them.
struct Asked<'a> {
    judge: &'a Judge,
    parameters: &'a [f32],
    gamma: f32,
    alpha: f32,
}

impl Asked<'_> {
    #[inline(never)]
    fn examine<const D: usize, const T: usize>(
        &self,
        context_len: usize,
        task: &AnyTask<D>,
        trajectory: &TrajectoryBuffer<f32, D, T>,
    ) -> Result<(BatchTdComparison<f32>, f64)> {
        let Asked { judge, parameters, gamma, alpha } = *self;
        let windows = trajectory.windows(context_len, 1, gamma)?;
        let known = task.known_values(windows.dim(), gamma)?.ok_or(UNKNOWN)?;
        judge(parameters, &Exam { alpha, context: windows.window(0)?, known })
    }
}

const UNKNOWN: Error = Error::Empty { parameter: "values" };

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
pub struct Exam<'a> {
    alpha: f32,
    context: Window<'a, f32>,
    known: KnownValues,
}

impl Exam<'_> {
    /// Returns the states, with room for D features.
    fn states<const D: usize>(&self) -> Result<EvaluationStates<f32, D, OWN>> {
        let (dim, weights) = (self.context.dim(), padded(&self.known.weights));
        let mut features = self.known.features.chunks(dim).map(padded);
        let features = std::array::from_fn(|_| features.next().unwrap_or(SVector::zeros()));
        let states = EvaluationStates::new(self.known.weights.len(), &weights, &features)?;
        Ok(states.with_dim(dim))
    }
}

/// Returns numbers with zeros behind them.
fn padded<const M: usize>(numbers: &[f32]) -> SVector<f32, M> {
    SVector::from_fn(|i, _| numbers.get(i).copied().unwrap_or(0.0))
}

/// Measures parameters: the value function's distance from batch TD's, NaN for an RNN, and its mean squared value error. Returns
/// an error if the parameters diverged, or if a metric is not defined for the task.
pub type Judge = Box<dyn Fn(&[f32], &Exam) -> Result<(BatchTdComparison<f32>, f64)>>;

const NOT_COMPARED: BatchTdComparison<f32> =
    BatchTdComparison { vd: f32::NAN, iws: f32::NAN, ss: f32::NAN };

/// Returns the judge of a network's parameters: compiled once, whatever the lanes that train them.
fn judge<N: Network<Lanes8> + Clone + 'static>(
    network: N,
    compare: fn(&N, &Exam) -> Result<BatchTdComparison<f32>>,
) -> Judge {
    Box::new(move |parameters, exam| {
        let (mut network, dim) = (network.clone(), network.dim());
        let Exam { context, known, .. } = exam;
        set(&mut network, parameters);
        let comparison = compare(&network, exam)?;
        let mut features = Vec::new();
        for j in 0..=context.context_len() {
            features.extend(context.phi(j)?);
        }
        let (rewards, gamma) = (context.rewards(), context.gamma());
        let v_hat = values(&mut network, dim, &features, rewards, gamma, &known.features)?;
        let [weights, v_hat, v] =
            [&known.weights, &v_hat, &known.values].map(|of| padded::<OWN>(of));
        let error = weighted_squared_difference(&weights, &v_hat, &v);
        Ok((comparison, error.into()))
    })
}

/// Returns the judge of linear attention; its tokens have at most K = 2 D + 1 numbers, and it stores at most C layers.
pub fn linear_judge<const D: usize, const K: usize, const C: usize>(
    network: Linear<Lanes8>,
) -> Judge {
    judge(network, |network, exam| {
        let (context, transformer) = (&exam.context, network.transformer::<K, C>(0)?);
        let mask = TdLambda::new(f64::from(network.shape().trace_decay.unwrap_or_default()))?;
        let tokens = (0..context.context_len()).map(|j| context.token::<K>(j));
        let columns = tokens.map(|z| Ok(to_f64(&z?))).collect::<Result<Vec<_>>>()?;
        let statistic = Statistic::from_columns(columns.into_iter(), &mask)?;
        let readout = transformer.to_f64()?.readout(&statistic);
        let v_tf = ValueFunction::from_readout(readout.as_slice())?;
        let v_td = batch_td(&statistic, exam.alpha.into(), network.shape().depth)?;
        let states = exam.states::<D>()?.to_f64();
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
) -> Judge {
    judge(network, |network, exam| {
        let context = &exam.context;
        // Its parameters may have blown up.
        network.transformer(0)?;
        let statistic = Statistic::from_prompt(&context.prompt::<K, N>()?, &Td0)?;
        let v_td = batch_td(&statistic, exam.alpha, network.depth())?;
        let states = exam.states::<D>()?;
        let tokens = (0..context.context_len()).map(|j| context.token::<K>(j));
        let columns = tokens.map(|z| Ok(z?.map(Lanes8::splat))).collect::<Result<Vec<_>>>()?;
        let mut samples = Vec::new();
        // A state for each lane.
        for states in states.features().chunks(Lanes8::LANES) {
            let mut query = SVector::<_, K>::repeat(Lanes8::ZERO);
            for (lane, phi) in states.iter().enumerate() {
                query.iter_mut().zip(phi).for_each(|(to, x)| to.set_lane(lane, *x));
            }
            let prompt = Prompt::<_, K, N>::from_columns(&columns, query)?;
            let (v, z_bar) = network.value_and_query_gradient(&prompt)?;
            for lane in 0..states.len() {
                samples.push((v.lane(lane), SVector::from_fn(|i, _| z_bar[i].lane(lane))));
            }
        }
        let mut samples = samples.into_iter();
        let v_tf = states.sample(|_| samples.next().ok_or(UNKNOWN))?;
        Ok(states.compare(&v_tf, &states.implicit_weights(&v_tf.values)?, &v_td))
    })
}

pub fn rnn_judge<N: Network<Lanes8> + Clone + 'static>(network: N) -> Judge {
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
