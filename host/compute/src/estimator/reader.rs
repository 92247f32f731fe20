//! Streams with room for D features: what has observed, and what reads it.

use super::{Estimator, Method, SOFTMAX_CONTEXT, Stream};
use crate::construction::Construction;
use crate::parameters::{MAX_STORED_LAYERS, Parameters, Universal};
use ictd_core::Error;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::constructions;
use ictd_core::context::{AverageRewardContext, Context, Window};
use ictd_core::layer::{Layer, TwoHeadLayer};
use ictd_core::linalg::linear_system;
use ictd_core::mask::TdLambda;
use ictd_core::prompt::Prompt;
use ictd_core::td::{self, BatchTd, Learner, Lstd, OnlineTd, RecursiveLstd};
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use ictd_core::value_function::{BoundedValueFunction, ValueFunction};
use nalgebra::{SMatrix, SVector};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

type Dense<const K: usize> = Transformer<Layer<f64, K>, MAX_STORED_LAYERS>;

/// A value as a function of a query's features.
type OfQuery<const D: usize> = Box<dyn Fn(&SVector<f64, D>) -> Result<f64, Error>>;

/// A value function of D features.
enum Value<const D: usize> {
    Linear(ValueFunction<f64, D>),
    Bounded(BoundedValueFunction<f64, D>),
    Other(OfQuery<D>),
}

/// A receiver of transitions with D features.
trait Observer<const D: usize>: Clone + Send + Sync + 'static {
    fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error>;
    fn end_episode(&mut self);
    fn len(&self) -> u64;
    fn clear(&mut self);
}

/// A reader of an observer.
trait Reader<const D: usize, O>: Clone + Send + Sync + 'static {
    fn value(&self, observer: &O) -> Result<Value<D>, Error>;
}

/// A stream of d features.
#[derive(Clone)]
struct Reading<const D: usize, O, R> {
    d: usize,
    observer: O,
    reader: R,
}

fn reading<const D: usize, O, R>(d: usize, observer: O, reader: R) -> Box<dyn Stream>
where
    O: Observer<D>,
    R: Reader<D, O>,
{
    Box::new(Reading::<D, O, R> { d, observer, reader })
}

fn padded<const D: usize>(features: &[f64]) -> SVector<f64, D> {
    let mut phi = SVector::<f64, D>::zeros();
    phi.as_mut_slice()[..features.len()].copy_from_slice(features);
    phi
}

impl<const D: usize, O: Observer<D>, R: Reader<D, O>> Stream for Reading<D, O, R> {
    fn observe(&mut self, phi: &[f64], reward: f64, phi_next: Option<&[f64]>) -> Result<(), Error> {
        let next = phi_next.map_or(SVector::zeros(), padded);
        let transition = Transition { phi: padded(phi), reward, phi_next: next };
        self.observer.observe(&transition, phi_next.is_none())
    }

    fn end_episode(&mut self) {
        self.observer.end_episode();
    }

    fn len(&self) -> u64 {
        self.observer.len()
    }

    fn clear(&mut self) {
        self.observer.clear();
    }

    fn weights(&self) -> Result<Option<Vec<f64>>, Error> {
        let weights = match self.reader.value(&self.observer)? {
            Value::Linear(v) => v.weights,
            Value::Bounded(v) => v.value_function.weights,
            Value::Other(_) => return Ok(None),
        };
        Ok(Some(weights.as_slice()[..self.d].to_vec()))
    }

    fn values(&self, states: &[f64], out: &mut Vec<f64>) -> Result<(), Error> {
        let states = states.chunks_exact(self.d).map(padded::<D>);
        match self.reader.value(&self.observer)? {
            Value::Linear(v) => out.extend(states.map(|phi| v.at(&phi))),
            Value::Bounded(v) => out.extend(states.map(|phi| v.at(&phi))),
            Value::Other(v) => {
                for phi in states {
                    out.push(v(&phi)?);
                }
            }
        }
        Ok(())
    }

    fn copy(&self) -> Box<dyn Stream> {
        Box::new(self.clone())
    }
}

/// Reads a context.
#[derive(Clone)]
enum OfContext<const K: usize> {
    Universal(Box<Universal>),
    Linear(Arc<Dense<K>>, f64),
    /// The discount, and n_0.
    Normalised(Arc<Dense<K>>, f64, f64),
    BatchTd(BatchTd<f64>),
    /// With the number of features: others that there is room for determine nothing.
    Lstd(Lstd<f64>, usize),
}

