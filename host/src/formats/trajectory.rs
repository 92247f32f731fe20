//! A user's own transitions, from a CSV or an `.npz` file.
//!
//! | CSV columns | `.npz` array | |
//! |---|---|---|
//! | `phi_0`, ..., `phi_{d-1}` | `phi`, (n, d) | features of the state |
//! | `reward` | `reward`, (n) | the reward on leaving it |
//! | `phi_next_0`, ..., `phi_next_{d-1}` | `phi_next`, (n, d) | features of the next state |
//! | | `query`, (m, d), optional | features of states whose values are asked for |
//!
//! The columns stand in any order under a header line; separators are `,`, `;` or tabs; lines that begin
//! with `#` and a column without a name (an index) are skipped. Without the `phi_next` columns the rows
//! are one trajectory: the next row holds the next state, and the last row only ends it (its reward may
//! be empty). Queries for a CSV stand in a second file with the `phi` columns only.

use super::error::excerpt;
use super::npz::Npz;
use super::{Array, FormatError, Problem};
use ictd_core::scalar::Scalar;
use ictd_core::transition::Transition;
use nalgebra::SVector;
use std::fs;
use std::io::{Read, Seek};
use std::path::Path;

/// The most bytes that a CSV file may have: 1 GiB.
pub const MAX_CSV_BYTES: u64 = 1 << 30;

/// The largest feature dimension that a file may have.
pub const MAX_DIMENSION: usize = 64;

/// Feature vectors of states, (rows, d).
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// d.
    pub dimension: usize,
    /// The numbers, row by row.
    pub numbers: Vec<f64>,
}

/// Transitions in the order in which they were observed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// phi of every row of the file, (rows, d): n, or n + 1 if the next row is the next state.
    pub phi: Features,
    /// The rewards, (n).
    pub reward: Vec<f64>,
    /// The next features, (n, d).
    pub phi_next: Features,
    /// The states whose values are asked for, if the file has any, (m, d).
    pub query: Option<Features>,
}

impl Features {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.numbers.len() / self.dimension
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Row i as a vector; none beyond the last row or if D is not the dimension.
    pub fn row<S: Scalar, const D: usize>(&self, i: usize) -> Option<SVector<S, D>> {
        let row = self.numbers.chunks_exact(self.dimension).nth(i)?;
        (row.len() == D).then(|| SVector::from_fn(|j, _| S::from_f64(row[j])))
    }

    /// Reads feature rows from a CSV file with the columns `phi_0`, ..., `phi_{d-1}` alone, or from
    /// the array `query` or `phi` of an `.npz` file.
    ///
    /// # Errors
    /// As [`Trajectory::open`].
    pub fn open(file: &Path) -> Result<Self, FormatError> {
        if !is_npz(file) {
            return Self::from_csv(file, &read_file(file)?);
        }
        let mut npz = Npz::open(file)?;
        let features = match npz.optional_array("query")? {
            Some(array) => features("query", &array),
            None => features("phi", &npz.array("phi")?),
        };
        features.map_err(|problem| problem.in_file(file))
    }

    /// Reads feature rows from the content of a CSV file; `file` is for messages.
    ///
    /// # Errors
    /// As [`Trajectory::from_csv`].
    pub fn from_csv(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let read = || {
            let table = Table::parse(bytes)?;
            if let Some(column) = table.header.first_other_than_phi() {
                let accepted = "only `phi_0`, ..., `phi_{d-1}` in a file of queries";
                return Err(column_problem(&column, "not a feature", accepted));
            }
            Ok(table.phi)
        };
        read().map_err(|problem| problem.in_file(file))
    }
}

impl Trajectory {
    /// n, the number of transitions.
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    /// True without transitions (no file is read as such).
    pub fn is_empty(&self) -> bool {
        self.reward.is_empty()
    }

    /// The transitions; none if D is not the dimension.
    pub fn transitions<S: Scalar, const D: usize>(&self) -> Option<Vec<Transition<S, D>>> {
        (0..self.len())
            .map(|i| {
                Some(Transition {
                    phi: self.phi.row(i)?,
                    reward: S::from_f64(self.reward[i]),
                    phi_next: self.phi_next.row(i)?,
                })
            })
            .collect()
    }

