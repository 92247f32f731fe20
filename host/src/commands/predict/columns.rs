//! Finds the columns of a file that are signals.

use super::Predict;
use crate::error::Error;
use crate::formats::signal_table::{SignalTable, layout};
use compute::options::excerpt;
use judge::cells::{self, Holds, Meant};
use judge::rows::Layout;
use judge::times::TimeForm;
use std::collections::HashSet;
use std::path::Path;

/// The largest number of omitted columns that the report names.
const NAMED: usize = 20;

pub(super) struct Columns {
    pub(super) names: Vec<String>,
    pub(super) layout: Layout,
    pub(super) time: Option<String>,
    pub(super) left_out: Vec<(String, String)>,
    notes: String,
}

impl Columns {
    pub(super) fn new(options: &Predict, table: &SignalTable, file: &Path) -> Result<Self, Error> {
        for name in options.column.iter().chain(&options.leave_out) {
            table.column(name)?;
        }
        if let Some(name) = options.column.iter().find(|name| options.leave_out.contains(name)) {
            return Err(Error::option("--leave-out", format!("{name}: --column asks for it")));
        }
        let place = |name: &Option<String>| name.as_deref().map(|n| table.column(n)).transpose();
        let (given, series) = (place(&options.time)?, place(&options.by)?);
        let of = |names: &[String]| names.iter().cloned().collect::<HashSet<String>>();
        let (asked, unasked) = (of(&options.column), of(&options.leave_out));
        let (names, is_chosen) = (table.rows.names(), !asked.is_empty());
        let mut holds: Vec<Holds> = (0..names.len()).map(|at| table.holds(at, series)).collect();
        if let Some(at) = given {
            holds[at] = Holds::of("time", true, &table.first_cells(at));
            if let Holds::Words(reason, _) = &holds[at] {
                return Err(Error::option("--time", format!("{}: {reason}", names[at])));
            }
        }
        let of_day = Holds::Times(TimeForm::OfDay);
        let of_day = holds.iter().position(|holds| *holds == of_day);
        // A date is a row's time only together with a time of day.
        let other = |at: usize| of_day.filter(|_| is_date(table, at, &holds[at]));
        let says_when = |at: &usize| {
            let is_free =
                series != Some(*at) && [&asked, &unasked].iter().all(|s| !s.contains(&names[*at]));
            let is_time = matches!(holds[*at], Holds::Times(_));
            is_free
                && is_time
                && (other(*at).is_some() || series.is_some() || !is_shared(table, *at))
        };
        let mut time = given.or_else(|| (0..names.len()).find(says_when));

        let is_free = |at: &usize| ![series, time].contains(&Some(*at));
        let free = |wanted: fn(&Holds) -> bool| {
            let is_named = |name: &String| !name.is_empty() && !unasked.contains(name);
            let columns = (0..names.len()).filter(is_free);
            columns.filter(|at| wanted(&holds[*at]) && is_named(&names[*at])).collect::<Vec<_>>()
        };
        let mut signals: Vec<usize> = match is_chosen {
            true => (0..names.len()).filter(|at| asked.contains(&names[*at])).collect(),
            false => free(|holds| *holds == Holds::Numbers),
        };
        if signals.is_empty() {
            signals = free(|holds| matches!(holds, Holds::Counts(_) | Holds::PartOfDate));
            let words = free(|holds| matches!(holds, Holds::Words(..)));
            // A cell that was meant as a number is the most informative, and no index stands for it.
            let is_meant = |holds: &Holds| {
                matches!(holds, Holds::Words(_, Some(Meant::Number | Meant::NumberWithComma)))
            };
            let meant = words.iter().find(|at| is_meant(&holds[**at]));
            if signals.is_empty() || meant.is_some() {
                let reason = match meant.or(words.first()) {
                    Some(at) => no_numbers(table, *at),
                    None => "no column of numbers; expected at least one".to_owned(),
                };
                return Err(Error::file(file, reason));
            }
        } else if matches!(holds[0], Holds::Counts(_)) && series != Some(0) {
            // A column that counts the rows is their time if no other is, and a signal only if no other is.
            time = time.or(Some(0));
        }
        let is_word = |at: &usize| {
            let first = table.first_cells(*at).first().copied().unwrap_or_default();
            cells::plain(first).is_none() && !cells::is_missing(first)
        };
        if !options.skip_gaps && signals.iter().all(is_word) {
            return Err(Error::file(file, no_numbers(table, signals[0])));
        }
        for at in &signals {
            table.column(&names[*at])?;
        }
        let mut left_out = Vec::new();
        let signal: HashSet<usize> = signals.iter().copied().collect();
        for (at, name) in names.iter().enumerate() {
            let is_empty = name.is_empty() && table.first_cells(at).iter().all(|c| c.is_empty());
            if is_empty || series == Some(at) || signal.contains(&at) {
                continue;
            }
            let reason = match &holds[at] {
                _ if unasked.contains(name) => "as asked".to_owned(),
                _ if is_chosen && time != Some(at) => continue,
                Holds::Counts(reason) => reason.clone(),
                Holds::PartOfDate => "a part of a date".to_owned(),
                _ if time == Some(at) => "it is the time".to_owned(),
                Holds::Words(reason, meant)
                    if series.is_none()
                        && !name.is_empty()
                        && is_of_series(table, at)
                        && !matches!(meant, Some(Meant::NumberWithComma | Meant::Time)) =>
                {
                    format!("{reason}; --by {name:?} if each of its values is a series")
                }
                Holds::Words(reason, _) => reason.clone(),
                Holds::Numbers => "it has no name in the header".to_owned(),
                _ if is_shared(table, at) => "a time that rows share".to_owned(),
                _ => "a time".to_owned(),
            };
            left_out.push((called(table, at), reason));
        }
        let mut notes: String = match options.missing {
            None => signals.iter().filter_map(|at| sentinel(table, *at)).collect(),
            Some(_) => String::new(),
        };
        let has_words = holds.iter().any(|holds| matches!(holds, Holds::Words(..)));
        if options.skip_gaps && time.is_none() && has_words {
            notes.push_str(
                "No column has times that can be read, so missing rows are not detected.\n",
            );
        }
        let form = |at: usize| match holds[at] {
            Holds::Times(form) => (at, form),
            _ => (at, TimeForm::Number),
        };
        let times = time.into_iter().flat_map(|at| [Some(at), other(at)]).flatten().map(form);
        let rows = layout(&signals, options.skip_gaps);
        Ok(Columns {
            names: signals.iter().map(|at| names[*at].clone()).collect(),
            layout: Layout { time: times.collect(), series, missing: options.missing, ..rows },
            time: time.map(|at| called(table, at)),
            left_out,
            notes,
        })
    }

