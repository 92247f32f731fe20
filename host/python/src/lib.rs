//! In-context temporal-difference learning for Python: what `ictd/_ictd.pyi` documents.

mod arithmetic;
mod command_line;
mod error;
mod model;
mod predictor;
mod task;
mod train;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _ictd {
    #[pymodule_export]
    use crate::command_line::main;
    #[pymodule_export]
    use crate::model::{Context, Model};
    #[pymodule_export]
    use crate::predictor::{Predictions, Predictor};
    #[pymodule_export]
    use crate::task::Task;
    #[pymodule_export]
    use crate::train::train;
}
