//! All value estimators behind one interface: models, constructions of the paper, and classical algorithms. Each reads a stream
//! of transitions, in `f64`.
//!
//! The number of features is a runtime value; vectors have room for 8, 32 or 64, and those of a context
//! also for 4, 12 or 16. Unused entries are 0 and change no bit of the results.

mod contexts;
mod empty;
mod reader;
mod transitions;
mod without_context;

pub use contexts::Contexts;
pub(crate) use reader::{TransitionSink, padded};
pub use transitions::{EstimatedValues, values_of};

use crate::parameters::{Parameters, Universal, as_bytes};
use ictd_core::mask::Mask as _;
use ictd_core::model::AttentionKind;
use ictd_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::io;
use std::panic::resume_unwind;
use std::thread::{Builder, Scope, ScopedJoinHandle};

pub const MAX_FEATURES: usize = 64;

/// Stack size in bytes for 32 layers of [`MAX_FEATURES`], of which unoptimised code holds several copies; the memory is
/// reserved, not used.
const STACK: usize = 256 << 20;

const NO_THREAD: Error =
    Error::OutOfRange { parameter: "thread", expected: "memory for its stack" };

thread_local! {
    /// True on a thread that [`on_large_stack`] made.
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Computes with the stack that layers and tasks of [`MAX_FEATURES`] need, on a thread of its own unless this one was made for
/// such a call; the caller's stack may be small. Returns [`Error::OutOfRange`] if there is no memory for the thread.
pub fn on_large_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T> {
    if IS_LARGE.get() {
        return Ok(f());
    }
    std::thread::scope(|scope| {
        let made = spawn_large(scope, f);
        made.map_or(Err(NO_THREAD), |made| Ok(made.join().unwrap_or_else(|e| resume_unwind(e))))
    })
}

/// Starts a thread with that stack, which computes on its own. Returns the error of [`on_large_stack`].
pub fn spawn_on_large_stack(f: impl FnOnce() + Send + 'static) -> Result<()> {
    let made = Builder::new().stack_size(STACK).spawn(|| {
        IS_LARGE.set(true);
        f()
    });
    made.map(drop).map_err(|_| NO_THREAD)
}

/// Starts a thread with a large stack.
fn spawn_large<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    f: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().stack_size(STACK).spawn_scoped(scope, || {
        IS_LARGE.set(true);
        f()
    })
}

/// The largest number of transitions that a softmax transformer accepts: its cost grows with their square.
pub const SOFTMAX_CONTEXT: usize = 512;

/// The algorithm. alpha is a learning rate or step size; a ridge is in units of transitions. `trace_decay` is the paper's
/// lambda, the decay of the layers' mask; `lambda` is Sutton and Barto's, where the trace decays by gamma lambda.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Method {
    /// The universal model: TD's fixed points, mixed by gates, for any number of features.
    Universal(#[serde(with = "as_bytes")] Box<Universal>),
    /// A trained transformer with linear attention, which streams, or softmax attention, which keeps its transitions.
    Trained {
        parameters: Box<Parameters>,
        attention: AttentionKind,
    },
    /// The paper's construction of TD(lambda) with C = alpha I; for trace decay 0, Theorem 1's of TD(0).
    Constructed {
        alpha: f64,
        trace_decay: f64,
    },
    /// The algorithm that the construction executes, computed from the transitions: one iteration per layer.
    Iterated {
        alpha: f64,
        trace_decay: f64,
    },
    /// The fixed point of that algorithm, computed from the transitions.
    FixedPoint {
        trace_decay: f64,
    },
    /// Online TD(lambda): true online, or with accumulating traces.
    OnlineTd {
        lambda: f64,
        alpha: f64,
        true_online: bool,
    },
    /// Recursive LSTD(lambda), which multiplies the weight of the past by `retention` at each transition.
    RecursiveLstd {
        lambda: f64,
        retention: f64,
        ridge: f64,
    },
    /// Batch TD(lambda), one iteration per layer.
    BatchTd {
        lambda: f64,
        alpha: f64,
    },
    Lstd {
        lambda: f64,
        ridge: f64,
    },
    /// Layers that run [preconditioned TD](ictd_core::td::preconditioned).
    PreconditionedTd {
        alpha: f64,
        beta: f64,
    },
}

