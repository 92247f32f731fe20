//! What the figures about learning share: training runs, the numbers averaged over seeds, and the
//! [`panels`] drawn from them.
//!
//! A run that several figures show is trained once: it lives in `runs/NAME` beside the figures'
//! directories, and is taken from there if its config is the same.

pub mod panels;

pub use panels::{CAPTION, CurveRecords, MatrixRecords};

use super::mean_and_stderr;
use crate::error::Error;
use crate::options;
use crate::run::config;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use crate::run::session::Session;
use crate::train::directory::TrainDirectory;
use crate::train::log::{ELEMENTS, Element, Point, SeedRun};
use crate::train::options::Train;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How many pictures the animation of P and Q has.
const FRAMES: usize = 40;

/// How much is trained; the figure's own numbers unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Scale {
    /// How many seeds [default: 30]
    #[arg(long, value_parser = options::integer(1..=100_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// How many tasks each is trained on [default: the paper's]
    #[arg(long, value_parser = options::integer(1..=100_000_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mrps: Option<usize>,
    /// Write event files for TensorBoard into the folders of the training runs
    #[arg(long)]
    #[serde(skip)]
    pub tensorboard: bool,
}

impl Scale {
    /// Options at this scale.
    pub fn apply(&self, options: Train) -> Train {
        let mrps = self.mrps.unwrap_or(options.mrps);
        let tensorboard = self.tensorboard || options.tensorboard;
        Train { seeds: self.seeds.unwrap_or(30), mrps, tensorboard, ..options }
    }
}

