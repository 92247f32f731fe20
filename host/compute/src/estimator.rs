//! Everything that predicts values from transitions, by one name each: models, constructions of the paper, classical
//! algorithms. Each reads a stream of transitions as it comes, all in `f64`.
//!
//! The number of features is a value; there is room for 8, for 32 or for 64 (and for 4, where a context forgets), the others
//! of which are 0 and change no bit.

mod reader;
mod transitions;
mod without_context;

pub(crate) use reader::padded;
pub use transitions::{EpisodeEnd, EstimatedValues, Transitions, values_of};

use crate::parameters::{Parameters, Universal, as_bytes};
use crate::recipe::AttentionKind;
use ictd_core::Error;
use ictd_core::context::{Forgetting, Growing};
use ictd_core::mask::Mask as _;
use serde::{Deserialize, Serialize};
use std::panic::resume_unwind;

/// The most features.
pub const MAX_FEATURES: usize = 64;

/// Room on the stack for layers of the most features; reserved, not used, memory.
const STACK: usize = 64 << 20;

/// The most transitions that a softmax transformer takes: its cost grows with their square.
pub const SOFTMAX_CONTEXT: usize = 512;

/// The predictor. alpha is a learning rate or step size, and a ridge counts in transitions. `trace_decay` is
/// the paper's lambda, the decay of the layers' mask; `lambda` is Sutton and Barto's, where the trace decays by gamma lambda.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Method {
    /// TD's fixed points and the gates between them, for any number of features.
    Universal(#[serde(with = "as_bytes")] Box<Universal>),
    /// P and Q of linear attention, which streams, or of softmax, which keeps its transitions.
    Trained { parameters: Box<Parameters>, attention: AttentionKind },
    /// The paper's construction of TD(lambda), C = alpha I; of TD(0), Theorem 1's, without a trace.
    Constructed { alpha: f64, trace_decay: f64 },
    /// The algorithm that the construction executes, on the transitions themselves: as many iterations as layers.
    Iterated { alpha: f64, trace_decay: f64 },
    /// The fixed point of that algorithm, on the transitions themselves.
    FixedPoint { trace_decay: f64 },
    /// Online TD(lambda), true, or with traces that accumulate.
    OnlineTd { lambda: f64, alpha: f64, true_online: bool },
    /// Recursive LSTD(lambda), which retains that share of the past with each transition.
    RecursiveLstd { lambda: f64, retention: f64, ridge: f64 },
    /// Batch TD(lambda), as many iterations as layers.
    BatchTd { lambda: f64, alpha: f64 },
    /// LSTD(lambda).
    Lstd { lambda: f64, ridge: f64 },
}

/// A method with what all of them have.
#[derive(Clone, Debug)]
pub struct Estimator {
    /// The predictor.
    pub method: Method,
    /// The discount.
    pub gamma: f64,
    /// Layers L, or iterations; any number for an algorithm without.
    pub layers: usize,
}

/// A stream that an estimator has read. All feature vectors have its number of features.
pub trait Stream: Send + Sync {
    /// Takes a transition; without `phi_next` it ends the episode.
    ///
    /// # Errors
    /// The core's, for numbers that are too large or not finite.
    fn observe(&mut self, phi: &[f64], reward: f64, phi_next: Option<&[f64]>) -> Result<(), Error> {
        self.observe_weighted(phi, reward, phi_next, 1.0)
    }

    /// Takes a transition of another policy than the evaluated one, with the ratio rho of their probabilities for the
    /// action ([`Context::observe_weighted`](ictd_core::Context::observe_weighted)).
    ///
    /// # Errors
    /// As [`Stream::observe`]; [`Error::OutOfRange`], naming `rho`, for one below 0, and for any but 1 if the method
    /// takes no weights ([`Estimator::takes_weights`]).
    fn observe_weighted(
        &mut self,
        phi: &[f64],
        reward: f64,
        phi_next: Option<&[f64]>,
        rho: f64,
    ) -> Result<(), Error>;

    /// Ends the episode: the next transition does not follow the last one.
    fn end_episode(&mut self);

    /// Returns how many transitions there were.
    fn len(&self) -> u64;

    /// Returns true before the first transition.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything.
    fn clear(&mut self);

    /// Returns the weights w of v(s) = <w, phi(s)>; none for softmax attention, whose value is not linear.
    ///
    /// # Errors
    /// The core's: before the first transition, if the transitions determine no weights, if iterates overflow.
    fn weights(&self) -> Result<Option<Vec<f64>>, Error>;

