//! The CSV files of [`super::trajectory`]: columns by name, in any order.

use super::error::excerpt;
use crate::error::Problem;
use crate::files;
use compute::transitions::{EpisodeEnd, Transitions};
use judge::rows::{Gaps, Layout, RowReader};
use std::collections::BTreeMap;
use std::io::Read;

pub use crate::files::limits::FEATURES as MAX_DIMENSION;

const BLOCK: usize = 4096;

const ACCEPTED_COLUMNS: &str = "`phi_0`, ..., `phi_{d-1}`, `reward`, `phi_next_0`, ..., `phi_next_{d-1}`, `terminal`, `end`, `rho`";
const ACCEPTED_NUMBERS: &str = "a finite number such as -0.25 or 1e-3";
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

/// Finds the columns by their names; the first numbers are those of phi, then those of phi', then the reward and the weight.
fn layout(names: &[String]) -> Result<(Layout, Table), Problem> {
    let mut layout = Layout { expected: ACCEPTED_NUMBERS, ..Layout::default() };
    let mut places = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        match name.as_str() {
            // The first column without a name is an index.
            "" if at == 0 => {}
            "" => layout.empty.push(at),
            name if places.insert(name.to_owned(), at).is_some() => {
                return Err(column_problem(name, "there twice", "each column once"));
            }
            _ => {}
        }
    }
    let mut features = |prefix: &str| -> Vec<usize> {
        (0..MAX_DIMENSION).map_while(|i| places.remove(&format!("{prefix}_{i}"))).collect()
    };
    let (phi, next) = (features("phi"), features("phi_next"));
    let [reward, terminal, end, rho] =
        ["reward", "terminal", "end", "rho"].map(|name| places.remove(name));
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
    let mut others = next.iter().chain(&reward).chain(&terminal).chain(&end).chain(&rho);
    let table = Table {
        dimension: d,
        other: others.next().map(|at| names[*at].clone()),
        reward: reward.map(|_| Vec::new()),
        rho: rho.map(|_| Vec::new()),
        phi_next: (!next.is_empty()).then(Vec::new),
        ..Table::default()
    };
    (layout.terminal, layout.end) = (terminal, end);
    layout.numbers = phi.into_iter().chain(next).map(|at| (at, Gaps::Refused)).collect();
    layout.numbers.extend(reward.into_iter().chain(rho).map(|at| (at, Gaps::Empty)));
    Ok((layout, table))
}

impl Table {
    pub(super) fn read(source: Box<dyn Read + Send>) -> Result<Self, Problem> {
        let mut reader = RowReader::open(source)?;
        let (layout, mut table) = layout(reader.names())?;
        let d = table.dimension;
        // The row and line whose reward or weight is empty: an error if another row follows.
        let mut incomplete = None;
        let refuse = |(row, line, column), reason: &str, expected| {
            let place = format!("row {row} (line {line}), column `{column}`");
            Problem::unusable(place, reason, expected)
        };
        while let Some((_, rows)) = reader.read(&layout, BLOCK)?.pop() {
            // Memory to hold, assemble, evaluate and write the rows.
            files::room(64 * (table.phi.len() + rows.numbers.len() + table.marks.len()) as u64)?;
            for (i, (mark, line)) in rows.marks.iter().zip(&rows.lines).enumerate() {
                if let Some(place) = incomplete.take() {
                    return Err(refuse(place, "empty", ACCEPTED_NUMBERS));
                }
                let (phi, mut rest) = rows.row(i).split_at(d);
                table.phi.extend_from_slice(phi);
                if let Some(next) = &mut table.phi_next {
                    next.extend_from_slice(&rest[..d]);
                    rest = &rest[d..];
                }
                let is_next_row = table.phi_next.is_none();
                let columns = [("reward", &mut table.reward), ("rho", &mut table.rho)];
                let columns =
                    columns.into_iter().filter_map(|(name, of)| Some((name, of.as_mut()?)));
                for ((name, numbers), x) in columns.zip(rest) {
                    numbers.push(*x);
                    let place = (rows.row_numbers[i], *line, name);
                    match mark {
                        _ if name == "rho" && *x < 0.0 => {
                            return Err(refuse(place, &format!("`{x}`"), ACCEPTED_WEIGHTS));
                        }
                        _ if !x.is_nan() => {}
                        EpisodeEnd::End if is_next_row => {}
                        EpisodeEnd::Continues if is_next_row => incomplete = Some(place),
                        _ => return Err(refuse(place, "empty", ACCEPTED_NUMBERS)),
                    }
                }
            }
            table.marks.extend(rows.marks);
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
