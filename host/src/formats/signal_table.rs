//! Columns of numbers of a CSV file, read row by row: the file need not fit the memory.
//!
//! Columns are found by their names in the header line. `terminal` and `end` mark episodes and `phi_0`, ...,
//! `phi_{d-1}` are features, as in [`super::trajectory`]. A cell that is no finite number is a gap.

use super::error::excerpt;
use super::transition_table::{MAX_DIMENSION, column_problem, feature};
use crate::error::{Error, Problem};
use crate::files;
use compute::rows::{Gaps, Layout, RowReader, Rows, is_number_or_gap};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The name that stands for standard input.
pub const STDIN: &str = "-";

/// A CSV file of signals, open at its first row.
pub struct SignalTable {
    file: PathBuf,
    rows: RowReader,
    /// Where a column of a name is, and whether it is the only one.
    places: BTreeMap<String, (usize, bool)>,
    skip_gaps: bool,
}

impl SignalTable {
    /// Opens a file, or standard input. Without `skip_gaps` a gap is an error.
    ///
    /// # Errors
    /// [`Problem::Io`]; [`Problem::Unusable`] without a header or a row, and for features that are not `phi_0` to
    /// `phi_{d-1}`.
    pub fn open(file: &Path, skip_gaps: bool) -> Result<Self, Error> {
        let open = || -> Result<Self, Problem> {
            let source: Box<dyn Read + Send> = match file == Path::new(STDIN) {
                true => Box::new(std::io::stdin()),
                false => Box::new(files::open(file)?),
            };
            let rows = RowReader::open(source)?;
            if rows.names().iter().all(|name| name.parse::<f64>().is_ok() || name.is_empty()) {
                let accepted = "a header line with the names of the columns";
                return Err(Problem::unusable("line 1", "no names", accepted));
            }
            if rows.first_row().is_none() {
                let reason = "no rows below the header";
                return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
            }
            let mut places = BTreeMap::new();
            for (at, name) in rows.names().iter().enumerate() {
                let place = places.entry(name.clone()).or_insert((at, true));
                place.1 = place.0 == at;
            }
            let table = SignalTable { file: file.to_owned(), rows, places, skip_gaps };
            let features = table.features();
            let index = |name: &String| feature(name).filter(|i| *i >= features);
            if let Some(i) = table.places.keys().find_map(index) {
                let reason = format!("there without `phi_{features}`");
                let accepted = format!("`phi_0`, ..., `phi_{{d-1}}`, d at most {MAX_DIMENSION}");
                return Err(column_problem(&format!("phi_{i}"), &reason, &accepted));
            }
            Ok(table)
        };
        open().map_err(|problem| problem.in_file(file))
    }

    /// Returns d of the columns `phi_0`, ..., `phi_{d-1}`; 0 without them.
    pub fn features(&self) -> usize {
        (0..).take_while(|i| self.places.contains_key(&format!("phi_{i}"))).count()
    }

    /// Returns the columns that hold numbers, by their first row, and those that do not; features and marks are
    /// neither.
    pub fn signals(&self) -> (Vec<String>, Vec<String>) {
        let is_other = |name: &str| {
            !name.is_empty() && !["terminal", "end"].contains(&name) && !name.starts_with("phi_")
        };
        let cells = self.rows.first_row().into_iter().flatten();
        let signals = self.rows.names().iter().zip(cells).filter(|(name, _)| is_other(name));
        let (numeric, words): (Vec<_>, Vec<_>) =
            signals.partition(|(_, cell)| is_number_or_gap(cell));
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
        let problem = match self.places.get(name) {
            Some((at, true)) => return Ok(*at),
            Some(_) => column_problem(name, "there twice", "each column once"),
            None => {
                let names = self.rows.names().iter().take(20);
                let names: Vec<_> = names.map(|n| format!("`{}`", excerpt(n))).collect();
                column_problem(name, "missing", &format!("one of {}", names.join(", ")))
            }
        };
        Err(problem.in_file(&self.file))
    }

    /// Reads at most so many rows of the columns at these places; no rows at the end of the file.
    ///
    /// # Errors
    /// [`Problem::Io`]; [`Problem::Unusable`], naming row and column, for a row of another length, a mark that is
    /// none, and a gap unless gaps are skipped.
    pub fn read(&mut self, columns: &[usize], most: usize) -> Result<Rows, Error> {
        let gaps = if self.skip_gaps { Gaps::Any } else { Gaps::Refused };
        let optional =
            |name: &str| self.places.contains_key(name).then(|| self.column(name)).transpose();
        let layout = Layout {
            numbers: columns.iter().map(|column| (*column, gaps)).collect(),
            empty: Vec::new(),
            terminal: optional("terminal")?,
            end: optional("end")?,
            accepted: "a finite number, or --skip-gaps",
        };
        let rows = self.rows.read(&layout, most);
        rows.map_err(|problem| Problem::from(problem).in_file(&self.file))
    }

    /// Returns the bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }
}
