//! Collects a sweep ([`guide::sweep`](crate::guide::sweep)): three tables, made seed by seed from their checkpoints.
//! An axis that has a metric's name (`loss`) has the column `--loss`.

use super::judged::{self, Judge, Judgement};
use super::plan::{Plan, PlannedRun};
use crate::error::Error;
use crate::experiments::learning::{NamedMetric, metrics};
use crate::experiments::statistics::{mean_and_stderr, quartiles};
use crate::run::records::to_csv;
use crate::run::{RunFiles, Session, progress, records};
use crate::train::log::METRICS;
use crate::train::{LayerSharing, LogPoint, NetworkKind, Recipe, SeedRun, Seeds, TrainDirectory};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const POINTS: &str = "sweep.csv";
const JUDGED: &str = "records.csv";
pub(crate) const SUMMARY: &str = "summary.csv";

/// The columns of [`SUMMARY`] after the axes and the metric.
pub(super) const STATISTICS: [&str; 6] = ["seeds", "mean", "stderr", "lower", "median", "upper"];

#[derive(Debug, Default, Serialize)]
pub struct Collected {
    pub runs: usize,
    pub seeds: usize,
    pub finished: usize,
    pub diverged: usize,
    /// The seeds of each run that have not finished, in the syntax of `--seeds`.
    pub missing: BTreeMap<String, String>,
    /// The seeds of each run that diverged, in the syntax of `--seeds`.
    pub diverged_seeds: BTreeMap<String, String>,
}

/// Returns seeds in the syntax of `--seeds`, with their run's folder; `None` without seeds.
fn named(folder: &str, seeds: BTreeSet<u64>) -> Option<(String, String)> {
    (!seeds.is_empty()).then(|| (folder.to_owned(), Seeds::List(seeds).to_string()))
}

fn stored(recipe: &Recipe) -> usize {
    match (recipe.network, recipe.layer_sharing) {
        (NetworkKind::Rnn, _) => 0,
        (_, LayerSharing::Sequential) => recipe.layers,
        (_, LayerSharing::Autoregressive) => 1,
    }
}

fn columns<'a>(plan: &Plan, rest: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let is_metric = |axis: &String| METRICS.iter().any(|metric| metric.name == axis);
    let axis = |axis: &String| if is_metric(axis) { format!("--{axis}") } else { axis.clone() };
    let axes = plan.axes.iter().map(axis);
    ["run".to_owned()].into_iter().chain(axes).chain(rest.into_iter().map(str::to_owned)).collect()
}

/// A seed that has finished.
struct Seed {
    /// The rows of its log points.
    rows: Vec<u8>,
    /// Its metrics at the end.
    last: Vec<Option<f64>>,
    /// Its judgement in each draw of tasks; empty if it is not judged.
    judged: Vec<Judgement>,
    diverged: bool,
}

fn seed_of(
    run: &PlannedRun,
    seed: &SeedRun,
    metrics: &[NamedMetric],
    judge: Option<&Judge>,
) -> Result<Seed, Error> {
    let values = |p: &LogPoint| metrics.iter().map(|(_, of)| of(p)).collect::<Vec<_>>();
    let point = |p: &LogPoint| (&run.folder, &run.values, seed.seed, p.tasks, values(p));
    let last = seed.last().map(values).unwrap_or_default();
    let rows = to_csv(POINTS, seed.points.iter().map(point))?;
    let judged = judge.map_or(Vec::new(), |judge| judge.judge(seed));
    Ok(Seed { rows, last, judged, diverged: seed.diverged().is_some() })
}

