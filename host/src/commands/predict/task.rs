//! One prediction: a cumulant and a discount, through the whole stream.

use super::learners::Learners;
use super::returns::{Returns, Settled};
use crate::error::Error;
use crate::formats::signal_table::{Mark, Rows};
use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;

/// The rows at the front that are not judged.
pub(super) const UNJUDGED: u64 = 50;
/// The rows at the end that the figure shows.
const ROWS_IN_FIGURE: usize = 300;

/// Where in the rows read a task finds its numbers.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// What makes the state: a signal, or the features.
    pub(super) state: Vec<usize>,
    pub(super) cumulant: usize,
    /// The cumulant is that of leaving the row (the column `reward`), not the next row's.
    pub(super) is_reward: bool,
}

/// A row that the figure may show.
pub(super) struct Shown {
    pub(super) row: u64,
    pub(super) value: f64,
    pub(super) followed: f32,
    pub(super) predictions: Vec<f32>,
}

/// A cumulant and a discount.
pub(super) struct Task {
    pub(super) name: String,
    pub(super) gamma: f64,
    source: Source,
    learners: Box<dyn Learners>,
    returns: Returns,
    /// The cumulant of the latest row, if the episode goes on after it.
    before: Option<f64>,
    /// The latest cumulant that was seen.
    now: f64,
    predictions: Vec<f32>,
    /// The cumulant's and the discount's cells, and the lines of `predictions.csv` that are not written yet.
    cells: String,
    pub(super) lines: Vec<u8>,
    pub(super) judged: Judged,
    pub(super) shown: VecDeque<Shown>,
}

/// What is known of a stream at its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    /// Rows that were predicted, that were skipped, and whose predictions were judged.
    pub(super) rows: u64,
    pub(super) gaps: u64,
    pub(super) judged: u64,
    /// The least and the largest cumulant.
    pub(super) range: Option<(f64, f64)>,
    /// sum of followed^2.
    squared_returns: f64,
    /// sum of (prediction - followed)^2 of each estimator.
    squared_errors: Vec<f64>,
}

impl Judged {
    fn take(&mut self, settled: &Settled) {
        let Some(followed) = settled.followed.filter(|_| settled.row > UNJUDGED) else { return };
        let followed = f64::from(followed);
        self.judged += 1;
        self.squared_returns += followed * followed;
        for (sum, prediction) in self.squared_errors.iter_mut().zip(settled.predictions) {
            let error = f64::from(*prediction) - followed;
            *sum += error * error;
        }
    }

    /// mean (prediction - followed)^2 / mean followed^2 of each estimator; none if that is not finite.
    pub(super) fn normalised_errors(&self) -> Vec<Option<f64>> {
        let of = |sum: &f64| Some(sum / self.squared_returns).filter(|x| x.is_finite());
        self.squared_errors.iter().map(of).collect()
    }

    /// The root of mean followed^2.
    pub(super) fn rms_return(&self) -> f64 {
        (self.squared_returns / self.judged as f64).sqrt()
    }
}

impl Task {
    /// A task with so many estimators, the last two of which are persistence and 0; `name` is the cumulant's.
    pub(super) fn new(
        name: String,
        gamma: f64,
        source: Source,
        learners: Box<dyn Learners>,
        estimators: usize,
    ) -> Self {
        let mut cells = csv::WriterBuilder::new().from_writer(Vec::new());
        // Memory does not refuse.
        let _ = cells.write_record([name.as_str(), &gamma.to_string()]);
        let cells = String::from_utf8_lossy(&cells.into_inner().unwrap_or_default()).into_owned();
        Task {
            name,
            gamma,
            source,
            learners,
            returns: Returns::new(gamma, estimators),
            before: None,
            now: 0.0,
            predictions: Vec::new(),
            cells: cells.trim_end().to_owned(),
            lines: Vec::new(),
            judged: Judged { squared_errors: vec![0.0; estimators], ..Judged::default() },
            shown: VecDeque::new(),
        }
    }

    /// The steps after which a return is known.
    pub(super) fn horizon(&self) -> usize {
        self.returns.horizon
    }

    /// Takes rows, and appends the lines that are settled.
    ///
    /// # Errors
    /// [`Error::File`], naming the row, for numbers that are too large.
    pub(super) fn take(&mut self, file: &Path, rows: &Rows) -> Result<(), Error> {
        for i in 0..rows.len() {
            let (row, numbers) = (rows.first + i as u64, rows.row(i));
            self.take_row(row, numbers, rows.marks[i]).map_err(|e| {
                Error::file(file, format!("row {row}, column `{}`: {e}", self.name))
            })?;
        }
        self.settle(false);
        Ok(())
    }

    /// Appends the lines that are left at the end of the stream.
    pub(super) fn end(&mut self) {
        self.settle(true);
    }

    fn take_row(&mut self, row: u64, numbers: &[f64], mark: Mark) -> Result<(), ictd_core::Error> {
        let Source { state, cumulant, is_reward } = &self.source;
        let value = numbers[*cumulant];
        let state: Vec<f64> = state.iter().map(|at| numbers[*at]).collect();
        if !value.is_finite() || !state.iter().all(|x| x.is_finite()) {
            self.judged.gaps += 1;
            self.before = None;
            self.learners.cut();
            return Ok(());
        }
        let incoming = if *is_reward { self.before } else { self.before.map(|_| value) };
        self.predictions.clear();
        let (cumulant, follows) = (incoming.unwrap_or(value), incoming.is_some());
        self.learners.step(&state, cumulant, follows, &mut self.predictions)?;
        if let Some(cumulant) = incoming {
            self.returns.leave(cumulant, false);
        }
        // A reward is seen only with the row after it.
        self.now = if *is_reward { incoming.unwrap_or(self.now) } else { value };
        self.predictions.extend([(self.now / (1.0 - self.gamma)) as f32, 0.0]);
        self.returns.push(row, value, &self.predictions);
        self.before = (mark == Mark::Continues).then_some(value);
        match mark {
            Mark::Continues => {}
            Mark::Terminal => {
                let cumulant = if *is_reward { value } else { 0.0 };
                self.learners.terminal(cumulant)?;
                self.returns.leave(cumulant, true);
            }
            Mark::End => self.learners.cut(),
        }
        let judged = &mut self.judged;
        judged.rows += 1;
        let (low, high) = judged.range.unwrap_or((value, value));
        judged.range = Some((low.min(value), high.max(value)));
        Ok(())
    }

    fn settle(&mut self, is_end: bool) {
        let Task { returns, lines, judged, shown, cells, .. } = self;
        returns.settle(is_end, |settled| {
            judged.take(&settled);
            put_line(lines, cells, &settled);
            if let Some(followed) = settled.followed {
                if shown.len() == ROWS_IN_FIGURE {
                    shown.pop_front();
                }
                let predictions = settled.predictions.to_vec();
                shown.push_back(Shown {
                    row: settled.row,
                    value: settled.value,
                    followed,
                    predictions,
                });
            }
        });
    }
}

/// One line of `predictions.csv`; a number that is not finite is an empty cell.
fn put_line(lines: &mut Vec<u8>, cells: &str, settled: &Settled) {
    // Memory does not refuse.
    let _ = write!(lines, "{},{cells}", settled.row);
    for x in std::iter::once(settled.followed).chain(settled.predictions.iter().map(|x| Some(*x))) {
        let _ = match x.filter(|x| x.is_finite()) {
            Some(x) => write!(lines, ",{x:?}"),
            None => write!(lines, ","),
        };
    }
    lines.push(b'\n');
}
