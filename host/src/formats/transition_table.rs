//! The CSV files of [`super::trajectory`]: columns by name, in any order.

use super::error::excerpt;
use crate::error::Problem;
use crate::files;
use compute::estimator::Mark;
use compute::rows::{Gaps, Layout, RowReader};
use std::io::Read;

pub use crate::files::limits::FEATURES as MAX_DIMENSION;

/// Rows that are read at a time.
const BLOCK: usize = 4096;

const ACCEPTED_COLUMNS: &str =
    "`phi_0`, ..., `phi_{d-1}`, `reward`, `phi_next_0`, ..., `phi_next_{d-1}`, `terminal`, `end`";
const ACCEPTED_NUMBERS: &str = "a finite number such as -0.25 or 1e-3";

/// The content of a CSV file.
#[derive(Default)]
pub(super) struct Table {
    /// d.
    pub(super) dimension: usize,
    /// The first column that is no feature of a state.
    pub(super) other: Option<String>,
    /// (rows, d).
    pub(super) phi: Vec<f64>,
    /// None without the column; NaN in it for an empty cell in a row that no transition leaves.
    pub(super) reward: Option<Vec<f64>>,
    /// (rows, d).
    pub(super) phi_next: Option<Vec<f64>>,
    /// (rows).
    pub(super) marks: Vec<Mark>,
}

pub(super) fn column_problem(column: &str, reason: &str, accepted: &str) -> Problem {
    Problem::unusable(format_args!("column `{}`", excerpt(column)), reason, accepted)
}

/// Returns i of a column `phi_i`.
pub(super) fn feature(name: &str) -> Option<usize> {
    name.strip_prefix("phi_").and_then(|digits| digits.parse().ok())
}

/// Finds the columns by their names; the first numbers are those of phi, then those of phi', then the reward.
fn layout(names: &[String]) -> Result<(Layout, Table), Problem> {
    let mut layout = Layout { accepted: ACCEPTED_NUMBERS, ..Layout::default() };
    let mut table = Table::default();
    let (mut phi, mut next) = ([None; MAX_DIMENSION], [None; MAX_DIMENSION]);
    let mut reward = None;
    for (at, name) in names.iter().enumerate() {
        let unknown = || column_problem(name, "unknown", ACCEPTED_COLUMNS);
        let next_of = name.strip_prefix("phi_next_").and_then(|digits| digits.parse().ok());
        let place = match name.as_str() {
            "reward" => &mut reward,
            "terminal" => &mut layout.terminal,
            "end" => &mut layout.end,
            // The first column without a name is an index.
            "" if at == 0 => continue,
            "" => {
                layout.empty.push(at);
                continue;
            }
            name => match (feature(name), next_of) {
                (Some(i), _) => phi.get_mut(i).ok_or_else(unknown)?,
                (_, Some(i)) => next.get_mut::<usize>(i).ok_or_else(unknown)?,
                _ => return Err(unknown()),
            },
        };
        if place.replace(at).is_some() {
            return Err(column_problem(name, "there twice", "each column once"));
        }
        if feature(name).is_none() {
            table.other.get_or_insert_with(|| name.clone());
        }
    }
    let d = phi.iter().flatten().count();
    table.dimension = d;
    let number = |place: Option<usize>, name: &str, i: usize| {
        let missing = || column_problem(&format!("{name}_{i}"), "missing", ACCEPTED_COLUMNS);
        place.map(|at| (at, Gaps::Refused)).ok_or_else(missing)
    };
    for i in 0..d.max(1) {
        layout.numbers.push(number(phi[i], "phi", i)?);
    }
    if next.iter().any(Option::is_some) {
        for i in 0..d {
            layout.numbers.push(number(next[i], "phi_next", i)?);
        }
        if next.iter().flatten().count() > d {
            let accepted = format!("as many `phi_next` columns as `phi` columns, {d}");
            return Err(column_problem(&format!("phi_next_{d}"), "too many", &accepted));
        }
        table.phi_next = Some(Vec::new());
    }
    if let Some(at) = reward {
        layout.numbers.push((at, Gaps::Empty));
        table.reward = Some(Vec::new());
    }
    Ok((layout, table))
}

impl Table {
    /// Reads a file.
    /// Errors: [`Problem::Io`]; [`Problem::Unusable`].
    pub(super) fn read(source: Box<dyn Read + Send>) -> Result<Self, Problem> {
        let mut reader = RowReader::open(source)?;
        let (layout, mut table) = layout(reader.names())?;
        let d = table.dimension;
        // The row and line whose reward is empty: an error as soon as another row follows.
        let mut unrewarded = None;
        let refuse = |(row, line)| {
            let place = format!("row {row} (line {line}), column `reward`");
            Problem::unusable(place, "empty", ACCEPTED_NUMBERS)
        };
        loop {
            let rows = reader.read(&layout, BLOCK)?;
            if rows.is_empty() {
                break;
            }
            // They are held, assembled, valued, and written.
            files::room(64 * (table.phi.len() + rows.numbers.len() + table.marks.len()) as u64)?;
            for (i, (mark, line)) in rows.marks.iter().zip(&rows.lines).enumerate() {
                if let Some(place) = unrewarded.take() {
                    return Err(refuse(place));
                }
                let (phi, rest) = rows.row(i).split_at(d);
                table.phi.extend_from_slice(phi);
                if let Some(next) = &mut table.phi_next {
                    next.extend_from_slice(&rest[..d]);
                }
                if let (Some(rewards), Some(reward)) = (&mut table.reward, rest.last()) {
                    rewards.push(*reward);
                    let place = (rows.first + i as u64, *line);
                    match mark {
                        _ if !reward.is_nan() => {}
                        Mark::End if table.phi_next.is_none() => {}
                        Mark::Continues if table.phi_next.is_none() => unrewarded = Some(place),
                        _ => return Err(refuse(place)),
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
}