    /// Reads a file: `.npz` by its name, CSV otherwise.
    ///
    /// # Errors
    /// [`Problem::Io`], [`Problem::TooLarge`], and those of [`Trajectory::from_csv`] or
    /// [`Trajectory::from_npz`].
    pub fn open(file: &Path) -> Result<Self, FormatError> {
        if is_npz(file) {
            Self::from_npz(&mut Npz::open(file)?)
        } else {
            Self::from_csv(file, &read_file(file)?)
        }
    }

    /// Reads the content of a CSV file; `file` is for messages.
    ///
    /// # Errors
    /// [`Problem::Column`] for columns that are missing, unknown or there twice, [`Problem::Row`] for a
    /// row of another length, [`Problem::Cell`] for what is no finite number.
    pub fn from_csv(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let read = || {
            let table = Table::parse(bytes)?;
            let Some(reward) = table.reward else {
                let accepted = "`phi_0`, ..., `phi_{d-1}`, `reward`, and `phi_next_0`, ...";
                return Err(column_problem("reward", "missing", accepted));
            };
            assemble(table.phi, reward, table.phi_next, None)
        };
        read().map_err(|problem| problem.in_file(file))
    }

    /// Reads the arrays of an `.npz` file.
    ///
    /// # Errors
    /// [`Problem::MissingArray`], [`Problem::Array`], and those of [`Npz`].
    pub fn from_npz<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Self, FormatError> {
        let (phi, reward) = (npz.array("phi")?, npz.array("reward")?);
        let (phi_next, query) = (npz.optional_array("phi_next")?, npz.optional_array("query")?);
        let read = || {
            let phi = features("phi", &phi)?;
            let optional = |name, array: Option<Array>| {
                let rows = array.map(|array| features(name, &array)).transpose()?;
                match rows {
                    Some(rows) if rows.dimension != phi.dimension => {
                        let reason = format!("{} columns", rows.dimension);
                        let accepted = format!("{}, the columns of `phi`", phi.dimension);
                        Err(Problem::array(name, reason, accepted))
                    }
                    rows => Ok(rows),
                }
            };
            let (phi_next, query) = (optional("phi_next", phi_next)?, optional("query", query)?);
            let n = phi.len();
            let lengths = if phi_next.is_some() { n..=n } else { n - 1..=n };
            let flat = matches!(*reward.shape, [_] | [_, 1]);
            let reward_numbers = reward.to_f64();
            if !flat || !lengths.contains(&reward_numbers.len()) {
                let accepted = format!("({n},): one reward for each row of `phi`");
                return Err(Problem::array("reward", reward.describe(), accepted));
            }
            if let Some(i) = reward_numbers.iter().position(|x| !x.is_finite()) {
                let reason = format!("{} in row {i}", reward_numbers[i]);
                return Err(Problem::array("reward", reason, "finite numbers"));
            }
            if let Some(next) = phi_next.as_ref().filter(|next| next.len() != n) {
                let accepted = format!("{n}, the rows of `phi`");
                return Err(Problem::array("phi_next", format!("{} rows", next.len()), accepted));
            }
            let reward = reward_numbers.into_iter().map(Some).collect();
            assemble(phi, reward, phi_next, query)
        };
        read().map_err(|problem| problem.in_file(npz.file()))
    }
}

/// Without next features the next row is the next state, and the last row has no transition.
fn assemble(
    phi: Features,
    reward: Vec<Option<f64>>,
    phi_next: Option<Features>,
    query: Option<Features>,
) -> Result<Trajectory, Problem> {
    let d = phi.dimension;
    let phi_next = match phi_next {
        Some(phi_next) => phi_next,
        None if phi.len() < 2 => {
            let accepted = "two rows or more, or the columns (arrays) of next features";
            return Err(Problem::entry("phi_next", "missing in a file of one row", accepted));
        }
        None => Features { dimension: d, numbers: phi.numbers[d..].to_vec() },
    };
    // Every reward that belongs to a transition is there: only the last row of a trajectory lacks it.
    let reward: Vec<f64> = reward.into_iter().take(phi_next.len()).flatten().collect();
    Ok(Trajectory { phi, reward, phi_next, query })
}