#[derive(Clone, Debug)]
pub struct Estimator {
    pub method: Method,
    pub gamma: f64,
    /// The number of layers L, or of iterations; ignored by methods that have neither.
    pub layers: usize,
}

/// v(s) = level + <w, phi(s)>, before any clipping. The level is 0 of every estimator but the universal model.
#[derive(Clone, Debug)]
pub struct LinearValues {
    /// w, (d).
    pub weights: Vec<f64>,
    pub level: f64,
}

/// The state of an estimator on a stream of transitions. All feature vectors have the stream's number of features.
pub trait Stream: Send + Sync {
    /// Observes a transition of a behaviour policy b, with the importance ratio rho = pi(A|S) / b(A|S), 1 for b = pi
    /// ([`Context::observe_weighted`](ictd_core::Context::observe_weighted)); without `phi_next` it ends the episode.
    /// Returns the core's error for a number that is too large or not finite; [`Error::OutOfRange`] for a `rho` that is
    /// negative or not finite, and for any but 1 if the method takes no weights ([`Estimator::takes_weights`]).
    fn observe(
        &mut self,
        phi: &[f64],
        reward: f64,
        phi_next: Option<&[f64]>,
        rho: f64,
    ) -> Result<()>;

    /// Ends the episode: the next transition does not follow the last one.
    fn end_episode(&mut self);

    fn observed(&self) -> u64;

    /// Forgets everything that was observed.
    fn clear(&mut self);

    /// Returns v(s) = level + <w, phi(s)>; `None` for softmax attention, whose value is not linear.
    /// Returns the core's error before the first transition, if the transitions determine no weights, or if iterates diverge.
    fn linear(&self) -> Result<Option<LinearValues>>;

    /// Returns the values of states, given row by row.
    /// Returns the core's error in the cases that [`Stream::linear`] lists.
    fn values(&self, states: &[f64]) -> Result<Vec<f64>>;

    /// Returns [`Stream::linear`] and the values of states even if the layers diverge, for those who study how.
    fn raw(&self, states: &[f64]) -> Result<(Option<LinearValues>, Vec<f64>)>;

    /// Returns the stream's state, for [`Stream::restore`] of a stream of the same estimator and number of features.
    fn save(&self) -> Vec<u8>;

    /// Returns the core's error for bytes that are not of [`Stream::save`].
    fn restore(&mut self, bytes: &[u8]) -> Result<()>;
}

impl Method {
    /// Returns [`Error::Mismatch`] for a model that cannot be stored.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|_| Error::Mismatch { parameter: "method" })
    }

    /// Returns [`Error::Mismatch`] for bytes that are not of [`Method::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| Error::Mismatch { parameter: "method" })
    }
}

impl Estimator {
    /// Returns this estimator with another discount.
    /// Returns the core's error for a discount that the universal model does not accept.
    pub fn with_gamma(&self, gamma: f64) -> Result<Self> {
        let mut other = Estimator { gamma, ..self.clone() };
        if let Method::Universal(model) = &mut other.method {
            **model = model.with_gamma(gamma)?;
        }
        Ok(other)
    }

    /// Returns the trace decay of the mask, the larger of the universal model's two; 0 for an algorithm.
    pub fn trace_decay(&self) -> f64 {
        match &self.method {
            Method::Universal(model) => model.mask().trace_decays()[1],
            Method::Trained { parameters, .. } => parameters.trace_decay,
            Method::Constructed { trace_decay, .. } => *trace_decay,
            _ => 0.0,
        }
    }

    /// Returns true for a method that reads a context, which may forget.
    pub fn has_a_context(&self) -> bool {
        use Method::*;
        match &self.method {
            Trained { attention, .. } => *attention == AttentionKind::Linear,
            Universal(_) | Constructed { .. } | PreconditionedTd { .. } => true,
            of => matches!(of, BatchTd { .. } | Lstd { .. }),
        }
    }

    /// Returns true for a method that accepts importance weights: one that reads a context, or an algorithm to compare it with.
    pub fn takes_weights(&self) -> bool {
        let compared = matches!(self.method, Method::Iterated { .. } | Method::FixedPoint { .. });
        compared || self.has_a_context()
    }
}
