//! The training runs that the figures about learning share, and their numbers averaged over seeds.
//!
//! A run that several figures show is trained once: it lives in `runs/`, in the folder of its recipe, beside the
//! figures' directories, and its seeds are taken from there.

use super::statistics::{mean_and_stderr, quartiles};
use crate::error::Error;
use crate::options;
use crate::run::records::{self, Records};
use crate::run::session::Session;
use crate::train::directory::TrainDirectory;
use crate::train::log::{ELEMENTS, IWS, METRICS, MSVE, Matrices, Point, SS, SeedRun};
use crate::train::options::{Recipe, Train};
use compute::judge::{Number, number};
use ictd_core::metrics::{Blocks, LayerBlocks, Pattern};
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
}

impl Scale {
    /// Returns how many seeds are trained.
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(30)
    }

    /// Options at this scale.
    pub fn apply(&self, options: Train) -> Train {
        let mrps = self.mrps.unwrap_or(options.recipe.mrps);
        let recipe = Recipe { mrps, ..options.recipe };
        let seeds = self.seeds().into();
        Train { recipe, seeds, ..options }
    }
}

/// Returns the seeds of a run, from the folder of its recipe in `runs/` if they were trained before.
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

/// Writes the records of runs that have curves: `curves.csv`, and `matrices.csv` of those with P and Q.
/// Errors: as [`Records::put_csv`].
pub fn put_curves(runs: &[(&str, &[SeedRun])], records: &mut Records) -> Result<(), Error> {
    let (mut curves, mut matrices) = (Vec::new(), Vec::new());
    for (name, run) in runs {
        let Some(points) = run.first().map(|r| r.points.len()) else { continue };
        for (metric, value) in metrics(run) {
            for t in 0..points {
                let at = run.iter().filter_map(|r| r.points.get(t).map(&*value));
                let finite: Vec<f64> = at.filter(|x| x.is_finite()).collect();
                if let (Some(first), false) = (run[0].points.get(t), finite.is_empty()) {
                    curves.push(curve_row(name, &metric, first.tasks, finite));
                }
            }
        }
        let step = points.div_ceil(FRAMES).max(1);
        for t in (0..points).filter(|t| (points - 1 - t) % step == 0) {
            put_matrices(name, run, t, &mut matrices);
        }
    }
    records.put_csv("curves.csv", &curves)?;
    if matrices.is_empty() { Ok(()) } else { records.put_csv("matrices.csv", &matrices) }
}

/// Writes `seeds.csv`: each metric of each seed at the end of its run.
/// Errors: as [`Records::put_table`].
pub fn put_seeds(name: &str, run: &[SeedRun], records: &mut Records) -> Result<(), Error> {
    let rows = metrics(run).into_iter().flat_map(|(metric, value)| {
        let of_seed = move |r: &SeedRun| Some((name, r.seed, metric.clone(), value(r.last()?)));
        run.iter().filter_map(of_seed)
    });
    records.put_table("seeds.csv", &["run", "seed", "metric", "value"], &rows.collect::<Vec<_>>())
}

