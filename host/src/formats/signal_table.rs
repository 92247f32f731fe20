//! Columns of numbers of a CSV file, read row by row: the file need not fit the memory.
//!
//! Columns are found by their names in the header line; separators are `,`, `;` or tabs; empty lines and
//! those that begin with `#` are skipped. `terminal` and `end` mark episodes and `phi_0`, ..., `phi_{d-1}` are features, as in
//! [`super::trajectory`]. A cell that is no finite number is a gap.

use super::error::{FormatError, Problem, excerpt};
use super::transition_table::{column_problem, delimiter, mark, number};
use crate::files::{self, File};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// The bytes at the front of a file in which its header line is looked for.
const FRONT: u64 = 1 << 16;

/// A CSV file of signals, open at its first row.
pub struct SignalTable {
    file: PathBuf,
    reader: csv::Reader<File>,
    names: Vec<String>,
    /// Where a column of a name is, and whether it is the only one.
    places: BTreeMap<String, (usize, bool)>,
    /// The first row, which shows what the columns hold.
    first: csv::ByteRecord,
    record: csv::ByteRecord,
    /// Rows read.
    row: u64,
    skip_gaps: bool,
}

/// Rows of the columns that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// How many columns.
    pub width: usize,
    /// The number of each row, from 1 after the header.
    pub first: u64,
    /// (rows, width); NaN is a gap.
    pub numbers: Vec<f64>,
    /// How each row's episode goes on, (rows).
    pub marks: Vec<Mark>,
}

/// How an episode goes on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// With the next row.
    Continues,
    /// Not at all: nothing follows (`terminal`).
    Terminal,
    /// It is cut here, though it could go on (`end`).
    End,
}

impl SignalTable {
    /// Opens a file. Without `skip_gaps` a gap is an error.
    ///
    /// # Errors
    /// [`Problem::Io`], [`Problem::Malformed`]; [`Problem::Unusable`] without a header or a row.
    pub fn open(file: &Path, skip_gaps: bool) -> Result<Self, FormatError> {
        let open = || -> Result<Self, Problem> {
            let mut source = files::open(file)?;
            let mut front = Vec::new();
            (&mut source).take(FRONT).read_to_end(&mut front)?;
            source.rewind()?;
            let mut reader = csv::ReaderBuilder::new()
                .delimiter(delimiter(&front))
                .comment(Some(b'#'))
                .flexible(true)
                .buffer_capacity(1 << 16)
                .from_reader(source);
            let malformed = |e: csv::Error| Problem::malformed("CSV", e);
            let header = reader.byte_headers().map_err(malformed)?.clone();
            let name = |cell: &[u8]| {
                String::from_utf8_lossy(cell).trim().trim_start_matches('\u{feff}').to_owned()
            };
            let names: Vec<_> = header.iter().map(name).collect();
            if names.iter().all(|name| name.parse::<f64>().is_ok() || name.is_empty()) {
                let accepted = "a header line with the names of the columns";
                return Err(Problem::unusable("line 1", "no names", accepted));
            }
            let mut first = csv::ByteRecord::new();
            if !reader.read_byte_record(&mut first).map_err(malformed)? {
                let reason = "no rows below the header";
                return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
            }
            let mut places = BTreeMap::new();
            for (at, name) in names.iter().enumerate() {
                let place = places.entry(name.clone()).or_insert((at, true));
                place.1 = place.0 == at;
            }
            let (file, record) = (file.to_owned(), csv::ByteRecord::new());
            Ok(SignalTable { file, reader, names, places, first, record, row: 0, skip_gaps })
        };
        open().map_err(|problem| problem.in_file(file))
    }

    /// d of the columns `phi_0`, ..., `phi_{d-1}`; 0 without them.
    pub fn features(&self) -> usize {
        (0..).take_while(|i| self.places.contains_key(&format!("phi_{i}"))).count()
    }

    /// The columns that hold numbers, by their first row, and those that do not; features and marks are neither.
    pub fn signals(&self) -> (Vec<String>, Vec<String>) {
        let is_other = |name: &str| {
            !name.is_empty() && !["terminal", "end"].contains(&name) && !name.starts_with("phi_")
        };
        let (mut numeric, mut words) = (Vec::new(), Vec::new());
        for (name, cell) in self.names.iter().zip(&self.first).filter(|(name, _)| is_other(name)) {
            let of = if is_number_or_gap(cell) { &mut numeric } else { &mut words };
            of.push(name.clone());
        }
        (numeric, words)
    }

