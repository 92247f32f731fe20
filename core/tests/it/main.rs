//! Tests of the crate by its public interface, a module for each of its folders.

mod context;
mod linalg;
mod model;
mod scalar;
mod signal;
mod td;
