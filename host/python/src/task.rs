//! Policy evaluation tasks: drawn at random, or given as arrays.

use crate::arithmetic;
use crate::array::{Integer, Number, numbers, refused, roomy, whole};
use crate::error::{argument, python};
use crate::model::{check_discount, check_features};
use compute::capacity::OWN;
use compute::own_tasks::OwnTasks;
use ictd::error::WithContext as _;
use ictd::formats::npz::Npz;
use ictd::formats::tasks::{from_arrays, read};
use ictd::formats::{Array, Data};
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{FiniteTaskDistribution, Mrp, Task as _, TaskDistribution as _, TaskSpec};
use numpy::ndarray::Array2;
use numpy::{PyArray1, PyArray2, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

/// The largest number of values in a trajectory: a gibibyte.
const MOST: usize = 1 << 27;

/// Steps between two checks for Ctrl-C.
const STEPS: usize = 1 << 16;

#[doc = crate::docstring!("Task")]
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Task {
    d: usize,
    #[pyo3(get)]
    gamma: f64,
    mrp: Box<Mrp<f64, OWN, OWN>>,
}

type Numbers<'py> = Bound<'py, PyArray1<f64>>;
type Table<'py> = Bound<'py, PyArray2<f64>>;
type Given<'py> = Option<Bound<'py, PyAny>>;

impl Task {
    /// Returns each task of arrays; `gamma` is its discount if the arrays have none.
    fn each(own: &OwnTasks, gamma: f64) -> PyResult<Vec<Self>> {
        let arrays = own.mrps().map_err(|e| python(e.into()))?;
        let (d, gamma) = (arrays.dim, arrays.gamma.unwrap_or(gamma));
        let one = |number| {
            let mrp = arrays.task(number).context("the task").map_err(python)?;
            Ok(Task { d, gamma, mrp: Box::new(mrp) })
        };
        (0..arrays.count()).map(one).collect()
    }

    fn of_arrays(given: &BTreeMap<&str, Array>) -> PyResult<Self> {
        let mut tasks = Self::each(&from_arrays(given).map_err(argument)?, 0.9)?;
        match (tasks.pop(), tasks.len()) {
            (Some(task), 0) => Ok(task),
            (_, rest) => Err(refused("p", format!("{} tasks; expected one, (m, m)", rest + 1))),
        }
    }
}

/// Returns the tasks of an `.npz` file with this content; errors call it `name`.
pub(crate) fn own(name: &str, file: &[u8]) -> PyResult<OwnTasks> {
    let open = Npz::new(Path::new(name), Cursor::new(file));
    open.and_then(|mut npz| read(&mut npz)).map_err(python)
}

#[pyfunction]
pub(crate) fn load(name: &str, file: &[u8], gamma: f64) -> PyResult<Vec<Task>> {
    arithmetic::check()?;
    check_discount(gamma)?;
    roomy(|| Task::each(&own(name, file)?, gamma))
}

#[pymethods]
impl Task {
    #[new]
    #[pyo3(signature = (
        kind = "boyan", seed = Integer(0), d = Integer(4), states = Integer(10), gamma = Number(0.9), actions = Integer(3), *,
        p = None, reward = None, phi = None, p0 = None, terminal = None
    ))]
    fn new(
        kind: &str,
        seed: Integer,
        d: Integer,
        states: Integer,
        gamma: Number,
        actions: Integer,
        p: Given,
        reward: Given,
        phi: Given,
        p0: Given,
        terminal: Given,
    ) -> PyResult<Self> {
        arithmetic::check()?;
        let Number(gamma) = gamma;
        check_discount(gamma)?;
        let parts =
            [("p", p), ("reward", reward), ("phi", phi), ("p0", p0), ("terminal", terminal)];
        let mut given = BTreeMap::new();
        for (name, part) in parts.iter().filter_map(|(name, part)| Some((*name, part.as_ref()?))) {
            let numbers = numbers(name, part, false)?.finite(name)?;
            let shape = match (name, &numbers.shape[..]) {
                ("reward", [m, 1]) => vec![*m],
                (_, shape) => shape.to_vec(),
            };
            given.insert(name, Array { shape, data: Data::F64(numbers.data) });
        }
        if !given.is_empty() {
            if (kind, [seed, d, states, actions].map(|x| x.0)) != ("boyan", [0, 4, 10, 3]) {
                let reason = "a task of its own; expected no kind, seed, d, states, actions";
                return Err(refused("p", reason));
            }
            given.insert("gamma", Array { shape: vec![], data: Data::F64(vec![gamma]) });
            return roomy(|| Self::of_arrays(&given));
        }
        let (seed, d, states) = (whole("seed", seed)?, whole("d", d)?, whole("states", states)?);
        let actions = whole("actions", actions)?;
        let finite = |spec: TaskSpec| spec.finite(actions);
        let Some(kind) = kind.parse().ok().and_then(finite) else {
            let all = TaskSpec::ALL.iter().filter(|spec| finite(**spec).is_some());
            let names = all.map(|spec| spec.name()).collect::<Vec<_>>().join(", ");
            return Err(refused("kind", format!("{kind:?}; expected one of {names}")));
        };
        check_features("d", d, "")?;
        roomy(|| {
            let tasks = FiniteTaskDistribution::<OWN> { kind, states, dim: d };
            let mrp = tasks.draw(gamma, &mut Rng::stream(seed, RngStream::Tasks));
            Ok(Task { d, gamma, mrp: Box::new(mrp.context("the task").map_err(python)?) })
        })
    }

    /// Returns the arguments with which Python pickles a task.
    fn __getnewargs_ex__<'py>(slf: &Bound<'py, Self>) -> PyResult<((), Bound<'py, PyDict>)> {
        let arguments = PyDict::new(slf.py());
        for name in ["p", "reward", "phi", "p0", "terminal", "gamma"] {
            arguments.set_item(name, slf.getattr(name)?)?;
        }
        Ok(((), arguments))
    }

    fn __repr__(&self) -> String {
        let (m, d, gamma) = (self.mrp.states(), self.d, self.gamma);
        format!("<ictd.Task states={m}, d={d}, gamma={gamma}>")
    }

    #[doc = crate::docstring!("Task.phi")]
    #[getter]
    fn phi<'py>(&self, py: Python<'py>) -> Table<'py> {
        let features = self.mrp.feature_map();
        Array2::from_shape_fn((self.mrp.states(), self.d), |(s, i)| features[s][i]).to_pyarray(py)
    }

    #[doc = crate::docstring!("Task.p")]
    #[getter]
    fn p<'py>(&self, py: Python<'py>) -> Table<'py> {
        let m = self.mrp.states();
        let rows: Vec<_> = (0..m).map(|s| self.mrp.transition_from(s)).collect();
        Array2::from_shape_fn((m, m), |(s, t)| rows[s][t]).to_pyarray(py)
    }

    #[doc = crate::docstring!("Task.p0")]
    #[getter]
    fn p0<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.mrp.initial().as_slice()[..self.mrp.states()].to_pyarray(py)
    }

    #[doc = crate::docstring!("Task.reward")]
    #[getter]
    fn reward<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        self.mrp.reward().as_slice()[..self.mrp.states()].to_pyarray(py)
    }

    #[doc = crate::docstring!("Task.terminal")]
    #[getter]
    fn terminal<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let terminal = (0..self.mrp.states()).map(|s| self.mrp.is_terminal(s));
        terminal.collect::<Vec<_>>().to_pyarray(py)
    }

    #[doc = crate::docstring!("Task.value")]
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Numbers<'py>> {
        let value = || self.mrp.true_value(self.gamma).context("the true value").map_err(python);
        let v = roomy(value)?;
        Ok(v.as_slice()[..self.mrp.states()].to_pyarray(py))
    }

    #[doc = crate::docstring!("Task.distribution")]
    #[getter]
    fn distribution<'py>(&self, py: Python<'py>) -> PyResult<Numbers<'py>> {
        let distribution = || self.mrp.stationary_distribution().context("the distribution");
        let d = roomy(|| distribution().map_err(python))?;
        Ok(d.as_slice()[..self.mrp.states()].to_pyarray(py))
    }

    #[doc = crate::docstring!("Task.sample")]
    #[pyo3(signature = (n, seed = Integer(0)))]
    fn sample<'py>(
        &self,
        py: Python<'py>,
        n: Integer,
        seed: Integer,
    ) -> PyResult<(Table<'py>, Numbers<'py>)> {
        let (n, seed) = (whole("n", n)?, whole("seed", seed)?);
        let most = MOST / self.d - 1;
        if n > most {
            return Err(refused("n", format!("{n}; expected at most {most}")));
        }
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let (mut state, features) = (self.mrp.initial_state(&mut rng), self.mrp.feature_map());
        let (mut phi, mut rewards) = (features[state].as_slice()[..self.d].to_vec(), Vec::new());
        while rewards.len() < n {
            py.detach(|| {
                for _ in 0..STEPS.min(n - rewards.len()) {
                    let (reward, next) = self.mrp.step(state, &mut rng);
                    state = next;
                    rewards.push(reward);
                    phi.extend_from_slice(&features[state].as_slice()[..self.d]);
                }
            });
            py.check_signals()?;
        }
        let phi = Array2::from_shape_vec((n + 1, self.d), phi).map_err(|e| refused("n", e))?;
        Ok((phi.to_pyarray(py), rewards.to_pyarray(py)))
    }
}