/// A finite (rows, d) array with at least one row.
fn features(name: &str, array: &Array) -> Result<Features, Problem> {
    let dimension = match *array.shape {
        [rows, d] if rows > 0 && (1..=MAX_DIMENSION).contains(&d) => d,
        _ => {
            let accepted =
                format!("(rows, d) with at least one row and d from 1 to {MAX_DIMENSION}");
            return Err(Problem::array(name, array.describe(), accepted));
        }
    };
    let numbers = array.to_f64();
    if let Some(i) = numbers.iter().position(|x| !x.is_finite()) {
        let place = format!("{} in row {}, column {}", numbers[i], i / dimension, i % dimension);
        return Err(Problem::array(name, place, "finite numbers"));
    }
    Ok(Features { dimension, numbers })
}

/// What a column of a CSV file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Phi(usize),
    Reward,
    PhiNext(usize),
    /// A column without a name.
    Index,
}

struct Header {
    columns: Vec<Column>,
    names: Vec<String>,
    dimension: usize,
}

/// The numbers of a CSV file.
struct Table {
    header: Header,
    phi: Features,
    /// None for the column; None in it for an empty cell in the last row of a trajectory.
    reward: Option<Vec<Option<f64>>>,
    phi_next: Option<Features>,
}

const ACCEPTED_COLUMNS: &str =
    "`phi_0`, ..., `phi_{d-1}`, `reward`, `phi_next_0`, ..., `phi_next_{d-1}`";

fn column_problem(column: &str, reason: &str, accepted: &str) -> Problem {
    Problem::Column {
        column: excerpt(column),
        reason: reason.to_owned(),
        accepted: accepted.to_owned(),
    }
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
            let column = if name == "reward" {
                Some(Column::Reward)
            } else if name.is_empty() {
                Some(Column::Index)
            } else if let Some(digits) = name.strip_prefix("phi_next_") {
                index(digits).map(Column::PhiNext)
            } else {
                name.strip_prefix("phi_").and_then(index).map(Column::Phi)
            };
            let Some(column) = column else {
                return Err(column_problem(name, "unknown", ACCEPTED_COLUMNS));
            };
            if column != Column::Index && columns.contains(&column) {
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
        let other = |c: &Column| matches!(c, Column::Reward | Column::PhiNext(_));
        self.columns.iter().position(other).map(|i| self.names[i].clone())
    }
}

impl Table {
    fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(bytes))
            .comment(Some(b'#'))
            .flexible(true)
            .from_reader(bytes);
        let malformed = |e: csv::Error| Problem::malformed("CSV", e);
        let header = Header::parse(reader.byte_headers().map_err(malformed)?)?;
        let d = header.dimension;
        let (mut phi, mut phi_next, mut reward) = (Vec::new(), Vec::new(), Vec::new());
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
            if record.len() != header.columns.len() {
                return Err(Problem::Row {
                    row,
                    line,
                    reason: format!("{} cells", record.len()),
                    accepted: format!("{}, as in the header", header.columns.len()),
                });
            }
            let (start, start_next) = (phi.len(), phi_next.len());
            phi.resize(start + d, 0.0);
            phi_next.resize(start_next + if header.has_next() { d } else { 0 }, 0.0);
            for ((cell, column), name) in record.iter().zip(&header.columns).zip(&header.names) {
                let number = || {
                    number(cell).map_err(|reason| Problem::Cell {
                        row,
                        line,
                        column: name.clone(),
                        reason,
                        accepted: "a finite number such as -0.25 or 1e-3".to_owned(),
                    })
                };
                match *column {
                    Column::Phi(i) => phi[start + i] = number()?,
                    Column::PhiNext(i) => phi_next[start_next + i] = number()?,
                    Column::Reward => match number() {
                        Ok(x) => reward.push(Some(x)),
                        Err(problem) if cell.trim_ascii().is_empty() && !header.has_next() => {
                            reward.push(None);
                            unrewarded = Some(problem);
                        }
                        Err(problem) => return Err(problem),
                    },
                    Column::Index => {}
                }
            }
        }
        if row == 0 {
            let reason = "no rows below the header".to_owned();
            let accepted = "at least one".to_owned();
            return Err(Problem::Row { row: 1, line: 2, reason, accepted });
        }
        let rewarded = header.columns.contains(&Column::Reward);
        let next = header.has_next();
        Ok(Table {
            header,
            phi: Features { dimension: d, numbers: phi },
            reward: rewarded.then_some(reward),
            phi_next: next.then_some(Features { dimension: d, numbers: phi_next }),
        })
    }
}

