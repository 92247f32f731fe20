//! The reasons why a table cannot be read.

use std::fmt::Display;
use std::io;

/// The advice for everything that other programs write as a table.
pub const ELSEWHERE: &str =
    "read it with `pandas.read_csv`, then use `ictd.Predictor` or `ictd.Model.values` in Python";

/// The reason why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Unusable(String),
}

impl Problem {
    pub(crate) fn new(place: impl Display, reason: impl Display) -> Self {
        Problem::Unusable(format!("{place}: {reason}"))
    }
}
