//! The errors of the library as Python's.

use ictd::Error;
use ictd::error::Problem;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError,
};

/// Returns the problem of an array as an error of the argument of that name.
pub(crate) fn argument(problem: Problem) -> PyErr {
    let text = problem.to_string();
    let name = text.strip_prefix("array `").and_then(|text| text.split_once('`'));
    PyValueError::new_err(name.map_or(text.clone(), |(name, reason)| match reason {
        " is missing" => format!("{name}: missing; expected an array"),
        reason => format!("{name}{reason}"),
    }))
}

/// Returns `ValueError` naming the argument or file, or `OSError` for a failed system call.
pub(crate) fn python(error: Error) -> PyErr {
    match &error {
        Error::Option { option, reason } => {
            let argument = option.trim_start_matches('-').replace('-', "_");
            PyValueError::new_err(format!("{argument}: {reason}"))
        }
        Error::File { problem, .. } => match problem {
            Problem::Io(e) if e.kind() == std::io::ErrorKind::NotFound => {
                PyFileNotFoundError::new_err(error.one_line())
            }
            Problem::Io(_) => PyOSError::new_err(error.one_line()),
            _ => PyValueError::new_err(error.one_line()),
        },
        Error::Write { .. } => PyOSError::new_err(error.one_line()),
        Error::Paused | Error::Interrupted | Error::Stopped => {
            PyKeyboardInterrupt::new_err(error.one_line())
        }
        Error::Defect(_) => PyRuntimeError::new_err(error.one_line()),
        _ => PyValueError::new_err(error.one_line()),
    }
}