    /// The place of a column.
    ///
    /// # Errors
    /// [`Problem::Unusable`] if there is none of that name, or more than one.
    pub fn column(&self, name: &str) -> Result<usize, FormatError> {
        let problem = match self.places.get(name) {
            Some((at, true)) => return Ok(*at),
            Some(_) => column_problem(name, "there twice", "each column once"),
            None => {
                let names: Vec<_> =
                    self.names.iter().take(20).map(|n| format!("`{}`", excerpt(n))).collect();
                column_problem(name, "missing", &format!("one of {}", names.join(", ")))
            }
        };
        Err(problem.in_file(&self.file))
    }

    /// The place of an optional column.
    fn optional(&self, name: &str) -> Result<Option<usize>, FormatError> {
        self.places.contains_key(name).then(|| self.column(name)).transpose()
    }

    /// Reads at most so many rows of the columns at these places; no rows at the end of the file.
    ///
    /// # Errors
    /// [`Problem::Malformed`], [`Problem::Io`]; [`Problem::Unusable`], naming row and column, for a row of another
    /// length, a mark that is none, and a gap unless gaps are skipped.
    pub fn read(&mut self, columns: &[usize], most: usize) -> Result<Rows, FormatError> {
        let (terminal, end) = (self.optional("terminal")?, self.optional("end")?);
        let mut rows = Rows { width: columns.len(), first: self.row + 1, ..Rows::default() };
        while rows.marks.len() < most {
            if self.row == 0 {
                std::mem::swap(&mut self.first, &mut self.record);
            } else {
                let more = self.reader.read_byte_record(&mut self.record);
                let malformed = |e| Problem::malformed("CSV", e).in_file(&self.file);
                if !more.map_err(malformed)? {
                    break;
                }
            }
            self.row += 1;
            self.read_row(columns, terminal, end, &mut rows)
                .map_err(|problem| problem.in_file(&self.file))?;
        }
        Ok(rows)
    }

    fn read_row(
        &self,
        columns: &[usize],
        terminal: Option<usize>,
        end: Option<usize>,
        rows: &mut Rows,
    ) -> Result<(), Problem> {
        let line = self.record.position().map_or(0, csv::Position::line);
        let place = format_args!("row {} (line {line})", self.row);
        if self.record.len() != self.names.len() {
            let reason = format!("{} cells", self.record.len());
            let accepted = format!("{}, as in the header", self.names.len());
            return Err(Problem::unusable(place, reason, accepted));
        }
        for &column in columns {
            let x = number(&self.record[column]);
            if let (Err(reason), false) = (&x, self.skip_gaps) {
                let place = format_args!("{place}, column `{}`", excerpt(&self.names[column]));
                let accepted = "a finite number, or --skip-gaps";
                return Err(Problem::unusable(place, reason, accepted));
            }
            rows.numbers.push(x.unwrap_or(f64::NAN));
        }
        let marked = |column: Option<usize>| match column {
            Some(column) => mark(&self.record[column]).map_err(|reason| {
                let place = format_args!("{place}, column `{}`", self.names[column]);
                Problem::unusable(place, reason, "0 or 1")
            }),
            None => Ok(false),
        };
        rows.marks.push(match (marked(terminal)?, marked(end)?) {
            (true, _) => Mark::Terminal,
            (false, true) => Mark::End,
            (false, false) => Mark::Continues,
        });
        Ok(())
    }

    /// The bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.reader.position().byte()
    }
}

impl Rows {
    /// How many.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// The numbers of row i.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.numbers[i * self.width..(i + 1) * self.width]
    }
}

/// False for words and dates; true for what stands for a number that is missing.
fn is_number_or_gap(cell: &[u8]) -> bool {
    let text = String::from_utf8_lossy(cell);
    let missing = ["", "na", "n/a", "null", "none"];
    text.trim().parse::<f64>().is_ok() || missing.contains(&text.trim().to_lowercase().as_str())
}
