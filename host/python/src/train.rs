//! Training, watched from Python.

use crate::arithmetic;
use crate::array::{Integer, refused, roomy, shaped, whole};
use crate::error::python;
use crate::task::own;
use compute::log::METRICS;
use compute::{Checkpoint, InvalidSetting, LogPoint, Observer, Recipe, SeedRun, Stopped, Trainer};
use ictd::Error;
use ictd::commands::train_run::summarise;
use ictd::run::info::{self, RunManifest};
use ictd::run::session::Session;
use ictd::train::Train;
use ictd::train::directory::{TrainDirectory, read_run, seed_params};
use ictd::train::options::Seeds;
use numpy::{PyArrayDyn, ToPyArray};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The interval between checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(50);

/// Seconds between two checkpoints.
const CHECKPOINTS: Duration = Duration::from_secs(5);

/// Passes each log point to a Python function, and writes the seeds' files to a folder.
struct Watch<'a> {
    on_log: Option<Py<PyAny>>,
    directory: Option<&'a TrainDirectory>,
}

impl Observer for Watch<'_> {
    type Error = PyErr;

    fn checkpoint_every(&self) -> Option<Duration> {
        self.directory.map(|_| CHECKPOINTS)
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> PyResult<()> {
        self.directory.map_or(Ok(()), |directory| directory.save(&checkpoint)).map_err(python)
    }

    fn finished(&self, run: &SeedRun) -> PyResult<()> {
        self.directory.map_or(Ok(()), |directory| directory.finish(run, true)).map_err(python)
    }

    fn logged(&self, seed: u64, point: &LogPoint) -> PyResult<()> {
        let Some(on_log) = &self.on_log else { return Ok(()) };
        Python::attach(|py| {
            let metrics = PyDict::new(py);
            metrics.set_item("tasks", point.tasks)?;
            for metric in METRICS {
                metrics.set_item(metric.name, (metric.of)(point))?;
            }
            on_log.call1(py, (seed, metrics)).map(drop)
        })
    }
}

/// The settings of a recipe as typed, by name.
pub(crate) type Settings = Vec<(String, String)>;

/// Returns the error of a setting, by its name in Python.
fn invalid(e: InvalidSetting) -> PyErr {
    refused(&e.setting.replace('-', "_"), e.reason)
}

/// Returns the recipe with these settings, for the caller's tasks or those of a file that the settings name.
pub(crate) fn recipe(
    settings: &Settings,
    tasks: Option<PyBackedBytes>,
    check: fn(&Recipe) -> Result<(), InvalidSetting>,
) -> PyResult<Recipe> {
    roomy(|| checked(settings, tasks, check))
}

fn checked(
    settings: &Settings,
    tasks: Option<PyBackedBytes>,
    check: fn(&Recipe) -> Result<(), InvalidSetting>,
) -> PyResult<Recipe> {
    let settings = settings.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let known = |name| ictd::options::setting(name).map(drop).map_err(|e| refused("recipe", e));
    settings.clone().try_for_each(|(name, _)| known(name))?;
    let recipe = Recipe::default().with_settings(settings).map_err(invalid)?;
    let recipe = match tasks {
        Some(_) if recipe.task != Recipe::default().task => {
            return Err(refused(
                "tasks",
                "there are tasks in the recipe, too; expected one of both",
            ));
        }
        Some(tasks) => recipe.with_own_tasks(own("tasks", &tasks)?).map_err(invalid)?,
        None => ictd::formats::tasks::load(recipe, None).map_err(python)?,
    };
    check(&recipe).map_err(invalid)?;
    Ok(recipe)
}

/// Trains like `ictd.train`, and returns each seed as a dictionary.
#[pyfunction]
pub(crate) fn train<'py>(
    py: Python<'py>,
    settings: Settings,
    seeds: Vec<Integer>,
    threads: Integer,
    on_log: Option<Py<PyAny>>,
    tasks: Option<PyBackedBytes>,
    folder: Option<PathBuf>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    // Threads inherit this one's floating-point mode.
    arithmetic::check()?;
    let recipe = recipe(&settings, tasks, Recipe::check)?;
    let seeds = seeds.into_iter().map(|seed| whole("seeds", seed)).collect::<PyResult<_>>()?;
    let (of, threads) = (recipe.clone(), whole("threads", threads)?);
    let runs = match folder {
        None => {
            train_watched(py, recipe, seeds, threads, Watch { on_log, directory: None }, vec![])?
        }
        Some(out) => train_in(py, &out, recipe, seeds, threads, on_log)?,
    };
    runs.iter().map(|run| dictionary(py, &of, run)).collect()
}

/// Returns the finished seeds in the folder of a run, from their checkpoints, each as a dictionary.
#[pyfunction]
pub(crate) fn load_run(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let read = || -> Result<_, Error> {
        let (_, options) = read_run(&path)?;
        let (directory, mut runs) = (TrainDirectory::at(path, &options.recipe)?, Vec::new());
        for seed in directory.seeds()? {
            let found = directory.load(seed)?.filter(|found| directory.has_ended(found));
            runs.extend(found.map(|found| found.run));
        }
        Ok((options.recipe, runs))
    };
    let (recipe, runs) = py.detach(|| roomy(|| read().map_err(python)))?;
    if runs.is_empty() {
        return Err(refused("path", "no seed has finished here; expected the folder of a run"));
    }
    runs.iter().map(|run| dictionary(py, &recipe, run)).collect()
}

