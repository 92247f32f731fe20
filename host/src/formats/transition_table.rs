//! The CSV files of [`super::trajectory`]: columns by name, in any order.

use super::error::{Problem, excerpt};

/// The largest feature dimension that a file may have.
pub const MAX_DIMENSION: usize = 64;

/// What a column of a CSV file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Phi(usize),
    Reward,
    PhiNext(usize),
    Terminal,
    End,
    /// The first column, without a name: an index.
    Index,
    /// Another column without a name, which must be empty: a separator at the end of each line.
    Empty,
}

struct Header {
    columns: Vec<Column>,
    names: Vec<String>,
    dimension: usize,
}

/// The content of a CSV file.
pub(super) struct Table {
    /// d.
    pub(super) dimension: usize,
    /// The first column that is no feature of a state.
    pub(super) other: Option<String>,
    /// (rows, d).
    pub(super) phi: Vec<f64>,
    /// None for the column; None in it for an empty cell in a row that no transition leaves.
    pub(super) reward: Option<Vec<Option<f64>>>,
    /// (rows, d).
    pub(super) phi_next: Option<Vec<f64>>,
    /// (rows).
    pub(super) terminal: Vec<bool>,
    /// (rows).
    pub(super) end: Vec<bool>,
}

const ACCEPTED_COLUMNS: &str =
    "`phi_0`, ..., `phi_{d-1}`, `reward`, `phi_next_0`, ..., `phi_next_{d-1}`, `terminal`, `end`";

pub(super) fn column_problem(column: &str, reason: &str, accepted: &str) -> Problem {
    Problem::unusable(format_args!("column `{}`", excerpt(column)), reason, accepted)
}