/// The separator that the header uses.
fn delimiter(bytes: &[u8]) -> u8 {
    let header = bytes
        .split(|&b| b == b'\n')
        .find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
        .unwrap_or_default();
    [b';', b'\t'].into_iter().find(|separator| header.contains(separator)).unwrap_or(b',')
}

fn number(cell: &[u8]) -> Result<f64, String> {
    let text = String::from_utf8_lossy(cell);
    let text = text.trim();
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ if text.is_empty() => Err("empty".to_owned()),
        _ => Err(format!("`{}`", excerpt(text))),
    }
}

fn is_npz(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}

fn read_file(file: &Path) -> Result<Vec<u8>, FormatError> {
    let read = || {
        let bytes = fs::metadata(file)?.len();
        if bytes > MAX_CSV_BYTES {
            let what = "the file".to_owned();
            return Err(Problem::TooLarge { what, bytes, limit: MAX_CSV_BYTES });
        }
        Ok(fs::read(file)?)
    };
    read().map_err(|problem| problem.in_file(file))
}

#[cfg(test)]
mod tests {
    use super::super::corruption::{FILE, assert_never_panics, assert_survives_corruption};
    use super::super::{Data, npz};
    use super::*;

    const CSV: &str = "phi_0,phi_1,reward,phi_next_0,phi_next_1\n1,0.5,-2,0,1\n0,1,1e-3,1,1\n";

    fn read(text: &str) -> Result<Trajectory, FormatError> {
        Trajectory::from_csv(Path::new(FILE), text.as_bytes())
    }

