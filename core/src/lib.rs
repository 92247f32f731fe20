#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! | module | contents |
//! |---|---|
//! | [`context`] | the streaming context: G = Z M Z^T of all transitions seen, in constant memory |
//! | [`model`], [`transformer`], [`layer`] | transformers with stored or constructed weights, and one layer of them |
//! | [`mask`], [`statistic`] | the masks M of TD(0), TD(lambda) and the others; the statistics that contexts keep |
//! | [`universal`] | the model that ships: TD's fixed point, with a ridge that fits the noise |
//! | [`value_function`] | what a model computes from a context: a weight vector w and the value w^T phi |
//! | [`predictor`], [`signal`] | predictions of sensor samples, with a band and a surprise; features of signals |
//! | [`td`] | classical algorithms: online TD(lambda), LSTD, recursive LSTD, batch TD |
//! | [`transition`], [`error`] | a transition; the errors |
//! | [`scalar`] | `f32`, `f64` and lanes of them |
//!
//! The feature `research` adds:
//!
//! | module | contents |
//! |---|---|
//! | `paper` | the notation, and where each equation of the paper is |
//! | `prompt`, `attention`, `constructions` | Z; linear and softmax attention on all of its columns; the constructed weights of the theorems |
//! | `training` | multi-task TD (Algorithm 1), gradients, Adam, the RNN |
//! | `tasks` | Boyan's chain, random MDPs, Loop, CartPole, and the table of them |
//! | `metrics`, `invariant_set` | the paper's metrics; Theorem 2 |
//! | `rng`, `digest` | the random streams; the digests that every platform must reproduce |
//!
//! The feature `long-memory` adds an expert to the [`predictor`] that sees 32 samples, for twice the memory and 1.65 times the
//! instructions.
//!
//! # How it computes
//!
//! A linear transformer reads its context only through G = Z M Z^T, a (K, K) matrix with K = 2 d + 1, whatever the
//! length of the context. A [`Context`] keeps this matrix, and a model computes from it the weight vector of a value
//! function. With the feature `research` the crate also has the paper's equations on all columns of Z, and the tests
//! compare the two.
//!
//! # Same bits everywhere
//!
//! IEEE 754 fixes the bits of `+ - * /` and of the square root. This crate fixes the rest: every sum is written in one
//! order, elementary functions are the crate's own, random floats are made from integer bits, and lanes never mix. See
//! [`scalar`].
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::disallowed_methods)]
// `!(x > 0)` is how NaN is refused.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

#[cfg(test)]
extern crate std;

mod auxiliary;
mod by_dim;
mod bytes;
mod chip;
pub mod context;
mod entrywise;
pub mod error;
pub mod layer;
// For the crates of this workspace, which turn on research; nobody else needs it.
#[cfg(not(feature = "research"))]
#[allow(unreachable_pub)]
mod linalg;
#[cfg(feature = "research")]
#[doc(hidden)]
pub mod linalg;
pub mod mask;
pub mod model;
pub mod preconditioned;
pub mod predictor;
pub mod scalar;
mod setters;
pub mod signal;
pub mod statistic;
pub mod td;
pub mod transformer;
pub mod transition;
pub mod universal;
pub mod value_function;

#[cfg(feature = "research")]
pub mod attention;
#[cfg(feature = "research")]
pub mod constructions;
#[cfg(feature = "research")]
pub mod digest;
#[cfg(feature = "research")]
pub mod invariant_set;
#[cfg(feature = "research")]
pub mod metrics;
#[cfg(feature = "research")]
pub mod paper;
#[cfg(feature = "research")]
pub mod prompt;
#[cfg(feature = "research")]
pub mod rng;
#[cfg(feature = "research")]
pub mod tasks;
#[cfg(feature = "research")]
pub mod training;

pub use by_dim::{FeatureDim, Model};
pub use context::Context;
pub use error::{Error, Result, StoredError};
/// The vectors and matrices of the public types.
pub use nalgebra;
pub use predictor::Predictor;
pub use scalar::environment;
pub use transition::Transition;
pub use universal::UniversalModel;
pub use value_function::ValueFunction;
