//! How close a trained transformer is to TD.
//!
//! [`elements`]: what its parameters look like (App. "Element-wise Convergence Metrics").
//! [`comparison`]: what its value function does, against batch TD's (App. "Trained Transformer and
//! Batch TD Comparison Metrics").
//!
//! [`compare_linear_transformer`], [`compare_softmax_transformer`]: both together, in one context.
//!
//! Metrics only read: they draw no random number of the training and change nothing in it.

pub mod comparison;
pub mod elements;
mod evaluation;

pub use comparison::{Comparison, EvaluationStates, ValueSample};
pub use elements::Elements;
pub use evaluation::{compare_linear_transformer, compare_softmax_transformer};
