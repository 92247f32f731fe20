//! Predictions of signals row by row, and how good they were once it is known what followed.

mod candidates;
mod returns;
mod series;

pub use candidates::{Candidate, Given, OF_PREDICTOR, candidates};
pub use returns::{KNOWN, Returns, Settled};

use crate::estimator::Mark;
use crate::rows::Rows;
use candidates::Learners;
use ictd_core::Error;
use std::collections::VecDeque;
use std::io::Write;

/// The rows at the front that are not judged.
pub const UNJUDGED: u64 = 50;
/// The rows at the end that a figure shows.
const ROWS_IN_FIGURE: usize = 300;
/// A surprise above this one is an alarm: in a clean signal about one in 1,000 rows.
pub const ALARM: f32 = 0.999;
/// Below this share of its mean square a variance is one of single precision.
const ROUNDING: f64 = 1e-13;

/// Where in the rows read a task finds its numbers.
#[derive(Clone, Debug)]
pub struct Source {
    /// The source of the state: a signal, or the features.
    pub state: Vec<usize>,
    /// The cumulant's place.
    pub cumulant: usize,
    /// The cumulant is that of leaving the row (the column `reward`), not the next row's.
    pub is_reward: bool,
}

/// A sum to predict: a cumulant and a discount.
pub struct Task {
    /// The cumulant's name.
    pub name: String,
    /// The discount.
    pub gamma: f64,
    source: Source,
    learners: Learners,
    returns: Returns,
    /// The cumulant of the latest row, if the episode goes on after it.
    before: Option<f64>,
    state: Vec<f64>,
    predictions: Vec<f32>,
    /// The cumulant's and the discount's cells.
    cells: String,
    /// The lines of the table of predictions that are settled; the caller takes them.
    pub lines: Vec<u8>,
    /// The record of the stream.
    pub judged: Judged,
    /// The last rows.
    pub shown: VecDeque<Shown>,
}

/// A row that a figure may show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its number.
    pub row: u64,
    /// The cumulant's column in it.
    pub value: f64,
    /// The discounted sum of what followed.
    pub followed: f32,
    /// The prediction of each candidate, and [`OF_PREDICTOR`].
    pub predictions: Vec<f32>,
}

/// The record of a stream at its end.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// Rows that were predicted.
    pub rows: u64,
    /// Rows that were skipped.
    pub gaps: u64,
    /// Rows whose predictions were judged.
    pub judged: u64,
    /// Of those, the ones in which the predictor's band had ends, and those in which it held what followed.
    pub banded: u64,
    pub in_band: u64,
    /// Rows that surprised the predictor by more than [`ALARM`].
    pub alarms: u64,
    /// The least and the largest cumulant.
    pub range: Option<(f64, f64)>,
    /// The mean of what followed.
    mean: f64,
    /// sum (followed - mean)^2.
    squares: f64,
    /// sum (prediction - followed)^2 of each candidate.
    squared_errors: Vec<f64>,
}

impl Judged {
    fn take(&mut self, settled: &Settled) {
        let Some((_, &[low, high, surprise])) = settled.predictions.split_last_chunk() else {
            return;
        };
        self.alarms += u64::from(surprise > ALARM);
        let Some(followed) = settled.followed.filter(|_| settled.row > UNJUDGED) else { return };
        let has_ends = low.is_finite() && high.is_finite();
        self.banded += u64::from(has_ends);
        self.in_band += u64::from(has_ends && (low..=high).contains(&followed));
        let followed = f64::from(followed);
        self.judged += 1;
        let deviation = followed - self.mean;
        self.mean += deviation / self.judged as f64;
        self.squares += deviation * (followed - self.mean);
        for (sum, prediction) in self.squared_errors.iter_mut().zip(settled.predictions) {
            let error = f64::from(*prediction) - followed;
            *sum += error * error;
        }
    }

    /// Returns mean (prediction - followed)^2 / variance of what followed, of each candidate; none if that is not
    /// finite, or what followed never changed.
    pub fn normalised_errors(&self) -> Vec<Option<f64>> {
        let deviation = self.standard_deviation();
        let squares = deviation * deviation * self.judged as f64;
        let share = |sum: &f64| Some(sum / squares).filter(|x| x.is_finite());
        self.squared_errors.iter().map(share).collect()
    }

    /// Returns the standard deviation of what followed; 0 if it never changed.
    pub fn standard_deviation(&self) -> f64 {
        let variance = self.squares / self.judged as f64;
        // Of a constant the last returns are known to that share alone.
        let is_constant = self.range.is_some_and(|(low, high)| low == high);
        let least = if is_constant { KNOWN * KNOWN } else { ROUNDING };
        if variance > least * self.mean * self.mean { variance.sqrt() } else { 0.0 }
    }
}

