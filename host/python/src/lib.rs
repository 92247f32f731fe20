//! In-context temporal-difference learning for Python; `ictd/_ictd.pyi` documents it.
#![cfg(feature = "extension")]

mod arithmetic;
mod array;
mod batches;
mod command_line;
mod context;
mod error;
mod features;
mod judging;
mod model;
mod predictor;
mod task;
mod train;

use pyo3::prelude::*;

/// The docstring of a name in `ictd/_ictd.pyi`.
macro_rules! docstring {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name))
    };
}
pub(crate) use docstring;

#[pymodule(gil_used = false)]
mod _ictd {
    use super::*;

    #[pymodule_export]
    use crate::batches::Batches;
    #[pymodule_export]
    use crate::command_line::main;
    #[pymodule_export]
    use crate::context::Context;
    #[pymodule_export]
    use crate::features::{Returns, encode, fit_features};
    #[pymodule_export]
    use crate::judging::{Contexts, Suite};
    #[pymodule_export]
    use crate::model::{Model, ValueFunction};
    #[pymodule_export]
    use crate::predictor::{Predictions, Predictor};
    #[pymodule_export]
    use crate::task::Task;
    #[pymodule_export]
    use crate::task::load;
    #[pymodule_export]
    use crate::train::{load_run, train};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