impl Header {
    fn parse(record: &csv::ByteRecord) -> Result<Self, Problem> {
        let mut names: Vec<String> =
            record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
        if let Some(first) = names.first_mut() {
            // Some editors begin a file with a byte-order mark.
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in &names {
            let index = |digits: &str| digits.parse().ok().filter(|&i: &usize| i < MAX_DIMENSION);
            let column = match name.as_str() {
                "reward" => Some(Column::Reward),
                "terminal" => Some(Column::Terminal),
                "end" => Some(Column::End),
                "" if columns.is_empty() => Some(Column::Index),
                "" => Some(Column::Empty),
                name => match name.strip_prefix("phi_next_") {
                    Some(digits) => index(digits).map(Column::PhiNext),
                    None => name.strip_prefix("phi_").and_then(index).map(Column::Phi),
                },
            };
            let Some(column) = column else {
                return Err(column_problem(name, "unknown", ACCEPTED_COLUMNS));
            };
            if column != Column::Empty && columns.contains(&column) {
                return Err(column_problem(name, "there twice", "each column once"));
            }
            columns.push(column);
        }
        let count = |kind: fn(&Column) -> bool| columns.iter().filter(|c| kind(c)).count();
        let dimension = count(|c| matches!(c, Column::Phi(_)));
        let next = count(|c| matches!(c, Column::PhiNext(_)));
        // Distinct indices: the count tells whether one below it is missing.
        let missing = |kind: fn(usize) -> Column| {
            (0..dimension.max(1)).find(|&i| !columns.contains(&kind(i)))
        };
        if let Some(i) = missing(Column::Phi) {
            return Err(column_problem(&format!("phi_{i}"), "missing", ACCEPTED_COLUMNS));
        }
        if let Some(i) = missing(Column::PhiNext).filter(|_| next > 0) {
            return Err(column_problem(&format!("phi_next_{i}"), "missing", ACCEPTED_COLUMNS));
        }
        if next > dimension {
            let name = format!("phi_next_{dimension}");
            let accepted = format!("as many `phi_next` columns as `phi` columns, {dimension}");
            return Err(column_problem(&name, "too many", &accepted));
        }
        Ok(Header { columns, names, dimension })
    }

    fn has_next(&self) -> bool {
        self.columns.iter().any(|c| matches!(c, Column::PhiNext(_)))
    }

    fn first_other_than_phi(&self) -> Option<String> {
        let other = |c: &Column| !matches!(c, Column::Phi(_) | Column::Index | Column::Empty);
        self.columns.iter().position(other).map(|i| self.names[i].clone())
    }
}

impl Table {
    /// Reads the content of a file.
    /// Errors: [`Problem::Unusable`].
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(bytes))
            .comment(Some(b'#'))
            .flexible(true)
            .from_reader(bytes);
        let malformed = |e: csv::Error| Problem::malformed("CSV", e);
        let header = Header::parse(reader.byte_headers().map_err(malformed)?)?;
        let d = header.dimension;
        let (mut phi, mut phi_next, mut reward) = (Vec::new(), Vec::new(), Vec::new());
        let (mut terminal, mut end) = (Vec::new(), Vec::new());
        let mut record = csv::ByteRecord::new();
        let mut row = 0;
        // The row whose reward is empty: an error as soon as another row follows.
        let mut unrewarded: Option<Problem> = None;
        while reader.read_byte_record(&mut record).map_err(malformed)? {
            if let Some(problem) = unrewarded.take() {
                return Err(problem);
            }
            row += 1;
            let line = record.position().map_or(0, csv::Position::line);
            let place = format_args!("row {row} (line {line})");
            if record.len() != header.columns.len() {
                let reason = format!("{} cells", record.len());
                let accepted = format!("{}, as in the header", header.columns.len());
                return Err(Problem::unusable(place, reason, accepted));
            }
            let (start, start_next) = (phi.len(), phi_next.len());
            phi.resize(start + d, 0.0);
            phi_next.resize(start_next + if header.has_next() { d } else { 0 }, 0.0);
            terminal.push(false);
            end.push(false);
            for ((cell, column), name) in record.iter().zip(&header.columns).zip(&header.names) {
                let refuse = |reason: String, accepted: &str| {
                    Problem::unusable(format_args!("{place}, column `{name}`"), reason, accepted)
                };
                let number =
                    || number(cell).map_err(|e| refuse(e, "a finite number such as -0.25 or 1e-3"));
                let mark = || mark(cell).map_err(|e| refuse(e, "0 or 1"));
                match *column {
                    Column::Phi(i) => phi[start + i] = number()?,
                    Column::PhiNext(i) => phi_next[start_next + i] = number()?,
                    Column::Reward => match number() {
                        Ok(x) => reward.push(Some(x)),
                        Err(problem) if cell.trim_ascii().is_empty() => {
                            reward.push(None);
                            unrewarded = Some(problem);
                        }
                        Err(problem) => return Err(problem),
                    },
                    Column::Terminal => terminal[row - 1] = mark()?,
                    Column::End => end[row - 1] = mark()?,
                    Column::Index => {}
                    Column::Empty if cell.trim_ascii().is_empty() => {}
                    Column::Empty => {
                        let cell = excerpt(&String::from_utf8_lossy(cell));
                        let accepted = "a name in the header, or an empty cell";
                        return Err(refuse(format!("`{cell}` without a column's name"), accepted));
                    }
                }
            }
            // No transition leaves the last state of an episode that is cut.
            let (terminal, end) = (terminal.last() == Some(&true), end.last() == Some(&true));
            if header.has_next() || terminal {
                unrewarded.take().map_or(Ok(()), Err)?;
            } else if end {
                unrewarded = None;
            }
        }
        if row == 0 {
            let reason = "no rows below the header";
            return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
        }
        Ok(Table {
            dimension: d,
            other: header.first_other_than_phi(),
            phi,
            reward: header.columns.contains(&Column::Reward).then_some(reward),
            phi_next: header.has_next().then_some(phi_next),
            terminal,
            end,
        })
    }
}

/// The separator that the header uses.
pub(super) fn delimiter(bytes: &[u8]) -> u8 {
    let header = bytes
        .split(|&b| b == b'\n')
        .find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
        .unwrap_or_default();
    [b';', b'\t'].into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

pub(super) fn number(cell: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(cell);
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ if text.is_empty() => Err("empty".to_owned()),
        _ => Err(format!("`{}`", excerpt(text))),
    }
}

/// A mark: 0 or 1, also as other tools write them: 1.0, True.
pub(super) fn mark(cell: &[u8]) -> Result<bool, String> {
    match cell.trim_ascii().to_ascii_lowercase().as_slice() {
        b"true" => Ok(true),
        b"false" => Ok(false),
        _ => match number(cell)? {
            0.0 => Ok(false),
            1.0 => Ok(true),
            other => Err(format!("`{other}`")),
        },
    }
}
