//! `ictd predict`: predictions of a user's signals, and how good they are beside the classical algorithms.

mod found;

use found::Found;

use crate::error::{Error, WithContext};
use crate::experiments::experiment::{self, Experiment, Measured, Runner};
use crate::files;
use crate::formats::signal_table::{STDIN, SignalTable};
use crate::model_file;
use crate::options;
use crate::run::progress;
use crate::run::records::RunFiles;
use crate::run::report::Report;
use crate::run::session::Session;
use compute::estimator::Estimator;
use compute::predict::{OF_PREDICTOR, Settings, SignalForecast, UNJUDGED};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The largest discount: some hundred thousand rows wait for what follows them.
const LARGEST_GAMMA: f64 = 0.9999;
/// The horizon of that discount.
const LONGEST: f64 = 10_000.0;
/// The longest period.
const LONGEST_PERIOD: usize = 100_000;
/// The limit on pending predictions, and how many of them one task's learners count as.
const MOST_NUMBERS: usize = 1 << 26;
const NUMBERS_OF_TASK: usize = 1 << 14;
/// Rows that are read at a time.
const BLOCK: usize = 8192;

/// Predict the signals of a CSV file as firmware would, and say how good the predictions are
///
/// Reads a file of any length, row by row. At each row, before reading the next, it predicts for
/// each column the discounted sum of the values to come, sum_k gamma^k x_{t+1+k}: about the next 1
/// / (1 - gamma) rows, its horizon. Afterwards each prediction is judged by what followed:
/// normalised_error = mean (prediction - followed)^2 / variance of what followed over the rows
/// whose return is known to 1e-3 (k more rows follow, gamma^k <= 1e-3), without the first
/// 50. 1 is the error of predicting the mean of what followed, which nobody knows beforehand.
///
/// Estimators, whose settings stand in the guide's page on signals:
///   universal    the model that ships, on a context that forgets (--retention); and each --model
///   td, lstd     online TD(lambda) and LSTD(0.9), with 12 and 9 settings; the best is known only in
///                hindsight
///   ar           an autoregression of 8 lags, by recursive least squares
///   holt         extrapolates Holt's linear trend
///   average      predicts the exponential average
///   seasonal     the last --period rows come again and again
///   persistence  the latest value stays
///   predictor    the crate's Predictor: a prediction, a 90 % band and a surprise
///
/// The report has the fraction of scored rows whose outcome fell inside the predictor's band, and
/// the rows whose surprise was above 0.999: about one in 1,000 of a clean signal.
///
/// The CSV has a header line and the separator `,`, `;` or tab; above it, empty lines and those that begin with #
/// are skipped.
///
/// Writes predictions.csv (row, cumulant, gamma, what followed, one column for each estimator,
/// predictor_low, predictor_high, surprise; in f32, an empty cell where nothing is known) and a figure of
/// the last rows. All is computed in f64; the predictor, as on a chip, in f32 distances from a level.
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
    /// Discount factor gamma; may be given several times [default: 0.9, without --horizon]
    #[arg(long, value_parser = options::real(0.0..=LARGEST_GAMMA))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gamma: Vec<f64>,
    /// The discount 1 - 1 / SAMPLES, beside those of --gamma; may be given several times
    #[arg(long, value_name = "SAMPLES", value_parser = options::real(1.0..=LONGEST))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub horizon: Vec<f64>,
    /// Predict, too, that the last SAMPLES rows come again (`seasonal`)
    #[arg(long, value_name = "SAMPLES", value_parser = options::integer(1..=LONGEST_PERIOD))]
    pub period: Option<usize>,
    /// Number of features made of a signal: 1 to 8, 10, 12 or 16
    #[arg(long, alias = "features", value_name = "D", default_value = "4", value_parser = options::one_of(&[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]))]
    pub dim: usize,
    /// The share of the past that the models' contexts retain with each row
    #[arg(long, default_value = "0.995", value_parser = retention)]
    pub retention: f64,
    /// A model beside the one that ships: a stored model, .safetensors, data.npz, or a run's folder (of its
    /// seeds that of --seed); may be given several times
    #[arg(long, value_name = "FILE|DIR")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub model: Vec<PathBuf>,
    /// Skip rows with a cell that is no finite number, and begin anew after them
    #[arg(long)]
    pub skip_gaps: bool,
}

fn retention(text: &str) -> Result<f64, String> {
    let expected = "expected a number in (0, 1)";
    options::real(0.0..1.0)(text).ok().filter(|x| *x > 0.0).ok_or(expected.into())
}

/// The description of its runs.
pub(crate) const ENTRY: Experiment = Experiment {
    id: "predict",
    figure: "none: the user's own signals",
    figures: found::figures,
    run: Runner::ByCommand,
};

/// Runs the command.
pub fn run(options: &Predict, session: &Session) -> Result<Report, Error> {
    experiment::refuse_inside(&ENTRY, session, &options.file)?;
    experiment::run(&ENTRY, options, session, |records| options.measure(session, records))
}

