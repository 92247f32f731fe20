//! Rows of numbers in a CSV file, one after another: the file need not fit the memory.
//!
//! The first line has the columns' names; separators are `,`, `;` or tabs. Empty lines, and those that begin with `#`, are
//! skipped above it; below it an empty line is a row of gaps, for the rows around it do not follow each other. A row may be marked
//! as the last of its episode.

use crate::cells::{excerpt, mark, number, shown, time};
use crate::estimator::EpisodeEnd;
use csv::ByteRecord;
use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes at the front of a file in which its header line is looked for.
const FRONT: u64 = 1 << 16;
/// The most bytes of a row, quoted line breaks included.
pub const LONGEST_ROW: usize = 1 << 20;
/// The largest size in bytes of a column's name, which may appear in each row of a result.
pub const LONGEST_NAME: usize = 200;
/// A line that is appended after the last row: a cell that ends with it has an open quote.
const END: &[u8] = b"\n# the end of the file\n";
/// The first bytes of packed files, and their formats.
const PACKED: [(&[u8], &str); 3] = [
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip, or a spreadsheet"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
];

/// Why rows cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{place}: {reason}; expected {expected}")]
    Unusable { place: String, reason: String, expected: String },
}

impl Problem {
    fn new(place: impl ToString, reason: impl ToString, expected: impl ToString) -> Self {
        let (place, reason) = (place.to_string(), reason.to_string());
        Problem::Unusable { place, reason, expected: expected.to_string() }
    }
}

/// The cells of a column that need not be finite numbers; they are read as NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// No cell: each must be a finite number.
    Refused,
    /// An empty cell.
    Empty,
    /// Any cell.
    Any,
}

/// The columns of a row's numbers and marks.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The columns of numbers, in the requested order.
    pub numbers: Vec<(usize, Gaps)>,
    /// Columns without a name, which must be empty.
    pub empty: Vec<usize>,
    /// The column of a row's time.
    pub time: Option<usize>,
    /// The column that says which series a row belongs to.
    pub series: Option<usize>,
    /// The column that marks a transition to a terminal state.
    pub terminal: Option<usize>,
    /// The column that marks a row after which the episode is truncated.
    pub end: Option<usize>,
    /// The expected form in the place of a gap, for messages.
    pub expected: &'static str,
}

/// Rows of the requested columns.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The number of columns.
    pub width: usize,
    /// The rows' numbers, from 1 after the header, (rows).
    pub row_numbers: Vec<u64>,
    /// (rows, width); NaN is a gap.
    pub numbers: Vec<f64>,
    /// Times in seconds, or in the unit of their column, NaN if missing, (rows); empty without such a column.
    pub times: Vec<f64>,
    /// The name of each row's series, (rows); empty without such a column.
    pub series: Vec<String>,
    /// How each row's episode continues, (rows).
    pub marks: Vec<EpisodeEnd>,
    /// The line of the file that each row begins on, (rows).
    pub lines: Vec<u64>,
}

impl Rows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    /// Returns true if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the numbers of row i.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.numbers[i * self.width..(i + 1) * self.width]
    }

    /// Returns the same rows with some of the columns alone.
    pub fn of_columns(self, places: &[usize]) -> Rows {
        let numbers = (0..self.len()).flat_map(|i| places.iter().map(move |at| (i, *at)));
        let numbers = numbers.map(|(i, at)| self.row(i)[at]).collect();
        Rows { numbers, width: places.len(), ..self }
    }

    /// Returns the rows of each series, in the order in which the series begin.
    pub fn by_series(self) -> Vec<(String, Rows)> {
        if self.series.is_empty() {
            return vec![(String::new(), self)];
        }
        let mut all: Vec<(String, Rows)> = Vec::new();
        let mut places = HashMap::new();
        for (i, name) in self.series.iter().enumerate() {
            let at = *places.entry(name).or_insert_with(|| {
                all.push((name.clone(), Rows { width: self.width, ..Rows::default() }));
                all.len() - 1
            });
            let rows = &mut all[at].1;
            rows.row_numbers.push(self.row_numbers[i]);
            rows.numbers.extend_from_slice(self.row(i));
            rows.times.extend(self.times.get(i));
            rows.marks.push(self.marks[i]);
            rows.lines.push(self.lines[i]);
        }
        all
    }
}

/// A CSV file, open at its first row.
pub struct RowReader {
    reader: csv::Reader<Limited>,
    left: Arc<AtomicUsize>,
    names: Vec<String>,
    record: ByteRecord,
    /// The record is the first row, which was read to see what the columns hold.
    is_first: bool,
    row: u64,
    /// The lines above the header, whether lines end with CR LF, and the line of the record.
    skipped: u64,
    has_returns: bool,
    line: u64,
    /// The empty lines before the record that are not read yet; then it is not read either.
    empty_lines: u64,
    has_record: bool,
}

