//! Columns of numbers of a CSV file, read row by row: the file need not fit in memory.
//!
//! Columns are found by their names in the header line. A cell that is not a finite number is a gap.

use super::error::excerpt;
use super::transition_table::column_problem;
use crate::error::{Error, InFile as _, Problem};
use crate::files;
use csv::ByteRecord;
use judge::cells::{self, Holds};
use judge::rows::{Gaps, Layout, RowReader, Rows};
use judge::times::TimeForm;
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

pub const STDIN: &str = "-";

pub struct SignalTable {
    file: PathBuf,
    pub rows: RowReader,
    /// The place of each name; `None` for a name that appears twice.
    places: HashMap<String, Option<usize>>,
}

/// Returns the layout of rows with signals in these columns; a cell that is not a finite number is an error, or a gap.
pub fn layout(signals: &[usize], skips_gaps: bool) -> Layout {
    let gaps = if skips_gaps { Gaps::Any } else { Gaps::Refused };
    let numbers = signals.iter().map(|column| (*column, gaps)).collect();
    Layout { numbers, expected: "a finite number, or --skip-gaps", ..Layout::default() }
}

impl SignalTable {
    /// Opens a file, or standard input.
    pub fn open(file: &Path) -> Result<Self, Error> {
        let source: Box<dyn Read + Send> = match file == Path::new(STDIN) {
            true => Box::new(std::io::stdin()),
            false => Box::new(files::open(file, files::STREAM).in_file(file)?),
        };
        let rows = RowReader::open(source).in_file(file)?;
        let refuse = |place: &str, reason: &str, expected: &str| {
            Err(Problem::unusable(place, reason, expected).in_file(file))
        };
        let expected =
            "a header line with the names of the columns, none of which is a number or a date";
        if rows.names().iter().all(String::is_empty) {
            return refuse("header", "no names", expected);
        }
        let is_value =
            |name: &&String| name.parse::<f64>().is_ok() || TimeForm::of(name.as_bytes()).is_some();
        if let Some(name) = rows.names().iter().find(is_value) {
            let comment = rows.comment().map_or(String::new(), |comment| {
                format!(" (without its #, is `{}` the header?)", excerpt(comment))
            });
            let reason = format!("`{}` is a number or a date{comment}", excerpt(name));
            return refuse("header", &reason, expected);
        }
        if rows.first_rows().next().is_none() {
            return refuse("row 1 (line 2)", "no rows below the header", "at least one");
        }
        let mut places = HashMap::new();
        for (at, name) in rows.names().iter().enumerate() {
            places.entry(name.clone()).and_modify(|place| *place = None).or_insert(Some(at));
        }
        Ok(SignalTable { file: file.to_owned(), rows, places })
    }

    pub fn first_cells(&self, at: usize) -> Vec<&[u8]> {
        self.rows.first_rows().filter_map(|(_, cells)| cells.get(at)).collect()
    }

    /// Returns the content of a column, by its first rows; `series` is the column with the names of series.
    pub fn holds(&self, at: usize, series: Option<usize>) -> Holds {
        // Some programs write an index without a name in front.
        let is_first = self.rows.names()[..at].iter().all(String::is_empty);
        let of = |cells: &[&[u8]]| Holds::of(&self.rows.names()[at], is_first, cells);
        let holds = of(&self.first_cells(at));
        let Some(series) = series.filter(|_| holds == Holds::Numbers) else { return holds };
        // An index may begin anew in each series.
        let mut parts = BTreeMap::<&[u8], Vec<&[u8]>>::new();
        for (_, row) in self.rows.first_rows() {
            if let (Some(name), Some(cell)) = (row.get(series), row.get(at)) {
                parts.entry(name).or_default().push(cell);
            }
        }
        let parts = parts.values().filter(|cells| cells.len() > 2).map(|cells| of(cells));
        let is_count = |part: Holds| Some(part).filter(|part| matches!(part, Holds::Counts(_)));
        let counts: Option<Vec<Holds>> = parts.map(is_count).collect();
        counts.and_then(|counts| counts.into_iter().next()).unwrap_or(holds)
    }

    /// Returns the line of the first row, and that of the first one with a number.
    pub fn first_lines(&self) -> (u64, Option<u64>) {
        let mut rows = self.rows.first_rows();
        let first = rows.clone().next().map_or(0, |(line, _)| line);
        let has_number = |cells: &ByteRecord| cells.iter().any(|cell| cells::plain(cell).is_some());
        (first, rows.find(|(_, cells)| has_number(cells)).map(|(line, _)| line))
    }

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

    /// Reads at most `most` rows, by series; returns none at the end of the file.
    pub fn read(&mut self, layout: &Layout, most: usize) -> Result<Vec<(String, Rows)>, Error> {
        self.rows.read(layout, most).in_file(&self.file)
    }
}
