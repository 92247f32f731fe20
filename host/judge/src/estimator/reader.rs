//! Streams with room for D features: an observer of transitions, and a function that reads values from it.

use super::{Estimator, LinearValues, Method, Stream};
use crate::parameters::{MAX_STORED_LAYERS, Parameters};
use ictd_core::constructions;
use ictd_core::context::{Context, Memory};
use ictd_core::layer::Layer;
use ictd_core::mask::{Mask, Td0Trace, TdLambda};
use ictd_core::model::{self, Model};
use ictd_core::td::{BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineAlgorithm};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use ictd_core::value_function::{ClippedValueFunction, ValueFunction};
use ictd_core::{Error, Result};
use nalgebra::SVector;

pub(super) type Dense<const K: usize> = Transformer<Layer<f64, K>, MAX_STORED_LAYERS>;

pub(super) type OfQuery<const D: usize> = Box<dyn Fn(&SVector<f64, D>) -> Result<f64>>;

pub(super) enum AnyValueFunction<const D: usize> {
    Linear(ValueFunction<f64, D>),
    Bounded(ClippedValueFunction<f64, D>),
    Other(OfQuery<D>),
}

pub(super) use AnyValueFunction::{Bounded, Linear, Other};

/// Compiled once for each D, whatever the value function was read from.
impl<const D: usize> AnyValueFunction<D> {
    fn linear(&self, d: usize) -> Option<LinearValues> {
        let (weights, level) = match self {
            Linear(v) => (&v.weights, 0.0),
            Bounded(v) => (&v.weights, v.level),
            Other(_) => return None,
        };
        Some(LinearValues { weights: weights.as_slice()[..d].to_vec(), level })
    }

    fn values(&self, d: usize, states: &[f64]) -> Result<Vec<f64>> {
        let states = states.chunks_exact(d).map(padded::<D>);
        Ok(match self {
            Linear(v) => states.map(|phi| v.at(&phi)).collect(),
            Bounded(v) => states.map(|phi| v.at(&phi)).collect(),
            Other(v) => states.map(|phi| v(&phi)).collect::<Result<_>>()?,
        })
    }
}

/// A receiver of transitions with D features, whose state can be stored.
pub(crate) trait TransitionSink<const D: usize>: Send + Sync + 'static {
    /// Observes a transition with importance weight rho, which is 1 unless [`Estimator::takes_weights`], and ends the episode
    /// if the next state is terminal, whose features are 0.
    fn observe(&mut self, t: &Transition<f64, D>, rho: f64, is_terminal: bool) -> Result<()>;
    fn end_episode(&mut self);
    fn len(&self) -> u64;
    fn clear(&mut self);
    fn save(&self) -> Vec<u8>;
    fn restore(&mut self, bytes: &[u8]) -> Result<()>;
}

impl<const D: usize, M: Mask<f64>, W: Memory<f64>> TransitionSink<D> for Context<D, M, W, f64>
where
    Self: Send + Sync + 'static,
{
    // One copy for all callers: it is unrolled code for each D.
    #[inline(never)]
    fn observe(&mut self, t: &Transition<f64, D>, rho: f64, is_terminal: bool) -> Result<()> {
        // (A weight of 1 changes no bit.)
        match is_terminal {
            true => self.observe_weighted_terminal(&t.phi, t.reward, rho),
            false => self.observe_weighted(&t.phi, t.reward, &t.phi_next, rho),
        }
    }

    fn end_episode(&mut self) {
        self.end_episode();
    }

    fn len(&self) -> u64 {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.byte_len()];
        // The buffer has room for all of it.
        let written = self.write(&mut bytes).map_or(0, <[u8]>::len);
        bytes.truncate(written);
        bytes
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.read(bytes)
    }
}

type Visitor<'a> = &'a mut dyn FnMut(&mut f64);

impl<const D: usize, A: OnlineAlgorithm<f64>> TransitionSink<D> for Learner<D, A, f64>
where
    Self: Send + Sync + 'static,
{
    fn observe(&mut self, t: &Transition<f64, D>, _: f64, is_terminal: bool) -> Result<()> {
        self.observe_transition(t)?;
        if is_terminal {
            self.end_episode();
        }
        Ok(())
    }

    fn end_episode(&mut self) {
        self.end_episode();
    }

    fn len(&self) -> u64 {
        self.len()
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn save(&self) -> Vec<u8> {
        let (mut learner, mut bytes) = (self.clone(), self.len().to_le_bytes().to_vec());
        let mut visit: Visitor = &mut |x| bytes.extend(x.to_le_bytes());
        Learner::visit_state(&mut learner, self.len(), &mut visit);
        bytes
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.save().len() {
            return Err(Error::Mismatch { parameter: "learner" });
        }
        let mut words = bytes.as_chunks().0.iter();
        let len = words.next().map_or(0, |word| u64::from_le_bytes(*word));
        let mut visit: Visitor =
            &mut |x| *x = words.next().map_or(0.0, |word| f64::from_le_bytes(*word));
        Learner::visit_state(self, len, &mut visit);
        Ok(())
    }
}

/// Reads a value function; that of layers which diverge only if it need not be judged.
type Read<const D: usize, O> = Box<dyn Fn(&O, Judged) -> Result<AnyValueFunction<D>> + Send + Sync>;

/// Whether layers that diverge are an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Yes,
    No,
}

struct EstimatorStream<const D: usize, O> {
    d: usize,
    takes_weights: bool,
    observer: O,
    read: Read<D, O>,
}

