//! The training runs that the figures about learning share, and their measurements averaged over seeds.
//!
//! A run that several figures show is trained once, in `runs/` next to the figures' directories, in the folder of its recipe.

use super::measurements::{MatrixEntry, MeasurementTable};
use super::statistics::{Interval, mean_and_stderr, nan_or_larger, resampled};
use crate::error::Error;
use crate::options;
use crate::run::{RunFiles, Session, records};
use crate::train::log::{ELEMENTS, IWS, METRICS, MSVE, Matrices, SS};
use crate::train::{LogPoint, SeedRun, Train, TrainDirectory};
use ictd_core::metrics::{LayerBlocks, Pattern};
use judge::judge::{Measurement, number};
use judge::measure::others_beside_largest;
use serde::Serialize;

const FRAMES: usize = 40;

/// The scale of training; by default that of the paper's figure.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrainingBudget {
    /// Number of seeds [default: 30]
    #[arg(long, value_parser = options::integer(1..=100_000))]
    pub seeds: Option<usize>,
    /// Number of tasks to train each seed on [default: the paper's]
    #[arg(long, value_parser = options::integer(1..=100_000_000))]
    pub tasks: Option<usize>,
    /// Fresh tasks, in an experiment that has this option.
    #[arg(skip)]
    pub fresh_tasks: Option<usize>,
    /// Whether claims are judged by the first base of seeds alone.
    #[arg(skip)]
    #[serde(skip)]
    pub one_base: bool,
}

impl TrainingBudget {
    pub fn seeds(&self) -> usize {
        self.seeds.unwrap_or(30)
    }
}

/// Returns the seeds of a run from the first one on, from the folder of its recipe in `runs/` if they were trained before.
pub fn trained(
    name: &str,
    options: &Train,
    first: u64,
    session: &Session,
) -> Result<Vec<SeedRun>, Error> {
    options.check(first)?;
    let place = records::place(&session.out, "runs")?;
    let directory = TrainDirectory::create(&place, &options.recipe, &options.seed_set(first))?;
    let (runs, info) = crate::train::train(options, first, session, name, &directory)?;
    directory.summary()?.write(info, &RunFiles::default())?;
    Ok(runs)
}

/// Adds the curves of a run to the table: the mean of each metric over the seeds where it is finite, at each log point, as
/// `mean METRIC`, and its standard error, as `stderr METRIC`; and P and Q at some of these points, sign-aligned per seed
/// and averaged.
pub fn put_curves(name: &str, run: &[SeedRun], table: &mut MeasurementTable) {
    let points = run.first().map_or(&[][..], |r| &r.points);
    for (metric, value) in metrics(stored_layers(run)) {
        let names = ["mean", "stderr"].map(|what| format!("{what} {metric}"));
        for (t, point) in points.iter().enumerate() {
            let at = run.iter().filter_map(|r| value(r.points.get(t)?));
            let finite: Vec<f64> = at.filter(|x| x.is_finite()).collect();
            if !finite.is_empty() {
                let (mean, stderr) = mean_and_stderr(finite.iter().copied());
                table.put(name, None, &names[0], point.tasks as f64, mean);
                table.put(name, None, &names[1], point.tasks as f64, stderr);
            }
        }
    }
    let matrices: [(&str, Of); 2] = [("P", |m| &m.p), ("Q", |m| &m.q)];
    let step = points.len().div_ceil(FRAMES).max(1);
    let first = points.len().saturating_sub(1) % step;
    for point in points.iter().skip(first).step_by(step) {
        for (l, (matrix, of)) in (0..point.layers.len()).flat_map(|l| matrices.map(|m| (l, m))) {
            let k = run[0].token_size;
            let seeds = aligned(run, point.tasks, l, of);
            for (i, value) in mean_of(seeds.iter(), k * k).into_iter().enumerate() {
                let (run, matrix, row, column) = (name.into(), matrix.into(), i / k, i % k);
                let (layer, tasks) = (l, point.tasks);
                table.matrices.push(MatrixEntry { run, matrix, layer, row, column, tasks, value });
            }
        }
    }
}

