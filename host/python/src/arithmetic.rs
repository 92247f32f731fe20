//! Numbers are the same everywhere only where arithmetic is IEEE 754's: some libraries change that for a whole
//! thread.

use pyo3::exceptions::PyFloatingPointError;
use pyo3::prelude::*;
use std::hint::black_box;

/// Refuses to compute in a thread that flushes subnormal numbers to zero or does not round to nearest.
///
/// # Errors
/// `FloatingPointError`, saying which.
pub(crate) fn check() -> PyResult<()> {
    let (least_normal, least) = (black_box(f64::MIN_POSITIVE), black_box(f64::from_bits(1)));
    let (one, quarter) = (black_box(1.0), black_box(f64::EPSILON) / black_box(4.0));
    let flushes = least_normal * black_box(0.5) == 0.0 || least * black_box(2.0) == 0.0;
    let nearest = one + quarter == 1.0 && -one - quarter == -1.0 && one + 3.0 * quarter > 1.0;
    let found = match (flushes, nearest) {
        (false, true) => return Ok(()),
        (true, _) => "flushes subnormal numbers to zero",
        (false, false) => "does not round to nearest",
    };
    Err(PyFloatingPointError::new_err(format!(
        "this thread {found}, which a library has switched on (torch.set_flush_denormal, -ffast-math): results \
         would not be the same as elsewhere; switch it off, or call ictd in another process"
    )))
}