/// The seeds of a run, from `runs/NAME` if they were trained before.
///
/// # Errors
/// Those of the training and of the files.
pub fn trained(name: &str, options: &Train, session: &Session) -> Result<Vec<SeedRun>, Error> {
    options.check(session.seed)?;
    let config = config::to_text("train", session.seed, options)?;
    let path = session.out.join("runs").join(name);
    let directory = TrainDirectory::create(path, config, session)?.with_events(options);
    directory.note_unfinished(session);
    match crate::train::train(options, session.seed, session, name, Some(&directory)) {
        Ok(trained) => Ok(trained.runs),
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

/// A metric of a log point.
type PointMetric = fn(&Point) -> f64;

/// The metrics that are no element of P or Q.
const SCALARS: [(&str, PointMetric); 6] = [
    ("vd", |p| p.vd),
    ("iws", |p| p.iws),
    ("ss", |p| p.ss),
    ("msve", |p| p.msve),
    ("alpha", |p| p.alpha),
    ("loss", |p| p.loss),
];

/// The records of runs: `curves.csv`, `matrices.csv`, `seeds.csv`.
///
/// # Errors
/// Those of the files.
pub fn put_records(runs: &[(&str, Vec<SeedRun>)], records: &mut Records) -> Result<(), Error> {
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
    for (name, value) in SCALARS {
        all.push((name.into(), Box::new(value)));
    }
    for l in 0..stored {
        for (name, value) in ELEMENTS {
            let of_layer = move |p: &Point| p.layers.get(l).map_or(f64::NAN, |m| value(&m.element));
            all.push((format!("{name}_{l}"), Box::new(of_layer)));
        }
    }
    all
}

fn curve_row(run: &str, metric: &str, tasks: u64, values: Vec<f64>) -> CurveRow {
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

/// Lower quartile, median and upper quartile, by linear interpolation; NaN of nothing.
pub fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.retain(|x| x.is_finite());
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| {
        let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
        let place = share * last as f64;
        let below = place as usize;
        let above = (below + 1).min(last);
        values[below] + (place - below as f64) * (values[above] - values[below])
    })
}

/// The median with its quartiles, as text.
pub fn spread(values: &[f64]) -> String {
    let [lower, median, upper] = quartiles(values.to_vec());
    format!("{median:.3} ({lower:.3} to {upper:.3})")
}

/// A metric averaged over the last tenth of a seed's log, since one fresh context says little.
pub fn settled(run: &SeedRun, metric: fn(&Point) -> f64) -> f64 {
    let tail = run.points.len().div_ceil(10);
    mean_and_stderr(run.points.iter().rev().take(tail).map(metric)).0
}

/// A metric averaged over the first tenth of a seed's log.
pub fn early(run: &SeedRun, metric: fn(&Point) -> f64) -> f64 {
    let head = run.points.len().div_ceil(10);
    mean_and_stderr(run.points.iter().take(head).map(metric)).0
}

/// Whether layer l of a seed has Theorem 1's form, up to scale and sign: P is dominated by
/// P[-1, -1]; Q by the two diagonals, the left one negative and the right one positive. "Dominated"
/// means: the mean absolute value of the other entries is below a tenth of P[-1, -1], and below a
/// fifth of the mean absolute value on the diagonals.
pub fn has_theorem_1_form(run: &SeedRun, l: usize) -> bool {
    has_form(run, l, true)
}

/// As [`has_theorem_1_form`], for the corollary on one layer, whose Q has the left diagonal only: the
/// right one counts among the other entries.
pub fn has_one_layer_form(run: &SeedRun, l: usize) -> bool {
    has_form(run, l, false)
}

fn has_form(run: &SeedRun, l: usize, both: bool) -> bool {
    let d = ((run.token_size - 1) / 2) as f64;
    let e = |metric: fn(&Element) -> f64| run.element(l, metric);
    let (left, right) = (e(|e| e.q_trace_upper_left) / d, e(|e| e.q_trace_upper_right) / d);
    let diagonal = if both { (left.abs() + right.abs()) / 2.0 } else { left.abs() };
    e(|e| e.p_avg_abs_others) < 0.1 * e(|e| e.p_bottom_right)
        && e(|e| e.q_avg_abs_others) < 0.2 * diagonal
        && left < 0.0
        && if both { right > 0.0 } else { right.abs() < 0.2 * diagonal }
}

/// The verdict for a claim about every seed: it holds for at least 90 % of them, or in part for at
/// least 10 %.
pub fn verdict_of_share(holding: usize, seeds: usize) -> Verdict {
    match holding as f64 / seeds.max(1) as f64 {
        share if share >= 0.9 => Verdict::Holds,
        share if share >= 0.1 => Verdict::HoldsInPart,
        _ => Verdict::DoesNotHold,
    }
}

/// The claim that P_l and Q_l converge to a form, counted over seeds.
pub fn form_claim(
    what: &str,
    paper: &str,
    runs: &[SeedRun],
    l: usize,
    holds: fn(&SeedRun, usize) -> bool,
) -> Claim {
    let converged = runs.iter().filter(|r| holds(r, l)).count();
    let of = |metric: fn(&Element) -> f64| -> String {
        spread(&runs.iter().map(|r| r.element(l, metric)).collect::<Vec<_>>())
    };
    Claim {
        claim: what.into(),
        paper: paper.into(),
        measured: format!(
            "{converged} of {} seeds; P[-1,-1] {}, tr Q[:d,:d] {}, tr Q[:d,d:2d] {}",
            runs.len(),
            of(|e| e.p_bottom_right),
            of(|e| e.q_trace_upper_left),
            of(|e| e.q_trace_upper_right),
        ),
        verdict: verdict_of_share(converged, runs.len()),
    }
}

/// The claim that a cosine ends near 1: above 0.9 when settled, counted over seeds.
pub fn near_one_claim(
    what: &str,
    paper: &str,
    runs: &[SeedRun],
    metric: fn(&Point) -> f64,
) -> Claim {
    let ends: Vec<f64> = runs.iter().map(|r| settled(r, metric)).collect();
    let near = ends.iter().filter(|x| **x > 0.9).count();
    Claim {
        claim: what.into(),
        paper: paper.into(),
        measured: format!("{}; above 0.9 in {near} of {} seeds", spread(&ends), runs.len()),
        verdict: verdict_of_share(near, runs.len()),
    }
}

/// The claim that the value difference falls: in the last tenth of the log below a fifth of what
/// it was in the first, counted over seeds.
pub fn vd_claim(what: &str, paper: &str, runs: &[SeedRun]) -> Claim {
    let ends: Vec<f64> = runs.iter().map(|r| settled(r, |p| p.vd)).collect();
    let starts: Vec<f64> = runs.iter().map(|r| early(r, |p| p.vd)).collect();
    let fallen = ends.iter().zip(&starts).filter(|(end, start)| **end < 0.2 * **start).count();
    Claim {
        claim: what.into(),
        paper: paper.into(),
        measured: format!(
            "from {} to {}; to below a fifth in {fallen} of {} seeds",
            spread(&starts),
            spread(&ends),
            runs.len()
        ),
        verdict: verdict_of_share(fallen, runs.len()),
    }
}

/// Every seed's final metrics, for `--json`.
pub fn seeds_value(runs: &[SeedRun], sequential: bool) -> Value {
    json!(runs.iter().map(|r| r.to_value(sequential)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate_and_skip_what_is_not_finite() {
        assert_eq!(quartiles(vec![4.0, 1.0, 3.0, 2.0, 5.0, f64::NAN]), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles(vec![1.0, 2.0]), [1.25, 1.5, 1.75]);
        assert!(quartiles(Vec::new())[1].is_nan());
    }

    #[test]
    fn a_share_decides_the_verdict() {
        assert_eq!(verdict_of_share(27, 30), Verdict::Holds);
        assert_eq!(verdict_of_share(26, 30), Verdict::HoldsInPart);
        assert_eq!(verdict_of_share(2, 30), Verdict::DoesNotHold);
    }
}
