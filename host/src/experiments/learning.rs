//! What the figures about learning share: training runs, and their numbers averaged over seeds.
//!
//! A run that several figures show is trained once: it lives in `runs/`, in the folder of its recipe, beside the
//! figures' directories, and its seeds are taken from there.

use super::statistics::{mean_and_stderr, quartiles};
use crate::error::Error;
use crate::options;
use crate::run::records::{self, Records};
use crate::run::session::Session;
use crate::train::directory::TrainDirectory;
use crate::train::log::{ELEMENTS, METRICS, Point, SeedRun};
use crate::train::options::{Recipe, Train};
use serde::{Deserialize, Serialize};

/// How many pictures the animation of P and Q has.
const FRAMES: usize = 40;

/// How much is trained; the figure's own numbers unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scale {
    /// How many seeds [default: 30]
    #[arg(long, value_parser = options::integer(1..=100_000))]
    pub seeds: Option<usize>,
    /// How many tasks each is trained on [default: the paper's]
    #[arg(long, value_parser = options::integer(1..=100_000_000))]
    pub mrps: Option<usize>,
    /// Write event files for TensorBoard into the folders of the training runs
    #[arg(long)]
    #[serde(skip)]
    pub tensorboard: bool,
}

impl Scale {
    /// Options at this scale.
    pub fn apply(&self, options: Train) -> Train {
        let mrps = self.mrps.unwrap_or(options.recipe.mrps);
        let recipe = Recipe { mrps, ..options.recipe };
        let tensorboard = self.tensorboard || options.tensorboard;
        Train { recipe, seeds: self.seeds.unwrap_or(30).into(), tensorboard, ..options }
    }
}

/// The seeds of a run, from the folder of its recipe in `runs/` if they were trained before.
pub fn trained(name: &str, options: &Train, session: &Session) -> Result<Vec<SeedRun>, Error> {
    options.check(session.seed)?;
    let place = records::place(&session.out, "runs")?;
    let directory = TrainDirectory::create(&place, options, session.seed, false)?;
    match crate::train::train(options, session.seed, session, name, &directory) {
        Ok(trained) => {
            directory.summary(options)?.write(trained.info, &Records::new())?;
            Ok(trained.runs)
        }
        // `train --resume` would leave files there that this command does not.
        Err(Error::Paused { .. }) => Err(Error::Paused { resume: None }),
        Err(e) => Err(e),
    }
}

/// One row of `curves.csv`: a metric after so many tasks, over seeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CurveRow {
    /// The run.
    pub run: String,
    /// The metric, for example `iws` or `p_bottom_right_0` (of layer 0).
    pub metric: String,
    /// Tasks trained on so far.
    pub tasks: u64,
    /// Mean over the seeds that have the metric.
    pub mean: f64,
    /// Its standard error.
    pub stderr: f64,
    /// Median.
    pub median: f64,
    /// Lower quartile.
    pub lower: f64,
    /// Upper quartile.
    pub upper: f64,
}

/// One row of `matrices.csv`: an entry of P_l or Q_l, sign-aligned for each seed, then averaged over
/// the seeds whose matrix is finite.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MatrixRow {
    /// The run.
    pub run: String,
    /// Tasks trained on so far.
    pub tasks: u64,
    /// The stored layer.
    pub layer: usize,
    /// `P` or `Q`.
    pub matrix: String,
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// The entry.
    pub value: f64,
}

/// One row of `seeds.csv`: a metric of a seed at the end of its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SeedRow {
    /// The run.
    pub run: String,
    /// The seed.
    pub seed: u64,
    /// The metric.
    pub metric: String,
    /// Its value.
    pub value: f64,
}

