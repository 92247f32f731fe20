//! The trainer's batches, in order.

use crate::arithmetic;
use crate::array::{Integer, roomy, shaped, whole};
use crate::error::python;
use crate::train::{Settings, recipe};
use compute::capacity::OWN;
use compute::recipe::{InvalidSetting, Loss, Recipe};
use compute::tasks::{AnyTask, RecipeTasks};
use ictd::error::WithContext as _;
use ictd_core::Error;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{Task as _, TaskDistribution as _};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt as _;
use std::sync::{Mutex, PoisonError};

/// A trajectory that the trainer trains on, the windows of a batch: phi_0, phi_1, ..., (n + W + 2, d); R_1, R_2, ..., (n + W + 1);
/// and the true value of each state, (n + W + 2), NaN where none is known.
type Batch = [Vec<f32>; 3];

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
    /// Returns the stream of a seed, at its beginning. Returns [`InvalidSetting`] if [`Recipe::check`] rejects the recipe, if
    /// contexts differ in length or discount, or if returns are sampled.
    fn new(recipe: Recipe, seed: u64) -> Result<Self, InvalidSetting> {
        recipe.check()?;
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

    /// Returns the next batch, or the core's error for a task that cannot be drawn.
    fn next_batch(&mut self) -> Result<Batch, Error> {
        let Recipe { gamma, dim, batches, context_length, batch_size, .. } = self.tasks.0;
        let (gamma, each) = (gamma as f32, batches as u64);
        if self.number.is_multiple_of(each) {
            let number = self.number / each;
            let task = self.tasks.draw_in_turn(self.seed, number, gamma, &mut self.rng)?;
            self.task = Some(Box::new(task));
        }
        self.number += 1;
        let task = self.task.as_ref().ok_or(Error::Empty { parameter: "task" })?;
        let mut states = vec![task.initial_state(&mut self.rng)];
        let (mut features, mut rewards) = (Vec::new(), Vec::new());
        for k in 0..context_length + batch_size + 1 {
            let (reward, next) = task.step(states[k], &mut self.rng);
            rewards.push(reward);
            states.push(next);
        }
        for state in &states {
            features.extend(task.features(*state).iter().take(dim));
        }
        let mut values = vec![f32::NAN; states.len()];
        // The true values of CartPole and of a log are not known.
        let _ = task.true_values(gamma, &states, &mut values);
        Ok([features, rewards, values])
    }
}

/// The batches of a seed, in order.
#[pyclass(frozen, module = "ictd._ictd")]
pub(crate) struct Batches {
    stream: Mutex<BatchStream>,
    dim: usize,
    #[pyo3(get)]
    context_length: usize,
    #[pyo3(get)]
    gamma: f64,
}

type ThreeArrays<'py> =
    (Bound<'py, PyArrayDyn<f32>>, Bound<'py, PyArrayDyn<f32>>, Bound<'py, PyArrayDyn<f32>>);

#[pymethods]
impl Batches {
    #[new]
    fn new(settings: Settings, tasks: Option<PyBackedBytes>, seed: Integer) -> PyResult<Self> {
        arithmetic::check()?;
        let recipe = recipe(&settings, tasks)?;
        let Recipe { dim, context_length, gamma, .. } = recipe;
        let stream =
            BatchStream::new(recipe, whole("seed", seed)?).map_err(|e| python(e.into()))?;
        Ok(Batches { stream: Mutex::new(stream), dim, context_length, gamma })
    }

    /// Returns the number of the next batch.
    #[getter]
    fn number(&self, py: Python<'_>) -> u64 {
        let stream = self.stream.lock_py_attached(py);
        stream.unwrap_or_else(PoisonError::into_inner).number
    }

    /// Returns features, rewards and true values of batch `number`, which must come after the last one returned.
    fn batch<'py>(&self, py: Python<'py>, number: Integer) -> PyResult<ThreeArrays<'py>> {
        arithmetic::check()?;
        let number = whole("start", number)?;
        let mut stream = self.stream.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let stream = &mut *stream;
        let mut batch = Batch::default();
        while stream.number <= number {
            let mut next = || stream.next_batch().context("the next batch").map_err(python);
            batch = py.detach(|| roomy(&mut next))?;
            py.check_signals()?;
        }
        let [features, rewards, values] = batch;
        let (states, steps) = (values.len(), rewards.len());
        let phi = shaped(py, &[states, self.dim], features)?;
        Ok((phi, shaped(py, &[steps], rewards)?, shaped(py, &[states], values)?))
    }
}
