//! Reads rows of numbers from a CSV file, one after another: the file need not fit in memory.
//!
//! The first line has the columns' names; separators are `,`, `;`, tabs or `|`. Empty lines, those that begin with `#`, and
//! a spreadsheet's `sep=;` are skipped above it; below it an empty line is a row of gaps, for the rows around it do not follow each
//! other. A row may be marked as the last of its episode.

use crate::cells::{mark, number, shown};
use crate::times::TimeForm;
use compute::options::excerpt;
use compute::transitions::EpisodeEnd;
use csv::ByteRecord;
use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::io::{self, Cursor, Read};

/// The number of bytes at the front of a file that are searched for its header line.
const FRONT: u64 = 1 << 16;
/// The numbers of rows and of bytes that are read ahead to determine the content of the columns.
const AHEAD: usize = 8192;
const BYTES_AHEAD: usize = 1 << 20;
/// The largest size of a row in bytes.
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

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Unusable(String),
}

impl Problem {
    fn new(place: impl Display, reason: impl Display, expected: impl Display) -> Self {
        Problem::Unusable(format!("{place}: {reason}; expected {expected}"))
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

#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub numbers: Vec<(usize, Gaps)>,
    /// Columns without a name, which must be empty.
    pub empty: Vec<usize>,
    /// The columns of a row's time, whose sum it is: a date, and a time of day.
    pub time: Vec<(usize, TimeForm)>,
    /// A number that denotes a gap.
    pub missing: Option<f64>,
    pub series: Option<usize>,
    /// The column that marks a transition to a terminal state.
    pub terminal: Option<usize>,
    /// The column that marks a row after which the episode is truncated.
    pub end: Option<usize>,
    /// The expected form in the place of a gap, for messages.
    pub expected: &'static str,
}

/// Rows of one series, with the requested columns.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub width: usize,
    /// The rows' numbers, from 1 after the header, (rows).
    pub row_numbers: Vec<u64>,
    /// (rows, width); NaN is a gap.
    pub numbers: Vec<f64>,
    /// Times in seconds, or in the unit of their column, NaN if missing, (rows); empty without such a column.
    pub times: Vec<f64>,
    /// How each row's episode continues, (rows).
    pub marks: Vec<EpisodeEnd>,
    /// The line of the file that each row begins on, (rows).
    pub lines: Vec<u64>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.marks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.numbers[i * self.width..(i + 1) * self.width]
    }
}

/// A CSV file, open at its first row.
pub struct RowReader {
    reader: csv::Reader<Limited>,
    names: Vec<String>,
    /// The first rows, which were read to determine the content of the columns; later a row with empty lines before it.
    ahead: VecDeque<Record>,
    row: u64,
    series: String,
    /// The lines above the header, and the last comment among them.
    skipped: u64,
    comment: Option<String>,
}

#[derive(Default)]
struct Record {
    cells: ByteRecord,
    line: u64,
    /// The empty lines before it that are not read yet.
    empty_lines: u64,
}

/// A source whose lines end with LF alone: CR LF, also in some lines only, and CR become LF.
struct Lines {
    source: Box<dyn Read + Send>,
    is_after_return: bool,
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.source.read(buffer)?;
            let mut kept = 0;
            for at in 0..count {
                let byte = buffer[at];
                let is_second = byte == b'\n' && self.is_after_return;
                self.is_after_return = byte == b'\r';
                if !is_second {
                    buffer[kept] = if self.is_after_return { b'\n' } else { byte };
                    kept += 1;
                }
            }
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}

/// A source that limits the number of bytes for each row.
struct Limited {
    source: Box<dyn Read + Send>,
    left: usize,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let reason = format!("a row of more than {LONGEST_ROW} bytes (an open quote?)");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let most = buffer.len().min(self.left);
        let count = self.source.read(&mut buffer[..most])?;
        self.left -= count;
        Ok(count)
    }
}

