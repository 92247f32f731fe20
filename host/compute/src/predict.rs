//! Predictions of signals row by row, and how good they were once it is known what followed.

mod candidates;
mod returns;
mod series;

pub use candidates::{Candidate, OF_PREDICTOR, Settings};
pub use returns::{KNOWN, Returns, Settled};

use crate::rows::Rows;
use candidates::CandidateSet;
use ictd_core::Error;
use std::collections::VecDeque;
use std::io::Write;

/// The rows at the front that are not judged.
pub const UNJUDGED: u64 = 50;
/// The rows at the end that a figure shows.
const ROWS_IN_FIGURE: usize = 300;
/// A surprise above this one is an alarm: in a clean signal about one in 1,000 rows.
pub const ALARM: f32 = 0.999;
/// Steps that differ by less than this share are the same, but for rounding.
const COUNTING: f64 = 1e-6;
/// Below this share of its mean square a variance is one of single precision.
const ROUNDING: f64 = 1e-13;

/// A sum to predict: a signal and a discount.
pub struct SignalForecast {
    /// The signal's name.
    pub name: String,
    /// The discount.
    pub gamma: f64,
    /// The signal's place in the rows read.
    place: usize,
    learners: CandidateSet,
    /// Rows that wait for what follows.
    pub returns: Returns,
    /// The first value. Everything is computed from the distances to it, so that no result depends on the level.
    level: Option<f64>,
    /// The last row was no gap.
    follows: bool,
    predictions: Vec<f32>,
    /// The signal's and the discount's cells.
    cells: String,
    /// The lines of the table of predictions that are settled; the caller takes them.
    pub lines: Vec<u8>,
    /// The record of the stream.
    pub judged: ForecastScore,
    /// The last rows.
    pub shown: VecDeque<Shown>,
}

/// A row that a figure may show.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Its number.
    pub row: u64,
    /// The signal's value in it.
    pub value: f64,
    /// The discounted sum of what followed.
    pub followed: f32,
    /// The prediction of each candidate, and [`OF_PREDICTOR`].
    pub predictions: Vec<f32>,
}

/// The record of a stream at its end.
#[derive(Clone, Debug, Default)]
pub struct ForecastScore {
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
    /// The least and the largest value.
    pub range: Option<(f64, f64)>,
    /// The last value, and by how much it differs from the one before.
    last: Option<(f64, Option<f64>)>,
    /// Values did not follow each other by one step.
    has_steps: bool,
    /// The mean of what followed.
    mean: f64,
    /// sum (followed - mean)^2.
    squares: f64,
    /// sum (prediction - followed)^2 of each candidate.
    squared_errors: Vec<f64>,
}

impl ForecastScore {
    fn see(&mut self, value: f64) {
        self.rows += 1;
        let (low, high) = self.range.unwrap_or((value, value));
        self.range = Some((low.min(value), high.max(value)));
        let step = self.last.map(|(last, _)| value - last);
        if let (Some((_, Some(before))), Some(step)) = (self.last, step) {
            self.has_steps |= (step - before).abs() > COUNTING * before.abs();
        }
        self.last = Some((value, step));
    }

    /// Returns the step by which the values count up or down, from row to row: an index or a time, and no signal.
    pub fn counts_by(&self) -> Option<f64> {
        let (_, step) = self.last?;
        step.filter(|step| *step != 0.0 && !self.has_steps && self.rows > 2 && self.gaps == 0)
    }

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
        // The last returns of a constant signal are known only to that relative precision.
        let is_constant = self.range.is_some_and(|(low, high)| low == high);
        let least = if is_constant { KNOWN * KNOWN } else { ROUNDING };
        if variance > least * self.mean * self.mean { variance.sqrt() } else { 0.0 }
    }
}