    /// Returns true if the rows have times of day without dates.
    pub(super) fn is_of_day(&self) -> bool {
        matches!(self.layout.time[..], [(_, TimeForm::OfDay)])
    }

    pub(super) fn said(&self) -> String {
        let named = self.left_out.iter().take(NAMED);
        let mut text: String =
            named.map(|(name, reason)| format!("`{name}` is left out: {reason}.\n")).collect();
        if let Some(more) = self.left_out.len().checked_sub(NAMED).filter(|more| *more > 0) {
            text.push_str(&format!("{more} more columns are left out.\n"));
        }
        text + &self.notes
    }
}

fn called(table: &SignalTable, at: usize) -> String {
    let name = &table.rows.names()[at];
    if name.is_empty() { format!("column {}", at + 1) } else { name.clone() }
}

/// Returns true if a column has dates without times of day.
fn is_date(table: &SignalTable, at: usize, holds: &Holds) -> bool {
    let form = if let Holds::Times(form) = holds { *form } else { TimeForm::Number };
    let is_midnight = |cell: &&[u8]| form.read(cell).is_none_or(|time| time % 86_400.0 == 0.0);
    !matches!(form, TimeForm::OfDay | TimeForm::Number)
        && table.first_cells(at).iter().all(is_midnight)
}

/// Returns true if most rows have the time of the row before, so that it does not order them.
fn is_shared(table: &SignalTable, at: usize) -> bool {
    let cells = table.first_cells(at);
    2 * cells.windows(2).filter(|two| two[0] == two[1]).count() > cells.len()
}

/// Names a value of a column that may stand for missing ones.
fn sentinel(table: &SignalTable, at: usize) -> Option<String> {
    let x: Vec<f64> = table.first_cells(at).into_iter().filter_map(cells::plain).collect();
    let (value, count) = cells::sentinel(&x)?;
    let (name, rows) = (&table.rows.names()[at], x.len());
    Some(format!(
        "`{name}` is {value} in {count} of the first {rows} rows, far from all others: if this stands for a missing value, add \
         --missing {value} --skip-gaps\n"
    ))
}

/// Returns true if words repeat, like the names of several series.
fn is_of_series(table: &SignalTable, at: usize) -> bool {
    let cells = table.first_cells(at);
    let names: HashSet<&[u8]> = cells.iter().copied().collect();
    names.len() > 1 && 2 * names.len() <= cells.len()
}

fn no_numbers(table: &SignalTable, at: usize) -> String {
    let (first, number) = table.first_lines();
    let name = excerpt(&table.rows.names()[at]);
    let cells = table.first_cells(at);
    let word = cells.iter().find_map(|cell| cells::number(cell).err()).unwrap_or_default();
    let advice = match number.filter(|line| *line > first) {
        Some(line) => {
            format!("the first number is in line {line}: expected the header line right above it")
        }
        None => "expected a number below the header line".to_owned(),
    };
    format!("no column of numbers: row 1 (line {first}), column `{name}`: {word}; {advice}")
}
