//! Seeds that train side by side, one in each lane of a register.

use crate::capacity::{CONTEXT, LAYERS, SHORT_CONTEXT, STATES, TRAJECTORY};
use crate::log::{Element, Matrices, Point};
use crate::recipe::Recipe;
use crate::tasks::{AnyTask, AnyTasks};
use ictd_core::Error;
use ictd_core::context::{Context, Growing};
use ictd_core::digest::Digest;
use ictd_core::layer::Layer;
use ictd_core::mask::TdLambda;
use ictd_core::metrics::{
    Comparison, Elements, EvaluationStates, compare_linear_transformer,
    compare_softmax_transformer, compare_value_function,
};
use ictd_core::scalar::Scalar;
use ictd_core::tasks::Mrp;
use ictd_core::training::{
    AnyLinear, BatchTdReference, MultiTaskTd, Network, Optimizer, Parameters, RnnNetwork,
    SoftmaxNetwork, Targets, TwoHeads, Window, Windows,
};
use ictd_core::transformer::Transformer;
use ictd_core::value_function::ValueFunction;
use nalgebra::SVector;

/// A group of seeds, whatever its network and its number of lanes.
pub trait Group {
    /// Draws the next task of each seed and trains on it.
    ///
    /// # Errors
    /// The core's.
    fn train_task(&mut self) -> Result<(), Error>;

    /// How many tasks it has trained on.
    fn tasks_done(&self) -> u64;

    /// The metrics of a seed on the task just trained on, with a fresh context. Nothing of the
    /// training changes.
    fn measure(&self, lane: usize) -> Point;

    /// The value that a seed's network gives features phi, (d), in the context of the transitions through
    /// `features`, (n + 1, d), whose rewards, (n), are discounted by gamma.
    ///
    /// # Errors
    /// [`Error::Empty`] without a transition; [`Error::OutOfRange`] for another number of features; the core's.
    fn value(
        &self,
        lane: usize,
        features: &[&[f32]],
        rewards: &[f32],
        gamma: f32,
        phi: &[f32],
    ) -> Result<f32, Error>;

    /// The final parameters of a seed.
    fn parameters(&self, lane: usize) -> Vec<f32>;

    /// A seed's state.
    fn save(&self, lane: usize) -> Vec<u8>;

    /// Takes up saved states, one per seed, in their order.
    ///
    /// # Errors
    /// If they do not belong to this network and to one number of tasks.
    fn restore(&mut self, records: &[Vec<u8>]) -> Result<(), Error>;
}

/// The digest of parameters' bits.
pub fn digest(parameters: &[f32]) -> Digest {
    let mut digest = Digest::EMPTY;
    for x in parameters {
        digest.number(*x);
    }
    digest
}

type Trainer<S, N, const D: usize> = MultiTaskTd<S, N, AnyTasks, D, TRAJECTORY>;

/// [`Group`] for a scalar S and a network N.
pub struct Lanes<S, N, const D: usize>
where
    S: Scalar<Element = f32>,
    N: Network<S, D>,
{
    trainer: Trainer<S, N, D>,
    /// Batch TD, whose step size learns from the same batches.
    reference: BatchTdReference<S, D>,
}

/// A network whose learning can be measured.
pub trait Measured<S: Scalar<Element = f32>, const D: usize>: Network<S, D> {
    /// The network of one lane.
    type Alone: Network<f32, D>;

    /// True if its values are discounted, as are batch TD's, which learns beside it, and the true ones.
    const DISCOUNTED: bool = true;

    /// It, with its parameters.
    ///
    /// # Errors
    /// The core's.
    fn alone(&self, lane: usize) -> Result<Self::Alone, Error>;

    /// Batch TD beside it, of so many layers.
    ///
    /// # Errors
    /// The core's.
    fn reference(
        &self,
        layers: usize,
        optimizer: &Optimizer,
    ) -> Result<BatchTdReference<S, D>, Error> {
        BatchTdReference::new(layers, optimizer)
    }

    /// P and Q of the stored layers of a lane; none of an RNN.
    fn matrices(&self, _lane: usize) -> Vec<Matrices> {
        Vec::new()
    }

