//! The CSV files of [`super::trajectory`]: columns by name, in any order.

use super::error::excerpt;
use crate::error::Problem;
use crate::files;
use compute::transitions::{EpisodeEnd, Transitions};
use std::collections::BTreeMap;
use std::io::Read;
use tables::{Cells, Format};

pub use crate::files::limits::FEATURES as MAX_DIMENSION;

const BLOCK: usize = 4096;

const ACCEPTED_COLUMNS: &str = "`phi_0`, ..., `phi_{d-1}`, `reward`, `phi_next_0`, ..., `phi_next_{d-1}`, `terminal`, `end`, `rho`";
const GAP: &str = "a gap; expected a finite number such as -0.25 or 1e-3";
pub(super) const ACCEPTED_WEIGHTS: &str = "finite numbers of at least 0";

/// The rows of a file: a CSV's, or those of the arrays of an `.npz`.
#[derive(Default)]
pub(super) struct Table {
    pub(super) dimension: usize,
    /// A column that is not a feature of the state.
    pub(super) other: Option<String>,
    /// (rows, d).
    pub(super) phi: Vec<f64>,
    /// `None` without the column; NaN in it for an empty cell in a row that no transition leaves.
    pub(super) reward: Option<Vec<f64>>,
    /// (rows, d).
    pub(super) phi_next: Option<Vec<f64>>,
    /// Importance weights, as for `reward`.
    pub(super) rho: Option<Vec<f64>>,
    /// (rows).
    pub(super) marks: Vec<EpisodeEnd>,
}

pub(super) fn column_problem(column: &str, reason: &str, expected: &str) -> Problem {
    Problem::unusable(format_args!("column `{}`", excerpt(column)), reason, expected)
}

/// The places of a table's columns.
struct Places {
    phi: Vec<usize>,
    next: Vec<usize>,
    reward: Option<usize>,
    rho: Option<usize>,
    /// `terminal` and `end`.
    marks: [Option<usize>; 2],
}

/// Finds the columns by their names, which are all different.
fn places(names: &[String]) -> Result<Places, Problem> {
    let mut places: BTreeMap<_, _> = names.iter().zip(0..).collect();
    let mut features = |prefix: &str| -> Vec<usize> {
        (0..MAX_DIMENSION).map_while(|i| places.remove(&format!("{prefix}_{i}"))).collect()
    };
    let (phi, next) = (features("phi"), features("phi_next"));
    let [reward, rho, terminal, end] =
        ["reward", "rho", "terminal", "end"].map(|name| places.remove(&name.to_owned()));
    let d = phi.len();
    if d == 0 {
        return Err(column_problem("phi_0", "missing", ACCEPTED_COLUMNS));
    }
    if let Some(unknown) = names.iter().find(|name| places.contains_key(*name)) {
        return Err(column_problem(unknown, "unknown", ACCEPTED_COLUMNS));
    }
    if !next.is_empty() && next.len() != d {
        let reason = if next.len() < d { "missing" } else { "too many" };
        let expected = format!("as many `phi_next` columns as `phi` columns, {d}");
        return Err(column_problem(&format!("phi_next_{}", d.min(next.len())), reason, &expected));
    }
    Ok(Places { phi, next, reward, rho, marks: [terminal, end] })
}

