//! Reads strict tables: text to numbers, with one documented format and no guesses.
//!
//! A table has a header line with the columns' names and below it rows of numbers. The cells of a line are separated by `,`, or by
//! another character that is said; decimals have a point. An empty cell or NaN is a gap. Everything else is refused in one line
//! that names the row, its line, the column and the text.

mod clock;
mod reader;
mod text;

pub use clock::Clock;
pub use reader::{Cells, Format, LONGEST_NAME, LONGEST_ROW, Rows, Table};
pub use text::{excerpt, is_hidden};

use std::fmt::Display;
use std::io;

/// The largest number of characters of a message.
const LONGEST_MESSAGE: usize = 280;
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
    fn new(place: impl Display, reason: impl Display) -> Self {
        Problem::Unusable(text::shortened(&format!("{place}: {reason}"), LONGEST_MESSAGE))
    }
}
