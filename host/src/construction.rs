//! The paper's constructions, by name.

use crate::error::Error;
use serde::{Deserialize, Serialize};

/// The trace decay of `td-lambda`, unless said otherwise.
pub(crate) const LAMBDA: f64 = 0.5;

/// A construction of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
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
    ///
    /// # Errors
    /// [`Error::Option`].
    pub(crate) fn check(
        construction: Option<Self>,
        lambda: f64,
        gamma: Option<f64>,
    ) -> Result<(), Error> {
        if construction != Some(Construction::TdLambda) && lambda != LAMBDA {
            let reason = format!("{lambda}: accepted with td-lambda");
            return Err(Error::Option { option: "--lambda", reason });
        }
        if construction == Some(Construction::AverageReward) && gamma.is_some() {
            let reason = "average-reward has no discount".into();
            return Err(Error::Option { option: "--gamma", reason });
        }
        Ok(())
    }
}