pub(super) fn reading<const D: usize, O: TransitionSink<D>>(
    estimator: &Estimator,
    d: usize,
    observer: O,
    read: impl Fn(&O, Judged) -> Result<AnyValueFunction<D>> + Send + Sync + 'static,
) -> Result<Box<dyn Stream>> {
    let takes_weights = estimator.takes_weights();
    Ok(Box::new(EstimatorStream { d, takes_weights, observer, read: Box::new(read) }))
}

/// Returns the features, padded with zeros to D.
pub(crate) fn padded<const D: usize>(features: &[f64]) -> SVector<f64, D> {
    let mut phi = SVector::<f64, D>::zeros();
    phi.as_mut_slice()[..features.len()].copy_from_slice(features);
    phi
}

impl<const D: usize, O: TransitionSink<D>> Stream for EstimatorStream<D, O> {
    fn observe(
        &mut self,
        phi: &[f64],
        reward: f64,
        phi_next: Option<&[f64]>,
        rho: f64,
    ) -> Result<()> {
        let refuse = |expected| Err(Error::OutOfRange { parameter: "rho", expected });
        if !rho.is_finite() || rho < 0.0 {
            return refuse("a finite number, at least 0");
        } else if rho != 1.0 && !self.takes_weights {
            return refuse("1: only a model that reads a context takes weights");
        }
        let next = phi_next.map_or(SVector::zeros(), padded);
        let t = Transition { phi: padded(phi), reward, phi_next: next };
        self.observer.observe(&t, rho, phi_next.is_none())
    }

    fn end_episode(&mut self) {
        self.observer.end_episode();
    }

    fn observed(&self) -> u64 {
        self.observer.len()
    }

    fn clear(&mut self) {
        self.observer.clear();
    }

    fn linear(&self) -> Result<Option<LinearValues>> {
        Ok((self.read)(&self.observer, Judged::Yes)?.linear(self.d))
    }

    fn values(&self, states: &[f64]) -> Result<Vec<f64>> {
        (self.read)(&self.observer, Judged::Yes)?.values(self.d, states)
    }

    fn raw(&self, states: &[f64]) -> Result<(Option<LinearValues>, Vec<f64>)> {
        let read = (self.read)(&self.observer, Judged::No)?;
        Ok((read.linear(self.d), read.values(self.d, states)?))
    }

    fn save(&self) -> Vec<u8> {
        self.observer.save()
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        self.observer.restore(bytes)
    }
}

// Not inlined, as each needs megabytes of stack for 32 features.
#[inline(never)]
pub(super) fn trained<const K: usize>(
    parameters: &Parameters,
    layers: usize,
) -> Result<Box<Dense<K>>> {
    Ok(Box::new(parameters.transformer(layers)?))
}

#[inline(never)]
fn constructed<const D: usize, const K: usize>(
    alpha: f64,
    beta: Option<f64>,
    layers: usize,
) -> Result<Box<Dense<K>>> {
    let layer = match beta {
        None => constructions::td0::<_, D, K>(&constructions::scaled_identity(alpha)),
        Some(beta) => constructions::preconditioned_td::<_, D, K>(alpha, beta),
    };
    Ok(Box::new(Transformer::autoregressive(layer, layers)?))
}

// Not inlined, so that few features do not need the stack of many.
#[inline(never)]
pub(super) fn on_context<const D: usize, const K: usize, W>(
    estimator: &Estimator,
    d: usize,
    window: W,
) -> Result<Box<dyn Stream>>
where
    W: Memory<f64> + 'static,
    Context<D, TdLambda<f64>, W, f64>: Send + Sync,
    Context<D, Td0Trace<f64>, W, f64>: Send + Sync,
{
    let Estimator { ref method, gamma, layers } = *estimator;
    let context = |mask| Context::<D, TdLambda<f64>, W, f64>::with_memory(mask, window);
    let (trace_decay, transformer) = match method {
        Method::Universal(model) => {
            let context = Context::<D, Td0Trace<f64>, W, f64>::with_memory(*model.mask(), window);
            let model = model.clone();
            return reading(estimator, d, context, move |c, _| {
                model.value_function(c).map(Bounded)
            });
        }
        &Method::BatchTd { lambda, alpha } => {
            let td = BatchTd::new(
                BatchTdSettings::new(gamma).lambda(lambda).step_size(alpha).iterations(layers),
            )?;
            let context = context(*td.mask());
            return reading(estimator, d, context, move |c, _| td.value_function(c).map(Linear));
        }
        &Method::Lstd { lambda, ridge } => {
            let lstd = Lstd::new(LstdSettings::new(gamma).lambda(lambda).ridge(ridge))?;
            let context = context(*lstd.mask());
            return reading(estimator, d, context, move |c, _| lstd.value_function(c).map(Linear));
        }
        Method::Trained { parameters, .. } => {
            (parameters.trace_decay, trained::<K>(parameters, layers)?)
        }
        &Method::Constructed { alpha, trace_decay } => {
            (trace_decay, constructed::<D, K>(alpha, None, layers)?)
        }
        &Method::PreconditionedTd { alpha, beta } => {
            (0.0, constructed::<D, K>(alpha, Some(beta), layers)?)
        }
        // All others read transitions.
        _ => return Err(Error::Mismatch { parameter: "method and stream" }),
    };
    let mask = TdLambda::new(trace_decay)?;
    let model = Box::new(Model::<f64, D, K, _, _>::new(*transformer, model::Linear(mask), gamma)?);
    reading(estimator, d, context(mask), move |c, judged| match judged {
        Judged::Yes => model.value_function(c).map(Linear),
        Judged::No => model.transformer().value_function(&c.statistic::<K>(gamma, 0)?).map(Linear),
    })
}
