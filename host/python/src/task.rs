//! Random policy evaluation tasks.

use crate::arithmetic;
use crate::error::python;
use compute::estimator::MAX_FEATURES;
use ictd::error::WithContext as _;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{FiniteTaskDistribution, Mrp, Task as _, TaskDistribution as _, TaskSpec};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The most states.
const STATES: usize = 64;

/// A Markov reward process with features.
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Task {
    d: usize,
    gamma: f64,
    mrp: Box<Mrp<f64, MAX_FEATURES, STATES>>,
}

type Trajectory<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (kind = "boyan", seed = 0, d = 4, states = 10, gamma = 0.9, actions = 3))]
    fn new(
        kind: &str,
        seed: u64,
        d: usize,
        states: usize,
        gamma: f64,
        actions: usize,
    ) -> PyResult<Self> {
        arithmetic::check()?;
        let finite = |spec: TaskSpec| spec.finite(actions);
        let Some(kind) = kind.parse().ok().and_then(finite) else {
            let all = TaskSpec::ALL.iter().filter(|spec| finite(**spec).is_some());
            let names = all.map(|spec| spec.name()).collect::<Vec<_>>().join(", ");
            return Err(PyValueError::new_err(format!("kind: {kind:?}; expected one of {names}")));
        };
        if !(0.0..1.0).contains(&gamma) {
            return Err(PyValueError::new_err(format!(
                "gamma: {gamma}; expected a number in [0, 1)"
            )));
        }
        let tasks = FiniteTaskDistribution::<STATES> { kind, states, dim: d };
        let mrp = tasks.draw(gamma, &mut Rng::stream(seed, RngStream::Tasks));
        Ok(Task { d, gamma, mrp: Box::new(mrp.context("the task").map_err(python)?) })
    }

    /// Features, (states, d).
    #[getter]
    fn phi<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let features = self.mrp.feature_map();
        Array2::from_shape_fn((self.mrp.states(), self.d), |(s, i)| features[s][i]).to_pyarray(py)
    }

    #[getter]
    fn p<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        let m = self.mrp.states();
        let rows: Vec<_> = (0..m).map(|s| self.mrp.transition_from(s)).collect();
        Array2::from_shape_fn((m, m), |(s, t)| rows[s][t]).to_pyarray(py)
    }

    #[getter]
    fn p0<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.mrp.initial().as_slice()[..self.mrp.states()].to_pyarray(py)
    }

    #[getter]
    fn reward<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.mrp.reward().as_slice()[..self.mrp.states()].to_pyarray(py)
    }

    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let v = self.mrp.true_value(self.gamma).context("the true value").map_err(python)?;
        Ok(v.as_slice()[..self.mrp.states()].to_pyarray(py))
    }

    #[getter]
    fn distribution<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let d = self.mrp.stationary_distribution().context("the stationary distribution");
        Ok(d.map_err(python)?.as_slice()[..self.mrp.states()].to_pyarray(py))
    }

    #[pyo3(signature = (n, seed = 0))]
    fn sample<'py>(&self, py: Python<'py>, n: usize, seed: u64) -> Trajectory<'py> {
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let (mut states, mut rewards) = (vec![self.mrp.initial_state(&mut rng)], Vec::new());
        for t in 0..n {
            let (reward, next) = self.mrp.step(states[t], &mut rng);
            rewards.push(reward);
            states.push(next);
        }
        let features = self.mrp.feature_map();
        let phi = Array2::from_shape_fn((n + 1, self.d), |(t, i)| features[states[t]][i]);
        (phi.to_pyarray(py), rewards.to_pyarray(py))
    }
}
