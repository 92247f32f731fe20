//! Seeds that train in parallel, one in each lane of a SIMD register.

use crate::capacity::{LAYERS, SHORT_CONTEXT, TRAJECTORY};
use crate::log::{LogPoint, Matrices};
use crate::recipe::Recipe;
use crate::tasks::{AnyTask, RecipeTasks};
use ictd_core::linalg::to_f64;
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::metrics::{BatchTdComparison, ElementwiseMetrics, EvaluationStates, batch_td};
use ictd_core::scalar::Scalar;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::Mrp;
use ictd_core::training::{
    BatchTdReference, LinearNetwork, MultiTaskTd, Network, Parameters, Rnn, SoftmaxNetwork, Window,
    Windows,
};
use ictd_core::transition::query_token;
use ictd_core::value_function::ValueFunction;
use ictd_core::{Error, Result};
use nalgebra::SVector;

/// A group of seeds of any network and number of lanes.
pub trait SeedGroup {
    /// Draws the next task of each seed and trains on it.
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

/// [`SeedGroup`] for a scalar S, a network N and room for D features, whose tokens have K = 2D + 1 numbers.
pub struct LaneGroup<S, N, const D: usize, const K: usize>
where
    S: Scalar<Element = f32>,
    N: Network<S>,
{
    trainer: MultiTaskTd<S, N, RecipeTasks, D, TRAJECTORY>,
}

/// A lane, the learning rate of batch TD to compare it with, a context, and the states of its task.
pub struct Place<'a, const D: usize, const M: usize> {
    lane: usize,
    alpha: f32,
    context: Window<'a, f32>,
    states: EvaluationStates<f32, D, M>,
}

/// A network whose learning can be measured, for tasks with room for D features.
pub trait Measured<S: Scalar<Element = f32>, const D: usize, const K: usize>:
    Network<S> + Clone
{
    /// Returns P and Q of the stored layers of a lane; empty for an RNN.
    fn matrices(&self, _lane: usize) -> Vec<Matrices> {
        Vec::new()
    }

    /// Compares a lane's value function in a context with batch TD's; NaN for an RNN. Returns an error if the parameters
    /// diverged, or if the metric is not defined for the task.
    fn comparison<const M: usize>(&self, _at: &Place<D, M>) -> Result<BatchTdComparison<f32>> {
        Ok(NOT_COMPARED)
    }
}

const NOT_COMPARED: BatchTdComparison<f32> =
    BatchTdComparison { vd: f32::NAN, iws: f32::NAN, ss: f32::NAN };