pub fn put_ends(name: &str, run: &[SeedRun], table: &mut MeasurementTable) {
    for (metric, value) in metrics(stored_layers(run)) {
        for (seed, last) in run.iter().filter_map(|r| Some((r.seed, r.last()?))) {
            table.put(name, seed, &metric, 0.0, value(last).unwrap_or(f64::NAN));
        }
    }
}

/// Returns the measurements of a seed's log and parameters: each metric at the end, `METRIC_tenth` (its mean over each tenth of
/// the log, 0 to 9), whether the seed is `finite`; and for each stored layer l the distances from the forms of
/// the constructions.
pub fn numbers_of(seed: &SeedRun) -> Vec<Measurement> {
    let mut numbers = vec![number("finite", f64::from(seed.diverged().is_none()))];
    let (all, tenth) = (seed.points.len(), seed.points.len().div_ceil(10));
    for (metric, value) in metrics(stored_layers(std::slice::from_ref(seed))) {
        numbers.extend(seed.last().and_then(&*value).map(|x| number(&metric, x)));
        // A single fresh context is too noisy.
        let parts = if [IWS, SS, MSVE].iter().any(|m| m.name == metric) { 10 } else { 0 };
        for part in 0..parts {
            let last = all.saturating_sub(tenth);
            let from = if part == 9 { last } else { all.min(part * tenth) };
            let points = &seed.points[from..all.min(from + tenth)];
            let (value, _) = mean_and_stderr(points.iter().filter_map(&*value));
            numbers
                .push(Measurement { at: part as f64, ..number(format!("{metric}_tenth"), value) });
        }
    }
    let settled = |end: f64| {
        let stays = |p: &&LogPoint| (p.alpha - end).abs() <= 0.1 * end.abs();
        seed.points.iter().rev().find(|p| !stays(p)).map_or(0.0, |p| p.tasks as f64)
    };
    let (end, _) = mean_and_stderr(seed.points.iter().rev().take(tenth).map(|p| p.alpha));
    let all = seed.last().map_or(f64::NAN, |last| last.tasks as f64);
    numbers.push(number("alpha_settled", settled(end) / all));
    let layers = seed.last().map_or(&[][..], |last| &last.layers);
    let blocks: Vec<_> = layers.iter().map(|m| blocks_of(m, seed.token_size)).collect();
    for (l, layer) in blocks.iter().enumerate() {
        let mut put = |name: &str, value| numbers.push(number(format!("{name}_{l}"), value));
        put("q_distance", layer.distances(&Pattern::TD)[1]);
        put("q_distance_one_layer", layer.distances(&Pattern::ONE_LAYER_TD)[1]);
        put("q_distance_residual", layer.distances(&Pattern::RESIDUAL_GRADIENT)[1]);
        let Pattern { blocks, corner } = layer.p;
        for (name, i, j) in [("00", 0, 0), ("01", 0, 1), ("10", 1, 0), ("11", 1, 1)] {
            put(&format!("p_block_{name}"), blocks[i][j] / corner[0][0]);
        }
        put("p_blocks", largest_block(layer));
        let [_, lower] = layer.q.blocks;
        for (name, x) in [("10", lower[0]), ("11", lower[1])] {
            put(&format!("q_block_{name}"), x / layer.q.blocks[0][0]);
        }
        put("q_ratio", -layer.q.blocks[0][1] / layer.q.blocks[0][0]);
    }
    let largest = blocks.iter().map(largest_block).reduce(nan_or_larger);
    numbers.extend(largest.map(|block| number("p_blocks_most", block)));
    numbers
}

/// Returns the largest diagonal of P's four blocks over P[-1,-1].
fn largest_block(layer: &LayerBlocks) -> f64 {
    layer.distances(&Pattern::TD)[0]
}

