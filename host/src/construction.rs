//! The paper's constructions, by name.

use crate::error::Error;
use serde::Serialize;

/// The trace decay of `td-lambda`, unless said otherwise.
pub(crate) const LAMBDA: f64 = 0.5;

/// A construction of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Construction {
    /// Batch TD(0) (Theorem 1)
    Td0,
    /// The residual gradient
    ResidualGradient,
    /// TD(lambda), under the mask with the trace decay --lambda
    TdLambda,
    /// Average-reward TD: two heads, differential values, no discount
    AverageReward,
}

impl Construction {
    /// Refuses a trace decay or a discount for a construction without; a trained model has no construction.
    /// Errors: [`Error::Option`].
    pub(crate) fn check(
        construction: Option<Self>,
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
}