impl RowReader {
    /// Reads the names and the first row, if there is one. Returns [`Problem::Io`], or [`Problem::Unusable`] for names that are
    /// too long or not text.
    pub fn open(source: Box<dyn Read + Send>) -> Result<Self, Problem> {
        let mut source = Lines { source, is_after_return: false };
        let mut front = Vec::new();
        source.by_ref().take(FRONT).read_to_end(&mut front)?;
        if let Some((_, what)) = PACKED.iter().find(|(begin, _)| front.starts_with(begin)) {
            let reason = format!("a packed file ({what})");
            return Err(Problem::new("line 1", reason, "CSV: unpack it"));
        }
        let (skipped, begin, named) = lines_above(&front);
        let above = String::from_utf8_lossy(&front[..begin]);
        let comment =
            above.lines().rev().find(|line| line.starts_with('#')).map(|line| excerpt(line.trim()));
        front.drain(..begin);
        let separator = named.unwrap_or_else(|| separator(&front));
        let source = Box::new(Cursor::new(front).chain(source).chain(END));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(Limited { source, left: LONGEST_ROW });
        let header = reader.byte_headers().map_err(unreadable)?;
        closed(header)?;
        // Some editors begin a file with a byte-order mark.
        let name = |cell: &[u8]| {
            String::from_utf8_lossy(cell).trim().trim_start_matches('\u{feff}').replace('\n', " ")
        };
        let is_empty = header.as_slice() == END.trim_ascii();
        let names: Vec<_> = header.iter().filter(|_| !is_empty).map(name).collect();
        if header.as_slice().contains(&0) {
            return Err(Problem::new("header", "a NUL byte (UTF-16?)", "text in UTF-8"));
        }
        for (at, name) in names.iter().enumerate() {
            check_name(name, "a name", || format!("column {}", at + 1))?;
        }
        let (ahead, series) = (VecDeque::new(), String::new());
        let mut rows = RowReader { reader, names, ahead, row: 1, series, skipped, comment };
        let mut bytes = 0;
        while rows.ahead.len() < AHEAD && bytes < BYTES_AHEAD {
            let mut record = Record::default();
            if !rows.next(&mut record)? {
                break;
            }
            bytes += record.cells.as_slice().len();
            rows.ahead.push_back(record);
        }
        // Between the header and its first row nothing is missing.
        if let Some(first) = rows.ahead.front_mut() {
            first.empty_lines = 0;
        }
        // A header of one cell may be a title: the line of the first number tells more.
        if let Some(first) = rows.ahead.front().filter(|_| rows.names.len() > 1) {
            rows.check_cells(&first.cells, first.line)?;
        }
        Ok(RowReader { row: 0, ..rows })
    }

