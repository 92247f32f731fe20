//! The program `ictd`, which comes with the package.

use crate::arithmetic;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line in `sys.argv`, and exits the process: returning to Python after Ctrl-C would print a traceback.
#[pyfunction]
pub(crate) fn main(py: Python<'_>) -> PyResult<()> {
    arithmetic::check()?;
    let arguments: Vec<OsString> = py.import("sys")?.getattr("argv")?.extract()?;
    ictd::exit::catch_panics();
    py.detach(|| std::process::exit(ictd::run(arguments).into()))
}
