//! The paper's constructions, by name.

use crate::error::Error;
pub use compute::construction::Construction;

/// The trace decay of `td-lambda`, unless said otherwise.
pub(crate) const LAMBDA: f64 = 0.5;

/// Refuses a trace decay or a discount for a construction without; a trained model has no construction.
/// Errors: [`Error::Option`].
pub(crate) fn check(
    construction: Option<Construction>,
    lambda: f64,
    gamma: Option<f64>,
) -> Result<(), Error> {
    if construction != Some(Construction::TdLambda) && lambda != LAMBDA {
        return Err(Error::option("--lambda", format!("{lambda}: accepted with td-lambda")));
    }
    if construction == Some(Construction::AverageReward) && gamma.is_some() {
        return Err(Error::option("--gamma", "average-reward has no discount"));
    }
    Ok(())
}
