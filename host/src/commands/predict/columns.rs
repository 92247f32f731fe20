//! Which columns of a file are signals.

use super::Predict;
use crate::error::Error;
use crate::formats::signal_table::{Holds, Places, SignalTable};
use compute::rows::Rows;
use std::path::Path;

/// Steps that differ by less than this share are the same, but for rounding.
const COUNTING: f64 = 1e-6;
/// The most columns that are left out by name in the report.
const NAMED: usize = 20;

/// The columns that are read: signals, and those that say when a row is and whose.
pub(super) struct Columns {
    /// The names of the signals.
    pub(super) names: Vec<String>,
    pub(super) places: Places,
    /// The name of the column of times.
    pub(super) time: Option<String>,
    /// The columns that are no signals, and why.
    pub(super) left_out: Vec<(String, String)>,
    /// The user said which ones.
    are_chosen: bool,
}

impl Columns {
    /// Finds them by their names, and by their first row.
    pub(super) fn new(options: &Predict, table: &SignalTable, file: &Path) -> Result<Self, Error> {
        let place =
            |name: &Option<String>| name.as_deref().map(|name| table.column(name)).transpose();
        let (time, series) = (place(&options.time)?, place(&options.by)?);
        let mut places = Places { signals: Vec::new(), time, series };
        for name in &options.leave_out {
            table.column(name)?;
        }
        let (mut names, mut left_out, mut first_words) = (Vec::<String>::new(), Vec::new(), None);
        let (mut time, is_chosen) = (options.time.clone(), !options.column.is_empty());
        for (name, at, holds) in table.columns() {
            if [places.time, places.series].contains(&Some(at)) {
                continue;
            }
            let is_in = |names: &[String]| names.iter().any(|asked| asked == name);
            let mut leave_out = |reason| left_out.push((name.to_owned(), reason));
            match holds {
                _ if is_in(&options.leave_out) => leave_out("as asked".to_owned()),
                _ if is_in(&options.column) => names.push(name.to_owned()),
                Holds::Times if time.is_none() => {
                    (places.time, time) = (Some(at), Some(name.to_owned()));
                    leave_out("it is the time".to_owned());
                }
                _ if is_chosen => {}
                Holds::Times => leave_out("a time".to_owned()),
                Holds::Words(reason) => {
                    leave_out(format!("no numbers (the first cell is {reason})"));
                    first_words.get_or_insert((name.to_owned(), reason));
                }
                Holds::Numbers => names.push(name.to_owned()),
            }
        }
        for name in &options.column {
            table.column(name)?;
        }
        if names.is_empty() {
            let reason = match first_words {
                Some((name, reason)) => format!(
                    "no column of numbers: row 1 (line {}), column `{name}`: {reason}; expected a number below the \
                     header line (remove a second one)",
                    table.first_line(),
                ),
                None => "no column of numbers; expected at least one".to_owned(),
            };
            return Err(Error::file(file, reason));
        }
        places.signals = names.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?;
        Ok(Columns { names, places, time, left_out, are_chosen: is_chosen })
    }

    /// Leaves out columns that change by the same step in every one of the first rows, such as an index or a year, unless
    /// nothing else is there or the user asked for them; returns the rows without them.
    pub(super) fn without_counters(&mut self, rows: Rows) -> Rows {
        let is_counter = |at: usize| {
            let x = |i: usize| rows.row(i)[at];
            let step = if rows.len() > 2 { x(1) - x(0) } else { 0.0 };
            let is_same = |i: usize| (x(i) - x(i - 1) - step).abs() <= COUNTING * step.abs();
            (step != 0.0 && (1..rows.len()).all(is_same)).then_some(step)
        };
        if self.are_chosen || self.places.series.is_some() {
            return rows;
        }
        let steps: Vec<_> = (0..self.names.len()).map(is_counter).collect();
        let kept: Vec<usize> = (0..steps.len()).filter(|at| steps[*at].is_none()).collect();
        if kept.is_empty() || kept.len() == steps.len() {
            return rows;
        }
        for (name, step) in self.names.iter().zip(&steps) {
            if let Some(step) = step {
                let reason = format!("it changes by {step} in every row");
                self.left_out.push((name.clone(), reason));
            }
        }
        self.names = kept.iter().map(|at| self.names[*at].clone()).collect();
        self.places.signals = kept.iter().map(|at| self.places.signals[*at]).collect();
        rows.of_columns(&kept)
    }

    /// Says which columns are left out.
    pub(super) fn said(&self) -> String {
        let named = self.left_out.iter().take(NAMED);
        let mut text: String =
            named.map(|(name, reason)| format!("`{name}` is left out: {reason}.\n")).collect();
        if let Some(more) = self.left_out.len().checked_sub(NAMED).filter(|more| *more > 0) {
            text.push_str(&format!("{more} more columns are left out.\n"));
        }
        text
    }
}
