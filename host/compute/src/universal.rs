//! The model that ships: how its parameters are found, and its errors on fresh tasks beside those of the classical algorithms
//! and of the paper's own trained model.

mod dual;
mod families;
mod judge;
mod loss;
mod quasi_newton;
mod search;

pub use families::Family;
pub use judge::{Benchmark, BenchmarkCell, Errors, OF_LAMBDA, summary};
pub use loss::{Loss, Target};
pub use search::{ParameterSearch, STAGES, Stage, start};