impl Predict {
    fn measure(&self, session: &Session, records: &mut RunFiles) -> Result<Measured, Error> {
        let file = self.file.as_path();
        let mut table = SignalTable::open(file, self.skip_gaps)?;
        let (signals, left_out) = self.signals(file, &table)?;
        let places: Vec<_> =
            signals.iter().map(|name| table.column(name)).collect::<Result<_, _>>()?;
        let settings = Settings {
            given: self.given(session)?,
            retention: self.retention,
            d: self.dim,
            period: self.period,
        };
        let gammas = self.gammas();
        let (mut tasks, mut waiting) = (Vec::<SignalForecast>::new(), 0);
        for (place, name) in signals.iter().enumerate() {
            for &gamma in &gammas {
                let name = cell(name);
                let task = session
                    .on_threads(1, || SignalForecast::new(&name, place, gamma, &settings))?;
                let task = task.context("the estimators")?;
                let columns = task.candidates().len() + OF_PREDICTOR.len();
                waiting +=
                    task.returns.horizon * columns + NUMBERS_OF_TASK + self.period.unwrap_or(0);
                if waiting > MOST_NUMBERS {
                    let (gammas, signals) = (gammas.len(), signals.len());
                    let reason = format!(
                        "{gammas} discounts of {signals} columns: expected as many as {MOST_NUMBERS} \
                         predictions wait for"
                    );
                    return Err(Error::option("--gamma", reason));
                }
                tasks.push(task);
            }
        }
        let of_candidates = tasks[0].candidates().iter().map(|candidate| candidate.column.clone());
        let columns: Vec<_> = of_candidates.chain(OF_PREDICTOR.map(str::to_owned)).collect();
        let mut seen = BTreeSet::new();
        if let Some(column) = columns.iter().find(|column| !seen.insert(*column)) {
            let reason = format!("{column}: there already; expected another file");
            return Err(Error::option("--model", reason));
        }

        let mut stream = records.stream("predictions.csv")?;
        let head = ["row", "cumulant", "gamma", "followed"].into_iter().map(str::to_owned);
        let mut writer = csv::Writer::from_writer(Vec::new());
        let refuse = |e: &dyn std::fmt::Display| Error::file(Path::new("predictions.csv"), e);
        writer.write_record(head.chain(columns)).map_err(|e| refuse(&e))?;
        stream.write(&writer.into_inner().map_err(|e| refuse(&e))?)?;
        let bytes = match file == Path::new(STDIN) {
            true => 0,
            false => files::open(file).and_then(|f| f.metadata()).map_or(0, |found| found.len()),
        };
        let bar = progress::bar("bytes", bytes, session.quiet);
        let mut rows_read = 0;
        loop {
            if progress::interrupted() {
                return Err(Error::Interrupted);
            }
            let rows = table.read(&places, BLOCK)?;
            rows_read += rows.len() as u64;
            let most_bytes = tasks.iter().map(|task| task.returns.most_bytes(rows.len())).sum();
            files::room(most_bytes).map_err(|e| Error::file(file, e))?;
            let take = |task: &mut SignalForecast| {
                task.take(&rows).map_err(|(row, e)| {
                    Error::file(file, format!("row {row}, column `{}`: {e}", task.name))
                })
            };
            session.on_threads(tasks.len(), || tasks.par_iter_mut().try_for_each(take))??;
            for task in &mut tasks {
                stream.write(&task.lines)?;
                task.lines.clear();
            }
            bar.set_position(table.bytes_read());
            if rows.is_empty() {
                break;
            }
        }
        bar.finish_and_clear();
        check_judged(file, &tasks)?;
        records.put_stream(stream)?;

        found::put_shown(&tasks, records)?;
        let found = Found::new(&tasks, gammas.len());
        let results = found.results(rows_read, self.dim, &left_out);
        let text = found.text(&left_out);
        Ok(Measured { results, text, claims: Vec::new() })
    }
}

/// Refuses a stream of which nothing can be judged.
fn check_judged(file: &Path, tasks: &[SignalForecast]) -> Result<(), Error> {
    let Some(task) = tasks.iter().find(|task| task.judged.judged == 0) else { return Ok(()) };
    let (rows, gaps, horizon) = (task.judged.rows, task.judged.gaps, task.returns.horizon);
    let least = UNJUDGED as usize + 1 + horizon;
    let reason = format!(
        "column `{}`: {rows} rows and {gaps} gaps, no prediction can be judged; expected at least {least} for \
         gamma = {} (the first {UNJUDGED} are left out, and {horizon} follow the last one that is judged)",
        task.name, task.gamma,
    );
    Err(Error::file(file, reason))
}

impl Predict {
    /// Returns the discounts, each once: those of --gamma, then of --horizon.
    fn gammas(&self) -> Vec<f64> {
        let of_horizons = self.horizon.iter().map(|samples| 1.0 - 1.0 / samples);
        let mut all = Vec::new();
        for gamma in self.gamma.iter().copied().chain(of_horizons) {
            if !all.contains(&gamma) {
                all.push(gamma);
            }
        }
        if all.is_empty() { vec![0.9] } else { all }
    }

    /// Opens the models beside the one that ships.
    fn given(&self, session: &Session) -> Result<Vec<(String, Estimator)>, Error> {
        model_file::check_seed(&self.model, session.seed)?;
        let open = |source: &PathBuf| {
            let path = model_file::seed_of_run(source, session.seed)?;
            // Each discount makes it anew.
            let estimator = model_file::streaming(&path, self.dim, 0.0, None)?;
            Ok((source.display().to_string(), estimator))
        };
        self.model.iter().map(open).collect()
    }

    /// Returns the columns that are predicted, and those that are left out.
    fn signals(
        &self,
        file: &Path,
        table: &SignalTable,
    ) -> Result<(Vec<String>, Vec<String>), Error> {
        if !self.column.is_empty() {
            let mut once: Vec<String> = Vec::new();
            for name in &self.column {
                if !once.contains(name) {
                    once.push(name.clone());
                }
            }
            return Ok((once, Vec::new()));
        }
        let (numeric, words) = table.signals();
        if numeric.is_empty() {
            return Err(Error::file(file, "no column of numbers; expected at least one"));
        }
        Ok((numeric, words))
    }
}

/// Returns a name as a cell that no spreadsheet takes for a formula.
fn cell(name: &str) -> String {
    if name.starts_with(['=', '+', '-', '@']) { format!("'{name}") } else { name.to_owned() }
}