/// The records of runs: `curves.csv`, `matrices.csv`, `seeds.csv`, with more rows of the first and the last.
///
/// # Errors
/// As [`Records::put_csv`].
pub fn put_records(
    runs: &[(&str, &[SeedRun])],
    (more_curves, more_seeds): (Vec<CurveRow>, Vec<SeedRow>),
    records: &mut Records,
) -> Result<(), Error> {
    let (mut curves, mut matrices, mut seeds) = (Vec::new(), Vec::new(), Vec::new());
    for (name, run) in runs {
        let Some(points) = run.first().map(|r| r.points.len()) else { continue };
        for (metric, value) in metrics(run) {
            for t in 0..points {
                let at: Vec<f64> =
                    run.iter().filter_map(|r| r.points.get(t).map(&*value)).collect();
                let finite: Vec<f64> = at.into_iter().filter(|x| x.is_finite()).collect();
                if let (Some(first), false) = (run[0].points.get(t), finite.is_empty()) {
                    curves.push(curve_row(name, &metric, first.tasks, finite));
                }
            }
            seeds.extend(run.iter().filter_map(|r| {
                let value = value(r.last()?);
                let (run, metric) = (name.to_string(), metric.clone());
                Some(SeedRow { run, seed: r.seed, metric, value })
            }));
        }
        let step = points.div_ceil(FRAMES).max(1);
        for t in (0..points).filter(|t| (points - 1 - t) % step == 0) {
            put_matrices(name, run, t, &mut matrices);
        }
    }
    curves.extend(more_curves);
    seeds.extend(more_seeds);
    records.put_csv("curves.csv", &curves)?;
    if !matrices.is_empty() {
        records.put_csv("matrices.csv", &matrices)?;
    }
    records.put_csv("seeds.csv", &seeds)
}

type Metric = Box<dyn Fn(&Point) -> f64>;

/// Every metric that a run has.
fn metrics(run: &[SeedRun]) -> Vec<(String, Metric)> {
    let stored = run.first().and_then(SeedRun::last).map_or(0, |p| p.layers.len());
    let mut all: Vec<(String, Metric)> = Vec::new();
    for metric in METRICS {
        all.push((metric.name.into(), Box::new(metric.of)));
    }
    for l in 0..stored {
        for metric in ELEMENTS {
            let of = move |p: &Point| p.layers.get(l).map_or(f64::NAN, |m| (metric.of)(&m.element));
            all.push((format!("{}_{l}", metric.name), Box::new(of)));
        }
    }
    all
}

/// A row of values that are finite, one per seed.
pub fn curve_row(run: &str, metric: &str, tasks: u64, values: Vec<f64>) -> CurveRow {
    let (mean, stderr) = mean_and_stderr(values.iter().copied());
    let [lower, median, upper] = quartiles(values);
    CurveRow { run: run.into(), metric: metric.into(), tasks, mean, stderr, median, lower, upper }
}

fn put_matrices(name: &str, run: &[SeedRun], t: usize, rows: &mut Vec<MatrixRow>) {
    let Some(first) = run.first().and_then(|r| r.points.get(t)) else { return };
    for layer in 0..first.layers.len() {
        let k = run[0].token_size;
        for (matrix, of) in [("P", 0), ("Q", 1)] {
            let of_seeds: Vec<_> = run
                .iter()
                .filter_map(|r| r.points.get(t)?.layers.get(layer))
                .map(|m| (m.element.sign, if of == 0 { &m.p } else { &m.q }))
                .filter(|(_, numbers)| numbers.iter().all(|x| x.is_finite()))
                .collect();
            let nothing = if of_seeds.is_empty() { f64::NAN } else { 0.0 };
            let mut mean = vec![nothing; k * k];
            for (sign, numbers) in &of_seeds {
                for (sum, x) in mean.iter_mut().zip(*numbers) {
                    *sum += sign * f64::from(*x) / of_seeds.len() as f64;
                }
            }
            rows.extend(mean.into_iter().enumerate().map(|(i, value)| MatrixRow {
                run: name.into(),
                tasks: first.tasks,
                layer,
                matrix: matrix.into(),
                row: i / k,
                column: i % k,
                value,
            }));
        }
    }
}
