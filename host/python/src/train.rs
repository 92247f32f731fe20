//! Training, watched from Python.

use crate::arithmetic;
use compute::log::METRICS;
use compute::{Observer, Point, Recipe, SeedRun, Stopped, Trainer};
use numpy::ndarray::Array;
use numpy::{PyArrayDyn, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How soon Ctrl-C is seen.
const POLL: Duration = Duration::from_millis(50);

/// Tells a Python function of each log point.
struct OnLog(Option<Py<PyAny>>);

impl Observer for OnLog {
    type Error = PyErr;

    fn logged(&self, seed: u64, point: &Point) -> PyResult<()> {
        let Some(on_log) = &self.0 else { return Ok(()) };
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

/// `ictd.train` without its conveniences: each seed as a dictionary.
#[pyfunction]
pub(crate) fn train<'py>(
    py: Python<'py>,
    settings: Vec<(String, String)>,
    seeds: Vec<u64>,
    threads: usize,
    on_log: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    // Threads inherit how this one computes.
    arithmetic::check()?;
    let refused = |e: &dyn std::fmt::Display| PyValueError::new_err(e.to_string());
    let settings = settings.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let recipe = Recipe::default().with_settings(settings).map_err(|e| refused(&e))?;
    let cancelled = AtomicBool::new(false);
    let mut trainer = Trainer::new(recipe, seeds).map_err(|e| refused(&e))?;
    (trainer.threads, trainer.cancelled) = (threads, Some(&cancelled));
    let observer = OnLog(on_log);
    let (trained, signal) = py.detach(|| {
        let (send, received) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(send.send(trainer.run(&observer))));
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
        Some(Ok(runs)) => runs.iter().map(|run| dictionary(py, run)).collect(),
        Some(Err(Stopped::Observer(error))) => Err(error),
        Some(Err(e @ (Stopped::Core { .. } | Stopped::Cancelled))) => Err(refused(&e)),
        None => {
            Err(pyo3::exceptions::PyRuntimeError::new_err("a defect of ictd: training panicked"))
        }
    }
}

fn dictionary<'py>(py: Python<'py>, run: &SeedRun) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("seed", run.seed)?;
    found.set_item("digest", &run.digest)?;
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

/// (log points, stored layers, K, K).
fn matrices<'py>(
    py: Python<'py>,
    run: &SeedRun,
    of: fn(&compute::log::Matrices) -> &Vec<f32>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let layers = run.points.first().map_or(0, |point| point.layers.len());
    let numbers: Vec<f32> =
        run.points.iter().flat_map(|point| point.layers.iter().flat_map(of)).copied().collect();
    let shape = vec![run.points.len(), layers, run.token_size, run.token_size];
    let array = Array::from_shape_vec(shape, numbers);
    Ok(array.map_err(|e| PyValueError::new_err(e.to_string()))?.to_pyarray(py))
}