impl<S, N, const D: usize, const K: usize> LaneGroup<S, N, D, K>
where
    S: Scalar<Element = f32> + 'static,
    N: Measured<S, D, K> + 'static,
{
    /// Returns a group of these seeds (at most one per lane of S), with the recipe's settings.
    pub fn boxed(recipe: &Recipe, network: N, seeds: &[u64]) -> Result<Box<dyn SeedGroup>> {
        let settings = recipe.trainer_settings();
        let reference = BatchTdReference::new(recipe.layers, S::splat(recipe.trace_decay as f32))?;
        let trainer =
            MultiTaskTd::new(settings, RecipeTasks(recipe.clone()), network, reference, seeds)?;
        Ok(Box::new(LaneGroup::<S, N, D, K> { trainer }))
    }

    /// Returns the value function's distance from batch TD's, and its mean squared value error.
    fn evaluate(&self, lane: usize, alpha: f32) -> Result<(BatchTdComparison<f32>, f64)> {
        match self.trainer.task(lane) {
            Some(AnyTask::Finite(task)) => self.evaluate_on(lane, alpha, task),
            Some(AnyTask::Own(task)) => self.evaluate_on(lane, alpha, task),
            Some(AnyTask::CartPole(_) | AnyTask::Logged(_)) | None => Ok((NOT_COMPARED, f64::NAN)),
        }
    }

    fn evaluate_on<const M: usize>(
        &self,
        lane: usize,
        alpha: f32,
        task: &Mrp<f32, D, M>,
    ) -> Result<(BatchTdComparison<f32>, f64)> {
        let (network, settings) = (self.trainer.network(), self.trainer.settings());
        let trajectory = self.trainer.evaluation_trajectory(lane)?;
        let windows = trajectory.windows(settings.context_len, 1, self.trainer.gamma as f32)?;
        let (context, states) = (windows.window(0), EvaluationStates::from_mrp(task)?);
        let at = Place { lane, alpha, context, states };
        let comparison = network.comparison(&at)?;
        let mut of_lane = network.clone();
        of_lane.parameters_mut().numbers_mut().for_each(|x| *x = S::splat(x.lane(lane)));
        let Place { context, states, .. } = at;
        let (v, dim) = (task.true_value(context.gamma())?, context.dim());
        let features = (0..=context.context_len()).flat_map(|j| context.phi(j)).copied();
        let queries = states.features().iter().flat_map(|phi| phi.iter().take(dim).copied());
        let (features, queries): (Vec<f32>, Vec<f32>) = (features.collect(), queries.collect());
        let gamma = context.gamma();
        let v_hat = values(&mut of_lane, dim, &features, context.rewards(), gamma, &queries)?;
        let v_hat = SVector::from_fn(|s, _| v_hat.get(s).copied().unwrap_or(0.0));
        Ok((comparison, states.squared_difference(&v_hat, &v).into()))
    }
}

