//! Reads the rows of a table one after another: the file need not fit in memory.

use crate::clock::time;
use crate::problem::{ELSEWHERE, Problem};
use crate::text::excerpt;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read};
use std::ops::Range;

/// The largest size of a row in bytes.
pub const LONGEST_ROW: usize = 1 << 20;
/// The largest size in bytes of a column's name, which may appear in each row of a result.
pub const LONGEST_NAME: usize = 200;
/// The largest number of columns that a message names.
const NAMED: usize = 4;

/// The form of a table's lines.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub separator: char,
    /// Whether the first line has the columns' names; without it they are called 1, 2, ...
    pub has_header: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format { separator: ',', has_header: true }
    }
}

/// The content of a column. An empty cell and NaN are gaps, which are read as NaN where they are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Finite numbers, or gaps.
    Numbers,
    /// Numbers, or dates in ISO 8601, in seconds; no gaps.
    Times,
    /// 0 or 1; no gaps.
    Marks,
}

/// Rows that follow each other.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The number of the first row, from 1.
    pub first: u64,
    /// The numbers of each column that was asked for, (columns, rows).
    pub columns: Vec<Vec<f64>>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table, open at its next row.
pub struct Table {
    source: BufReader<Box<dyn Read + Send>>,
    format: Format,
    names: Vec<String>,
    lines: u64,
    bytes: u64,
    row: u64,
    /// The empty lines that are read but not taken yet, and whether the line after them is read, too.
    empty: u64,
    is_ahead: bool,
    /// The last line, as bytes; as text without quotes; and its cells.
    line: Vec<u8>,
    text: String,
    cells: Vec<Range<usize>>,
}

impl Table {
    /// Opens a table. Returns [`Problem::Unusable`] for a header whose names are missing, numbers, equal or too long.
    pub fn open(source: Box<dyn Read + Send>, format: Format) -> Result<Self, Problem> {
        let mut table = Table {
            source: BufReader::with_capacity(1 << 16, source),
            format,
            names: Vec::new(),
            lines: 0,
            bytes: 0,
            row: 0,
            empty: 0,
            is_ahead: false,
            line: Vec::new(),
            text: String::new(),
            cells: Vec::new(),
        };
        if !table.read_line()? {
            return Err(Problem::new("line 1", "the file is empty; expected a header line"));
        }
        table.split()?;
        if format.has_header {
            let names = table.cells.iter().map(|cell| table.text[cell.clone()].to_owned());
            table.names = names.collect();
            table.check_names()?;
        } else {
            table.names = (1..=table.cells.len()).map(|at| at.to_string()).collect();
            table.is_ahead = true;
        }
        Ok(table)
    }