impl<const D: usize, const K: usize, W: Window<f64>> Reader<D, Context<D, TdLambda<f64>, W, f64>>
    for OfContext<K>
{
    fn value(&self, context: &Context<D, TdLambda<f64>, W, f64>) -> Result<Value<D>, Error> {
        Ok(match self {
            OfContext::Universal(model) => Value::Bounded(model.value_function(context)?),
            OfContext::Linear(transformer, gamma) => {
                Value::Linear(transformer.value_function(&context.statistic::<K>(*gamma, 0)?)?)
            }
            OfContext::Normalised(transformer, gamma, prior_count) => {
                let statistic = context.normalised(*gamma, 0, *prior_count)?;
                let value = transformer.normalised_value_function(&statistic)?;
                let largest = context.largest_reward().of(0);
                Value::Bounded(statistic.bounded(value, context.weight(), *gamma, largest))
            }
            OfContext::BatchTd(td) => Value::Linear(td.value_function(context)?),
            OfContext::Lstd(lstd, d) => Value::Linear(lstd.value_function_of_size(context, *d)?),
        })
    }
}

impl<const D: usize, W> Observer<D> for Context<D, TdLambda<f64>, W, f64>
where
    W: Window<f64> + 'static,
    Context<D, TdLambda<f64>, W, f64>: Send + Sync,
{
    fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error> {
        self.observe_transition(t)?;
        if is_terminal {
            self.end_episode();
        }
        Ok(())
    }

    fn end_episode(&mut self) {
        Context::end_episode(self);
    }

    fn len(&self) -> u64 {
        Context::len(self)
    }

    fn clear(&mut self) {
        Context::clear(self);
    }
}

/// The two-head transformer of average reward.
#[derive(Clone)]
struct TwoHead<const A: usize>(Arc<Transformer<TwoHeadLayer<f64, A>, 1>>);

impl<const D: usize, const A: usize, W: Window<f64>> Reader<D, AverageRewardContext<D, W, f64>>
    for TwoHead<A>
{
    fn value(&self, context: &AverageRewardContext<D, W, f64>) -> Result<Value<D>, Error> {
        Ok(Value::Linear(self.0.value_function(&context.statistics::<A>()?)?))
    }
}

/// Average reward is of what never ends.
const ENDLESS: Error = Error::OutOfRange {
    parameter: "phi_next",
    accepted: "there in each transition, as average reward never ends",
};

impl<const D: usize, W> Observer<D> for AverageRewardContext<D, W, f64>
where
    W: Window<f64> + 'static,
    AverageRewardContext<D, W, f64>: Send + Sync,
{
    fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error> {
        if is_terminal {
            return Err(ENDLESS);
        }
        AverageRewardContext::observe(self, &t.phi, t.reward, &t.phi_next)
    }

    fn end_episode(&mut self) {}

    fn len(&self) -> u64 {
        AverageRewardContext::len(self)
    }

    fn clear(&mut self) {
        AverageRewardContext::clear(self);
    }
}

// Calls of their own, as each needs megabytes of stack for 32 features.
#[inline(never)]
fn trained<const K: usize>(
    parameters: &Parameters,
    layers: usize,
    gamma: f64,
) -> Result<OfContext<K>, Error> {
    let transformer = Arc::new(parameters.transformer::<f64, K, MAX_STORED_LAYERS>(layers)?);
    Ok(match parameters.prior_count {
        None => OfContext::Linear(transformer, gamma),
        Some(n) => OfContext::Normalised(transformer, gamma, n),
    })
}

#[inline(never)]
fn constructed<const D: usize, const K: usize>(
    construction: Construction,
    alpha: f64,
    layers: usize,
    gamma: f64,
) -> Result<OfContext<K>, Error> {
    let c = constructions::learning_rate(alpha);
    let layer: Layer<f64, K> = match construction {
        Construction::ResidualGradient => constructions::residual_gradient::<_, D, K>(&c),
        _ => constructions::td0::<_, D, K>(&c),
    };
    Ok(OfContext::Linear(Arc::new(Transformer::autoregressive(layer, layers)?), gamma))
}

#[inline(never)]
fn two_head<const D: usize, const A: usize>(
    alpha: f64,
    layers: usize,
) -> Result<TwoHead<A>, Error> {
    let c = constructions::learning_rate(alpha);
    let layer = constructions::average_reward::<f64, D, A>(&c);
    Ok(TwoHead(Arc::new(Transformer::<_, 1>::autoregressive(layer, layers)?)))
}

