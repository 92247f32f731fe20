//! Numbers are the same everywhere only where arithmetic is IEEE 754's: some libraries change that for a whole
//! thread.

use pyo3::exceptions::PyFloatingPointError;
use pyo3::prelude::*;

/// Refuses to compute in a thread that flushes subnormal numbers to zero or does not round to nearest.
///
/// # Errors
/// `FloatingPointError`, saying which.
pub(crate) fn check() -> PyResult<()> {
    ictd_core::environment().map_err(|found| {
        PyFloatingPointError::new_err(format!(
            "this thread {found}, which a library has switched on (torch.set_flush_denormal, -ffast-math): results \
             would not be the same as elsewhere; switch it off, or call ictd in another process"
        ))
    })
}
