//! `ictd predict`: predictions of a user's signals, compared with those of classical algorithms.

mod found;

use found::Found;

use crate::error::{Error, InFile as _, WithContext as _};
use crate::experiments::{Experiment, Measured};
use crate::files;
use crate::model_file;
use crate::options;
use crate::run::records::{Stream, to_csv};
use crate::run::{Report, RunFiles, Session, progress};
use judge::estimator::Estimator;
use judge::predict::{OF_PREDICTOR, Settings, SignalForecast, UNJUDGED};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use tables::{Cells, Clock, Format, Rows, Table};

/// The largest discount: some hundred thousand rows wait for their returns.
const LARGEST_GAMMA: f64 = 0.9999;
const LONGEST: f64 = 10_000.0;
const LONGEST_PERIOD: usize = 100_000;
const STDIN: &str = "-";
/// The limit on pending predictions, and how many of them one task's learners count as.
const MOST_NUMBERS: usize = 1 << 26;
const NUMBERS_OF_TASK: usize = 20_000;
/// The number of streams that are computed before their predictions are written.
const STREAMS: usize = 64;
/// The number of cells that are read at a time, and bounds of the number of their rows.
const CELLS: usize = 1 << 20;
const LEAST_BLOCK: usize = 256;
const BLOCK: usize = 8192;

/// Predict the signals of a CSV file as firmware would, and say how good the predictions are
///
/// The command reads a file of any length, row by row. At each row, before reading the next, it
/// predicts for each column the return: the discounted sum of the values to come,
/// sum_k gamma^k x_{t+1+k}, about the next 1 / (1 - gamma) rows, its horizon. Later it compares
/// each prediction with the return that followed:
///   normalised_error = mean (prediction - return)^2 / variance of the returns
/// The means are over the rows whose return is known to 1e-3 (k more rows follow,
/// gamma^k <= 1e-3), without each signal's first 50. 1 is the error of predicting the mean of the
/// returns, which nobody knows beforehand.
///
/// The estimators, whose settings are in the guide's page on signals:
///   universal    the universal model, on a context that forgets (--retention); and each --model
///   td, lstd     online TD(lambda) and LSTD(0.9), with 12 and 9 settings; the best is known only in
///                hindsight
///   ar, ar32     an autoregression of 8 or 32 lags, by recursive least squares
///   holt         extrapolates Holt's linear trend
///   average      predicts the exponential average
///   seasonal     repeats the last --period rows
///   persistence  repeats the last value
///   predictor    the crate's Predictor: a prediction, a 90 % band and a surprise
///
/// The report has the fraction of returns that fell inside the predictor's band, and the number of
/// rows whose surprise was above 0.999: about one in 1,000 rows of a clean signal.
///
/// A CSV file has a header line, the same separator on every line, and numbers with a decimal point;
/// every column is a signal except that of --time. An empty cell or NaN is a gap, and so is a row that
/// is missing by --time: the command refuses it, or skips it with --skip-gaps. It refuses everything
/// else; the guide's page on signals shows how to read other tables in Python.
///
/// The command writes predictions.csv (row, signal, gamma, return, one column for each estimator,
/// predictor_low, predictor_high, surprise; in f32, with an empty cell where nothing is known) and
/// a figure of the last rows. It computes in f64; the predictor computes, as on a chip, in f32
/// distances from a level.
#[derive(Clone, Debug, clap::Args, Serialize)]
#[command(verbatim_doc_comment)]
#[serde(rename_all = "kebab-case")]
pub struct Predict {
    /// The signals; `-` is standard input
    #[arg(value_name = "FILE.csv")]
    pub file: PathBuf,
    /// A column to predict; may be given several times [default: each, except that of --time]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<String>,
    /// The column of the rows' times, ascending by regular steps: numbers, or dates in ISO 8601
    #[arg(long, value_name = "NAME")]
    pub time: Option<String>,
    /// The character between the cells of a line; `tab` is a tab
    #[arg(long, value_name = "CHARACTER", default_value = ",", value_parser = separator)]
    pub separator: char,
    /// The first line is a row; the columns are called 1, 2, ...
    #[arg(long)]
    pub no_header: bool,
    /// Discount factor gamma; may be given several times [default: 0.9, without --horizon]
    #[arg(long, value_parser = options::real(0.0..=LARGEST_GAMMA))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gamma: Vec<f64>,
    /// The discount 1 - 1 / SAMPLES, in addition to those of --gamma; may be given several times
    #[arg(long, value_name = "SAMPLES", value_parser = options::real(1.0..=LONGEST))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub horizon: Vec<f64>,
    /// Also predict that the last SAMPLES rows are repeated (`seasonal`)
    #[arg(long, value_name = "SAMPLES", value_parser = options::integer(1..=LONGEST_PERIOD))]
    pub period: Option<usize>,
    /// Number of features made of a signal
    #[arg(long, value_name = "D", default_value = "4", value_parser = options::integer(1..=16))]
    pub dim: usize,
    /// The share of the past that the models' contexts retain at each row
    #[arg(long, default_value = "0.995", value_parser = retention)]
    pub retention: f64,
    /// A model in addition to the universal one: a stored model, .safetensors, data.npz, or a run's folder
    /// (--seed chooses the seed); may be given several times
    #[arg(long, value_name = "FILE|DIR")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<PathBuf>,
    /// Skip gaps, in each column by itself, and begin anew after them
    #[arg(long)]
    pub skip_gaps: bool,
}