/// A source that limits the number of bytes for each row.
struct Limited {
    source: Box<dyn Read + Send>,
    left: Arc<AtomicUsize>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            let reason = format!("a row of more than {LONGEST_ROW} bytes (an open quote?)");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let most = buffer.len().min(left);
        let count = self.source.read(&mut buffer[..most])?;
        self.left.store(left - count, Ordering::Relaxed);
        Ok(count)
    }
}

impl RowReader {
    /// Reads the names and the first row, if there is one. Returns [`Problem::Io`], or [`Problem::Unusable`] for names that are
    /// too long or not text.
    pub fn open(mut source: Box<dyn Read + Send>) -> Result<Self, Problem> {
        let mut front = Vec::new();
        source.by_ref().take(FRONT).read_to_end(&mut front)?;
        if let Some((_, what)) = PACKED.iter().find(|(begin, _)| front.starts_with(begin)) {
            return Err(Problem::new(
                "line 1",
                format!("a packed file ({what})"),
                "CSV: unpack it",
            ));
        }
        let (skipped, begin) = lines_above(&front);
        front.drain(..begin);
        let separator = separator(&front);
        let has_returns = front.split(|b| *b == b'\n').next().is_some_and(|l| l.ends_with(b"\r"));
        let left = Arc::new(AtomicUsize::new(LONGEST_ROW));
        let source = Box::new(Cursor::new(front).chain(source).chain(END));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(Limited { source, left: left.clone() });
        let header = reader.byte_headers().map_err(unreadable)?;
        closed(header)?;
        // Some editors begin a file with a byte-order mark.
        let name = |cell: &[u8]| {
            String::from_utf8_lossy(cell).trim().trim_start_matches('\u{feff}').to_owned()
        };
        let is_empty = header.as_slice() == END.trim_ascii();
        let names: Vec<_> = header.iter().filter(|_| !is_empty).map(name).collect();
        if header.as_slice().contains(&0) {
            return Err(Problem::new("header", "a NUL byte (UTF-16?)", "text in UTF-8"));
        }
        if let Some(at) = names.iter().position(|name| name.len() > LONGEST_NAME) {
            let (place, reason) = (format!("column {}", at + 1), names[at].len());
            let expected = format!("one of at most {LONGEST_NAME}");
            return Err(Problem::new(place, format!("a name of {reason} bytes"), expected));
        }
        let record = ByteRecord::new();
        let mut rows = RowReader {
            reader,
            left,
            names,
            record,
            is_first: false,
            row: 0,
            skipped,
            has_returns,
            line: 0,
            empty_lines: 0,
            has_record: false,
        };
        rows.is_first = rows.next()?;
        // Between the header and its first row nothing is missing.
        rows.empty_lines = 0;
        Ok(rows)
    }