/// Returns the stream of a method that reads a context.
pub(super) fn on_context<const D: usize, const K: usize, const A: usize, W>(
    estimator: &Estimator,
    d: usize,
    window: W,
) -> Result<Box<dyn Stream>, Error>
where
    W: Window<f64> + 'static,
    Context<D, TdLambda<f64>, W, f64>: Send + Sync,
    AverageRewardContext<D, W, f64>: Send + Sync,
{
    let Estimator { method, gamma, layers } = estimator;
    let context = |mask: TdLambda<f64>| Context::<D, TdLambda<f64>, W, f64>::with(mask, window);
    let (mask, reader) = match method {
        Method::Universal(model) => (*model.mask(), OfContext::Universal(model.clone())),
        Method::Trained { parameters, .. } => {
            (TdLambda::new(parameters.lambda)?, trained(parameters, *layers, *gamma)?)
        }
        Method::Constructed { construction: Construction::AverageReward, alpha, .. } => {
            let context = AverageRewardContext::<D, W, f64>::with(window);
            return Ok(reading(d, context, two_head::<D, A>(*alpha, *layers)?));
        }
        Method::Constructed { construction, alpha, lambda } => {
            let has_trace = *construction == Construction::TdLambda;
            let mask = TdLambda::new(if has_trace { *lambda } else { 0.0 })?;
            (mask, constructed::<D, K>(*construction, *alpha, *layers, *gamma)?)
        }
        &Method::BatchTd { lambda, alpha } => {
            let td = BatchTd::new(*gamma, lambda, alpha, *layers)?;
            (*td.mask(), OfContext::BatchTd(td))
        }
        &Method::Lstd { lambda, ridge } => {
            let lstd = Lstd::new(*gamma, lambda, ridge)?;
            (*lstd.mask(), OfContext::Lstd(lstd, d))
        }
        _ => return on_transitions::<D, K, A>(estimator, d),
    };
    Ok(reading(d, context(mask), reader))
}

/// Reads what learns from each transition.
#[derive(Clone)]
struct Learned;

macro_rules! learner {
    ($algorithm:ident) => {
        impl<const D: usize> Reader<D, Learner<D, $algorithm<f64>, f64>> for Learned {
            fn value(&self, learner: &Learner<D, $algorithm<f64>, f64>) -> Result<Value<D>, Error> {
                Ok(Value::Linear(learner.algorithm().value_function(learner)?))
            }
        }

        impl<const D: usize> Observer<D> for Learner<D, $algorithm<f64>, f64> {
            fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error> {
                self.observe_transition(t)?;
                if is_terminal {
                    self.end_episode();
                }
                Ok(())
            }

            fn end_episode(&mut self) {
                Learner::end_episode(self);
            }

            fn len(&self) -> u64 {
                Learner::len(self)
            }

            fn clear(&mut self) {
                Learner::clear(self);
            }
        }
    };
}
learner!(OnlineTd);
learner!(RecursiveLstd);

/// All transitions.
#[derive(Clone)]
struct Kept<const D: usize> {
    d: usize,
    capacity: usize,
    transitions: Vec<Transition<f64, D>>,
    /// Where each episode ends.
    ends: Vec<usize>,
}

impl<const D: usize> Observer<D> for Kept<D> {
    fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error> {
        if self.transitions.len() == self.capacity {
            let parameter = "transitions of softmax attention";
            return Err(Error::CapacityExceeded { parameter, capacity: self.capacity });
        }
        self.transitions.push(*t);
        if is_terminal {
            self.end_episode();
        }
        Ok(())
    }

    fn end_episode(&mut self) {
        self.ends.push(self.transitions.len());
    }

    fn len(&self) -> u64 {
        self.transitions.len() as u64
    }

    fn clear(&mut self) {
        self.transitions.clear();
        self.ends.clear();
    }
}

impl<const D: usize> Kept<D> {
    fn episodes(&self) -> impl Iterator<Item = &[Transition<f64, D>]> {
        let mut start = 0;
        let ranges = self.ends.iter().copied().chain([self.transitions.len()]);
        let ranges = ranges.map(move |end| std::mem::replace(&mut start, end)..end);
        ranges.filter(|range| !range.is_empty()).map(|range: Range<usize>| &self.transitions[range])
    }
}

/// Reads all transitions.
#[derive(Clone)]
enum OfTransitions<const K: usize> {
    Softmax(Arc<Dense<K>>, f64),
    /// With the discount and the iterations.
    Iterated {
        construction: Construction,
        alpha: f64,
        lambda: f64,
        gamma: f64,
        iterations: usize,
    },
    FixedPoint {
        construction: Construction,
        lambda: f64,
        gamma: f64,
    },
}

impl<const D: usize, const K: usize> Reader<D, Kept<D>> for OfTransitions<K> {
    fn value(&self, kept: &Kept<D>) -> Result<Value<D>, Error> {
        let weights = match *self {
            OfTransitions::Softmax(ref transformer, gamma) => {
                return softmax(transformer, &kept.transitions, gamma);
            }
            OfTransitions::Iterated { construction, alpha, lambda, gamma, iterations } => {
                let c = constructions::learning_rate(alpha);
                let mut w = SVector::zeros();
                for _ in 0..iterations {
                    w = iteration(construction, &w, &c, kept, gamma, lambda)?;
                }
                w
            }
            OfTransitions::FixedPoint { construction, lambda, gamma } => {
                fixed_point(construction == Construction::AverageReward, kept, gamma, lambda)?
            }
        };
        if weights.iter().all(|x| x.is_finite()) {
            Ok(Value::Linear(ValueFunction { weights }))
        } else {
            Err(Error::NonFinite { parameter: "weights" })
        }
    }
}

