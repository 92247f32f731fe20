//! The universal model: its errors on fresh tasks compared with those of classical
//! algorithms and of the paper's trained model.

mod families;
mod judge;

pub use families::Family;
pub use judge::{Benchmark, BenchmarkCell, Errors, OF_LAMBDA, summary};