    /// A lane's value function in a context against batch TD's; NaN for an RNN.
    ///
    /// # Errors
    /// If the parameters blew up, or the task has no such metric.
    fn comparison(
        &self,
        _lane: usize,
        _alpha: f32,
        _context: &Window<f32, D>,
        _states: &EvaluationStates<f32, D, STATES>,
    ) -> Result<Comparison<f32>, Error> {
        Ok(NOT_COMPARED)
    }
}

const NOT_COMPARED: Comparison<f32> = Comparison { vd: f32::NAN, iws: f32::NAN, ss: f32::NAN };

impl<S, N, const D: usize> Lanes<S, N, D>
where
    S: Scalar<Element = f32> + 'static,
    N: Measured<S, D> + 'static,
{
    /// Seeds (at most as many as S has lanes) of a network, with what the recipe asks for.
    ///
    /// # Errors
    /// The core's.
    pub fn boxed(
        recipe: &Recipe,
        tasks: &AnyTasks,
        network: N,
        seeds: &[u64],
    ) -> Result<Box<dyn Group>, Error> {
        let settings = recipe.settings();
        let reference = network.reference(recipe.layers, &settings.optimizer)?;
        let trainer = MultiTaskTd::new(settings, tasks.clone(), network, seeds)?;
        Ok(Box::new(Lanes { trainer, reference }))
    }

    /// How far the value function is from batch TD's, and its mean squared error.
    fn evaluate(&self, lane: usize, alpha: f32) -> Result<(Comparison<f32>, f64), Error> {
        let Some(AnyTask::Finite(task)) = self.trainer.task(lane).filter(|_| N::DISCOUNTED) else {
            return Ok((NOT_COMPARED, f64::NAN));
        };
        let settings = self.trainer.settings();
        let mut rng = self.trainer.evaluation_rng(lane);
        let trajectory = self.trainer.evaluation_trajectory(lane, &mut rng)?;
        let windows = trajectory.windows(settings.context_len, 1, self.trainer.gamma() as f32)?;
        let (context, states) = (windows.window(0), EvaluationStates::of(task)?);
        let network = self.trainer.network();
        let comparison = network.comparison(lane, alpha, &context, &states)?;
        Ok((comparison, msve(&mut network.alone(lane)?, &context, task, &states)?))
    }
}

impl<S, N, const D: usize> Group for Lanes<S, N, D>
where
    S: Scalar<Element = f32> + 'static,
    N: Measured<S, D> + 'static,
{
    fn train_task(&mut self) -> Result<(), Error> {
        let Lanes { trainer, reference } = self;
        trainer.train_task_beside(|windows, targets| match targets {
            // It learns by TD, whatever it is compared with.
            Targets::Residual(_) => reference.train(windows, Targets::Bootstrapped),
            targets if N::DISCOUNTED => reference.train(windows, targets),
            _ => {}
        })
    }

    fn tasks_done(&self) -> u64 {
        self.trainer.tasks_done()
    }

    fn measure(&self, lane: usize) -> Point {
        let alpha = self.reference.alpha().lane(lane);
        // A seed that diverged, or a degenerate task, has no metrics; the others go on.
        let (comparison, msve) = self.evaluate(lane, alpha).unwrap_or((NOT_COMPARED, f64::NAN));
        Point {
            tasks: self.trainer.tasks_done(),
            alpha: if N::DISCOUNTED { alpha.into() } else { f64::NAN },
            loss: self.trainer.loss().lane(lane).into(),
            vd: comparison.vd.into(),
            iws: comparison.iws.into(),
            ss: comparison.ss.into(),
            msve,
            layers: self.trainer.network().matrices(lane),
        }
    }

    fn value(
        &self,
        lane: usize,
        features: &[&[f32]],
        rewards: &[f32],
        gamma: f32,
        phi: &[f32],
    ) -> Result<f32, Error> {
        let network = self.trainer.network();
        let vector = |phi: &[f32]| {
            if phi.len() != network.dim() {
                let accepted = "as many features as the network has";
                return Err(Error::OutOfRange { parameter: "phi", accepted });
            }
            Ok(SVector::from_fn(|i, _| phi.get(i).copied().unwrap_or(0.0)))
        };
        let features: Vec<_> = features.iter().map(|phi| vector(phi)).collect::<Result<_, _>>()?;
        value(&mut network.alone(lane)?, &features, rewards, gamma, &vector(phi)?)
    }

    fn parameters(&self, lane: usize) -> Vec<f32> {
        self.trainer.network().parameters().numbers().map(|x| x.lane(lane)).collect()
    }

    fn save(&self, lane: usize) -> Vec<u8> {
        let len = self.trainer.record_len() + self.reference.record_len();
        let mut record = Vec::with_capacity(len);
        self.trainer.save(lane, |piece| record.extend_from_slice(piece));
        self.reference.save(lane, |piece| record.extend_from_slice(piece));
        record
    }

    fn restore(&mut self, records: &[Vec<u8>]) -> Result<(), Error> {
        let Some(last) = records.last() else {
            return Err(Error::Empty { parameter: "checkpoint" });
        };
        let len = self.trainer.record_len();
        let parts = |lane: usize| {
            let record = records.get(lane).unwrap_or(last);
            record.split_at(len.min(record.len()))
        };
        self.trainer.restore(|lane| parts(lane).0)?;
        self.reference.restore(|lane| parts(lane).1)
    }
}

