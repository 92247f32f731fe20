//! Tests of the crate by its public interface, a module for each of its folders.

mod context;
mod digest;
mod invariant_set;
mod linalg;
mod metrics;
mod model;
mod networks;
mod predictor;
mod rng;
mod scalar;
mod signal;
mod softmax_training;
mod tasks;
mod td;
mod training;
mod universal;
mod weights;
mod windows;