fn softmax<const D: usize, const K: usize>(
    transformer: &Arc<Dense<K>>,
    transitions: &[Transition<f64, D>],
    gamma: f64,
) -> Result<Value<D>, Error> {
    const {
        assert!(K == 2 * D + 1, "tokens have K = 2 * D + 1");
    }
    let nothing = SVector::zeros();
    let prompt = Prompt::<f64, K, SOFTMAX_CONTEXT>::discounted(transitions, gamma, &nothing)?;
    let (prompt, transformer) = (RefCell::new(Box::new(prompt)), transformer.clone());
    Ok(Value::Other(Box::new(move |phi| {
        let mut prompt = prompt.borrow_mut();
        prompt.set_query(query_token(phi));
        transformer.value(&prompt, &SoftmaxAttention)
    })))
}

/// Returns w after one iteration. TD(lambda) has a trace of its own in each episode: its w is the mean of the
/// episodes' new w, weighted by their numbers of transitions.
fn iteration<const D: usize>(
    construction: Construction,
    w: &SVector<f64, D>,
    c: &SMatrix<f64, D, D>,
    kept: &Kept<D>,
    gamma: f64,
    lambda: f64,
) -> Result<SVector<f64, D>, Error> {
    let transitions = &kept.transitions;
    match construction {
        Construction::AverageReward => td::updates::average_reward(w, c, transitions),
        Construction::ResidualGradient => td::updates::residual_gradient(w, c, transitions, gamma),
        Construction::Td0 | Construction::TdLambda => {
            let mut mean = SVector::zeros();
            for episode in kept.episodes() {
                let share = episode.len() as f64 / transitions.len() as f64;
                mean += td::updates::td_lambda(w, c, episode, gamma, lambda)? * share;
            }
            Ok(mean)
        }
    }
}

/// Returns the weights of LSTD(lambda) with a trace of its own in each episode; for average reward those of the
/// centred rewards.
fn fixed_point<const D: usize>(
    is_average_reward: bool,
    kept: &Kept<D>,
    gamma: f64,
    lambda: f64,
) -> Result<SVector<f64, D>, Error> {
    let total = kept.transitions.iter().fold(0.0, |sum, t| sum + t.reward);
    let (gamma, lambda, mean) = match is_average_reward {
        true => (1.0, 0.0, total / kept.transitions.len() as f64),
        false => (gamma, lambda, 0.0),
    };
    let (mut a, mut b) = (SMatrix::<f64, D, D>::zeros(), SVector::zeros());
    for episode in kept.episodes() {
        let mut trace = SVector::<f64, D>::zeros();
        for t in episode {
            trace = trace * lambda + t.phi;
            a += trace * (t.phi - t.phi_next * gamma).transpose();
            b += trace * (t.reward - mean);
        }
    }
    linear_system::solve(a, b, kept.d, "the LSTD system")
}

/// Returns the stream of a method that needs no context.
pub(super) fn on_transitions<const D: usize, const K: usize, const A: usize>(
    estimator: &Estimator,
    d: usize,
) -> Result<Box<dyn Stream>, Error> {
    let Estimator { method, gamma, layers } = estimator;
    let gamma = *gamma;
    let mut capacity = usize::MAX;
    let reader = match method {
        &Method::OnlineTd { lambda, alpha, true_online } => {
            let new = if true_online { OnlineTd::true_online } else { OnlineTd::new };
            return Ok(reading(d, new(gamma, lambda, alpha)?.context::<D>(), Learned));
        }
        &Method::RecursiveLstd { lambda, retention, ridge } => {
            let lstd = RecursiveLstd::new(gamma, lambda, retention, ridge)?;
            return Ok(reading(d, lstd.context::<D>(), Learned));
        }
        &Method::Iterated { construction, alpha, lambda } => {
            OfTransitions::Iterated { construction, alpha, lambda, gamma, iterations: *layers }
        }
        &Method::FixedPoint { construction, lambda } => {
            OfTransitions::FixedPoint { construction, lambda, gamma }
        }
        Method::Trained { parameters, .. } => {
            capacity = SOFTMAX_CONTEXT;
            let transformer = parameters.transformer::<f64, K, MAX_STORED_LAYERS>(*layers)?;
            OfTransitions::Softmax(Arc::new(transformer), gamma)
        }
        // All others read a context.
        _ => return Err(Error::Mismatch { parameter: "method and stream" }),
    };
    let kept = Kept { d, capacity, transitions: Vec::new(), ends: Vec::new() };
    Ok(reading::<D, _, OfTransitions<K>>(d, kept, reader))
}