    fn next(&mut self, record: &mut Record) -> Result<bool, Problem> {
        self.reader.get_mut().left = LONGEST_ROW;
        let before = self.reader.position().line();
        let is_there = self.reader.read_byte_record(&mut record.cells).map_err(unreadable)?;
        if !is_there || record.cells.as_slice() == END.trim_ascii() {
            return Ok(false);
        }
        closed(&record.cells)?;
        let inside = record.cells.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
        let after = self.reader.position().line();
        record.line = self.skipped + after - inside - 1;
        record.empty_lines = (after - before).saturating_sub(inside + 1);
        Ok(true)
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the cells of the first rows with the lines that they begin on, before they are read.
    pub fn first_rows(&self) -> impl Iterator<Item = (u64, &ByteRecord)> + Clone {
        self.ahead.iter().map(|record| (record.line, &record.cells))
    }

    pub fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    pub fn bytes_read(&self) -> u64 {
        self.reader.position().byte()
    }

    /// Reads at most `most` rows, by series in the order of their first rows (without a column of series all have one without a
    /// name); returns nothing at the end of the file. Returns [`Problem::Io`], or [`Problem::Unusable`], naming row and column,
    /// for a row of another length, an invalid mark, and a gap where a number is expected.
    pub fn read(&mut self, layout: &Layout, most: usize) -> Result<Vec<(String, Rows)>, Problem> {
        let (mut all, mut places, mut at) = (Vec::<(String, Rows)>::new(), HashMap::new(), 0);
        let mut record = Record::default();
        for _ in 0..most {
            match self.ahead.pop_front() {
                Some(found) => record = found,
                None if self.next(&mut record)? => {}
                None => break,
            }
            self.row += 1;
            let (is_empty, line) = (record.empty_lines > 0, record.line - record.empty_lines);
            // An empty line belongs to the series that is interrupted, the last one.
            let series = layout.series.filter(|_| !is_empty).and_then(|at| record.cells.get(at));
            if let Some(cell) = series {
                self.series = String::from_utf8_lossy(cell).trim().replace('\n', " ");
                check_name(&self.series, "a series' name", || self.place(line))?;
            }
            if all.get(at).is_none_or(|(name, _)| *name != self.series) {
                at = *places.entry(self.series.clone()).or_insert_with(|| {
                    let rows = Rows { width: layout.numbers.len(), ..Rows::default() };
                    all.push((self.series.clone(), rows));
                    all.len() - 1
                });
            }
            let rows = &mut all[at].1;
            let mark = if is_empty {
                // The record that follows the line is read after it.
                record.empty_lines -= 1;
                self.ahead.push_front(std::mem::take(&mut record));
                if layout.numbers.iter().any(|(_, gaps)| *gaps != Gaps::Any) {
                    return Err(Problem::new(self.place(line), "an empty line", layout.expected));
                }
                rows.numbers.extend(layout.numbers.iter().map(|_| f64::NAN));
                rows.times.extend((!layout.time.is_empty()).then_some(f64::NAN));
                EpisodeEnd::Continues
            } else {
                self.read_row(&record.cells, line, layout, rows)?
            };
            rows.row_numbers.push(self.row);
            rows.lines.push(line);
            rows.marks.push(mark);
        }
        Ok(all)
    }

    fn place(&self, line: u64) -> String {
        format!("row {} (line {line})", self.row)
    }

    /// Rejects a row with more or fewer cells than the header.
    fn check_cells(&self, record: &ByteRecord, line: u64) -> Result<(), Problem> {
        if record.len() == self.names.len() {
            return Ok(());
        }
        let header = match self.row {
            1 => format!(" (line {})", self.skipped + 1),
            _ => String::new(),
        };
        let expected = format!("{}, as in the header{header}", self.names.len());
        Err(Problem::new(self.place(line), format!("{} cells", record.len()), expected))
    }

    fn read_row(
        &self,
        record: &ByteRecord,
        line: u64,
        layout: &Layout,
        rows: &mut Rows,
    ) -> Result<EpisodeEnd, Problem> {
        let refuse = |column: usize, reason: String, expected: &str| {
            let name = excerpt(&self.names[column]);
            Problem::new(format!("{}, column `{name}`", self.place(line)), reason, expected)
        };
        self.check_cells(record, line)?;
        for &(column, gaps) in &layout.numbers {
            let cell = &record[column];
            rows.numbers.push(match number(cell) {
                Ok(x) if layout.missing != Some(x) => x,
                Ok(_) if gaps == Gaps::Any => f64::NAN,
                Err(_) if gaps == Gaps::Any && !cell.contains(&b'\n') => f64::NAN,
                Err(_) if gaps == Gaps::Empty && cell.trim_ascii().is_empty() => f64::NAN,
                found => {
                    let reason =
                        found.map_or_else(|reason| reason, |x| format!("`{x}`, which is missing"));
                    return Err(refuse(column, reason, layout.expected));
                }
            });
        }
        for &column in &layout.empty {
            let cell = &record[column];
            if !cell.trim_ascii().is_empty() {
                let reason = format!("`{}` without a column's name", shown(cell));
                return Err(refuse(column, reason, "a name in the header, or an empty cell"));
            }
        }
        if !layout.time.is_empty() {
            let times = layout.time.iter().map(|(at, form)| form.read(&record[*at]));
            rows.times.push(times.sum::<Option<f64>>().unwrap_or(f64::NAN));
        }
        let marked = |column: Option<usize>| {
            column.map_or(Ok(false), |column| {
                mark(&record[column]).map_err(|reason| refuse(column, reason, "0 or 1"))
            })
        };
        Ok(EpisodeEnd::from_marks(marked(layout.terminal)?, marked(layout.end)?))
    }
}

fn check_name(name: &str, what: &str, place: impl Fn() -> String) -> Result<(), Problem> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    let reason = format!("{what} of {} bytes", name.len());
    Err(Problem::new(place(), reason, format!("one of at most {LONGEST_NAME}")))
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

/// Returns the numbers of lines, empty ones and comments, and of bytes above the header, and the separator in a spreadsheet's
/// first line.
fn lines_above(front: &[u8]) -> (u64, usize, Option<u8>) {
    let mut found = (0, 0, None);
    for line in front.split_inclusive(|&b| b == b'\n') {
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        match text.strip_prefix(b"sep=") {
            Some(&[separator, b'\n', ..]) if found.2.is_none() => found.2 = Some(separator),
            _ if text.trim_ascii().is_empty() || text.starts_with(b"#") => {}
            _ => break,
        }
        found = (found.0 + 1, found.1 + line.len(), found.2);
    }
    found
}

/// Returns the separator that the header uses outside of quotes: a semicolon, a tab, a comma, or `|`.
fn separator(front: &[u8]) -> u8 {
    let header = front.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut is_quoted = false;
    let mut bare: Vec<u8> = header.to_vec();
    bare.retain(|byte| {
        is_quoted ^= *byte == b'"';
        !is_quoted
    });
    *b";\t,|".iter().find(|byte| bare.contains(byte)).unwrap_or(&b',')
}
