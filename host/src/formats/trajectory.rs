//! A user's own transitions, from a CSV or an `.npz` file.
//!
//! | CSV columns | `.npz` array | |
//! |---|---|---|
//! | `phi_0`, ..., `phi_{d-1}` | `phi`, (n, d) | features of the state |
//! | `reward` | `reward`, (n) | the reward on leaving it |
//! | `phi_next_0`, ..., `phi_next_{d-1}` | `phi_next`, (n, d), optional | features of the next state |
//! | `terminal` | `terminal`, (n), optional | 1: the next state is the end of an episode, of value 0 |
//! | `end` | `end`, (n), optional | 1: the episode is cut here, though it could go on |
//! | | `query`, (m, d), optional | features of states whose values are asked for |
//!
//! The columns stand in any order under a header line; separators are `,`, `;` or tabs; lines that begin
//! with `#` and a first column without a name (an index) are skipped. Queries for a CSV stand in a second file
//! with the `phi` columns only.
//!
//! Without `phi_next` the next row holds the next state. A row marked `end`, and the last row, then only
//! ends an episode: no transition leaves it, and its reward may be empty. A row marked `terminal` needs
//! no next state. With `phi_next` every row is a transition, and the features of the next state count as
//! 0 where it is terminal. Either mark ends the episode: what follows it belongs to another one.

use super::error::{FormatError, Problem};
use super::npy::Array;
use super::npz::Npz;
pub use super::transition_table::MAX_DIMENSION;
use super::transition_table::{Table, column_problem};
use crate::files;
use ictd_core::scalar::Scalar;
use ictd_core::transition::Transition;
use nalgebra::SVector;
use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;

/// The most bytes that a CSV file may have: 1 GiB.
pub const MAX_CSV_BYTES: u64 = 1 << 30;

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
    /// phi of every row of the file, (rows, d).
    pub phi: Features,
    /// The row of `phi` that each transition leaves, (n).
    pub from: Vec<usize>,
    /// The rewards, (n).
    pub reward: Vec<f64>,
    /// The next features, (n, d): 0 for a terminal state.
    pub phi_next: Features,
    /// True for the last transition of an episode, (n).
    pub ends: Vec<bool>,
    /// True if a state is marked as terminal.
    pub has_terminal: bool,
    /// The states whose values are asked for, if the file has any, (m, d).
    pub query: Option<Features>,
}

/// Which rows are marked, (rows) each.
struct Marks {
    terminal: Vec<bool>,
    end: Vec<bool>,
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
        let at = |j: usize, _| row.get(j).map_or(S::ZERO, |x| S::from_f64(*x));
        (row.len() <= D).then(|| SVector::from_fn(at))
    }

    /// Reads feature rows from a CSV file with the columns `phi_0`, ..., `phi_{d-1}` alone, or from
    /// the array `query` or `phi` of an `.npz` file.
    /// Errors: as [`Trajectory::open`].
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
    /// Errors: as [`Trajectory::from_csv`].
    pub fn from_csv(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let read = || {
            let table = Table::parse(bytes)?;
            if let Some(column) = table.other {
                let accepted = "only `phi_0`, ..., `phi_{d-1}` in a file of queries";
                return Err(column_problem(&column, "not a feature", accepted));
            }
            Ok(Features { dimension: table.dimension, numbers: table.phi })
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
                    phi: self.phi.row(self.from[i])?,
                    reward: S::from_f64(self.reward[i]),
                    phi_next: self.phi_next.row(i)?,
                })
            })
            .collect()
    }

    /// The transitions of each episode.
    pub fn episodes(&self) -> Vec<Range<usize>> {
        let mut start = 0;
        let ends = self.ends.iter().enumerate().filter(|(_, ends)| **ends);
        ends.map(|(i, _)| std::mem::replace(&mut start, i + 1)..i + 1).collect()
    }

    /// Reads a file: `.npz` by its name, CSV otherwise.
    /// Errors: [`Problem::Io`], [`Problem::TooLarge`], and those of [`Trajectory::from_csv`] or
    /// [`Trajectory::from_npz`].
    pub fn open(file: &Path) -> Result<Self, FormatError> {
        if is_npz(file) {
            Self::from_npz(&mut Npz::open(file)?)
        } else {
            Self::from_csv(file, &read_file(file)?)
        }
    }

    /// Reads the content of a CSV file; `file` is for messages.
    /// Errors: [`Problem::Unusable`] for columns that are missing, unknown or there twice, for a
    /// row of another length, and for what is no finite number.
    pub fn from_csv(file: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let read = || {
            let table = Table::parse(bytes)?;
            let Some(reward) = table.reward else {
                let accepted = "`phi_0`, ..., `phi_{d-1}`, `reward`, and `phi_next_0`, ...";
                return Err(column_problem("reward", "missing", accepted));
            };
            let features = |numbers| Features { dimension: table.dimension, numbers };
            let marks = Marks { terminal: table.terminal, end: table.end };
            let phi_next = table.phi_next.map(features);
            assemble(features(table.phi), reward, phi_next, marks, None)
        };
        read().map_err(|problem| problem.in_file(file))
    }

    /// Reads the arrays of an `.npz` file.
    /// Errors: [`Problem::MissingArray`], [`Problem::Unusable`], and those of [`Npz`].
    pub fn from_npz<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Self, FormatError> {
        let (phi, reward) = (npz.array("phi")?, npz.array("reward")?);
        let (phi_next, query) = (npz.optional_array("phi_next")?, npz.optional_array("query")?);
        let (terminal, end) = (npz.optional_array("terminal")?, npz.optional_array("end")?);
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
            let marks =
                Marks { terminal: marked("terminal", terminal, n)?, end: marked("end", end, n)? };
            let every_row = phi_next.is_some() || marks.terminal.last() == Some(&true);
            let lengths = if every_row { n..=n } else { n - 1..=n };
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
            assemble(phi, reward, phi_next, marks, query)
        };
        read().map_err(|problem| problem.in_file(npz.file()))
    }
}

