//! The universal model: the search for its parameters, and its errors on fresh tasks compared with those of classical
//! algorithms and of the paper's trained model.

mod dual;
mod families;
mod judge;
mod loss;
mod quasi_newton;
mod reference;
mod search;

pub use families::Family;
pub use judge::{Benchmark, BenchmarkCell, Errors, OF_LAMBDA, summary};
pub use loss::{Loss, Target};
pub use reference::REFERENCE;
pub use search::{ParameterSearch, STAGES, Stage, start};
