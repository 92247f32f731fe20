//! Predictions of signals row by row, scored once the returns are known.

mod candidates;
mod grids;
mod returns;
mod score;
mod series;

pub use candidates::{Candidate, OF_PREDICTOR, Settings};
pub use returns::{KNOWN, Returns, Settled};
pub use score::{ForecastScore, log_ratio_interval};

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
    /// Returns the forecasts of a signal. Returns the core's error for settings that a candidate does not accept.
    pub fn new(name: &str, gamma: f64, settings: &Settings) -> Result<Self, Error> {
        let learners = CandidateSet::new(settings, gamma)?;
        let is_plain = !name.contains(['"', ',', '\n', '\r']);
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let count = learners.candidates.len();
        Ok(SignalForecast {
            name: name.to_owned(),
            gamma,
            learners,
            returns: Returns::new(gamma, count + OF_PREDICTOR.len()),
            level: None,
            follows: false,
            predictions: Vec::new(),
            cells: format!("{},{gamma}", if is_plain { name } else { &quoted }),
            lines: Vec::new(),
            judged: ForecastScore::new(count, gamma),
            shown: VecDeque::new(),
        })
    }

    /// Returns the candidates, in the order of their predictions.
    pub fn candidates(&self) -> &[Candidate] {
        &self.learners.candidates
    }

    /// Observes the values of consecutive rows, of which `first` is the number of the first one, and appends the lines that have
    /// become final; no values end the stream and make all lines final. NaN is a gap. Each break is the index of a value before
    /// which rows are missing, and their number. Returns the row's number and the core's error for a number that is too large.
    pub fn take(
        &mut self,
        first: u64,
        values: &[f64],
        breaks: &[(usize, u64)],
    ) -> Result<(), (u64, Error)> {
        let mut breaks = breaks.iter().peekable();
        if self.level.is_none() {
            let mut sorted: Vec<f64> = values.iter().copied().filter(|x| x.is_finite()).collect();
            sorted.sort_by(f64::total_cmp);
            self.level = sorted.get(sorted.len() / 2).copied();
        }
        for (i, value) in values.iter().enumerate() {
            if let Some((_, missing)) = breaks.next_if(|(at, _)| *at == i) {
                self.interrupt(*missing);
            }
            let row = first + i as u64;
            self.take_row(row, *value).map_err(|error| (row, error))?;
        }
        self.settle(values.is_empty());
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
        let mut buffer = zmij::Buffer::new();
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
            // The memory of the row that leaves serves the new one.
            let oldest = if shown.len() == ROWS_IN_FIGURE { shown.pop_front() } else { None };
            let mut of_row = oldest.map_or(Vec::new(), |oldest| oldest.predictions);
            of_row.clone_from(predictions);
            let (row, value) = (settled.row, settled.value + level);
            shown.push_back(FigureRow { row, value, realised_return, predictions: of_row });
        });
    }
}
