//! The trainer's batches, in order, made in a thread of their own ahead of those who read them.

use crate::arithmetic;
use crate::array::{Integer, shaped, whole};
use crate::error::python;
use crate::train::{Settings, recipe};
use compute::capacity::OWN;
use compute::recipe::{InvalidSetting, Loss, Recipe};
use compute::tasks::{AnyTask, RecipeTasks};
use ictd::error::WithContext as _;
use ictd_core::Error;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{Task as _, TaskDistribution as _};
use judge::estimator::spawn_on_large_stack;
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of batches that are made ahead.
const AHEAD: usize = 8;
/// The time after which a reader that waits looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Windows 0 to W of a trajectory: Z_0, (W + 1, 2 d + 1, n + 1); the reward on leaving each query's state, (W); the queries'
/// true values, (W + 1), NaN where none is known; and the trajectory, (n + W + 2, d).
struct Batch {
    prompts: Vec<f32>,
    reward: Vec<f32>,
    value: Vec<f32>,
    phi: Vec<f32>,
}

/// The batches of a seed, in the trainer's order.
struct BatchStream {
    tasks: RecipeTasks,
    seed: u64,
    rng: Rng,
    task: Option<Box<AnyTask<OWN>>>,
    /// The number of the next batch.
    number: u64,
}

impl BatchStream {
    /// Returns the stream of a seed, at its beginning. Returns [`InvalidSetting`] if contexts differ in length or discount, or if
    /// returns are sampled.
    fn new(recipe: Recipe, seed: u64) -> Result<Self, InvalidSetting> {
        let refused = [
            ("context-range", recipe.context_range.is_some()),
            ("gamma-range", recipe.gamma_range.is_some()),
            ("loss", matches!(recipe.loss, Loss::MonteCarlo { .. })),
        ];
        if let Some((setting, _)) = refused.into_iter().find(|(_, is_refused)| *is_refused) {
            let of_one =
                "expected contexts of one length, one discount, and no sampled returns here";
            return Err(InvalidSetting { setting, reason: of_one.to_owned() });
        }
        let (tasks, rng) = (RecipeTasks(recipe), Rng::stream(seed, RngStream::Tasks));
        Ok(BatchStream { tasks, seed, rng, task: None, number: 0 })
    }

    /// Returns the next batch, or nothing of one before `start`; the core's error for a task that cannot be drawn.
    fn next_batch(&mut self, start: u64) -> Result<Option<Batch>, Error> {
        let Recipe { gamma, dim: d, batches, context_length: n, batch_size, .. } = self.tasks.0;
        let (gamma, each) = (gamma as f32, batches as u64);
        if self.number.is_multiple_of(each) {
            let number = self.number / each;
            let task = self.tasks.draw_in_turn(self.seed, number, gamma, &mut self.rng)?;
            self.task = Some(Box::new(task));
        }
        self.number += 1;
        let task = self.task.as_ref().ok_or(Error::Empty { parameter: "task" })?;
        let mut states = vec![task.initial_state(&mut self.rng)];
        let mut rewards = Vec::new();
        for k in 0..n + batch_size + 1 {
            let (reward, next) = task.step(states[k], &mut self.rng);
            rewards.push(reward);
            states.push(next);
        }
        if self.number <= start {
            return Ok(None);
        }
        let mut phi = Vec::with_capacity(states.len() * d);
        for state in &states {
            phi.extend(task.features(*state).iter().take(d));
        }
        let queries = &states[n + 1..];
        let mut value = vec![f32::NAN; queries.len()];
        // The true values of CartPole and of a log are not known.
        let _ = task.true_values(gamma, queries, &mut value);
        let mut prompts = Vec::with_capacity(queries.len() * (2 * d + 1) * (n + 1));
        for t in 0..queries.len() {
            for i in 0..d {
                prompts.extend((t..t + n).map(|k| phi[k * d + i]));
                prompts.push(phi[(t + n + 1) * d + i]);
            }
            for i in 0..d {
                prompts.extend((t + 1..t + n + 1).map(|k| gamma * phi[k * d + i]));
                prompts.push(0.0);
            }
            prompts.extend_from_slice(&rewards[t..t + n]);
            prompts.push(0.0);
        }
        Ok(Some(Batch { prompts, reward: rewards[n + 1..].to_vec(), value, phi }))
    }
}

/// The batches of a seed, in order.
#[pyclass(frozen, module = "ictd._ictd")]
pub(crate) struct Batches {
    made: Mutex<Receiver<Result<Batch, Error>>>,
    /// n and d.
    shape: [usize; 2],
    #[pyo3(get)]
    gamma: f64,
}

type FourArrays<'py> = (
    Bound<'py, PyArrayDyn<f32>>,
    Bound<'py, PyArrayDyn<f32>>,
    Bound<'py, PyArrayDyn<f32>>,
    Bound<'py, PyArrayDyn<f32>>,
);

#[pymethods]
impl Batches {
    #[new]
    fn new(
        settings: Settings,
        tasks: Option<PyBackedBytes>,
        seed: Integer,
        start: Integer,
    ) -> PyResult<Self> {
        arithmetic::check()?;
        let recipe = recipe(&settings, tasks, Recipe::check_tasks)?;
        let Recipe { dim, context_length, gamma, .. } = recipe;
        let (seed, start) = (whole("seed", seed)?, whole("start", start)?);
        let mut stream = BatchStream::new(recipe, seed).map_err(|e| python(e.into()))?;
        let (sender, made) = sync_channel(AHEAD);
        // It ends when nobody reads any more, or with the first error.
        let make = move || {
            loop {
                let next = stream.next_batch(start).transpose();
                let is_last = matches!(next, Some(Err(_)));
                if next.is_some_and(|next| sender.send(next).is_err()) || is_last {
                    return;
                }
            }
        };
        spawn_on_large_stack(make).context("the thread of the batches").map_err(python)?;
        Ok(Batches { made: Mutex::new(made), shape: [context_length, dim], gamma })
    }

    /// Returns the prompts, rewards, true values and trajectory of the next batch.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<FourArrays<'py>> {
        arithmetic::check()?;
        let wait =
            || self.made.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE);
        let made = loop {
            match py.detach(wait) {
                Ok(made) => break made,
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                // It ended with the error that was read before.
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(Error::Empty { parameter: "task" });
                }
            }
        };
        let Batch { prompts, reward, value, phi } =
            made.context("the next batch").map_err(python)?;
        let ([n, d], windows) = (self.shape, value.len());
        let prompts = shaped(py, &[windows, 2 * d + 1, n + 1], prompts)?;
        let phi = shaped(py, &[windows + n + 1, d], phi)?;
        Ok((prompts, shaped(py, &[windows - 1], reward)?, shaped(py, &[windows], value)?, phi))
    }
}