fn retention(text: &str) -> Result<f64, String> {
    let expected = "expected a number in (0, 1)";
    options::real(0.0..1.0)(text).ok().filter(|x| *x > 0.0).ok_or(expected.into())
}

fn separator(text: &str) -> Result<char, String> {
    let mut characters = if text == "tab" { "\t" } else { text }.chars();
    let first = characters.next().filter(|_| characters.next().is_none());
    let is_one =
        |c: &char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"\"+-.\r\n\0".contains(*c);
    first.filter(is_one).ok_or("expected one character that no number has, or `tab`".into())
}

pub(crate) const ENTRY: Experiment =
    Experiment::by_command("predict", "none: the user's own signals", found::figures);

pub fn run(options: &Predict, session: &Session) -> Result<Report, Error> {
    ENTRY.refuse_inside(session, &options.file)?;
    ENTRY.record(options, session, |records| options.measure(session, records))
}

impl Predict {
    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        let file = self.file.as_path();
        let source: Box<dyn Read + Send> = match file == Path::new(STDIN) {
            true => Box::new(std::io::stdin()),
            false => Box::new(files::open(file, files::STREAM).in_file(file)?),
        };
        let format = Format { separator: self.separator, has_header: !self.no_header };
        let mut table = Table::open(source, format).in_file(file)?;
        let columns = self.columns(&table).in_file(file)?;
        let (gammas, signals) = (self.gammas(), columns.signals.len());
        // Check before they are built, which takes longer than counting them.
        let too_many = |streams: usize, waiting: usize| match streams * NUMBERS_OF_TASK + waiting {
            numbers if numbers > MOST_NUMBERS => {
                let reason = format!(
                    "{streams} streams (columns times discounts) need {numbers} numbers in memory; expected at most \
                     {MOST_NUMBERS}: take fewer columns (--column), fewer discounts, or smaller ones"
                );
                Err(Error::option("--gamma", reason))
            }
            _ => Ok(()),
        };
        too_many(gammas.len() * signals, 0)?;
        let block = (CELLS / signals).clamp(LEAST_BLOCK, BLOCK);
        let settings = Settings {
            given: self.given(session)?,
            retention: self.retention,
            d: self.dim,
            period: self.period,
        };
        let (mut tasks, mut waiting) = (Vec::<SignalForecast>::new(), 0);
        let streams = columns.signals.iter().flat_map(|at| gammas.iter().map(move |g| (*at, *g)));
        for (at, gamma) in streams {
            let name = cell(&table.names()[at]);
            let make = || SignalForecast::new(&name, gamma, &settings);
            let task = session.on_threads(1, make)?.context("the estimators")?;
            let width = task.candidates().len() + OF_PREDICTOR.len();
            waiting += task.returns.horizon * width + self.period.unwrap_or(0);
            tasks.push(task);
            too_many(gammas.len() * signals, waiting)?;
        }
        let mut stream = records.stream("predictions.csv")?;
        stream.write(&head(&tasks[0])?)?;
        let bytes = match file == Path::new(STDIN) {
            true => 0,
            false => files::open(file, files::STREAM)
                .and_then(|f| f.metadata())
                .map_or(0, |found| found.len()),
        };
        let bar = progress::bar("bytes", bytes, session.json);
        let mut gaps = Gaps::default();
        let mut rows_read = 0;
        loop {
            progress::check()?;
            let rows = table.read(&columns.wanted, block).in_file(file)?;
            let breaks = gaps.find(&table, &columns, &rows, self.skip_gaps).in_file(file)?;
            self.take(&rows, &breaks, &mut tasks, session, &mut stream)?;
            if rows.is_empty() {
                break;
            }
            rows_read += rows.len() as u64;
            bar.set_position(table.bytes_read());
        }
        bar.finish_and_clear();
        check_judged(file, &tasks)?;
        records.put_stream(stream)?;
        found::put_shown(&tasks, records)?;
        let found = Found::new(&tasks, gammas.len());
        let results = found.results(rows_read, self.dim, gaps.missing);
        Ok(Measured { results, text: found.text(gaps.missing), claims: Vec::new() })
    }

    /// Finds the columns of the signals and of the times.
    fn columns(&self, table: &Table) -> Result<Columns, tables::Problem> {
        let time = self.time.as_deref().map(|name| table.column(name)).transpose()?;
        let mut signals: Vec<usize> = match self.column.is_empty() {
            true => (0..table.names().len()).filter(|at| time != Some(*at)).collect(),
            false => self.column.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?,
        };
        let mut seen = HashSet::new();
        signals.retain(|at| seen.insert(*at));
        if signals.is_empty() {
            return Err(table.problem(1, 0, "no column beside it; expected a signal"));
        }
        let mut wanted: Vec<_> = signals.iter().map(|at| (*at, Cells::Numbers)).collect();
        wanted.extend(time.map(|at| (at, Cells::Times)));
        Ok(Columns { signals, time, wanted })
    }

    /// Observes rows of all signals, none at the end, and writes the lines that have become final.
    fn take(
        &self,
        rows: &Rows,
        breaks: &[(usize, u64)],
        tasks: &mut [SignalForecast],
        session: &Session,
        stream: &mut Stream,
    ) -> Result<(), Error> {
        let file = self.file.as_path();
        let most_bytes = tasks.iter().map(|task| task.returns.most_bytes(rows.len())).sum();
        files::room(most_bytes).in_file(file)?;
        let per_column = self.gammas().len();
        for (part, tasks) in tasks.chunks_mut(STREAMS).enumerate() {
            let take = |(i, task): (usize, &mut SignalForecast)| {
                let values = &rows.columns[(part * STREAMS + i) / per_column];
                task.take(rows.first, values, breaks).map_err(|(row, e)| {
                    Error::file(file, format!("row {row}, column `{}`: {e}", task.name))
                })
            };
            session.on_threads(tasks.len(), || {
                tasks.par_iter_mut().enumerate().try_for_each(take)
            })??;
            for task in tasks {
                stream.write(&task.lines)?;
                task.lines.clear();
                if rows.is_empty() {
                    task.release();
                }
            }
        }
        Ok(())
    }
}

