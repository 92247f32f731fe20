//! Checks of arrays that a user gives. Each error names the array and what is accepted.

use std::fmt::Display;

pub(crate) fn misfit<T>(
    array: &str,
    reason: impl Display,
    expected: impl Display,
) -> Result<T, String> {
    Err(format!("array `{array}`: {reason}; expected {expected}"))
}

/// Refuses a discount outside [0, 1), and numbers that are not finite in single precision, in which the trainer computes.
pub(crate) fn check_numbers(gamma: Option<f64>, arrays: &[(&str, &[f64])]) -> Result<(), String> {
    if let Some(gamma) = gamma.filter(|gamma| !(0.0..1.0).contains(gamma)) {
        return misfit("gamma", gamma, "a number in [0, 1)");
    }
    for (array, numbers) in arrays {
        if let Some(at) = numbers.iter().position(|x| !(*x as f32).is_finite()) {
            let reason = format!("{:?} at {at}", numbers[at]);
            return misfit(array, reason, "finite numbers, in single precision");
        }
    }
    Ok(())
}