    fn next(&mut self) -> Result<bool, Problem> {
        self.left.store(LONGEST_ROW, Ordering::Relaxed);
        let before = self.reader.position().line();
        let is_there = self.reader.read_byte_record(&mut self.record).map_err(unreadable)?;
        if !is_there || self.record.as_slice() == END.trim_ascii() {
            return Ok(false);
        }
        closed(&self.record)?;
        let inside = self.record.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
        let after = self.reader.position().line();
        // Of CR LF the reader has counted the second only with the next record.
        self.line = self.skipped + after - inside - u64::from(!self.has_returns);
        self.empty_lines = (after - before).saturating_sub(inside + 1);
        Ok(true)
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the cells of the first row, before it is read; none of a table without rows.
    pub fn first_row(&self) -> Option<&ByteRecord> {
        self.is_first.then_some(&self.record)
    }

    /// Returns the line that the last row that was found begins on.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Reads at most `most` rows; returns no rows at the end of the file. Returns [`Problem::Io`], or [`Problem::Unusable`],
    /// naming row and column, for a row of another length, an invalid mark, and a gap where a number is expected.
    pub fn read(&mut self, layout: &Layout, most: usize) -> Result<Rows, Problem> {
        let width = layout.numbers.len();
        let mut rows = Rows { width, ..Rows::default() };
        while rows.len() < most {
            // An empty line that was found is read before the record that follows it.
            let mut is_read = std::mem::take(&mut self.is_first) || self.has_record;
            if !is_read {
                is_read = self.next()?;
            }
            if !is_read {
                break;
            }
            self.row += 1;
            self.has_record = self.empty_lines > 0;
            match self.empty_lines {
                0 => self.read_row(layout, &mut rows)?,
                _ => self.read_empty_line(layout, &mut rows)?,
            }
        }
        Ok(rows)
    }

    /// Reads an empty line: a row of gaps.
    fn read_empty_line(&mut self, layout: &Layout, rows: &mut Rows) -> Result<(), Problem> {
        let line = self.line - self.empty_lines;
        if layout.numbers.iter().any(|(_, gaps)| *gaps != Gaps::Any) {
            let place = format!("row {} (line {line})", self.row);
            return Err(Problem::new(place, "an empty line", layout.expected));
        }
        rows.numbers.extend(layout.numbers.iter().map(|_| f64::NAN));
        rows.times.extend(layout.time.map(|_| f64::NAN));
        // An empty line belongs to the series that is interrupted, the last one.
        let series = layout.series.map(|_| rows.series.last().cloned().unwrap_or_default());
        rows.series.extend(series);
        rows.marks.push(EpisodeEnd::Continues);
        rows.lines.push(line);
        rows.row_numbers.push(self.row);
        self.empty_lines -= 1;
        Ok(())
    }

    fn read_row(&self, layout: &Layout, rows: &mut Rows) -> Result<(), Problem> {
        let line = self.line;
        let place = || format!("row {} (line {line})", self.row);
        let refuse = |column: usize, reason: String, expected: &str| {
            let name = excerpt(&self.names[column]);
            Problem::new(format!("{}, column `{name}`", place()), reason, expected)
        };
        if self.record.len() != self.names.len() {
            let reason = format!("{} cells", self.record.len());
            let expected = format!("{}, as in the header", self.names.len());
            return Err(Problem::new(place(), reason, expected));
        }
        for &(column, gaps) in &layout.numbers {
            let cell = &self.record[column];
            rows.numbers.push(match number(cell) {
                Ok(x) => x,
                Err(_) if gaps == Gaps::Any && !cell.contains(&b'\n') => f64::NAN,
                Err(_) if gaps == Gaps::Empty && cell.trim_ascii().is_empty() => f64::NAN,
                Err(reason) => return Err(refuse(column, reason, layout.expected)),
            });
        }
        for &column in &layout.empty {
            let cell = &self.record[column];
            if !cell.trim_ascii().is_empty() {
                let reason = format!("`{}` without a column's name", shown(cell));
                return Err(refuse(column, reason, "a name in the header, or an empty cell"));
            }
        }
        if let Some(column) = layout.time {
            let cell = &self.record[column];
            rows.times.push(number(cell).ok().or_else(|| time(cell)).unwrap_or(f64::NAN));
        }
        rows.series.extend(layout.series.map(|column| shown(&self.record[column])));
        let marked = |column: Option<usize>| match column {
            Some(column) => {
                mark(&self.record[column]).map_err(|reason| refuse(column, reason, "0 or 1"))
            }
            None => Ok(false),
        };
        rows.marks.push(match (marked(layout.terminal)?, marked(layout.end)?) {
            (true, _) => EpisodeEnd::Terminal,
            (false, true) => EpisodeEnd::End,
            (false, false) => EpisodeEnd::Continues,
        });
        rows.lines.push(line);
        rows.row_numbers.push(self.row);
        Ok(())
    }
}

/// Rejects a row whose quote is still open at the end of the file.
fn closed(record: &ByteRecord) -> Result<(), Problem> {
    if !record.iter().next_back().is_some_and(|cell| cell.ends_with(END)) {
        return Ok(());
    }
    let place = record.position().map_or("line 1".to_owned(), |at| format!("line {}", at.line()));
    Err(Problem::new(place, "a quote that is not closed", "one that is"))
}

fn unreadable(error: csv::Error) -> Problem {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Problem::Io(error),
        other => Problem::new("CSV", format!("{other:?}"), "a readable table"),
    }
}

/// Returns how many lines stand above the header, empty ones and comments, and how many bytes those are.
fn lines_above(front: &[u8]) -> (u64, usize) {
    let above = front
        .split_inclusive(|&b| b == b'\n')
        .take_while(|line| line.trim_ascii().is_empty() || line.starts_with(b"#"));
    above.fold((0, 0), |(lines, bytes), line| (lines + 1, bytes + line.len()))
}

/// Returns the separator that the header uses outside of quotes.
fn separator(front: &[u8]) -> u8 {
    let header = front.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut is_quoted = false;
    let mut found = b',';
    for &byte in header {
        is_quoted ^= byte == b'"';
        if !is_quoted && (byte == b';' || byte == b'\t' && found == b',') {
            found = byte;
        }
    }
    found
}