/// The columns of a table that are read.
struct Columns {
    signals: Vec<usize>,
    time: Option<usize>,
    /// The signals' columns, then that of the times.
    wanted: Vec<(usize, Cells)>,
}

/// The gaps that were found so far.
#[derive(Default)]
struct Gaps {
    clock: Option<Clock>,
    /// The number of rows that are missing by their times.
    missing: u64,
}

impl Gaps {
    /// Returns the places before which rows are missing, and their numbers.
    /// Returns the problem of a gap unless gaps are skipped, and of a time that is not later than the one before.
    fn find(
        &mut self,
        table: &Table,
        columns: &Columns,
        rows: &Rows,
        skips_gaps: bool,
    ) -> Result<Vec<(usize, u64)>, tables::Problem> {
        let refuse =
            |i: usize, at, reason: &str| Err(table.problem(rows.first + i as u64, at, reason));
        for (at, x) in columns.signals.iter().zip(&rows.columns).filter(|_| !skips_gaps) {
            if let Some(i) = x.iter().position(|x| x.is_nan()) {
                return refuse(i, *at, "a gap; expected a finite number, or --skip-gaps");
            }
        }
        let Some((at, times)) = columns.time.zip(rows.columns.last()).filter(|_| !rows.is_empty())
        else {
            return Ok(Vec::new());
        };
        if self.clock.is_none() {
            self.clock = Clock::new(times);
        }
        let Some(clock) = &mut self.clock else {
            return refuse(
                0,
                at,
                "the times' steps are not regular; expected regular steps, or no --time",
            );
        };
        let mut breaks = Vec::new();
        for (i, time) in times.iter().enumerate() {
            match clock.missing_before(*time) {
                None => {
                    return refuse(
                        i,
                        at,
                        "not later than the row before; expected ascending times",
                    );
                }
                Some(0) => {}
                Some(missing) if skips_gaps => breaks.push((i, missing)),
                Some(missing) => {
                    let reason = format!(
                        "{missing} missing before it by the usual step; expected none, or --skip-gaps"
                    );
                    return refuse(i, at, &reason);
                }
            }
        }
        self.missing += breaks.iter().map(|(_, missing)| missing).sum::<u64>();
        Ok(breaks)
    }
}

