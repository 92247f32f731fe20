//! Contexts.

use crate::arithmetic;
use crate::array::{Integer, Number, numbers, refused, roomy, tuple, whole};
use crate::error::python;
use crate::model::{Given, Model, ONE_CONTEXT, ValueFunction, check_features, features};
use ictd::error::WithContext as _;
use judge::estimator::Stream;
use numpy::ToPyArray;
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::{PyBytes, PyType};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[doc = crate::docstring!("Context")]
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Context {
    d: usize,
    model: Py<Model>,
    retention: Option<f64>,
    stream: Mutex<Box<dyn Stream>>,
}

/// How Python pickles a context: its class, its arguments, and its state.
type ReducedContext<'py> =
    (Bound<'py, PyType>, (usize, Py<Model>, Option<f64>), Bound<'py, PyBytes>);

impl Context {
    fn row(&self, name: &str, phi: Given) -> PyResult<Vec<f64>> {
        let row = numbers(name, phi, false)?;
        if row.shape != [self.d] {
            let (shape, d) = (tuple(&row.shape), self.d);
            return Err(refused(name, format!("shape {shape}; expected ({d},)")));
        }
        Ok(row.finite(name)?.data)
    }

    fn saved(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let locked = self.locked(py);
        let stream = &**locked;
        roomy(|| Ok(stream.save()))
    }

    /// Waits until no other thread uses the stream.
    fn locked<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Box<dyn Stream>> {
        self.stream.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (d, model = None, retention = None))]
    fn new(
        py: Python<'_>,
        d: Integer,
        model: Option<Py<Model>>,
        retention: Option<Number>,
    ) -> PyResult<Self> {
        let retention = retention.map(|retention| retention.0);
        let model = match model {
            Some(model) => model,
            None => Py::new(py, Model::universal(Some(d), Number(0.9))?)?,
        };
        let d = whole("d", d)?;
        if let Some(own) = model.get().d.filter(|own| *own != d) {
            return Err(refused("d", format!("{d}; expected {own}, the features of the model")));
        }
        check_features("d", d, "")?;
        let stream = model.get().stream(d, retention).map_err(python)?;
        Ok(Context { d, model, retention, stream: Mutex::new(stream) })
    }

    #[doc = crate::docstring!("Context.observe")]
    #[pyo3(signature = (phi, reward, phi_next, rho = Number(1.0)))]
    fn observe(
        &self,
        py: Python<'_>,
        phi: Given,
        reward: Given,
        phi_next: Option<Given>,
        rho: Number,
    ) -> PyResult<()> {
        arithmetic::check()?;
        let phi = self.row("phi", phi)?;
        let phi_next = phi_next.map(|next| self.row("phi_next", next)).transpose()?;
        let reward = match numbers("reward", reward, false)?.finite("reward")?.data[..] {
            [reward] => reward,
            _ => return Err(refused("reward", "expected one number")),
        };
        let seen = self.locked(py).observe(&phi, reward, phi_next.as_deref(), rho.0);
        seen.context("observing").map_err(python)
    }

    #[doc = crate::docstring!("Context.run")]
    #[pyo3(signature = (phi, reward, phi_next = None, terminal = None, end = None, rho = None))]
    fn run(
        &self,
        py: Python<'_>,
        phi: Given,
        reward: Given,
        phi_next: Option<Given>,
        terminal: Option<Given>,
        end: Option<Given>,
        rho: Option<Given>,
    ) -> PyResult<()> {
        let phi = features(phi)?;
        let [_, d] = phi.table("phi", ONE_CONTEXT)?;
        if d != self.d {
            return Err(refused("phi", format!("{d} features; expected {}", self.d)));
        }
        let model = self.model.get();
        let data = model.transitions(&phi, reward, phi_next, terminal, end, rho)?;
        Model::observe(py, &mut **self.locked(py), &data)
    }

    #[doc = crate::docstring!("Context.end_episode")]
    fn end_episode(&self, py: Python<'_>) {
        self.locked(py).end_episode();
    }

    #[doc = crate::docstring!("Context.clear")]
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        *self.locked(py) = self.model.get().stream(self.d, self.retention).map_err(python)?;
        Ok(())
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.locked(py).observed() as usize
    }

    #[doc = crate::docstring!("Context.copy")]
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = Self::new(
            py,
            Integer(self.d as i128),
            Some(self.model.clone_ref(py)),
            self.retention.map(Number),
        )?;
        copy.__setstate__(py, &self.saved(py)?)?;
        Ok(copy)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<ReducedContext<'py>> {
        let state = PyBytes::new(py, &self.saved(py)?);
        Ok((py.get_type::<Self>(), (self.d, self.model.clone_ref(py), self.retention), state))
    }

    fn __setstate__(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        let mut locked = self.locked(py);
        let stream = &mut **locked;
        roomy(|| stream.restore(state).context("the state").map_err(python))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (model, len) = (self.model.get().__repr__(), self.locked(py).observed());
        let retention = self.retention.map_or(String::new(), |x| format!(", retention={x}"));
        format!("<ictd.Context d={}, {model}{retention}, {len} transitions>", self.d)
    }

    #[doc = crate::docstring!("Context.value_function")]
    fn value_function(&self, py: Python<'_>) -> PyResult<ValueFunction> {
        arithmetic::check()?;
        self.model.get().value_function_of(py, &**self.locked(py), self.d)
    }

    #[doc = crate::docstring!("Context.values")]
    fn values<'py>(&self, py: Python<'py>, query: Given) -> PyResult<Bound<'py, PyAny>> {
        let query = numbers("query", query, false)?;
        if !(1..=2).contains(&query.shape.len()) || query.shape.last() != Some(&self.d) {
            let (shape, d) = (tuple(&query.shape), self.d);
            return Err(refused("query", format!("shape {shape}; expected ({d},) or (m, {d})")));
        }
        let (axes, queries) = (query.shape.len(), query.finite("query")?.data);
        arithmetic::check()?;
        let values = self.model.get().values_of(py, &**self.locked(py), self.d, &queries)?;
        Ok(match axes {
            1 => values[0].into_pyobject(py)?.into_any(),
            _ => values.to_pyarray(py).into_any(),
        })
    }
}
