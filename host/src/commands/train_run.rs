//! `ictd train`.

use crate::error::{Error, ToFile as _};
use crate::experiments::learning::{put_curves, put_ends};
use crate::experiments::plots::{CAPTION, SHORT_CAPTION};
use crate::experiments::{Experiment, MeasurementTable, plots};
use crate::files::{self, Kind};
use crate::formats::tasks;
use crate::options::Word as _;
use crate::run::report::table;
use crate::run::{Report, RunFiles, RunManifest, Session, info, report};
use crate::train::directory::{CONFIG, RESULTS, read_run};
use crate::train::log::{IWS, LOSS, MSVE, Metric, P_BOTTOM_RIGHT, Q_LEFT, Q_RIGHT, SS, VD};
use crate::train::run::train;
use crate::train::{
    LayerSharing, LogPoint, NetworkKind, Recipe, SeedRun, Summary, Train, TrainDirectory,
};
use figures::{Figure, NamedFigures, Panel};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

const RUN: &str = "train";

pub(crate) const ENTRY: Experiment =
    Experiment::by_command(RUN, "P and Q of a training run, and their learning progress", figures);

pub fn run(options: &Train, session: &Session) -> Result<Report, Error> {
    let (options, seed, directory) = match &options.watch.resume {
        Some(path) => resume(options, path)?,
        None => {
            let options =
                &Train { recipe: tasks::load(options.recipe.clone(), None)?, ..options.clone() };
            options.check(session.seed)?;
            let seeds = options.seed_set(session.seed);
            let directory = TrainDirectory::create(&session.out, &options.recipe, &seeds)?;
            (options.clone(), session.seed, directory)
        }
    };
    // A resumed run took more, in earlier processes.
    let (started, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let (_, info) = train(&options, seed, session, RUN, &directory)?;
    let (seconds, cpu) = (started.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let (mut report, diverged) = summarise(&directory, info)?;
    report.results.insert("seconds".into(), json!(seconds));
    report.results.insert("cpu_seconds".into(), json!(cpu));
    if options.watch.check {
        report.failures = diverged;
    } else {
        diverged.iter().for_each(|line| report.text.push_str(&format!("\n{line}\n")));
    }
    report.text.push_str(&format!("\n{seconds:.2} s, {cpu:.2} CPU s\n"));
    report.text.push_str(&report.place());
    Ok(report)
}

/// Writes the files about all finished seeds. Returns the report, and a line for each seed that diverged.
pub fn summarise(
    directory: &TrainDirectory,
    info: RunManifest,
) -> Result<(Report, Vec<String>), Error> {
    write(&mut directory.summary()?, info)
}

fn write(summary: &mut Summary, info: RunManifest) -> Result<(Report, Vec<String>), Error> {
    let recipe = &summary.options.recipe;
    let sequential = recipe.layer_sharing == LayerSharing::Sequential;
    let seeds: Vec<Value> = (summary.runs.iter()).map(|run| run.to_value(sequential)).collect();

    // The results are those of every run of the same config.
    let results = json!({ "seed": summary.seed, "config": summary.options, "seeds": seeds });
    let mut report = Report::of(RUN, &results);
    let diverged = diverged(&summary.runs);
    // Equal recipes and seeds give equal bytes on any machine, after any interruption, in whatever order the seeds were
    // trained.
    let mut records = RunFiles::default();
    records.put(CONFIG, summary.config.as_str());
    if let Some(own) = recipe.task.own() {
        records.put(
            tasks::FILE_NAME,
            tasks::to_bytes(own.read()?).to_file(Path::new(tasks::FILE_NAME))?,
        );
    }
    records.put(RESULTS, format!("{:#}\n", report.to_value()));
    report.text = text(recipe, &summary.runs);
    let mut long = MeasurementTable::default();
    put_curves(RUN, &summary.runs, &mut long);
    put_ends(RUN, &summary.runs, &mut long);
    long.write(&mut records)?;
    records.draw(&ENTRY.drawn(&records)?);
    report.files = summary.write(info, &records)?;
    Ok((report, diverged))
}

/// Makes the files of a finished run again where they are not what the checkpoints give, unless a process works on it.
pub fn restore(path: &Path, session: &Session) -> Result<(), Error> {
    let (_, options) = read_run(path)?;
    let directory = TrainDirectory::at(path.to_owned(), &options.recipe)?;
    match directory.summary().and_then(|mut summary| complete(path, &mut summary, session)) {
        Err(e) if !e.is_in_use() => Err(e),
        _ => Ok(()),
    }
}

/// Returns the names of the files of a run that are not what its checkpoints give; with `retrain`, also of the checkpoints that
/// training does not give again. Changes no file.
pub fn check(path: &Path, retrain: bool, session: &Session) -> Result<Vec<String>, Error> {
    let (_, options) = read_run(path)?;
    let directory = TrainDirectory::at(path.to_owned(), &options.recipe)?;
    let mut summary = directory.read(None)?;
    complete(path, &mut summary, session)?;
    let said = info::files(path)?;
    let missing = said.into_iter().filter(|name| files::is_free(&path.join(name)));
    summary.differing.extend(missing);
    if retrain {
        summary.differing.extend(directory.retrained(&summary.runs, session.threads())?);
    }
    summary.differing.sort();
    summary.differing.dedup();
    Ok(summary.differing)
}

/// Writes those files about all seeds that a run has: a sweep's has none, and one that experiments share only its `run.json`.
fn complete(path: &Path, summary: &mut Summary, session: &Session) -> Result<(), Error> {
    let (said, info) = (info::files(path)?, RunManifest::new(RUN, session));
    let is_there = |name: &str| files::kind(&path.join(name)) != Kind::Nothing;
    if said.iter().any(|name| name == RESULTS) || is_there(RESULTS) {
        write(summary, info).map(drop)
    } else if info::is_finished(path) {
        summary.write(info, &RunFiles::default()).map(drop)
    } else {
        Ok(())
    }
}

fn diverged(runs: &[SeedRun]) -> Vec<String> {
    let line = |run: &SeedRun| {
        let (seed, tasks) = (run.seed, run.diverged()?);
        let reason = format!("parameters are NaN or infinite (diverged by task {tasks})");
        Some(format!("seed {seed}: {reason}: lower --learning-rate, or set --clip-norm"))
    };
    runs.iter().filter_map(line).collect()
}

/// Returns the run's figure, without panels that have no data; a run without IWS, SS and VD shows its errors instead.
fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let text = String::from_utf8_lossy(&records.get(CONFIG)?).into_owned();
    let (_, options) = Train::of_config(Path::new(CONFIG), &text)?;
    let long = MeasurementTable::read(records)?;
    let of = long.of(RUN);
    let layers = plots::layers(of);
    let with_data = |panels: &[Panel]| -> Vec<Panel> {
        panels.iter().filter(|p| p.has_data()).cloned().collect()
    };
    let mut panels = Vec::new();
    for l in 0..layers {
        panels.extend(with_data(&plots::layer_row(of, l)?));
    }
    let comparison = with_data(&plots::comparison(of, "Layers"));
    let metric = |title, metric| plots::metric(of, title, metric);
    let errors = [metric("Loss of the last batch", &LOSS), metric("Value error", &MSVE)];
    panels.extend(if comparison.is_empty() { with_data(&errors) } else { comparison });
    let figure = Figure {
        title: title(&options),
        subtitle: if layers > 0 { CAPTION } else { SHORT_CAPTION }.into(),
        panels,
        columns: if layers > 0 { 4 } else { 2 },
    };
    Ok(vec![(RUN.into(), figure)])
}

fn title(options: &Train) -> String {
    let Train { recipe, seeds, .. } = options;
    let network = match recipe.network {
        NetworkKind::Transformer => format!("{} transformer", recipe.attention.word()),
        NetworkKind::Rnn => "RNN".to_owned(),
    };
    let Recipe { layers, dim, context_length, task, .. } = recipe;
    let seeds = seeds.count();
    format!(
        "Training by multi-task TD: {network}, L = {layers}, d = {dim}, n = {context_length}, task {task}, \
         seeds: {seeds}"
    )
}

/// Returns the options and the directory of a run to continue, or of the longer run that continues it.
fn resume(typed: &Train, path: &Path) -> Result<(Train, u64, TrainDirectory), Error> {
    let beside = |options| Train { watch: typed.watch.clone(), ..options };
    let longer = Recipe { tasks: typed.recipe.tasks, ..Recipe::default() };
    if *typed != beside(Train::from(longer)) {
        let reason = "takes all options from the run's config.toml; beside it, expected only \
                      --tasks, --threads, --checkpoint-every, --check and --json";
        return Err(Error::option("--resume", reason));
    }
    let (seed, mut options) = read_run(path)?;
    options.check(seed)?;
    options = beside(options);
    let (seeds, trained) = (options.seed_set(seed), options.recipe.tasks);
    let Some(tasks) = typed.watch.longer.filter(|tasks| *tasks != trained) else {
        let directory = TrainDirectory::open(path.to_owned(), &options.recipe, &seeds)?;
        return Ok((options, seed, directory));
    };
    if tasks < trained {
        let reason = format!("{tasks}: the run has {trained} tasks; expected more");
        return Err(Error::option("--tasks", reason));
    }
    let shorter = TrainDirectory::at(path.to_owned(), &options.recipe)?;
    options.recipe.tasks = tasks;
    let directory = TrainDirectory::create(&files::above(path), &options.recipe, &seeds)?;
    directory.take_from(&shorter)?;
    Ok((options, seed, directory))
}

fn text(recipe: &Recipe, runs: &[SeedRun]) -> String {
    let column = |label: &'static str, of: &dyn Fn(&SeedRun) -> f64| {
        let numbers: Vec<f64> = runs.iter().map(of).collect();
        numbers.iter().any(|x| x.is_finite()).then_some((label, numbers))
    };
    let last = |metric: Metric<LogPoint>| {
        column(metric.label, &|run| run.last().map_or(f64::NAN, metric.of))
    };
    let mut columns: Vec<_> = [P_BOTTOM_RIGHT, Q_LEFT, Q_RIGHT]
        .iter()
        .filter_map(|metric| {
            column(metric.label, &|run| {
                let layer = run.last().and_then(|point| point.layers.first());
                layer.map_or(f64::NAN, |layer| (metric.of)(&layer.element))
            })
        })
        .collect();
    let compared: Vec<_> = [VD, IWS, SS].into_iter().filter_map(last).collect();
    let errors = [LOSS, MSVE].into_iter().filter_map(last);
    columns.extend(if compared.is_empty() { errors.collect() } else { compared });

    let head: Vec<_> = ["seed", "digest"].into_iter().chain(columns.iter().map(|c| c.0)).collect();
    let number = |x: f64| if x.is_nan() { "-".to_owned() } else { report::number(x, 4) };
    let rows = runs.iter().enumerate().map(|(i, run)| {
        let numbers = columns.iter().map(|(_, of_seeds)| number(of_seeds[i]));
        [run.seed.to_string(), run.digest.clone()].into_iter().chain(numbers).collect::<Vec<_>>()
    });
    let mut text = table(&head, rows);
    if recipe.layer_sharing == LayerSharing::Sequential {
        text.push_str("(P and Q of layer 0; all layers are in the records)\n");
    }
    text
}