/// P and Q of a lane's stored layers, with their element-wise metrics.
fn stored_matrices<S: Scalar<Element = f32>, const K: usize, const C: usize>(
    transformer: &Transformer<Layer<S, K>, C>,
    lane: usize,
) -> Vec<Matrices> {
    let of_layer =
        |layer: Layer<f32, K>| matrices_of_columns(K, layer.p.as_slice(), layer.q.as_slice());
    transformer.layers().iter().map(|layer| of_layer(layer.lane(lane))).collect()
}

/// P and Q of a layer, (k, k) numbers each, column by column, with their element-wise metrics.
fn matrices_of_columns(k: usize, p: &[f32], q: &[f32]) -> Matrices {
    let row_major = |m: &[f32]| (0..k * k).map(|at| m[at % k * k + at / k]).collect();
    let e = Elements::of_columns(k, p, q);
    let element = Element {
        sign: e.sign.into(),
        p_bottom_right: e.p_bottom_right.into(),
        p_avg_abs_others: e.p_avg_abs_others.into(),
        q_trace_upper_left: e.q_trace_upper_left.into(),
        q_trace_upper_right: e.q_trace_upper_right.into(),
        q_avg_abs_others: e.q_avg_abs_others.into(),
    };
    Matrices { p: row_major(p), q: row_major(q), element }
}

/// The mean squared value error of a network on the states of a task.
fn msve<const D: usize>(
    network: &mut impl Network<f32, D>,
    context: &Window<f32, D>,
    task: &Mrp<f32, D, STATES>,
    states: &EvaluationStates<f32, D, STATES>,
) -> Result<f64, Error> {
    let v = task.true_value(context.gamma())?;
    let mut v_hat = SVector::<f32, STATES>::zeros();
    for (to, phi) in v_hat.iter_mut().zip(states.features()) {
        *to = value(network, context.context_features(), context.rewards(), context.gamma(), phi)?;
    }
    Ok(states.squared_difference(&v_hat, &v).into())
}

/// The value of features phi in the context of the transitions through `features`.
///
/// # Errors
/// [`Error::Empty`] without a transition; [`Error::OutOfRange`] unless there is one reward for each.
pub fn value<const D: usize>(
    network: &mut impl Network<f32, D>,
    features: &[SVector<f32, D>],
    rewards: &[f32],
    gamma: f32,
    phi: &SVector<f32, D>,
) -> Result<f32, Error> {
    // The query follows the context; a window needs one more state, which nobody looks at.
    let (mut features, mut rewards) = (features.to_vec(), rewards.to_vec());
    let context_len = rewards.len();
    features.extend([*phi, *phi]);
    rewards.extend([0.0, 0.0]);
    Ok(network.value(&Windows::new(&features, &rewards, context_len, gamma)?.window(0)))
}

