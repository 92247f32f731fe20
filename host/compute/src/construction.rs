//! The paper's constructions, by name.

use crate::settings::WordList;
use serde::{Deserialize, Serialize};

/// A construction of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Construction {
    /// Batch TD(0) (Theorem 1).
    Td0,
    /// The residual gradient.
    ResidualGradient,
    /// TD(lambda), under the mask with the trace decay `--lambda`.
    TdLambda,
    /// Average-reward TD: two heads, differential values, no discount.
    AverageReward,
}

impl Construction {
    /// The names.
    pub const WORDS: WordList = &["td0", "residual-gradient", "td-lambda", "average-reward"];
}