/// Returns what the log and the parameters of a seed say: each metric at the end, `METRIC_tenth` (its mean over each
/// tenth of the log, 0 to 9), whether the seed is `finite`, and if it is not, `diverged` after so many tasks; and
/// for each stored layer l the shares of energy in the forms of the constructions.
pub fn numbers_of(seed: &SeedRun) -> Vec<Number> {
    let mut numbers = vec![number("finite", f64::from(seed.diverged().is_none()))];
    numbers.extend(seed.diverged().map(|tasks| number("diverged", tasks as f64)));
    for (metric, value) in metrics(std::slice::from_ref(seed)) {
        numbers.extend(seed.last().map(|last| number(&metric, value(last))));
        // One fresh context says little.
        let tenth = seed.points.len().div_ceil(10);
        for part in 0..if [IWS, SS, MSVE].iter().any(|m| m.name == metric) { 10 } else { 0 } {
            let points = &seed.points[..];
            let points = match part {
                9 => &points[points.len() - tenth.min(points.len())..],
                _ => {
                    &points
                        [(part * tenth).min(points.len())..((part + 1) * tenth).min(points.len())]
                }
            };
            let (value, _) = mean_and_stderr(points.iter().map(&*value));
            numbers.push(Number { at: part as f64, ..number(format!("{metric}_tenth"), value) });
        }
    }
    let settled = |end: f64| {
        let stays = |p: &&Point| (p.alpha - end).abs() <= 0.1 * end.abs();
        seed.points.iter().rev().find(|p| !stays(p)).map_or(0.0, |p| p.tasks as f64)
    };
    let tenth = seed.points.len().div_ceil(10);
    let (end, _) = mean_and_stderr(seed.points.iter().rev().take(tenth).map(|p| p.alpha));
    let all = seed.last().map_or(f64::NAN, |last| last.tasks as f64);
    numbers.push(number("alpha_settled", settled(end) / all));
    let layers = seed.last().map_or(&[][..], |last| &last.layers);
    let blocks: Vec<_> = layers.iter().map(|m| blocks_of(m, seed.token_size)).collect();
    for (l, (layer, matrices)) in blocks.iter().zip(layers).enumerate() {
        let mut put = |name: &str, value| numbers.push(number(format!("{name}_{l}"), value));
        let [p, q] = layer.shares(&Pattern::TD);
        put("p_form", p);
        put("q_form", q);
        put("q_form_one_layer", layer.shares(&Pattern::ONE_LAYER_TD)[1]);
        put("q_form_residual", layer.shares(&Pattern::RESIDUAL_GRADIENT)[1]);
        put("alignment", p * q);
        let Pattern { blocks, corner } = layer.p.means;
        for (name, i, j) in [("00", 0, 0), ("01", 0, 1), ("10", 1, 0), ("11", 1, 1)] {
            put(&format!("p_block_{name}"), blocks[i][j] / corner[0][0]);
        }
        put("q_ratio", -layer.q.means.blocks[0][1] / layer.q.means.blocks[0][0]);
        let largest = |m: &[f32]| m.iter().fold(0.0, |a, x| f64::max(a, x.abs().into()));
        let (p, q, element) = (largest(&matrices.p), largest(&matrices.q), &matrices.element);
        put("p_others_scaled", element.p_avg_abs_others / p);
        put("q_others_scaled", element.q_avg_abs_others / q);
    }
    let least = |a: f64, b: f64| if a.is_nan() || a <= b { a } else { b };
    let shares = blocks.iter().map(|layer| layer.shares(&Pattern::TD)[0]);
    numbers.extend(shares.reduce(least).map(|share| number("p_form_least", share)));
    numbers
}

/// P and Q by blocks.
fn blocks_of(Matrices { p, q, .. }: &Matrices, k: usize) -> LayerBlocks {
    let of = |m: &[f32]| Blocks::of(k.saturating_sub(1) / 2, k, |i, j| m[i * k + j].into());
    LayerBlocks::new(of(p), of(q))
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

/// Returns a row of values that are finite, one per seed.
fn curve_row(run: &str, metric: &str, tasks: u64, values: Vec<f64>) -> CurveRow {
    let (mean, stderr) = mean_and_stderr(values.iter().copied());
    let [lower, median, upper] = quartiles(values);
    CurveRow { run: run.into(), metric: metric.into(), tasks, mean, stderr, median, lower, upper }
}

/// Returns the mean of P or Q of a stored layer at a log point, over the seeds where it is finite, each with its sign.
fn mean_matrix(run: &[SeedRun], t: usize, layer: usize, of: fn(&Matrices) -> &[f32]) -> Vec<f64> {
    let of_seeds: Vec<_> = run
        .iter()
        .filter_map(|r| r.points.get(t)?.layers.get(layer))
        .map(|m| (m.element.sign, of(m)))
        .filter(|(_, numbers)| numbers.iter().all(|x| x.is_finite()))
        .collect();
    let nothing = if of_seeds.is_empty() { f64::NAN } else { 0.0 };
    let mut mean = vec![nothing; run[0].token_size * run[0].token_size];
    for (sign, numbers) in &of_seeds {
        for (sum, x) in mean.iter_mut().zip(*numbers) {
            *sum += sign * f64::from(*x) / of_seeds.len() as f64;
        }
    }
    mean
}

/// Returns the mean absolute value of all entries but the last of the first layer's P in the mean over seeds, where
/// its largest entry is 1.
pub fn others_of_mean(run: &[SeedRun]) -> Option<f64> {
    let end = run.first()?.points.len().checked_sub(1)?;
    run[0].points[end].layers.first()?;
    let p = mean_matrix(run, end, 0, |m| &m.p);
    let (_, others) = p.split_last()?;
    let largest = p.iter().fold(0.0, |a, x| f64::max(a, x.abs()));
    let sum: f64 = others.iter().map(|x| x.abs()).sum();
    Some(sum / others.len() as f64 / largest)
}

fn put_matrices(name: &str, run: &[SeedRun], t: usize, rows: &mut Vec<MatrixRow>) {
    let Some(first) = run.first().and_then(|r| r.points.get(t)) else { return };
    type Of = fn(&Matrices) -> &[f32];
    let matrices: [(&str, Of); 2] = [("P", |m| &m.p), ("Q", |m| &m.q)];
    for layer in 0..first.layers.len() {
        let k = run[0].token_size;
        for (matrix, of) in matrices {
            let mean = mean_matrix(run, t, layer, of);
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
