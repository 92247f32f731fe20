//! Tests of the crate by its public interface, a module for each of its folders.

mod context;
mod gradient;
mod invariant_set;
mod linalg;
mod linear_training;
mod model;
mod predictor;
mod scalar;
mod signal;
mod softmax_training;
mod td;
mod training;
mod two_heads;
mod universal;
mod windows;