/// Without next features the next row is the next state, and the last row of an episode has no transition
/// unless it is terminal.
fn assemble(
    phi: Features,
    reward: Vec<Option<f64>>,
    phi_next: Option<Features>,
    marks: Marks,
    query: Option<Features>,
) -> Result<Trajectory, Problem> {
    let (d, rows) = (phi.dimension, phi.len());
    let mut next = Features { dimension: d, numbers: Vec::new() };
    let (mut from, mut rewards, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let (terminal, end) = (marks.terminal[row], marks.end[row]);
        // The numbers of the next state, which are there unless this row only ends an episode.
        let (of, at) = phi_next.as_ref().map_or((&phi, row + 1), |next| (next, row));
        let numbers = of.numbers.get(at * d..(at + 1) * d).filter(|_| phi_next.is_some() || !end);
        match (terminal, numbers) {
            (true, _) => next.numbers.resize(next.numbers.len() + d, 0.0),
            (false, Some(numbers)) => next.numbers.extend_from_slice(numbers),
            (false, None) => {
                if let Some(ends) = ends.last_mut() {
                    *ends = true;
                }
                continue;
            }
        }
        from.push(row);
        // Every reward that belongs to a transition is there: the readers saw to it.
        rewards.extend(reward[row]);
        ends.push(terminal || end || row + 1 == rows);
    }
    if from.is_empty() {
        let reason =
            format!("missing in a file of {rows} rows, each of which only ends an episode");
        let accepted = "a row that another follows, or the columns (arrays) of next features";
        return Err(Problem::entry("phi_next", reason, accepted));
    }
    let has_terminal = marks.terminal.contains(&true);
    Ok(Trajectory { phi, from, reward: rewards, phi_next: next, ends, has_terminal, query })
}

