//! Checks that a thread's arithmetic is IEEE 754's, as some libraries change it for a whole thread: results would then differ
//! from those elsewhere.

use pyo3::exceptions::PyFloatingPointError;
use pyo3::prelude::*;

/// Rejects a thread that flushes subnormal numbers to zero or does not round to nearest.
pub(crate) fn check() -> PyResult<()> {
    ictd_core::environment().map_err(|found| {
        PyFloatingPointError::new_err(format!(
            "this thread {found}, which a library has switched on (torch.set_flush_denormal, -ffast-math): results \
             would not be the same as elsewhere; switch it off, or call ictd in another process"
        ))
    })
}
