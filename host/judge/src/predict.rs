//! Predictions of signals row by row, scored once the returns are known.

mod candidates;
mod clock;
mod returns;
mod score;
mod series;

pub use candidates::{Candidate, OF_PREDICTOR, Settings};
pub(crate) use clock::usual_steps;
pub use clock::{Clock, Count};
pub use returns::{KNOWN, Returns, Settled};
pub use score::{ForecastScore, log_ratio_interval};

use crate::rows::Rows;
use candidates::CandidateSet;
use ictd_core::Error;
use std::collections::VecDeque;
use std::io::Write;

/// The number of first rows that are not scored.
pub const UNJUDGED: u64 = 50;
const ROWS_IN_FIGURE: usize = 300;
/// A surprise above this value is an alarm: in a clean signal about one in 1,000 rows.
pub const ALARM: f32 = 0.999;

/// The forecasts of one discounted sum: a signal and a discount.
pub struct SignalForecast {
    pub name: String,
    pub gamma: f64,
    place: usize,
    learners: CandidateSet,
    pub returns: Returns,
    /// The median of the first rows, which is subtracted from all values, so that no result depends on the level.
    pub level: Option<f64>,
    /// Whether the next row follows the last one: there is one, and it was not a gap.
    follows: bool,
    predictions: Vec<f32>,
    /// The signal's and the discount's cells.
    cells: String,
    /// The final lines of the table of predictions; the caller removes them.
    pub lines: Vec<u8>,
    pub judged: ForecastScore,
    pub shown: VecDeque<FigureRow>,
}

#[derive(Clone, Debug)]
pub struct FigureRow {
    pub row: u64,
    pub value: f64,
    /// G_t, the discounted sum of the next values.
    pub realised_return: f32,
    /// The candidates' predictions, then the columns [`OF_PREDICTOR`].
    pub predictions: Vec<f32>,
}

impl SignalForecast {
    /// Returns the forecasts of the signal in column `place` of the rows.
    /// Returns the core's error for settings that a candidate does not accept.
    pub fn new(name: &str, place: usize, gamma: f64, settings: &Settings) -> Result<Self, Error> {
        let learners = CandidateSet::new(settings, gamma)?;
        let mut cells = csv::WriterBuilder::new().from_writer(Vec::new());
        // Writing to memory cannot fail.
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
            judged: ForecastScore::new(count, gamma),
            shown: VecDeque::new(),
        })
    }

    /// Returns the candidates, in the order of their predictions.
    pub fn candidates(&self) -> &[Candidate] {
        &self.learners.candidates
    }

    /// Observes rows and appends the lines that have become final; an empty `rows` ends the stream and makes all lines final.
    /// Each break is a row that does not follow the one before, and the number of rows missing between them.
    /// Returns the row's number and the core's error for a number that is too large.
    pub fn take(&mut self, rows: &Rows, breaks: &[(usize, u64)]) -> Result<(), (u64, Error)> {
        let mut breaks = breaks.iter().peekable();
        if self.level.is_none() {
            let values = (0..rows.len()).map(|i| rows.row(i)[self.place]);
            let mut first: Vec<f64> = values.filter(|x| x.is_finite()).collect();
            first.sort_by(f64::total_cmp);
            self.level = first.get(first.len() / 2).copied();
        }
        for (i, &row) in rows.row_numbers.iter().enumerate() {
            if let Some((_, missing)) = breaks.next_if(|(at, _)| *at == i) {
                self.interrupt(*missing);
            }
            self.take_row(row, rows.row(i)[self.place]).map_err(|error| (row, error))?;
        }
        self.settle(rows.is_empty());
        Ok(())
    }

    /// Frees the memory for rows and lines, at the end of the stream.
    pub fn release(&mut self) {
        self.lines = Vec::new();
        self.returns = Returns::new(self.gamma, 0);
    }

    fn interrupt(&mut self, missing: u64) {
        self.follows = false;
        self.learners.skip(missing);
    }

    fn take_row(&mut self, row: u64, value: f64) -> Result<(), Error> {
        if !value.is_finite() {
            self.judged.gaps += 1;
            self.interrupt(1);
            return Ok(());
        }
        if ((value / (1.0 - self.gamma)) as f32).is_infinite() {
            let expected = "what single precision holds the discounted sum of (at most 3e38)";
            return Err(Error::OutOfRange { parameter: "value", expected });
        }
        let distance = value - self.level.unwrap_or(value);
        let follows = std::mem::replace(&mut self.follows, true);
        self.predictions.clear();
        self.learners.step(distance, follows, &mut self.predictions)?;
        self.returns.push(row, distance, follows, &self.predictions);
        self.judged.see(value, follows);
        Ok(())
    }

    fn settle(&mut self, is_end: bool) {
        let SignalForecast {
            returns, lines, judged, shown, cells, level, gamma, predictions, ..
        } = self;
        let level = level.unwrap_or(0.0);
        let sum = level / (1.0 - *gamma);
        // Add the level back; the last number is the surprise.
        let at_level = |x: &f32| (f64::from(*x) + sum) as f32;
        let mut buffer = ryu::Buffer::new();
        returns.settle(is_end, |settled| {
            judged.take(&settled);
            let realised = settled.realised_return.as_ref().map(at_level);
            predictions.clear();
            if let Some((surprise, sums)) = settled.predictions.split_last() {
                predictions.extend(sums.iter().map(at_level));
                predictions.push(*surprise);
            }
            // Writing to memory cannot fail. A number that is not finite is an empty cell.
            let _ = write!(lines, "{},{cells}", settled.row);
            for x in [realised.unwrap_or(f32::NAN)].iter().chain(&*predictions) {
                let text = if x.is_finite() { buffer.format_finite(*x) } else { "" };
                lines.push(b',');
                lines.extend_from_slice(text.as_bytes());
            }
            lines.push(b'\n');
            let Some(realised_return) = realised else { return };
            if shown.len() == ROWS_IN_FIGURE {
                shown.pop_front();
            }
            let (row, value, predictions) =
                (settled.row, settled.value + level, predictions.clone());
            shown.push_back(FigureRow { row, value, realised_return, predictions });
        });
    }
}
