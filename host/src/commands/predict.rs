//! `ictd predict`: predictions of a user's signals, compared with those of classical algorithms.

mod columns;
mod found;

use columns::Columns;
use found::Found;

use crate::error::{Error, InFile as _, WithContext as _};
use crate::experiments::{Experiment, Measured};
use crate::files;
use crate::formats::signal_table::{STDIN, SignalTable};
use crate::model_file;
use crate::options;
use crate::run::records::{Stream, to_csv};
use crate::run::{Report, RunFiles, Session, progress};
use judge::estimator::Estimator;
use judge::predict::{Clock, OF_PREDICTOR, Settings, SignalForecast, UNJUDGED};
use judge::rows::Rows;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The largest discount: some hundred thousand rows wait for their returns.
const LARGEST_GAMMA: f64 = 0.9999;
const LONGEST: f64 = 10_000.0;
const LONGEST_PERIOD: usize = 100_000;
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
///   ar           an autoregression of 8 lags, by recursive least squares
///   holt         extrapolates Holt's linear trend
///   average      predicts the exponential average
///   seasonal     repeats the last --period rows
///   persistence  repeats the last value
///   predictor    the crate's Predictor: a prediction, a 90 % band and a surprise
///
/// The report has the fraction of returns that fell inside the predictor's band, and the number of
/// rows whose surprise was above 0.999: about one in 1,000 rows of a clean signal.
///
/// A CSV file has a header line; empty lines, and lines that begin with #, may come before it. The
/// separator is `,`, `;`, `|` or a tab. Columns that are not signals are left out and named: words,
/// dates and times, parts of dates, and numbers that change by the same step in every row. If there
/// is a column of times, rows that are out of order or missing are reported. A value far from all
/// others, such as -999, is reported, too: with --missing it counts as a missing value.
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
    /// A column to predict; may be given several times [default: each numeric column]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub column: Vec<String>,
    /// A column that is not a signal; may be given several times
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<String>,
    /// The column of the rows' times [default: the first one with dates, or called time, date, ...]
    #[arg(long, value_name = "NAME")]
    pub time: Option<String>,
    /// A column with the name of each row's series (a file in the long format)
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
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
    /// A number that stands for a missing value, such as -999
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = options::real(..))]
    pub missing: Option<f64>,
    /// Skip cells that are not finite numbers, in each column by itself; begin anew after them, and where rows are
    /// missing by their time
    #[arg(long)]
    pub skip_gaps: bool,
}

fn retention(text: &str) -> Result<f64, String> {
    let expected = "expected a number in (0, 1)";
    options::real(0.0..1.0)(text).ok().filter(|x| *x > 0.0).ok_or(expected.into())
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
        let mut table = SignalTable::open(file)?;
        let columns = Columns::new(self, &table, file)?;
        let gammas = self.gammas();
        // Check before they are built, which takes longer than counting them.
        let too_many = |streams: usize, waiting: usize| match streams * NUMBERS_OF_TASK + waiting {
            numbers if numbers > MOST_NUMBERS => {
                let reason = format!(
                    "{streams} streams (columns times discounts): expected as many as {MOST_NUMBERS} predictions wait for"
                );
                Err(Error::option("--gamma", reason))
            }
            _ => Ok(()),
        };
        too_many(gammas.len() * columns.names.len(), 0)?;
        let block = (CELLS / columns.names.len()).clamp(LEAST_BLOCK, BLOCK);
        let mut rows = table.read(&columns.layout, block)?;
        let settings = Settings {
            given: self.given(session)?,
            retention: self.retention,
            d: self.dim,
            period: self.period,
        };
        let places = 0..columns.names.len();
        let streams: Vec<_> =
            places.flat_map(|place| gammas.iter().map(move |gamma| (place, *gamma))).collect();
        let (mut all, mut waiting) = (Vec::<Series>::new(), 0);
        let mut numbers = HashMap::<String, usize>::new();
        let mut stream = records.stream("predictions.csv")?;
        let bytes = match file == Path::new(STDIN) {
            true => 0,
            false => files::open(file, files::STREAM)
                .and_then(|f| f.metadata())
                .map_or(0, |found| found.len()),
        };
        let bar = progress::bar("bytes", bytes, session.json);
        let mut rows_read = 0;
        loop {
            progress::check()?;
            rows_read += rows.iter().map(|(_, rows)| rows.len() as u64).sum::<u64>();
            if rows.is_empty() {
                for series in &mut all {
                    series.take(&Rows::default(), self, session, &mut stream)?;
                }
                break;
            }
            for (name, of_series) in rows {
                let at = *numbers.entry(name.clone()).or_insert(all.len());
                if at == all.len() {
                    let clock = Clock::new(&of_series.times, columns.is_of_day());
                    let mut series = Series { name: name.clone(), clock, tasks: Vec::new() };
                    for (place, gamma) in streams.iter().copied() {
                        let signal = cell(&named(&columns.names[place], &name));
                        let make = || SignalForecast::new(&signal, place, gamma, &settings);
                        let task = session.on_threads(1, make)?.context("the estimators")?;
                        let width = task.candidates().len() + OF_PREDICTOR.len();
                        waiting += task.returns.horizon * width + self.period.unwrap_or(0);
                        series.tasks.push(task);
                        too_many((all.len() + 1) * streams.len(), waiting)?;
                    }
                    if all.is_empty() {
                        stream.write(&head(&series.tasks[0])?)?;
                    }
                    all.push(series);
                }
                all[at].take(&of_series, self, session, &mut stream)?;
            }
            bar.set_position(table.rows.bytes_read());
            rows = table.read(&columns.layout, block)?;
        }
        bar.finish_and_clear();
        for series in &all {
            let times = series.times(&columns, self.skip_gaps);
            check_judged(file, &series.tasks, times.lines().next().unwrap_or_default())?;
        }
        records.put_stream(stream)?;

        let times: String =
            all.iter().map(|series| series.times(&columns, self.skip_gaps)).collect();
        let tasks: Vec<_> = all.into_iter().flat_map(|series| series.tasks).collect();
        found::put_shown(&tasks, records)?;
        let found = Found::new(&tasks, gammas.len());
        let results = found.results(rows_read, self.dim, &columns, &times);
        let text = found.text(&(columns.said() + &times));
        Ok(Measured { results, text, claims: Vec::new() })
    }
}

