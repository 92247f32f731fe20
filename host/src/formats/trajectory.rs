//! A user's own transitions, from a CSV or an `.npz` file.
//!
//! The help of `ictd evaluate` has their columns and arrays; queries for a CSV are in a second file with only the `phi` columns. Without `phi_next` the next row holds the next state. A row marked `end`, and the last row, then only ends an episode: no
//! transition leaves it, and its reward may be empty. A row marked `terminal` needs no next state. With `phi_next` every row is
//! a transition, and the features of a terminal next state count as 0. Either mark ends the episode: the next row belongs to
//! another one.

use super::npy::Array;
use super::npz::{Npz, missing};
pub use super::transition_table::MAX_DIMENSION;
use super::transition_table::{ACCEPTED_WEIGHTS, Table, column_problem};
use crate::error::{Error, InFile as _, Problem};
use crate::files::{self, limits::TABLE};
use compute::transitions::{EpisodeEnd, Transitions};
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

/// The arrays of a log by their names.
pub(super) type Arrays = BTreeMap<&'static str, Array>;

#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    pub dimension: usize,
    /// The numbers, row by row.
    pub numbers: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The transitions as observed; their rows are those of the file.
    pub transitions: Transitions,
    /// The states to evaluate, if the file has any, (m, d).
    pub query: Option<Features>,
}

impl Features {
    pub fn rows(&self) -> usize {
        self.numbers.len() / self.dimension
    }

    /// Reads feature rows from a CSV file, or from the array `query` or `phi` of an `.npz` file.
    pub fn open(file: &Path) -> Result<Self, Error> {
        if !is_npz(file) {
            return Self::from_csv(file, files::open(file, TABLE).in_file(file)?);
        }
        let mut npz = Npz::open(file)?;
        let features = match npz.optional_array("query")? {
            Some(array) => features("query", &array),
            None => features("phi", &npz.array("phi")?),
        };
        features.in_file(file)
    }

    pub fn from_csv(file: &Path, source: impl Read + Send + 'static) -> Result<Self, Error> {
        let table = Table::read(Box::new(source)).in_file(file)?;
        if let Some(column) = table.other {
            let expected = "only `phi_0`, ..., `phi_{d-1}` in a file of queries";
            return Err(column_problem(&column, "not a feature", expected).in_file(file));
        }
        Ok(Features { dimension: table.dimension, numbers: table.phi })
    }
}

impl Trajectory {
    pub fn from_csv(file: &Path, source: impl Read + Send + 'static) -> Result<Self, Error> {
        let read = || Table::read(Box::new(source))?.transitions();
        Ok(Trajectory { transitions: read().in_file(file)?, query: None })
    }

    /// Returns the transitions of arrays, and `task`, (n), which names the task of each row; empty without it. An episode ends
    /// where the task changes.
    pub(super) fn of_arrays(arrays: &Arrays) -> Result<(Self, Vec<f64>), Problem> {
        let given = |name: &str| arrays.get(name);
        let required = |name: &str| {
            let present = || arrays.keys().map(|name| name.to_string()).collect::<Vec<_>>();
            given(name).ok_or_else(|| missing(name, &present()))
        };
        let (phi, reward) = (features("phi", required("phi")?)?, required("reward")?);
        let optional = |name| match given(name).map(|array| features(name, array)).transpose()? {
            Some(rows) if rows.dimension != phi.dimension => {
                let reason = format!("{} columns", rows.dimension);
                let expected = format!("{}, the columns of `phi`", phi.dimension);
                Err(Problem::array(name, reason, expected))
            }
            rows => Ok(rows),
        };
        let (phi_next, query) = (optional("phi_next")?, optional("query")?);
        let n = phi.rows();
        let marked = |name: &str| {
            let Some(array) = given(name) else { return Ok(vec![false; n]) };
            let numbers = column(name, array, n..=n, |x| [0.0, 1.0].contains(&x), "0 or 1")?;
            Ok::<_, Problem>(numbers.into_iter().map(|x| x == 1.0).collect())
        };
        let (terminal, end) = (marked("terminal")?, marked("end")?);
        let of_rows = |array| column("task", array, n..=n, f64::is_finite, "finite numbers");
        let task = given("task").map(of_rows).transpose()?.unwrap_or_default();
        let changes = |row: usize| task.get(row + 1).is_some_and(|next| *next != task[row]);
        let marks: Vec<_> = (terminal.into_iter().zip(end).enumerate())
            .map(|(row, (ends, end))| EpisodeEnd::from_marks(ends, end || changes(row)))
            .collect();
        let every_row = phi_next.is_some() || marks.last() == Some(&EpisodeEnd::Terminal);
        let lengths = if every_row { n..=n } else { n - 1..=n };
        let reward = column("reward", reward, lengths.clone(), f64::is_finite, "finite numbers")?;
        let is_weight = |x: f64| x.is_finite() && x >= 0.0;
        let weights = |rho| column("rho", rho, lengths, is_weight, ACCEPTED_WEIGHTS);
        let rho = given("rho").map(weights).transpose()?;
        if let Some(next) = phi_next.as_ref().filter(|next| next.rows() != n) {
            let expected = format!("{n}, the rows of `phi`");
            return Err(Problem::array("phi_next", format!("{} rows", next.rows()), expected));
        }
        let table = Table {
            dimension: phi.dimension,
            phi: phi.numbers,
            reward: Some(reward),
            phi_next: phi_next.map(|next| next.numbers),
            rho,
            marks,
            ..Table::default()
        };
        Ok((Trajectory { transitions: table.transitions()?, query }, task))
    }
}

fn column(
    name: &str,
    array: &Array,
    rows: RangeInclusive<usize>,
    accepts: impl Fn(f64) -> bool,
    expected: &str,
) -> Result<Vec<f64>, Problem> {
    let numbers = array.numbers(name)?;
    if !matches!(*array.shape, [_] | [_, 1]) || !rows.contains(&numbers.len()) {
        let expected = format!("({},): one number for each row of `phi`", rows.end());
        return Err(Problem::array(name, array.describe(), expected));
    }
    if let Some(row) = numbers.iter().position(|x| !accepts(*x)) {
        return Err(Problem::array(name, format!("{} in row {}", numbers[row], row + 1), expected));
    }
    Ok(numbers)
}

/// Returns a finite (rows, d) array with at least one row.
fn features(name: &str, array: &Array) -> Result<Features, Problem> {
    let dimension = match *array.shape {
        [rows, d] if rows > 0 && (1..=MAX_DIMENSION).contains(&d) => d,
        _ => {
            let expected =
                format!("(rows, d) with at least one row and d from 1 to {MAX_DIMENSION}");
            return Err(Problem::array(name, array.describe(), expected));
        }
    };
    let numbers = array.numbers(name)?;
    if let Some(i) = numbers.iter().position(|x| !x.is_finite()) {
        let (row, column) = (i / dimension + 1, i % dimension + 1);
        let place = format!("{} in row {row}, column {column}", numbers[i]);
        return Err(Problem::array(name, place, "finite numbers"));
    }
    Ok(Features { dimension, numbers })
}

pub(super) fn is_npz(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}
