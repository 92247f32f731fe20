//! Columns of numbers of a CSV file, read row by row: the file need not fit the memory.
//!
//! Columns are found by their names in the header line. A cell that is no finite number is a gap.

use super::error::excerpt;
use super::transition_table::column_problem;
use crate::error::{Error, Problem};
use crate::files;
use compute::rows::{Gaps, Layout, RowReader, Rows, is_number_or_gap};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name that stands for standard input.
pub const STDIN: &str = "-";

/// A CSV file of signals, open at its first row.
pub struct SignalTable {
    file: PathBuf,
    rows: RowReader,
    skip_gaps: bool,
}

impl SignalTable {
    /// Opens a file, or standard input. Without `skip_gaps` a gap is an error.
    ///
    /// # Errors
    /// [`Problem::Io`]; [`Problem::Unusable`] without a header or a row.
    pub fn open(file: &Path, skip_gaps: bool) -> Result<Self, Error> {
        let open = || -> Result<Self, Problem> {
            let source: Box<dyn Read + Send> = match file == Path::new(STDIN) {
                true => Box::new(std::io::stdin()),
                false => Box::new(files::open(file)?),
            };
            let rows = RowReader::open(source)?;
            let expected = "a header line with the names of the columns, none of which is a number";
            if rows.names().iter().all(String::is_empty) {
                return Err(Problem::unusable("header", "no names", expected));
            }
            if let Some(name) = rows.names().iter().find(|name| name.parse::<f64>().is_ok()) {
                let reason = format!("`{}` is a number", excerpt(name));
                return Err(Problem::unusable("header", reason, expected));
            }
            if rows.first_row().is_none() {
                let reason = "no rows below the header";
                return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
            }
            Ok(SignalTable { file: file.to_owned(), rows, skip_gaps })
        };
        open().map_err(|problem| problem.in_file(file))
    }

    /// Returns the columns that hold numbers, by their first row, and those that do not.
    pub fn signals(&self) -> (Vec<String>, Vec<String>) {
        let cells = self.rows.first_row().into_iter().flatten();
        let named = self.rows.names().iter().zip(cells).filter(|(name, _)| !name.is_empty());
        let (numeric, words): (Vec<_>, Vec<_>) =
            named.partition(|(_, cell)| is_number_or_gap(cell));
        let names = |of: Vec<(&String, &[u8])>| -> Vec<String> {
            of.into_iter().map(|(name, _)| name.clone()).collect()
        };
        (names(numeric), names(words))
    }

    /// Returns the place of a column.
    ///
    /// # Errors
    /// [`Problem::Unusable`] if there is none of that name, or more than one.
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        let names = self.rows.names();
        let mut places = (0..names.len()).filter(|at| names[*at] == name);
        let problem = match (places.next(), places.next()) {
            (Some(at), None) => return Ok(at),
            (Some(_), Some(_)) => column_problem(name, "there twice", "each column once"),
            (None, _) => {
                let names = names.iter().take(20).map(|n| format!("`{}`", excerpt(n)));
                let names: Vec<_> = names.collect();
                column_problem(name, "missing", &format!("one of {}", names.join(", ")))
            }
        };
        Err(problem.in_file(&self.file))
    }

    /// Reads at most so many rows of the columns at these places; no rows at the end of the file.
    ///
    /// # Errors
    /// [`Problem::Io`]; [`Problem::Unusable`], naming row and column, for a row of another length, and for a gap
    /// unless gaps are skipped.
    pub fn read(&mut self, columns: &[usize], most: usize) -> Result<Rows, Error> {
        let gaps = if self.skip_gaps { Gaps::Any } else { Gaps::Refused };
        let layout = Layout {
            numbers: columns.iter().map(|column| (*column, gaps)).collect(),
            expected: "a finite number, or --skip-gaps",
            ..Layout::default()
        };
        let rows = self.rows.read(&layout, most);
        rows.map_err(|problem| Problem::from(problem).in_file(&self.file))
    }

    /// Returns the bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }
}