fn blocks_of(Matrices { p, q, .. }: &Matrices, k: usize) -> LayerBlocks {
    let entries = [p, q].map(|m| |i: usize, j: usize| m[i * k + j].into());
    LayerBlocks::from_entries(k.saturating_sub(1) / 2, k, entries)
}

/// A metric of a log point, with its name; `None` for a layer that the point does not have.
pub type NamedMetric = (String, Box<dyn Fn(&LogPoint) -> Option<f64> + Send + Sync>);

pub fn metrics(layers: usize) -> Vec<NamedMetric> {
    let mut all: Vec<NamedMetric> = Vec::new();
    for metric in METRICS {
        all.push((metric.name.into(), Box::new(move |p| Some((metric.of)(p)))));
    }
    for l in 0..layers {
        for metric in ELEMENTS {
            let of = move |p: &LogPoint| Some((metric.of)(&p.layers.get(l)?.element));
            all.push((format!("{}_{l}", metric.name), Box::new(of)));
        }
    }
    all
}

fn stored_layers(run: &[SeedRun]) -> usize {
    run.first().and_then(SeedRun::last).map_or(0, |p| p.layers.len())
}

type Of = fn(&Matrices) -> &[f32];

/// Returns P or Q of a stored layer after a number of tasks, for each seed where it is finite, sign-aligned.
fn aligned(run: &[SeedRun], tasks: u64, layer: usize, of: Of) -> Vec<Vec<f64>> {
    run.iter()
        .filter_map(|r| r.points.iter().rev().find(|p| p.tasks == tasks)?.layers.get(layer))
        .map(|m| of(m).iter().map(|x| m.element.sign * f64::from(*x)).collect())
        .filter(|numbers: &Vec<f64>| numbers.iter().all(|x| x.is_finite()))
        .collect()
}

/// Returns the mean of matrices with `entries` entries; NaN without matrices.
fn mean_of<'a>(matrices: impl Iterator<Item = &'a Vec<f64>>, entries: usize) -> Vec<f64> {
    let matrices: Vec<_> = matrices.collect();
    let count = matrices.len() as f64;
    let mut mean = vec![if matrices.is_empty() { f64::NAN } else { 0.0 }; entries];
    for matrix in matrices {
        mean.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += x / count);
    }
    mean
}

/// Returns, by the paper's measures of Figure 2, the size of each stored layer's entries other than the expected ones, which are
/// P's last entry and the diagonals of Q's two upper blocks. In (a), `p_others_of_mean_L`, matrices are sign-aligned, averaged
/// over seeds, and scaled to the largest entry 1; `p_largest_of_mean_L` is the largest of these entries beside their mean. In
/// (b), `p_others_of_sizes_L`, entries are made absolute before they are averaged over seeds. So it is for Q.
pub fn others_of_mean(run: &[SeedRun]) -> Vec<(String, Interval)> {
    let Some(last) = run.first().and_then(SeedRun::last) else { return Vec::new() };
    let (k, mut found) = (run[0].token_size, Vec::new());
    let d = k.saturating_sub(1) / 2;
    let matrices: [(&str, Of); 2] = [("p", |m| &m.p), ("q", |m| &m.q)];
    for l in 0..last.layers.len() {
        for (name, of) in matrices {
            let is_expected = |at: usize| match name {
                "p" => at + 1 == k * k,
                _ => at / k < d && (at % k == at / k || at % k == d + at / k),
            };
            let expected: Vec<bool> = (0..k * k).map(is_expected).collect();
            let seeds = aligned(run, last.tasks, l, of);
            let sizes: Vec<Vec<f64>> =
                seeds.iter().map(|seed| seed.iter().map(|x| x.abs()).collect()).collect();
            for (measure, seeds, which) in [
                ("others_of_mean", &seeds, 0),
                ("largest_of_mean", &seeds, 1),
                ("others_of_sizes", &sizes, 0),
            ] {
                let others = resampled([seeds.len()], |[sample]| {
                    others_beside_largest(seeds, sample, &expected)[which]
                });
                found.push((format!("{name}_{measure}_{l}"), others));
            }
        }
    }
    found
}