/// The rows that an optional array of marks names.
fn marked(name: &str, array: Option<Array>, rows: usize) -> Result<Vec<bool>, Problem> {
    let Some(array) = array else { return Ok(vec![false; rows]) };
    let numbers = array.to_f64();
    if !matches!(*array.shape, [_] | [_, 1]) || numbers.len() != rows {
        let accepted = format!("({rows},): one mark for each row of `phi`");
        return Err(Problem::array(name, array.describe(), accepted));
    }
    if let Some(row) = numbers.iter().position(|x| ![0.0, 1.0].contains(x)) {
        return Err(Problem::array(name, format!("{} in row {row}", numbers[row]), "0 or 1"));
    }
    Ok(numbers.into_iter().map(|x| x == 1.0).collect())
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

fn is_npz(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}

fn read_file(file: &Path) -> Result<Vec<u8>, FormatError> {
    files::read(file, MAX_CSV_BYTES).map_err(|e| Problem::Io(e).in_file(file))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FILE, assert_never_panics, assert_survives_corruption};
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
            from: vec![0, 1],
            ends: vec![false, true],
            has_terminal: false,
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
    fn an_index_and_a_last_separator_are_skipped() {
        let plain = read("phi_0,reward\n1,10\n2,20\n").unwrap();
        assert_eq!(read(",phi_0,reward\n7,1,10\n8,2,20\n").unwrap(), plain);
        assert_eq!(read("phi_0,reward,\n1,10,\n2,20, \n").unwrap(), plain);
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
        // There is room for fewer features, not for more.
        assert!(trajectory.transitions::<f32, 2>().is_some());
        assert_eq!(read(CSV).unwrap().transitions::<f32, 1>(), None);
    }

    #[test]
    fn no_transition_crosses_the_end_of_an_episode() {
        let trajectory =
            read("phi_0,reward,terminal,end\n1,10,0,0\n2,20,1,0\n3,30,0,0\n4,,0,1\n5,50,True,1\n")
                .unwrap();
        assert_eq!(trajectory.from, [0, 1, 2, 4]);
        assert_eq!(trajectory.reward, [10.0, 20.0, 30.0, 50.0]);
        assert_eq!(trajectory.phi_next, features(1, &[2.0, 0.0, 4.0, 0.0]));
        assert_eq!(trajectory.episodes(), [0..2, 2..3, 3..4]);
        // With next features every row is a transition.
        let with_next = "phi_0,reward,phi_next_0,terminal,end\n1,10,2,0,0\n2,20,9,1,0\n3,30,4,0,1\n5,50,8,1,0\n";
        let same = read(with_next).unwrap();
        assert_eq!((&same.reward, &same.ends), (&trajectory.reward, &trajectory.ends));
        assert_eq!(same.phi_next, trajectory.phi_next);
        assert_eq!(same.transitions::<f64, 1>(), trajectory.transitions::<f64, 1>());
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
            ("phi_0,reward\n1,2\n".into(), "`phi_next`: missing in a file of 1 rows"),
            ("phi_0,reward,terminal\n1,2,2\n".into(), "row 1 (line 2), column `terminal`: `2`"),
            ("phi_0,reward,terminal\n1,,1\n".into(), "row 1 (line 2), column `reward`: empty"),
            ("phi_0,reward,end\n1,2,\n".into(), "row 1 (line 2), column `end`: empty"),
            ("phi_0,reward,\n0,5,2\n0,5,\n".into(), "row 1 (line 2), column ``: `2` without"),
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
    fn marks_of_npz_and_csv_give_the_same() {
        let numbers = |x: &[i64]| Array { shape: vec![x.len()], data: Data::I64(x.to_vec()) };
        let phi = Array { shape: vec![4, 1], data: Data::I64(vec![1, 2, 3, 4]) };
        let read = |marks: &[i64]| {
            let (reward, end) = (numbers(&[10, 20, 30, 40]), numbers(&[0, 1, 0, 0]));
            let arrays =
                [("phi", &phi), ("reward", &reward), ("end", &end), ("terminal", &numbers(marks))];
            read_npz(&npz::to_bytes(&arrays).unwrap())
        };
        let csv = "phi_0,reward,end,terminal\n1,10,0,0\n2,,1,0\n3,30,0,0\n4,40,0,1\n";
        assert_eq!(
            read(&[0, 0, 0, 1]).unwrap(),
            Trajectory::from_csv(Path::new(FILE), csv.as_bytes()).unwrap()
        );
        let bad = read(&[0, 3, 0, 0]).unwrap_err().to_string();
        assert!(bad.contains("array `terminal`: 3 in row 1; accepted is 0 or 1"), "{bad}");
        let bad = read(&[0, 0]).unwrap_err().to_string();
        assert!(bad.contains("array `terminal`: int64 of shape (2,)"), "{bad}");
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