    fn check_names(&self) -> Result<(), Problem> {
        let mut seen = BTreeSet::new();
        for (at, name) in self.names.iter().enumerate() {
            let reason = match name.as_str() {
                "" => {
                    "no name; expected one for each column (pandas: `to_csv(index=False)`)".into()
                }
                name if name.parse::<f64>().is_ok() => format!(
                    "its name `{}` is a number; expected a header line, or --no-header",
                    excerpt(name)
                ),
                name if name.len() > LONGEST_NAME => {
                    format!("a name of {} bytes; expected at most {LONGEST_NAME}", name.len())
                }
                name if !seen.insert(name) => {
                    format!("`{}` is there twice; expected each name once", excerpt(name))
                }
                _ => continue,
            };
            return Err(Problem::new(format_args!("header, column {}", at + 1), reason));
        }
        Ok(())
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the place of a column. Returns [`Problem::Unusable`] if there is none of this name.
    pub fn column(&self, name: &str) -> Result<usize, Problem> {
        self.names.iter().position(|other| other == name).ok_or_else(|| {
            let mut names: Vec<_> =
                self.names.iter().take(NAMED).map(|name| format!("`{}`", excerpt(name))).collect();
            if self.names.len() > NAMED {
                names.push(format!("{} more", self.names.len() - NAMED));
            }
            let place = format!("column `{}`", excerpt(name));
            Problem::new(place, format_args!("missing; there are {}", names.join(", ")))
        })
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes
    }

    /// Returns the problem of a cell.
    pub fn problem(&self, row: u64, column: usize, reason: &str) -> Problem {
        let name = excerpt(&self.names[column]);
        Problem::new(format_args!("{}, column `{name}`", self.place(row)), reason)
    }

    fn place(&self, row: u64) -> String {
        format!("row {row} (line {})", row + u64::from(self.format.has_header))
    }

    /// Reads these columns of at most `most` rows; none at the end of the file.
    /// Returns [`Problem::Unusable`] for a row of another length, and a cell that its column cannot have.
    pub fn read(&mut self, columns: &[(usize, Cells)], most: usize) -> Result<Rows, Problem> {
        let mut rows = Rows { first: self.row + 1, columns: vec![Vec::new(); columns.len()] };
        for _ in 0..most {
            if !self.next_row()? {
                break;
            }
            for ((at, cells), numbers) in columns.iter().zip(&mut rows.columns) {
                let cell = &self.text[self.cells[*at].clone()];
                match number(cell, *cells) {
                    Some(x) => numbers.push(x),
                    None => return Err(self.problem(self.row, *at, &unreadable(cell, *cells))),
                }
            }
        }
        Ok(rows)
    }

    /// Splits the next row; returns false at the end of the file. Empty lines at the end are none.
    fn next_row(&mut self) -> Result<bool, Problem> {
        while !self.is_ahead {
            if !self.read_line()? {
                return Ok(false);
            }
            self.is_ahead = !self.line.is_empty();
            self.empty += u64::from(!self.is_ahead);
        }
        self.row += 1;
        if self.empty > 0 {
            self.empty -= 1;
            self.text.clear();
            self.cells.clear();
            self.cells.push(0..0);
        } else {
            self.is_ahead = false;
            self.split()?;
        }
        if self.cells.len() == self.names.len() {
            return Ok(true);
        }
        let reason = format!(
            "{} cells; expected {}, as in line 1; {ELSEWHERE}",
            self.cells.len(),
            self.names.len()
        );
        Err(Problem::new(self.place(self.row), reason))
    }

    /// Reads a line without its end; returns false at the end of the file.
    fn read_line(&mut self) -> Result<bool, Problem> {
        self.line.clear();
        let mut limited = self.source.by_ref().take(LONGEST_ROW as u64 + 1);
        let count = limited.read_until(b'\n', &mut self.line)?;
        self.lines += 1;
        self.bytes += count as u64;
        if self.line.contains(&0) {
            let reason = "a NUL byte (a damaged file, or UTF-16); expected UTF-8";
            return Err(Problem::new(format_args!("line {}", self.lines), reason));
        }
        if count > LONGEST_ROW {
            let reason = format!("more than {LONGEST_ROW} bytes; expected a row of a table");
            return Err(Problem::new(format_args!("line {}", self.lines), reason));
        }
        while self.line.last().is_some_and(|byte| b"\n\r".contains(byte)) {
            self.line.pop();
        }
        Ok(count > 0)
    }

    /// Splits the line into cells. A cell in quotes may contain separators, and a quote as two.
    fn split(&mut self) -> Result<(), Problem> {
        let place = format_args!("line {}", self.lines);
        let Ok(line) = str::from_utf8(&self.line) else {
            let reason = "bytes that are no text in UTF-8; expected a table in UTF-8, not packed";
            return Err(Problem::new(place, reason));
        };
        // Some editors begin a file with a byte-order mark.
        let line = line.strip_prefix('\u{feff}').filter(|_| self.lines == 1).unwrap_or(line);
        let (text, cells, separator) = (&mut self.text, &mut self.cells, self.format.separator);
        text.clear();
        cells.clear();
        if !line.contains('"') {
            text.push_str(line);
            let mut start = 0;
            for (end, found) in line.match_indices(separator).chain([(line.len(), "")]) {
                let cell = &line[start..end];
                let from = start + cell.len() - cell.trim_start().len();
                cells.push(from..from + cell.trim().len());
                start = end + found.len();
            }
            return Ok(());
        }
        let mut rest = Some(line);
        while let Some(cell) = rest {
            let start = text.len();
            let Some(mut quoted) = cell.strip_prefix('"') else {
                rest = cell.split_once(separator).map(|(_, rest)| rest);
                text.push_str(cell.split(separator).next().unwrap_or_default().trim());
                cells.push(start..text.len());
                continue;
            };
            loop {
                let Some((before, after)) = quoted.split_once('"') else {
                    let reason = format!("a quote that is not closed in its line; {ELSEWHERE}");
                    return Err(Problem::new(place, reason));
                };
                text.push_str(before);
                quoted = after;
                match after.strip_prefix('"') {
                    Some(more) => quoted = more,
                    None => break,
                }
                text.push('"');
            }
            cells.push(start..text.len());
            rest = quoted.strip_prefix(separator);
            if rest.is_none() && !quoted.is_empty() {
                return Err(Problem::new(place, format_args!("text after a quote; {ELSEWHERE}")));
            }
        }
        Ok(())
    }
}

fn number(cell: &str, cells: Cells) -> Option<f64> {
    if cells == Cells::Times {
        return time(cell);
    }
    let x = if cell.is_empty() { f64::NAN } else { cell.parse().ok()? };
    match cells {
        Cells::Marks => Some(x).filter(|x| [0.0, 1.0].contains(x)),
        _ => Some(x).filter(|x: &f64| !x.is_infinite()),
    }
}

fn unreadable(cell: &str, cells: Cells) -> String {
    let expected = match cells {
        Cells::Numbers => "is no finite number",
        Cells::Times => "is neither a number nor a date in ISO 8601",
        Cells::Marks => "is neither 0 nor 1",
    };
    format!("`{}` {expected}; {ELSEWHERE}", excerpt(cell))
}