    fn message(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    fn features(dimension: usize, numbers: &[f64]) -> Features {
        Features { dimension, numbers: numbers.to_vec() }
    }

    #[test]
    fn columns_are_found_by_name_in_any_order_and_notation() {
        let expected = Trajectory {
            phi: features(2, &[1.0, 0.5, 0.0, 1.0]),
            reward: vec![-2.0, 0.001],
            phi_next: features(2, &[0.0, 1.0, 1.0, 1.0]),
            query: None,
        };
        assert_eq!(read(CSV).unwrap(), expected);
        let other = "\u{feff}# made by hand\r\n;reward;phi_next_1;phi_next_0;phi_1;phi_0\r\n\
                     0;-2;1;0; 0.5 ;1\r\n1;1e-3;1;1;1;0\r\n";
        assert_eq!(
            read(&other.replace("\u{feff}# made by hand\r\n", "\u{feff}")).unwrap(),
            expected
        );
        assert_eq!(read(&other.replace('\u{feff}', "")).unwrap(), expected);
        assert_eq!(read(&CSV.replace(',', "\t")).unwrap(), expected);
    }

    #[test]
    fn without_next_features_the_next_row_is_the_next_state() {
        let trajectory = read("phi_0,reward\n1,10\n2,20\n3,\n").unwrap();
        assert_eq!(trajectory.phi, features(1, &[1.0, 2.0, 3.0]));
        assert_eq!(trajectory.reward, [10.0, 20.0]);
        assert_eq!(trajectory.phi_next, features(1, &[2.0, 3.0]));
        assert_eq!(read("phi_0,reward\n1,10\n2,20\n3,30\n").unwrap(), trajectory);
        let transitions = trajectory.transitions::<f32, 1>().unwrap();
        assert_eq!((transitions.len(), transitions[1].phi_next[0]), (2, 3.0));
        assert_eq!(trajectory.transitions::<f32, 2>(), None);
    }

    #[test]
    fn messages_name_row_line_and_column() {
        assert_eq!(
            message(&CSV.replace("1e-3", "abc")),
            "example.file: row 2 (line 3), column `reward`: `abc`; accepted is a finite number \
             such as -0.25 or 1e-3"
        );
        assert_eq!(
            message(&CSV.replace("1,1e-3", "1")),
            "example.file: row 2 (line 3): 4 cells; accepted is 5, as in the header"
        );
        for (bad, place) in [
            (CSV.replace("0.5", "inf"), "row 1 (line 2), column `phi_1`: `inf`"),
            (CSV.replace("-2", ""), "row 1 (line 2), column `reward`: empty"),
            ("phi_0,reward\n1,10\n2,\n3,30\n".into(), "row 2 (line 3), column `reward`: empty"),
            (CSV.replace("phi_next_1", "phi_2"), "column `phi_next_1`: missing"),
            (CSV.replace("phi_1", "phi_0"), "column `phi_0`: there twice"),
            (CSV.replace("phi_1", "Phi_1"), "column `Phi_1`: unknown"),
            (CSV.replace("phi_0,", "phi_7,"), "column `phi_0`: missing"),
            ("phi_0\n1\n".into(), "column `reward`: missing"),
            ("phi_0,reward\n1,2\n".into(), "`phi_next`: missing in a file of one row"),
            ("phi_0,reward\n".into(), "no rows"),
            (String::new(), "column `phi_0`: missing"),
        ] {
            assert!(message(&bad).contains(place), "{bad:?}: {}", message(&bad));
        }
    }

    #[test]
    fn queries_have_features_only() {
        let read = |text: &str| Features::from_csv(Path::new(FILE), text.as_bytes());
        assert_eq!(read("phi_1,phi_0\n2,1\n").unwrap(), features(2, &[1.0, 2.0]));
        let message = read("phi_0,reward\n1,2\n").unwrap_err().to_string();
        assert!(message.contains("column `reward`: not a feature"), "{message}");
    }

    fn npz_example() -> Vec<u8> {
        let phi = Array { shape: vec![2, 2], data: Data::F32(vec![1.0, 0.5, 0.0, 1.0]) };
        let reward = Array { shape: vec![2], data: Data::F64(vec![-2.0, 0.001]) };
        let phi_next = Array { shape: vec![2, 2], data: Data::I64(vec![0, 1, 1, 1]) };
        npz::to_bytes(&[("phi", &phi), ("reward", &reward), ("phi_next", &phi_next)]).unwrap()
    }

    fn read_npz(bytes: &[u8]) -> Result<Trajectory, FormatError> {
        Trajectory::from_npz(&mut Npz::from_bytes(Path::new(FILE), bytes)?)
    }

    #[test]
    fn npz_and_csv_give_the_same() {
        assert_eq!(read_npz(&npz_example()).unwrap(), read(CSV).unwrap());
    }

    #[test]
    fn npz_messages_name_the_array_and_the_place() {
        let phi = |data| Array { shape: vec![2, 1], data: Data::F64(data) };
        let reward = |n: usize| Array { shape: vec![n], data: Data::F64(vec![0.5; n]) };
        let message = |phi: &Array, reward: &Array| {
            let bytes = npz::to_bytes(&[("phi", phi), ("reward", reward)]).unwrap();
            read_npz(&bytes).unwrap_err().to_string()
        };
        let bad = message(&phi(vec![0.0, f64::NAN]), &reward(2));
        assert!(bad.contains("array `phi`: NaN in row 1, column 0"), "{bad}");
        let bad = message(&phi(vec![0.0, 1.0]), &reward(3));
        assert!(bad.contains("array `reward`: float64 of shape (3,)"), "{bad}");
    }

    #[test]
    fn every_truncation_and_bit_flip_of_an_npz_is_an_error_or_changes_nothing() {
        assert_survives_corruption(&npz_example(), read_npz);
    }

    #[test]
    fn every_truncation_and_bit_flip_of_a_csv_is_read_or_refused() {
        let read = |bytes: &[u8]| Trajectory::from_csv(Path::new(FILE), bytes);
        assert_never_panics(CSV.as_bytes(), read);
        let read = |bytes: &[u8]| Features::from_csv(Path::new(FILE), bytes);
        assert_never_panics(b"phi_0,phi_1\n-1,2\n3,4e5\n", read);
    }
}