    /// Appends the values of states, given row by row.
    ///
    /// # Errors
    /// As [`Stream::weights`].
    fn values(&self, states: &[f64], out: &mut Vec<f64>) -> Result<(), Error>;

    /// Returns its state, for [`Stream::restore`] of a stream of the same estimator and number of features.
    fn save(&self) -> Vec<u8>;

    /// Takes up a saved state.
    ///
    /// # Errors
    /// The core's, for bytes that are none.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Returns a copy.
    fn copy(&self) -> Box<dyn Stream>;
}

/// Calls a function with room for the features.
macro_rules! with_room {
    ($d:expr, $f:ident $([$window:tt])? ($($argument:expr),*)) => {
        match $d {
            1..=8 => $f::<8, 17 $(, $window)?>($($argument),*),
            9..=32 => $f::<32, 65 $(, $window)?>($($argument),*),
            _ => Err(ictd_core::Error::CapacityExceeded { parameter: "features", capacity: 32 }),
        }
    };
}
pub(crate) use with_room;

impl Method {
    /// Returns the method as bytes.
    ///
    /// # Errors
    /// The core's, for a model that cannot be stored.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        postcard::to_allocvec(self).map_err(|_| Error::Mismatch { parameter: "method" })
    }

    /// Reads what [`Method::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        postcard::from_bytes(bytes).map_err(|_| Error::Mismatch { parameter: "method" })
    }
}

impl Estimator {
    /// Returns the same for another discount.
    ///
    /// # Errors
    /// The core's refusal of the discount.
    pub fn with_gamma(&self, gamma: f64) -> Result<Self, Error> {
        let mut other = Estimator { gamma, ..self.clone() };
        if let Method::Universal(model) = &mut other.method {
            **model = model.with_gamma(gamma)?;
        }
        Ok(other)
    }

    /// Returns the trace decay of the layers, the larger one of the universal model's two; 0 of an algorithm.
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
        match &self.method {
            Method::Trained { attention, .. } => *attention == AttentionKind::Linear,
            Method::Universal(_) | Method::Constructed { .. } => true,
            method => matches!(method, Method::BatchTd { .. } | Method::Lstd { .. }),
        }
    }

    /// Returns true for a method that takes importance weights: it reads a context, or is a comparison with one that does.
    pub fn takes_weights(&self) -> bool {
        let compared = matches!(self.method, Method::Iterated { .. } | Method::FixedPoint { .. });
        compared || self.has_a_context()
    }

    /// Returns an empty stream of d features, which remembers everything, or keeps a share of the past with each
    /// transition (if the method reads a context).
    ///
    /// # Errors
    /// The core's, naming the parameter, for settings that no such method has and for a d beyond [`MAX_FEATURES`].
    pub fn stream(&self, d: usize, retention: Option<f64>) -> Result<Box<dyn Stream>, Error> {
        if d <= 32 {
            return self.stream_here(d, retention);
        }
        // Made on a stack with room for the layers of so many features.
        let expected = "memory for a thread";
        let refused = Err(Error::OutOfRange { parameter: "features", expected });
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let made = thread.spawn_scoped(scope, || self.stream_here(d, retention));
            made.map_or(refused, |made| made.join().unwrap_or_else(|e| resume_unwind(e)))
        })
    }

    fn stream_here(&self, d: usize, retention: Option<f64>) -> Result<Box<dyn Stream>, Error> {
        use reader::on_context;
        use without_context::on_transitions;
        const D: usize = MAX_FEATURES;
        const K: usize = 2 * D + 1;
        if d > D {
            return Err(Error::CapacityExceeded { parameter: "features", capacity: D });
        }
        match retention {
            _ if !self.has_a_context() && d > 32 => on_transitions::<D, K>(self, d),
            None if d > 32 => on_context::<D, K, _>(self, d, Growing),
            Some(retention) if d > 32 => {
                on_context::<D, K, _>(self, d, Forgetting::new(retention)?)
            }
            _ if !self.has_a_context() => with_room!(d, on_transitions(self, d)),
            None => with_room!(d, on_context[_](self, d, Growing)),
            Some(retention) => {
                let window = Forgetting::new(retention)?;
                // Signals have four features, and millions of rows.
                match d {
                    1..=4 => on_context::<4, 9, _>(self, d, window),
                    d => with_room!(d, on_context[_](self, d, window)),
                }
            }
        }
    }
}