impl<S, N, const D: usize, const K: usize> SeedGroup for LaneGroup<S, N, D, K>
where
    S: Scalar<Element = f32> + 'static,
    N: Measured<S, D, K> + 'static,
{
    fn train_task(&mut self) -> Result<()> {
        self.trainer.train_task()
    }

    fn tasks_done(&self) -> u64 {
        self.trainer.tasks_done
    }

    fn measure(&self, lane: usize) -> LogPoint {
        let alpha = self.trainer.reference.alpha.lane(lane);
        // A seed that diverged, or a degenerate task, has no metrics; the other seeds continue.
        let (comparison, msve) = self.evaluate(lane, alpha).unwrap_or((NOT_COMPARED, f64::NAN));
        LogPoint {
            tasks: self.trainer.tasks_done,
            alpha: alpha.into(),
            loss: self.trainer.loss.lane(lane).into(),
            vd: comparison.vd.into(),
            iws: comparison.iws.into(),
            ss: comparison.ss.into(),
            msve,
            layers: self.trainer.network().matrices(lane),
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

/// Returns P and Q of a layer, given column by column with k^2 entries each, with their element-wise metrics.
fn matrices_of_columns(k: usize, p: &[f32], q: &[f32]) -> Matrices {
    let row_major = |m: &[f32]| (0..k * k).map(|at| m[at % k * k + at / k]).collect();
    let element = ElementwiseMetrics::from_columns(k, p, q);
    Matrices { p: row_major(p), q: row_major(q), element }
}

/// Returns the values of queries, (m, dim), in the context of the transitions between the rows of `features`, (n + 1, dim). All
/// lanes of the network have equal parameters: each takes a query of its own. Returns [`Error::Empty`] without a transition
/// and [`Error::OutOfRange`] unless each has one reward.
pub fn values<S: Scalar<Element = f32>>(
    network: &mut impl Network<S>,
    dim: usize,
    features: &[f32],
    rewards: &[f32],
    gamma: f32,
    queries: &[f32],
) -> Result<Vec<f32>> {
    let (context_len, splat) = (rewards.len(), |x: &f32| S::splat(*x));
    // The query follows the context; a window needs one more state, which is not read.
    let rewards: Vec<S> = rewards.iter().chain(&[0.0, 0.0]).map(splat).collect();
    let mut features: Vec<S> = features.iter().map(splat).collect();
    let (context, mut values) = (features.len(), Vec::new());
    for queries in queries.chunks(S::LANES * dim.max(1)) {
        let lanes = queries.len() / dim.max(1);
        features.truncate(context);
        for i in 0..2 * dim {
            let mut of_lanes = S::ZERO;
            (0..lanes).for_each(|lane| of_lanes.set_lane(lane, queries[lane * dim + i % dim]));
            features.push(of_lanes);
        }
        let windows = Windows::new(dim, &features, &rewards, context_len, S::splat(gamma))?;
        let v = network.value(&windows.window(0));
        values.extend((0..lanes).map(|lane| v.lane(lane)));
    }
    Ok(values)
}

impl<S, const D: usize, const K: usize> Measured<S, D, K> for LinearNetwork<S, Vec<S>>
where
    S: Scalar<Element = f32>,
{
    fn matrices(&self, lane: usize) -> Vec<Matrices> {
        let k = self.shape().token_len();
        let matrix = |m: usize| {
            self.matrix(m).unwrap_or(&[]).iter().map(|x| x.lane(lane)).collect::<Vec<f32>>()
        };
        let of_layer = |l: usize| matrices_of_columns(k, &matrix(2 * l), &matrix(2 * l + 1));
        (0..self.shape().stored).map(of_layer).collect()
    }

    fn comparison<const M: usize>(&self, at: &Place<D, M>) -> Result<BatchTdComparison<f32>> {
        let Place { lane, alpha, context, states } = at;
        let transformer = self.transformer::<K, LAYERS>(*lane)?;
        let mask = TdLambda::new(f64::from(self.shape().trace_decay))?;
        let columns = (0..context.context_len()).map(|j| to_f64(&context.token::<K>(j)));
        let statistic = Statistic::from_columns(columns, &mask)?;
        let readout = transformer.to_f64()?.readout(&statistic);
        let v_tf = ValueFunction::from_readout(readout.as_slice())?;
        let v_td = batch_td(&statistic, (*alpha).into(), self.shape().depth)?;
        let states = states.to_f64();
        let BatchTdComparison { vd, iws, ss } =
            states.compare(&states.sample_linear(&v_tf), &v_tf.weights, &v_td);
        Ok(BatchTdComparison { vd: vd as f32, iws: iws as f32, ss: ss as f32 })
    }
}

impl<S, const D: usize, const K: usize, const C: usize, const L: usize> Measured<S, D, K>
    for SoftmaxNetwork<S, K, C, L, SHORT_CONTEXT>
where
    S: Scalar<Element = f32>,
{
    fn matrices(&self, lane: usize) -> Vec<Matrices> {
        let of_lane = |m: &[S]| m.iter().map(|x| x.lane(lane)).collect::<Vec<f32>>();
        let all: Vec<_> = Network::<S>::parameters(self).slices().map(of_lane).collect();
        all.chunks_exact(2).map(|m| matrices_of_columns(K, &m[0], &m[1])).collect()
    }

    fn comparison<const M: usize>(&self, at: &Place<D, M>) -> Result<BatchTdComparison<f32>> {
        let Place { lane, alpha, context, states } = at;
        let network = SoftmaxNetwork::<_, K, C, L, SHORT_CONTEXT>::new(self.transformer(*lane)?)?;
        let mut prompt = context.prompt::<K, SHORT_CONTEXT>()?;
        let depth = network.parameters().depth();
        let v_td = batch_td(&Statistic::from_prompt(&prompt, &Td0)?, *alpha, depth)?;
        let v_tf = states.sample(|phi| {
            prompt.query = query_token(phi);
            let (v, z_bar) = network.value_and_query_gradient(&prompt)?;
            Ok((v, SVector::from_fn(|i, _| z_bar[i])))
        })?;
        Ok(states.compare(&v_tf, &states.implicit_weights(&v_tf.values)?, &v_td))
    }
}

impl<S, const D: usize, const K: usize, const X: usize, const H: usize, const L: usize>
    Measured<S, D, K> for Rnn<S, X, H, L, SHORT_CONTEXT>
where
    S: Scalar<Element = f32>,
{
}