impl<S, const D: usize, const K: usize> Measured<S, D> for AnyLinear<S, Vec<S>, D, K>
where
    S: Scalar<Element = f32>,
{
    type Alone = AnyLinear<f32, Vec<f32>, D, K>;

    fn alone(&self, lane: usize) -> Result<Self::Alone, Error> {
        AnyLinear::alone(self, lane, |len| vec![0.0; len])
    }

    fn reference(
        &self,
        layers: usize,
        optimizer: &Optimizer,
    ) -> Result<BatchTdReference<S, D>, Error> {
        BatchTdReference::new(layers, optimizer)?.with_lambda(self.lambda())
    }

    fn matrices(&self, lane: usize) -> Vec<Matrices> {
        let k = 2 * Network::<S, D>::dim(self) + 1;
        let matrix = |m: usize| {
            let mut of_lanes = vec![S::ZERO; k * k];
            self.write_matrix(m, &mut of_lanes);
            of_lanes.iter().map(|x| x.lane(lane)).collect::<Vec<f32>>()
        };
        let of_layer = |l: usize| matrices_of_columns(k, &matrix(2 * l), &matrix(2 * l + 1));
        (0..self.stored()).map(of_layer).collect()
    }

    fn comparison(
        &self,
        lane: usize,
        alpha: f32,
        context: &Window<f32, D>,
        states: &EvaluationStates<f32, D, STATES>,
    ) -> Result<Comparison<f32>, Error> {
        let prompt = context.prompt::<K, CONTEXT>()?;
        let transformer = self.transformer::<LAYERS>(lane)?;
        let lambda = self.lambda().lane(lane);
        let mask = TdLambda::new(f64::from(lambda))?;
        let Some(prior_count) = self.prior_count() else {
            return compare_linear_transformer(&transformer, &mask, alpha, &prompt, states);
        };
        let mut own = Context::<D, _>::with(TdLambda::new(lambda)?, Growing);
        for (phi, reward) in context.context_features().windows(2).zip(context.rewards()) {
            own.observe(&phi[0], *reward, &phi[1])?;
        }
        let statistic = own.normalised(context.gamma(), 0, prior_count.lane(lane))?;
        let ValueFunction { weights } = transformer.normalised_value_function(&statistic)?;
        let v_tf = ValueFunction { weights: weights.map(f64::from) };
        compare_value_function(&v_tf, &mask, alpha, self.depth(), &prompt, states)
    }
}

impl<S, const D: usize, const K: usize, const C: usize, const L: usize> Measured<S, D>
    for SoftmaxNetwork<S, D, K, C, L, SHORT_CONTEXT>
where
    S: Scalar<Element = f32>,
{
    type Alone = SoftmaxNetwork<f32, D, K, C, L, SHORT_CONTEXT>;

    fn alone(&self, lane: usize) -> Result<Self::Alone, Error> {
        SoftmaxNetwork::new(self.transformer(lane)?)
    }

    fn matrices(&self, lane: usize) -> Vec<Matrices> {
        stored_matrices(Network::<S, D>::parameters(self), lane)
    }

    fn comparison(
        &self,
        lane: usize,
        alpha: f32,
        context: &Window<f32, D>,
        states: &EvaluationStates<f32, D, STATES>,
    ) -> Result<Comparison<f32>, Error> {
        compare_softmax_transformer::<f32, D, K, C, L, SHORT_CONTEXT, STATES>(
            &self.transformer(lane)?,
            alpha,
            &context.prompt()?,
            states,
        )
    }
}

impl<S, const D: usize> Measured<S, D> for TwoHeads<S, Vec<S>, D>
where
    S: Scalar<Element = f32>,
{
    type Alone = TwoHeads<f32, Vec<f32>, D>;
    const DISCOUNTED: bool = false;

    fn alone(&self, lane: usize) -> Result<Self::Alone, Error> {
        TwoHeads::alone(self, lane, |len| vec![0.0; len])
    }
}

impl<S, const D: usize, const X: usize, const H: usize, const L: usize> Measured<S, D>
    for RnnNetwork<S, D, X, H, L, SHORT_CONTEXT>
where
    S: Scalar<Element = f32>,
{
    type Alone = RnnNetwork<f32, D, X, H, L, SHORT_CONTEXT>;

    fn alone(&self, lane: usize) -> Result<Self::Alone, Error> {
        Ok(RnnNetwork::from_rnn(self.rnn().lane(lane)))
    }
}
