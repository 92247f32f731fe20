//! Streams with room for D features: what has observed, and what reads it.

use super::{Estimator, Method, Stream};
use crate::construction::Construction;
use crate::parameters::{MAX_STORED_LAYERS, Parameters, Universal};
use ictd_core::Error;
use ictd_core::constructions;
use ictd_core::context::{AverageRewardContext, Context, Window};
use ictd_core::layer::{Layer, TwoHeadLayer};
use ictd_core::mask::{TdLambda, Traces};
use ictd_core::td::{BatchTd, Learner, Lstd, OnlineTd, RecursiveLstd};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::value_function::{BoundedValueFunction, ValueFunction};
use nalgebra::SVector;
use std::sync::Arc;

pub(super) type Dense<const K: usize> = Transformer<Layer<f64, K>, MAX_STORED_LAYERS>;

/// A value as a function of a query's features.
pub(super) type OfQuery<const D: usize> = Box<dyn Fn(&SVector<f64, D>) -> Result<f64, Error>>;

/// A value function of D features.
pub(super) enum Value<const D: usize> {
    Linear(ValueFunction<f64, D>),
    Bounded(BoundedValueFunction<f64, D>),
    Other(OfQuery<D>),
}

/// A receiver of transitions with D features.
pub(super) trait Observer<const D: usize>: Clone + Send + Sync + 'static {
    fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error>;
    fn end_episode(&mut self);
    fn len(&self) -> u64;
    fn clear(&mut self);
}

/// A reader of an observer.
pub(super) trait Reader<const D: usize, O>: Clone + Send + Sync + 'static {
    fn value(&self, observer: &O) -> Result<Value<D>, Error>;
}

/// A stream of d features.
#[derive(Clone)]
struct Reading<const D: usize, O, R> {
    d: usize,
    observer: O,
    reader: R,
}

pub(super) fn reading<const D: usize, O, R>(d: usize, observer: O, reader: R) -> Box<dyn Stream>
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
            OfContext::Linear(transformer, gamma) => {
                Value::Linear(transformer.value_function(&context.statistic::<K>(*gamma, 0)?)?)
            }
            OfContext::Normalised(transformer, gamma, prior_count) => {
                let value = transformer.normalised_value_function(context, *gamma, *prior_count)?;
                Value::Bounded(value)
            }
            OfContext::BatchTd(td) => Value::Linear(td.value_function(context)?),
            OfContext::Lstd(lstd, d) => Value::Linear(lstd.value_function_of_size(context, *d)?),
        })
    }
}

/// The universal model.
#[derive(Clone)]
struct OfTraces(Box<Universal>);

impl<const D: usize, W: Window<f64>> Reader<D, Context<D, Traces<f64>, W, f64>> for OfTraces {
    fn value(&self, context: &Context<D, Traces<f64>, W, f64>) -> Result<Value<D>, Error> {
        Ok(Value::Bounded(self.0.value_function(context)?))
    }
}

/// Makes an observer of a context, or of what keeps one, whose methods have the same names.
macro_rules! observer {
    ([$($parameter:tt)*] $Of:ty) => {
        impl<const D: usize, $($parameter)*> Observer<D> for $Of
        where
            $Of: Send + Sync,
        {
            fn observe(&mut self, t: &Transition<f64, D>, is_terminal: bool) -> Result<(), Error> {
                self.observe_transition(t)?;
                if is_terminal {
                    self.end_episode();
                }
                Ok(())
            }

            fn end_episode(&mut self) {
                <$Of>::end_episode(self);
            }

            fn len(&self) -> u64 {
                <$Of>::len(self)
            }

            fn clear(&mut self) {
                <$Of>::clear(self);
            }
        }
    };
}
observer!([W: Window<f64> + 'static] Context<D, TdLambda<f64>, W, f64>);
observer!([W: Window<f64> + 'static] Context<D, Traces<f64>, W, f64>);
observer!([] Learner<D, OnlineTd<f64>, f64>);
observer!([] Learner<D, RecursiveLstd<f64>, f64>);

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
fn of_parameters<const K: usize>(
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
    Context<D, Traces<f64>, W, f64>: Send + Sync,
    AverageRewardContext<D, W, f64>: Send + Sync,
{
    let Estimator { method, gamma, layers } = estimator;
    let context = |mask: TdLambda<f64>| Context::<D, TdLambda<f64>, W, f64>::with(mask, window);
    let (mask, reader) = match method {
        Method::Universal(model) => {
            let context = Context::<D, Traces<f64>, W, f64>::with(*model.mask(), window);
            return Ok(reading(d, context, OfTraces(model.clone())));
        }
        Method::Trained { parameters, .. } => {
            (TdLambda::new(parameters.lambda)?, of_parameters(parameters, *layers, *gamma)?)
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
        // All others read transitions.
        _ => return Err(Error::Mismatch { parameter: "method and stream" }),
    };
    Ok(reading(d, context(mask), reader))
}