impl SignalForecast {
    /// Begins to predict a signal at a place in the rows.
    ///
    /// # Errors
    /// The core's, for settings that no candidate has.
    pub fn new(name: &str, place: usize, gamma: f64, settings: &Settings) -> Result<Self, Error> {
        let learners = CandidateSet::new(settings, gamma)?;
        let mut cells = csv::WriterBuilder::new().from_writer(Vec::new());
        // Memory does not refuse.
        let _ = cells.write_record([name, &gamma.to_string()]);
        let cells = String::from_utf8_lossy(&cells.into_inner().unwrap_or_default()).into_owned();
        let count = learners.candidates.len();
        Ok(SignalForecast {
            name: name.to_owned(),
            gamma,
            place,
            learners,
            returns: Returns::new(gamma, count + OF_PREDICTOR.len()),
            level: None,
            follows: false,
            predictions: Vec::new(),
            cells: cells.trim_end().to_owned(),
            lines: Vec::new(),
            judged: ForecastScore { squared_errors: vec![0.0; count], ..ForecastScore::default() },
            shown: VecDeque::new(),
        })
    }

    /// Returns the candidates, in the order of their predictions.
    pub fn candidates(&self) -> &[Candidate] {
        &self.learners.candidates
    }

    /// Takes rows, and appends the lines that are settled; all of them without rows, at the end of the stream.
    ///
    /// # Errors
    /// The number of the row, and the core's reason, for numbers that are too large.
    pub fn take(&mut self, rows: &Rows) -> Result<(), (u64, Error)> {
        for i in 0..rows.len() {
            let row = rows.first + i as u64;
            self.take_row(row, rows.row(i)[self.place]).map_err(|error| (row, error))?;
        }
        self.settle(rows.is_empty());
        Ok(())
    }

    fn take_row(&mut self, row: u64, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            self.judged.gaps += 1;
            self.follows = false;
            self.learners.skip();
            return Ok(());
        }
        if ((value / (1.0 - self.gamma)) as f32).is_infinite() {
            let expected = "what single precision holds the discounted sum of (at most 3e38)";
            return Err(Error::OutOfRange { parameter: "value", expected });
        }
        let distance = value - *self.level.get_or_insert(value);
        let follows = std::mem::replace(&mut self.follows, true);
        self.predictions.clear();
        self.learners.step(distance, follows, &mut self.predictions)?;
        self.returns.push(row, distance, follows, &self.predictions);
        self.judged.see(value);
        Ok(())
    }

    fn settle(&mut self, is_end: bool) {
        let SignalForecast {
            returns, lines, judged, shown, cells, level, gamma, predictions, ..
        } = self;
        let level = level.unwrap_or(0.0);
        let sum = level / (1.0 - *gamma);
        // In the signal's own unit; the last number is the surprise.
        let at_level = |x: &f32| (f64::from(*x) + sum) as f32;
        returns.settle(is_end, |settled| {
            judged.take(&settled);
            let followed = settled.followed.as_ref().map(at_level);
            predictions.clear();
            if let Some((surprise, sums)) = settled.predictions.split_last() {
                predictions.extend(sums.iter().map(at_level));
                predictions.push(*surprise);
            }
            let Settled { row, value, .. } = settled;
            put_line(lines, cells, row, followed, predictions);
            let Some(followed) = followed else { return };
            let oldest = if shown.len() == ROWS_IN_FIGURE { shown.pop_front() } else { None };
            let mut of_oldest = oldest.map_or(Vec::new(), |oldest| oldest.predictions);
            of_oldest.clone_from(predictions);
            let value = value + level;
            shown.push_back(Shown { row, value, followed, predictions: of_oldest });
        });
    }
}

/// Appends a line of the table of predictions; a number that is not finite is an empty cell.
fn put_line(
    lines: &mut Vec<u8>,
    cells: &str,
    row: u64,
    followed: Option<f32>,
    predictions: &[f32],
) {
    // Memory does not refuse.
    let _ = write!(lines, "{row},{cells}");
    let followed = followed.unwrap_or(f32::NAN);
    let mut buffer = ryu::Buffer::new();
    for &x in std::iter::once(&followed).chain(predictions) {
        let text = if x.is_finite() { buffer.format_finite(x) } else { "" };
        lines.push(b',');
        lines.extend_from_slice(text.as_bytes());
    }
    lines.push(b'\n');
}