/// Trains like the command line with `--out`: resumes seeds that have begun.
fn train_in(
    py: Python<'_>,
    out: &std::path::Path,
    recipe: Recipe,
    seeds: Vec<u64>,
    threads: usize,
    on_log: Option<Py<PyAny>>,
) -> PyResult<Vec<SeedRun>> {
    if seeds.is_empty() {
        return Err(refused("seeds", "none; expected at least one in a folder"));
    }
    let seeds = Seeds::List(seeds.into_iter().collect());
    let options = Train { seeds, ..Train::from(recipe.clone()) };
    options.check(0).map_err(python)?;
    let session = Session {
        seed: 0,
        out: out.to_owned(),
        threads: Some(threads),
        json: true,
        pool: Default::default(),
    };
    let planned = options.seed_set(0);
    let directory = TrainDirectory::create(out, &options.recipe, &planned).map_err(python)?;
    let (mut claims, mut begun) = (Vec::new(), Vec::new());
    for seed in planned {
        claims.push(directory.claim_seed(seed).map_err(python)?);
        begun.extend(directory.load(seed).map_err(python)?);
    }
    let ended = begun.iter().filter(|found| directory.has_ended(found));
    ended.into_iter().try_for_each(|found| directory.finish(&found.run, false)).map_err(python)?;
    let manifest = RunManifest::new("train", &session);
    if !info::is_finished(&directory.path) {
        let begin = || -> Result<(), Error> {
            let _claimed = directory.claim()?;
            manifest.write(&directory.path, None).map(drop)
        };
        begin().map_err(python)?;
    }
    let seeds = options.seed_set(0).into_iter().collect();
    let watch = Watch { on_log, directory: Some(&directory) };
    let runs = train_watched(py, recipe, seeds, threads, watch, begun)?;
    drop(claims);
    let written = py.detach(|| summarise(&directory, manifest));
    written.map_err(python)?;
    Ok(runs)
}

fn train_watched(
    py: Python<'_>,
    recipe: Recipe,
    seeds: Vec<u64>,
    threads: usize,
    watch: Watch<'_>,
    begun: Vec<Checkpoint>,
) -> PyResult<Vec<SeedRun>> {
    let cancelled = AtomicBool::new(false);
    let mut trainer = Trainer::new(recipe, seeds).map_err(invalid)?;
    trainer.name = watch.directory.map_or(String::new(), |directory| directory.name.clone());
    (trainer.threads, trainer.cancelled) = (threads, Some(&cancelled));
    let trainer = trainer.resume(begun);
    let (trained, signal) = py.detach(|| {
        let (send, received) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(send.send(trainer.run(&watch))));
            let mut signal = Ok(());
            loop {
                match received.recv_timeout(POLL) {
                    Ok(trained) => return (Some(trained), signal),
                    Err(RecvTimeoutError::Disconnected) => return (None, signal),
                    Err(RecvTimeoutError::Timeout) if signal.is_ok() => {
                        signal = Python::attach(|py| py.check_signals());
                        cancelled.store(signal.is_err(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    signal?;
    match trained {
        Some(Ok(runs)) => Ok(runs),
        Some(Err(Stopped::Observer(error))) => Err(error),
        Some(Err(e @ (Stopped::Core { .. } | Stopped::Cancelled))) => Err(refused("recipe", e)),
        None => {
            Err(pyo3::exceptions::PyRuntimeError::new_err("a defect of ictd: training panicked"))
        }
    }
}

fn dictionary<'py>(
    py: Python<'py>,
    recipe: &Recipe,
    run: &SeedRun,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("seed", run.seed)?;
    found.set_item("digest", &run.digest)?;
    found.set_item("settings", seed_params(recipe, run.seed).to_string())?;
    let metrics = PyDict::new(py);
    let tasks: Vec<u64> = run.points.iter().map(|point| point.tasks).collect();
    metrics.set_item("tasks", tasks.to_pyarray(py))?;
    for metric in METRICS {
        let values: Vec<f64> = run.points.iter().map(metric.of).collect();
        metrics.set_item(metric.name, values.to_pyarray(py))?;
    }
    found.set_item("metrics", metrics)?;
    found.set_item("p", matrices(py, run, |m| &m.p)?)?;
    found.set_item("q", matrices(py, run, |m| &m.q)?)?;
    Ok(found)
}

/// Returns P or Q, (log points, stored layers, K, K).
fn matrices<'py>(
    py: Python<'py>,
    run: &SeedRun,
    of: fn(&compute::log::Matrices) -> &Vec<f32>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let layers = run.points.first().map_or(0, |point| point.layers.len());
    let numbers: Vec<f32> =
        run.points.iter().flat_map(|point| point.layers.iter().flat_map(of)).copied().collect();
    shaped(py, &[run.points.len(), layers, run.token_size, run.token_size], numbers)
}
