//! Transformers that run temporal-difference learning in their forward pass, for any target.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::disallowed_methods)]
// `!(x > 0)` is how NaN is refused.
#![allow(clippy::neg_cmp_op_on_partial_ord)]

pub mod attention;
pub mod constructions;
pub mod context;
pub mod error;
pub mod kernel;
pub mod linear_system;
pub mod prompt;
pub mod rng;
pub mod scalar;
pub mod tasks;
pub mod td;
pub mod transformer;
pub mod two_head;
pub mod value_function;

pub use error::Error;