fn head(task: &SignalForecast) -> Result<Vec<u8>, Error> {
    let of_candidates = task.candidates().iter().map(|candidate| candidate.column.clone());
    let columns: Vec<_> = of_candidates.chain(OF_PREDICTOR.map(str::to_owned)).collect();
    let mut seen = BTreeSet::new();
    if let Some(column) = columns.iter().find(|column| !seen.insert(*column)) {
        let reason = format!("{column}: there already; expected another file");
        return Err(Error::option("--model", reason));
    }
    let head = ["row", "signal", "gamma", "return"].into_iter().map(str::to_owned);
    to_csv("predictions.csv", [head.chain(columns).collect::<Vec<_>>()])
}

fn check_judged(file: &Path, tasks: &[SignalForecast]) -> Result<(), Error> {
    let Some(task) = tasks.iter().find(|task| task.judged.judged == 0) else { return Ok(()) };
    let (longest, horizon) = (task.judged.longest, task.returns.horizon);
    let reason = format!(
        "column `{}`: at most {longest} rows without a gap; expected {} for gamma = {}: {UNJUDGED} that are not \
         judged, one that is, and {horizon} after it",
        tables::excerpt(&task.name),
        UNJUDGED as usize + 1 + horizon,
        task.gamma,
    );
    Err(Error::file(file, reason))
}

impl Predict {
    fn gammas(&self) -> Vec<f64> {
        let of_horizons = self.horizon.iter().map(|samples| 1.0 - 1.0 / samples);
        let mut all: Vec<f64> = self.gamma.iter().copied().chain(of_horizons).collect();
        let mut seen = HashSet::new();
        all.retain(|gamma| seen.insert(gamma.to_bits()));
        if all.is_empty() { vec![0.9] } else { all }
    }

    fn given(&self, session: &Session) -> Result<Vec<(String, Estimator)>, Error> {
        model_file::check_seed(&self.model, session.seed)?;
        let open = |source: &PathBuf| {
            let path = model_file::seed_of_run(source, session.seed)?;
            // Each discount replaces it.
            let estimator = model_file::streaming(&path, self.dim, 0.0, None)?;
            Ok((source.display().to_string(), estimator))
        };
        self.model.iter().map(open).collect()
    }
}

/// Returns a name as a cell that no spreadsheet interprets as a formula.
fn cell(name: &str) -> String {
    if name.starts_with(['=', '+', '-', '@']) { format!("'{name}") } else { name.to_owned() }
}