pub fn has_something(plan: &Plan, out: &Path) -> Result<bool, Error> {
    for run in &plan.runs {
        let directory = TrainDirectory::at(out.join(&run.folder), &run.recipe)?;
        for seed in &plan.seeds {
            if directory.load(*seed)?.is_some_and(|found| directory.has_ended(&found)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Records the tables of the runs below `out`, with as many seeds in memory as there are threads.
pub fn collect(plan: &Plan, session: &Session, records: &mut RunFiles) -> Result<Collected, Error> {
    let layers = plan.runs.iter().map(|run| stored(&run.recipe)).max().unwrap_or(0);
    let metrics = metrics(layers);
    let names = || metrics.iter().map(|(name, _)| name.as_str());
    let mut points = records.stream(POINTS)?;
    let head = columns(plan, ["seed", "tasks"].into_iter().chain(names()));
    points.write(&to_csv(POINTS, [head])?)?;
    let head = columns(plan, ["metric"].into_iter().chain(STATISTICS));
    let mut summary = to_csv(POINTS, [head])?;
    let mut judgements = to_csv(JUDGED, [columns(plan, ["seed", "draw", "metric", "value"])])?;
    let all = plan.runs.len() * plan.seeds.len();
    let mut collected = Collected { runs: plan.runs.len(), seeds: all, ..Collected::default() };
    let bar = progress::bar("collect", all as u64, session.json);
    for run in &plan.runs {
        let place = records::place(&session.out, &run.folder)?;
        let directory = TrainDirectory::at(place, &run.recipe)?;
        let judge = session.on_threads(1, || Judge::of(&run.recipe))?;
        let (mut ends, mut judged) = (vec![Vec::new(); metrics.len()], Vec::new());
        let (mut missing, mut diverged) = (BTreeSet::new(), BTreeSet::new());
        for block in plan.seeds.chunks(session.threads()) {
            progress::check()?;
            let read = |seed: &u64| -> Result<(u64, Option<Seed>), Error> {
                let there = directory.load(*seed)?.filter(|there| directory.has_ended(there));
                let found = there
                    .map(|there| seed_of(run, &there.run, &metrics, judge.as_ref()))
                    .transpose()?;
                Ok((*seed, found))
            };
            let read = || block.par_iter().map(read).collect::<Vec<_>>();
            let read = session.on_threads(block.len(), read)?;
            for found in read {
                let (seed, found) = found?;
                bar.inc(1);
                let Some(found) = found else {
                    missing.insert(seed);
                    continue;
                };
                points.write(&found.rows)?;
                collected.finished += 1;
                if found.diverged {
                    diverged.insert(seed);
                }
                for (end, value) in ends.iter_mut().zip(found.last) {
                    end.extend(value.filter(|x| x.is_finite()));
                }
                for (draw, numbers) in found.judged.iter().enumerate() {
                    let named = judged::NAMES.iter().zip(numbers);
                    let row = |(name, x)| (&run.folder, &run.values, seed, draw + 1, name, x);
                    judgements.extend(to_csv(JUDGED, named.map(row))?);
                }
                judged.extend(Some(found.judged).filter(|judged| !judged.is_empty()));
            }
        }
        collected.diverged += diverged.len();
        collected.missing.extend(named(&run.folder, missing));
        collected.diverged_seeds.extend(named(&run.folder, diverged));
        for ((metric, _), ends) in metrics.iter().zip(ends).filter(|(_, ends)| !ends.is_empty()) {
            let (count, (mean, stderr)) = (ends.len(), mean_and_stderr(ends.iter().copied()));
            let row = (&run.folder, &run.values, metric, count, mean, stderr, quartiles(ends));
            summary.extend(to_csv(POINTS, [row])?);
        }
        for (at, metric) in judged::NAMES.iter().enumerate().filter(|_| !judged.is_empty()) {
            let seeds: Vec<_> = judged.iter().map(|seed| judged::mean(seed, at)).collect();
            let mean = seeds.iter().sum::<f64>() / seeds.len() as f64;
            let (count, stderr) = (seeds.len(), judged::stderr(&judged, at));
            let row = (&run.folder, &run.values, metric, count, mean, stderr, quartiles(seeds));
            summary.extend(to_csv(POINTS, [row])?);
        }
    }
    bar.finish_and_clear();
    records.put_stream(points)?;
    records.put(SUMMARY, summary);
    records.put(JUDGED, judgements);
    Ok(collected)
}