struct Series {
    name: String,
    clock: Clock,
    /// A stream for each signal and discount, grouped by signal.
    tasks: Vec<SignalForecast>,
}

impl Series {
    fn take(
        &mut self,
        rows: &Rows,
        options: &Predict,
        session: &Session,
        stream: &mut Stream,
    ) -> Result<(), Error> {
        let file = options.file.as_path();
        let most_bytes = self.tasks.iter().map(|task| task.returns.most_bytes(rows.len())).sum();
        files::room(most_bytes).in_file(file)?;
        let times = rows.row_numbers.iter().zip(&rows.times).enumerate();
        // The clock sees every row, also where nothing begins anew.
        let breaks =
            times.filter_map(|(i, (&row, &time))| Some((i, self.clock.gap_before(row, time)?)));
        let breaks: Vec<_> = breaks.filter(|_| options.skip_gaps).collect();
        let take = |task: &mut SignalForecast| {
            task.take(rows, &breaks).map_err(|(row, e)| {
                Error::file(file, format!("row {row}, column `{}`: {e}", task.name))
            })
        };
        for tasks in self.tasks.chunks_mut(STREAMS) {
            session.on_threads(tasks.len(), || tasks.par_iter_mut().try_for_each(take))??;
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

    fn times(&self, columns: &Columns, skip_gaps: bool) -> String {
        let Some(name) = &columns.time else { return String::new() };
        let clock = &self.clock;
        let place = named(name, &self.name);
        let counts = [
            (clock.earlier, "earlier than the row before"),
            (clock.equal, "of the same time as the row before"),
            (clock.after_gap, "after missing rows"),
            (clock.unreadable, "without a time that can be read"),
        ];
        let said = counts.into_iter().filter_map(|(count, what)| {
            let (rows, first) = count?;
            Some(format!("{rows} {what} (the first is row {first})"))
        });
        let mut said: Vec<_> = said.collect();
        if clock.missing > 0.0 {
            said.push(format!("{} missing in all", clock.missing));
        }
        let irregular = match clock.is_regular() {
            true => String::new(),
            false => {
                format!("`{place}`: its steps are not regular, so missing rows are not detected.\n")
            }
        };
        let begins = if skip_gaps {
            "the predictions began anew there"
        } else {
            "every row was taken to follow the one before; with --skip-gaps the predictions begin anew there"
        };
        match said.is_empty() {
            true => irregular,
            false => format!("`{place}` has rows: {}; {begins}.\n{irregular}", said.join(", ")),
        }
    }
}

fn named(signal: &str, series: &str) -> String {
    if series.is_empty() { signal.to_owned() } else { format!("{signal} of {series}") }
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

fn check_judged(file: &Path, tasks: &[SignalForecast], times: &str) -> Result<(), Error> {
    let Some(task) = tasks.iter().find(|task| task.judged.judged == 0) else { return Ok(()) };
    let (longest, horizon) = (task.judged.longest, task.returns.horizon);
    let plural = if longest == 1 { "" } else { "s" };
    let rows = match longest == task.judged.rows {
        true => format!("{longest} row{plural}"),
        false => format!("at most {longest} row{plural} without a gap"),
    };
    let least = UNJUDGED as usize + 1 + horizon;
    let reason = format!(
        "column `{}`: {rows}, and no prediction can be judged; expected at least {least} for gamma = {} (the first {UNJUDGED} are left out, and {horizon} without a gap follow \
         the last one that is judged){}{}",
        task.name,
        task.gamma,
        if times.is_empty() { "" } else { "; " },
        times.trim_end_matches('.')
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