impl Task {
    /// Begins to predict a cumulant, `name`, by the candidates, from a state of d features; those are made of one
    /// signal if `is_signal`.
    ///
    /// # Errors
    /// The core's, for settings that no candidate has.
    pub fn new(
        name: String,
        gamma: f64,
        source: Source,
        candidates: &[Candidate],
        (d, is_signal): (usize, bool),
    ) -> Result<Self, Error> {
        let learners = Learners::new(candidates, gamma, d, is_signal, source.is_reward)?;
        let mut cells = csv::WriterBuilder::new().from_writer(Vec::new());
        // Memory does not refuse.
        let _ = cells.write_record([name.as_str(), &gamma.to_string()]);
        let cells = String::from_utf8_lossy(&cells.into_inner().unwrap_or_default()).into_owned();
        let squared_errors = vec![0.0; candidates.len()];
        Ok(Task {
            name,
            gamma,
            source,
            learners,
            returns: Returns::new(gamma, candidates.len() + OF_PREDICTOR.len()),
            before: None,
            state: Vec::new(),
            predictions: Vec::new(),
            cells: cells.trim_end().to_owned(),
            lines: Vec::new(),
            judged: Judged { squared_errors, ..Judged::default() },
            shown: VecDeque::new(),
        })
    }

    /// Returns the steps after which a return is known.
    pub fn horizon(&self) -> usize {
        self.returns.horizon
    }

    /// Returns the most bytes that so many more rows may ask for.
    pub fn most_bytes(&self, rows: usize) -> u64 {
        self.returns.most_bytes(rows)
    }

    /// Takes rows, and appends the lines that are settled; all of them without rows, at the end of the stream.
    ///
    /// # Errors
    /// The number of the row, and the core's reason, for numbers that are too large.
    pub fn take(&mut self, rows: &Rows) -> Result<(), (u64, Error)> {
        for i in 0..rows.len() {
            let row = rows.first + i as u64;
            self.take_row(row, rows.row(i), rows.marks[i]).map_err(|error| (row, error))?;
        }
        self.settle(rows.is_empty());
        Ok(())
    }

    fn take_row(&mut self, row: u64, numbers: &[f64], mark: Mark) -> Result<(), Error> {
        let Source { state, cumulant, is_reward } = &self.source;
        let value = numbers[*cumulant];
        self.state.clear();
        self.state.extend(state.iter().map(|at| numbers[*at]));
        if !value.is_finite() || !self.state.iter().all(|x| x.is_finite()) {
            self.judged.gaps += 1;
            self.before = None;
            self.learners.skip();
            return Ok(());
        }
        if ((value / (1.0 - self.gamma)) as f32).is_infinite() {
            let accepted = "what single precision holds the discounted sum of (at most 3e38)";
            return Err(Error::OutOfRange { parameter: "value", accepted });
        }
        let incoming = if *is_reward { self.before } else { self.before.map(|_| value) };
        // A reward is seen only with the row after it.
        let sample = if *is_reward { incoming } else { Some(value) };
        let (cumulant, follows) = (incoming.unwrap_or(value), incoming.is_some());
        self.predictions.clear();
        self.learners.step(&self.state, cumulant, follows, sample, &mut self.predictions)?;
        if let Some(cumulant) = incoming {
            self.returns.leave(cumulant, false);
        }
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
            let Some(followed) = settled.followed else { return };
            let oldest = if shown.len() == ROWS_IN_FIGURE { shown.pop_front() } else { None };
            let mut predictions = oldest.map_or(Vec::new(), |oldest| oldest.predictions);
            predictions.clear();
            predictions.extend_from_slice(settled.predictions);
            let Settled { row, value, .. } = settled;
            shown.push_back(Shown { row, value, followed, predictions });
        });
    }
}

/// Appends a line of the table of predictions; a number that is not finite is an empty cell.
fn put_line(lines: &mut Vec<u8>, cells: &str, settled: &Settled) {
    // Memory does not refuse.
    let _ = write!(lines, "{},{cells}", settled.row);
    let followed = settled.followed.unwrap_or(f32::NAN);
    for &x in std::iter::once(&followed).chain(settled.predictions) {
        lines.push(b',');
        put_number(lines, x);
    }
    lines.push(b'\n');
}

/// Appends a number as `{:?}` has it, in a third of the time.
fn put_number(lines: &mut Vec<u8>, x: f32) {
    /// The decimals up to which a number times a power of ten is exact in `f64`.
    const EXACT: i32 = 12;
    let mut buffer = ryu::Buffer::new();
    if x == 0.0 || (1e-4..16_777_216.0).contains(&x.abs()) {
        let text = buffer.format_finite(x);
        let decimals = text.bytes().rev().position(|byte| byte == b'.').unwrap_or(0) as i32;
        // Of two texts as short and as near the two writers choose different ones.
        let scale = (0..decimals.min(EXACT)).fold(1.0, |power, _| 10.0 * power);
        let is_between = (f64::from(x) * scale).fract().abs() == 0.5;
        if decimals <= EXACT && !is_between {
            return lines.extend_from_slice(text.as_bytes());
        }
    }
    if x.is_finite() {
        let _ = write!(lines, "{x:?}");
    }
}