impl Table {
    pub(super) fn read(source: Box<dyn Read + Send>) -> Result<Self, Problem> {
        let mut reader = tables::Table::open(source, Format::default())?;
        let Places { phi, next, reward, rho, marks } = places(reader.names())?;
        let (d, is_next_row) = (phi.len(), next.is_empty());
        let mut others = next.iter().chain(&reward).chain(marks.iter().flatten()).chain(&rho);
        let mut table = Table {
            dimension: d,
            other: others.next().map(|at| reader.names()[*at].clone()),
            reward: reward.map(|_| Vec::new()),
            rho: rho.map(|_| Vec::new()),
            phi_next: (!is_next_row).then(Vec::new),
            ..Table::default()
        };
        let numbers = phi.iter().chain(&next).chain(&reward).chain(&rho);
        let mut columns: Vec<_> = numbers.map(|at| (*at, Cells::Numbers)).collect();
        columns.extend(marks.iter().flatten().map(|at| (*at, Cells::Marks)));
        // The row and column whose reward or weight is a gap: an error if another row follows.
        let mut incomplete = None;
        loop {
            let rows = reader.read(&columns, BLOCK)?;
            // Memory to hold, assemble, evaluate and write the rows.
            let kept = table.phi.len() + rows.len() * columns.len() + table.marks.len();
            files::room(64 * kept as u64)?;
            for i in 0..rows.len() {
                let row = rows.first + i as u64;
                if let Some((row, at)) = incomplete.take() {
                    return Err(reader.problem(row, at, GAP).into());
                }
                let mut cells = columns.iter().zip(&rows.columns).map(|((at, _), x)| (*at, x[i]));
                for part in [Some(&mut table.phi), table.phi_next.as_mut()].into_iter().flatten() {
                    for (at, x) in cells.by_ref().take(d) {
                        if x.is_nan() {
                            return Err(reader.problem(row, at, GAP).into());
                        }
                        part.push(x);
                    }
                }
                let [reward, rho] = [&reward, &rho].map(|of| of.and_then(|_| cells.next()));
                let [terminal, end] =
                    marks.map(|of| of.and_then(|_| cells.next()).is_some_and(|(_, x)| x == 1.0));
                let mark = EpisodeEnd::from_marks(terminal, end);
                if let Some((at, x)) = rho.filter(|(_, x)| *x < 0.0) {
                    let reason = format!("`{x}`; expected {ACCEPTED_WEIGHTS}");
                    return Err(reader.problem(row, at, &reason).into());
                }
                for (numbers, cell) in [(&mut table.reward, reward), (&mut table.rho, rho)] {
                    let (Some(numbers), Some((at, x))) = (numbers, cell) else { continue };
                    numbers.push(x);
                    match mark {
                        _ if !x.is_nan() => {}
                        EpisodeEnd::End if is_next_row => {}
                        EpisodeEnd::Continues if is_next_row => incomplete = Some((row, at)),
                        _ => return Err(reader.problem(row, at, GAP).into()),
                    }
                }
                table.marks.push(mark);
            }
            if rows.is_empty() {
                break;
            }
        }
        if table.marks.is_empty() {
            let reason = "no rows below the header";
            return Err(Problem::unusable("row 1 (line 2)", reason, "at least one"));
        }
        Ok(table)
    }

    /// Returns the transitions. Without next features the next row is the next state, and the last row of an episode has no
    /// transition unless it is terminal.
    pub(super) fn transitions(self) -> Result<Transitions, Problem> {
        let Some(reward) = self.reward else {
            let expected = "`phi_0`, ..., `phi_{d-1}`, `reward`, and `phi_next_0`, ...";
            return Err(column_problem("reward", "missing", expected));
        };
        let (d, rows) = (self.dimension, self.marks.len());
        let rho = self.rho.as_ref().map(|_| Vec::new());
        let mut t = Transitions { d, rho, ..Transitions::default() };
        for (row, mark) in self.marks.into_iter().enumerate() {
            // The numbers of the next state, which are there unless this row only ends an episode.
            let (of, at) = self.phi_next.as_ref().map_or((&self.phi, row + 1), |next| (next, row));
            let is_there = self.phi_next.is_some() || mark != EpisodeEnd::End;
            let numbers = of.get(at * d..(at + 1) * d).filter(|_| is_there);
            match (mark, numbers) {
                (EpisodeEnd::Terminal, _) => t.phi_next.resize(t.phi_next.len() + d, 0.0),
                (_, Some(numbers)) => t.phi_next.extend_from_slice(numbers),
                (_, None) => {
                    if let Some(mark @ EpisodeEnd::Continues) = t.marks.last_mut() {
                        *mark = EpisodeEnd::End;
                    }
                    continue;
                }
            }
            t.from.push(row);
            // The readers have checked that every transition has its reward and weight.
            t.reward.extend(reward.get(row));
            if let (Some(weights), Some(rho)) = (&mut t.rho, &self.rho) {
                weights.extend(rho.get(row));
            }
            let is_last = row + 1 == rows && mark == EpisodeEnd::Continues;
            t.marks.push(if is_last { EpisodeEnd::End } else { mark });
        }
        if t.from.is_empty() {
            let reason =
                format!("missing in a file of {rows} rows, each of which only ends an episode");
            let expected = "a row that another follows, or the columns (arrays) of next features";
            return Err(Problem::entry("phi_next", reason, expected));
        }
        t.phi = self.phi;
        Ok(t)
    }
}
