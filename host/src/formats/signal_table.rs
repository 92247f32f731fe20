//! Columns of numbers of a CSV file, read row by row: the file need not fit in memory.
//!
//! Columns are found by their names in the header line. A cell that is not a finite number is a gap.

use super::error::excerpt;
use super::transition_table::column_problem;
use crate::error::{Error, Problem};
use crate::files;
use compute::cells;
use compute::rows::{Gaps, Layout, RowReader, Rows};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name for standard input.
pub const STDIN: &str = "-";

/// A CSV file of signals, open at its first row.
pub struct SignalTable {
    file: PathBuf,
    rows: RowReader,
    skip_gaps: bool,
    /// The place of each name; none of a name that stands there twice.
    places: HashMap<String, Option<usize>>,
}

/// What a column holds, by its first row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Numbers, or gaps between them.
    Numbers,
    /// Times.
    Times,
    /// Neither, for the reason given.
    Words(String),
}

/// The places of the columns that are read.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The signals.
    pub signals: Vec<usize>,
    /// The rows' times.
    pub time: Option<usize>,
    /// The name of each row's series.
    pub series: Option<usize>,
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
            let expected =
                "a header line with the names of the columns, none of which is a number or a date";
            if rows.names().iter().all(String::is_empty) {
                return Err(Problem::unusable("header", "no names", expected));
            }
            let is_value = |name: &&String| {
                name.parse::<f64>().is_ok() || cells::time(name.as_bytes()).is_some()
            };
            if let Some(name) = rows.names().iter().find(is_value) {
                let reason = format!("`{}` is a number or a date", excerpt(name));
                return Err(Problem::unusable("header", reason, expected));
            }
            if rows.first_row().is_none() {
                let reason = "no rows below the header";
                return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
            }
            let mut places = HashMap::new();
            for (at, name) in rows.names().iter().enumerate() {
                places.entry(name.clone()).and_modify(|place| *place = None).or_insert(Some(at));
            }
            Ok(SignalTable { file: file.to_owned(), rows, skip_gaps, places })
        };
        open().map_err(|problem| problem.in_file(file))
    }

    /// Returns the columns that have names, with their places and what they hold.
    pub fn columns(&self) -> impl Iterator<Item = (&str, usize, Holds)> {
        let cells = self.rows.first_row().into_iter().flatten();
        let named = self.rows.names().iter().zip(cells).enumerate();
        let holds = |at, name, cell| match cells::number_or_gap(cell) {
            _ if cells::is_time(name, at == 0, cell) => Holds::Times,
            Ok(()) => Holds::Numbers,
            Err(reason) => Holds::Words(reason),
        };
        let columns =
            named.map(move |(at, (name, cell))| (name.as_str(), at, holds(at, name, cell)));
        columns.filter(|(name, ..)| !name.is_empty())
    }

    /// Returns the place of a column.
    ///
    /// # Errors
    /// [`Problem::Unusable`] for a name that is missing or appears twice.
    pub fn column(&self, name: &str) -> Result<usize, Error> {
        let problem = match self.places.get(name) {
            Some(Some(at)) => return Ok(*at),
            Some(None) => column_problem(name, "there twice", "each column once"),
            None => {
                let names = self.rows.names().iter().take(20).map(|n| format!("`{}`", excerpt(n)));
                let names: Vec<_> = names.collect();
                column_problem(name, "missing", &format!("one of {}", names.join(", ")))
            }
        };
        Err(problem.in_file(&self.file))
    }

    /// Returns the line that the first row begins on.
    pub fn first_line(&self) -> u64 {
        self.rows.line()
    }

    /// Reads at most so many rows of the columns at these places; no rows at the end of the file.
    ///
    /// # Errors
    /// [`Problem::Io`]; [`Problem::Unusable`], naming row and column, for a row of another length, and for a gap
    /// unless gaps are skipped.
    pub fn read(&mut self, places: &Places, most: usize) -> Result<Rows, Error> {
        let gaps = if self.skip_gaps { Gaps::Any } else { Gaps::Refused };
        let layout = Layout {
            numbers: places.signals.iter().map(|column| (*column, gaps)).collect(),
            time: places.time,
            series: places.series,
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
