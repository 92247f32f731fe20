//! Reads strict tables: text to numbers, with one documented format and no guesses.
//!
//! A table has a header line with the columns' names and below it rows of numbers. The cells of a line are separated by `,`, or by
//! another character that is said; decimals have a point. An empty cell or NaN is a gap. Everything else is refused in one line
//! that names the row, its line, the column and the text.

mod clock;
mod problem;
mod reader;
mod text;

pub use clock::Clock;
pub use problem::{ELSEWHERE, Problem};
pub use reader::{Cells, Format, LONGEST_NAME, LONGEST_ROW, Rows, Table};
pub use text::{excerpt, is_hidden};
