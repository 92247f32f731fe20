//! Models and contexts.

use crate::arithmetic;
use crate::error::python;
use crate::estimator::{Error, Estimator, MAX_FEATURES, Method, Stream};
use ictd::construction::Construction;
use ictd::formats::parameters::{Attention, LayerParameters, Mode, ParameterSet, Parameters};
use ictd::model_file::{self, AnyModel};
use numpy::{
    AllowTypeChange, PyArray1, PyArrayLike1, PyArrayLike2, PyArrayLikeDyn,
    PyUntypedArrayMethods as _, ToPyArray,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

type Numbers1<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;
type Numbers2<'py> = PyArrayLike2<'py, f64, AllowTypeChange>;
type Numbers<'py> = PyArrayLikeDyn<'py, f64, AllowTypeChange>;
type Matrices<'py> = PyArrayLikeDyn<'py, f32, AllowTypeChange>;
type Marks<'py> = PyArrayLike1<'py, bool, AllowTypeChange>;

/// The number of the layers of a construction, unless said otherwise.
const LAYERS: usize = 15;

/// A transformer or a classical algorithm.
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Model {
    estimator: Estimator,
    name: String,
}

fn refused(argument: &str, reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {reason}"))
}

impl Model {
    /// Judged once with the features that it takes, or one: every other number of features is alike.
    fn new(name: &str, method: Method, gamma: f64, layers: usize) -> PyResult<Self> {
        if !(0.0..1.0).contains(&gamma)
            && !matches!(&method, Method::Constructed { .. } if gamma == 1.0)
        {
            return Err(refused("gamma", format!("{gamma}; accepted is a number in [0, 1)")));
        }
        let estimator = Estimator { method, gamma, layers };
        estimator.stream(estimator.features().unwrap_or(1), None).map_err(python)?;
        Ok(Model { estimator, name: name.to_owned() })
    }

    fn constructed(
        name: &str,
        construction: Construction,
        (d, alpha, lambda): (usize, f64, f64),
        gamma: f64,
        layers: usize,
    ) -> PyResult<Self> {
        if !(1..=MAX_FEATURES).contains(&d) {
            return Err(refused("d", format!("{d}; accepted is 1 to {MAX_FEATURES}")));
        }
        Self::new(name, Method::Constructed { construction, d, alpha, lambda }, gamma, layers)
    }

    /// A stream that has read transitions.
    fn read(&self, data: &Transitions, gamma: Option<f64>) -> Result<Box<dyn Stream>, Error> {
        let mut stream = match gamma {
            Some(gamma) => self.estimator.with_gamma(gamma)?,
            None => self.estimator.clone(),
        }
        .stream(data.d, None)?;
        data.observed_by(&mut *stream)?;
        Ok(stream)
    }

    /// Transitions that it can read, by what computes the same bits as the command line.
    fn transitions(
        &self,
        phi: &Numbers2,
        reward: &Numbers1,
        phi_next: Option<Numbers2>,
        terminal: Option<Marks>,
        end: Option<Marks>,
    ) -> PyResult<Transitions> {
        arithmetic::check()?;
        let data = Transitions::new(phi, reward, phi_next, terminal, end)?;
        let d = data.d;
        match self.estimator.features() {
            Some(own) if own != d => {
                Err(refused("phi", format!("{d} features; accepted is {own}, those of the model")))
            }
            _ if !(1..=MAX_FEATURES).contains(&d) => {
                Err(refused("phi", format!("{d} features; accepted is 1 to {MAX_FEATURES}")))
            }
            _ => Ok(data),
        }
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (d = None, gamma = 0.9))]
    fn universal(d: Option<usize>, gamma: f64) -> PyResult<Self> {
        if let Some(d) = d.filter(|d| !(1..=MAX_FEATURES).contains(d)) {
            return Err(refused("d", format!("{d}; accepted is 1 to {MAX_FEATURES}")));
        }
        let model = Box::new(model_file::shipped(gamma).map_err(python)?);
        let layers = model.transformer().depth();
        Self::new("universal", Method::Universal(model), gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (d, alpha = 0.2, layers = LAYERS, gamma = 0.9))]
    fn td0(d: usize, alpha: f64, layers: usize, gamma: f64) -> PyResult<Self> {
        Self::constructed("td0", Construction::Td0, (d, alpha, 0.0), gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (d, lambda_ = 0.5, alpha = 0.2, layers = LAYERS, gamma = 0.9))]
    fn td_lambda(d: usize, lambda_: f64, alpha: f64, layers: usize, gamma: f64) -> PyResult<Self> {
        Self::constructed("td_lambda", Construction::TdLambda, (d, alpha, lambda_), gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (d, alpha = 0.2, layers = LAYERS, gamma = 0.9))]
    fn residual_gradient(d: usize, alpha: f64, layers: usize, gamma: f64) -> PyResult<Self> {
        let construction = Construction::ResidualGradient;
        Self::constructed("residual_gradient", construction, (d, alpha, 0.0), gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (d, alpha = 0.2, layers = LAYERS))]
    fn average_reward(d: usize, alpha: f64, layers: usize) -> PyResult<Self> {
        let construction = Construction::AverageReward;
        Self::constructed("average_reward", construction, (d, alpha, 0.0), 1.0, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, alpha = 0.1, gamma = 0.9, true_online = true))]
    fn online_td(lambda_: f64, alpha: f64, gamma: f64, true_online: bool) -> PyResult<Self> {
        let method = Method::OnlineTd { lambda: lambda_, alpha, true_online };
        Self::new("online_td", method, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, ridge = 0.3, retention = 0.9998, gamma = 0.9))]
    fn recursive_lstd(lambda_: f64, ridge: f64, retention: f64, gamma: f64) -> PyResult<Self> {
        let method = Method::RecursiveLstd { lambda: lambda_, retention, ridge };
        Self::new("recursive_lstd", method, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.0, alpha = 0.2, iterations = LAYERS, gamma = 0.9))]
    fn batch_td(lambda_: f64, alpha: f64, iterations: usize, gamma: f64) -> PyResult<Self> {
        Self::new("batch_td", Method::BatchTd { lambda: lambda_, alpha }, gamma, iterations)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, ridge = 0.3, gamma = 0.9))]
    fn lstd(lambda_: f64, ridge: f64, gamma: f64) -> PyResult<Self> {
        Self::new("lstd", Method::Lstd { lambda: lambda_, ridge }, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (p, q, gamma = 0.9, layers = None, lambda_ = 0.0))]
    fn linear(
        p: Matrices,
        q: Matrices,
        gamma: f64,
        layers: Option<usize>,
        lambda_: f64,
    ) -> PyResult<Self> {
        let shape = p.shape().to_vec();
        let (count, k) = match shape[..] {
            [k, also] if k == also => (1, k),
            [count, k, also] if k == also => (count, k),
            _ => (0, 0),
        };
        if k < 3 || k.is_multiple_of(2) || count == 0 {
            let accepted = "(2 d + 1, 2 d + 1) or (L, 2 d + 1, 2 d + 1)";
            return Err(refused("p", format!("shape {shape:?}; accepted is {accepted}")));
        }
        if q.shape() != shape {
            let reason = format!("shape {:?}; accepted is that of p, {shape:?}", q.shape());
            return Err(refused("q", reason));
        }
        let depth = match layers {
            Some(layers) if count > 1 && layers != count => {
                return Err(refused("layers", format!("{layers}; accepted is {count}, as in p")));
            }
            None if count == 1 && shape.len() == 2 => {
                return Err(refused("layers", "accepted is how often the layer is applied"));
            }
            layers => layers.unwrap_or(count),
        };
        let numbers = |m: &Matrices| m.as_array().iter().copied().collect::<Vec<f32>>();
        let (p, q) = (numbers(&p), numbers(&q));
        let layers = p.chunks(k * k).zip(q.chunks(k * k));
        let layers = layers.map(|(p, q)| LayerParameters { p: p.to_vec(), q: q.to_vec() });
        let parameters = Box::new(Parameters {
            token_size: k,
            layers: layers.collect(),
            mode: if count == 1 { Mode::Autoregressive } else { Mode::Sequential },
            depth: Some(depth),
            attention: Some(Attention::Linear),
            gamma: Some(gamma),
            context_length: None,
            lambda: lambda_,
            set: ParameterSet::Full,
            prior_count: None,
        });
        let (file, attention) = (PathBuf::from("linear"), Attention::Linear);
        Self::new("linear", Method::Trained { file, parameters, attention }, gamma, depth)
    }

    #[staticmethod]
    #[pyo3(signature = (path, gamma = None, layers = None, seed = 0))]
    fn load(path: PathBuf, gamma: Option<f64>, layers: Option<usize>, seed: u64) -> PyResult<Self> {
        let name = path.display().to_string();
        let file = model_file::seed_of_run(&path, seed).map_err(python)?;
        let parameters = match model_file::model(&file, gamma).map_err(python)? {
            AnyModel::Universal(model) => {
                let (gamma, depth) = (model.gamma(), model.transformer().depth());
                if layers.is_some_and(|layers| layers != depth) {
                    return Err(refused(
                        "layers",
                        format!("accepted is {depth}, those of the model"),
                    ));
                }
                return Self::new(&name, Method::Universal(model), gamma, depth);
            }
            AnyModel::Dense(file) => Box::new(file.parameters),
        };
        let unsaid = |argument| refused(argument, format!("{name} does not say; it must be given"));
        let gamma = gamma.or(parameters.gamma).ok_or_else(|| unsaid("gamma"))?;
        let depth = layers.or(parameters.depth).ok_or_else(|| unsaid("layers"))?;
        if parameters.layers.len() > 1 && parameters.depth.is_some_and(|own| own != depth) {
            return Err(refused("layers", format!("{depth}; the model has as many as are stored")));
        }
        let attention = parameters.attention.unwrap_or(Attention::Linear);
        Self::new(&name, Method::Trained { file, parameters, attention }, gamma, depth)
    }

    /// The discount; none for average reward.
    #[getter]
    fn gamma(&self) -> Option<f64> {
        Some(self.estimator.gamma).filter(|_| !self.estimator.is_average_reward())
    }

    #[getter]
    fn layers(&self) -> Option<usize> {
        Some(self.estimator.layers).filter(|layers| *layers > 0)
    }

    #[getter]
    fn d(&self) -> Option<usize> {
        self.estimator.features()
    }

    fn __repr__(&self) -> String {
        let gamma = self.gamma().map_or(String::new(), |gamma| format!(", gamma={gamma}"));
        let layers = self.layers().map_or(String::new(), |layers| format!(", layers={layers}"));
        format!("<ictd.Model {}{gamma}{layers}>", self.name)
    }

    #[pyo3(signature = (phi, reward, phi_next = None, query = None, gamma = None, terminal = None, end = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        phi: Numbers2<'py>,
        reward: Numbers1<'py>,
        phi_next: Option<Numbers2<'py>>,
        query: Option<Numbers2<'py>>,
        gamma: Option<f64>,
        terminal: Option<Marks<'py>>,
        end: Option<Marks<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = self.transitions(&phi, &reward, phi_next, terminal, end)?;
        let queries = match query {
            Some(query) if query.shape()[1] != data.d => {
                let reason = format!("shape {:?}; accepted is (m, {})", query.shape(), data.d);
                return Err(refused("query", reason));
            }
            Some(query) => row_major(&query),
            None => row_major(&phi),
        };
        let values = py.detach(|| self.read(&data, gamma)?.values(&queries)).map_err(python)?;
        Ok(values.to_pyarray(py))
    }

    #[pyo3(signature = (phi, reward, phi_next = None, gamma = None, terminal = None, end = None))]
    fn weights<'py>(
        &self,
        py: Python<'py>,
        phi: Numbers2<'py>,
        reward: Numbers1<'py>,
        phi_next: Option<Numbers2<'py>>,
        gamma: Option<f64>,
        terminal: Option<Marks<'py>>,
        end: Option<Marks<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = self.transitions(&phi, &reward, phi_next, terminal, end)?;
        let weights = py.detach(|| self.read(&data, gamma)?.weights()).map_err(python)?;
        Ok(weights.to_pyarray(py))
    }
}

/// Transitions in one piece of memory.
struct Transitions {
    d: usize,
    phi: Vec<f64>,
    reward: Vec<f64>,
    /// None: the next row of `phi`.
    phi_next: Option<Vec<f64>>,
    terminal: Vec<bool>,
    end: Vec<bool>,
}

/// The numbers of an array, row by row.
fn row_major(array: &Numbers2) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

impl Transitions {
    fn new(
        phi: &Numbers2,
        reward: &Numbers1,
        phi_next: Option<Numbers2>,
        terminal: Option<Marks>,
        end: Option<Marks>,
    ) -> PyResult<Self> {
        let (n, d) = (reward.len(), phi.shape()[1]);
        let rows = if phi_next.is_some() { n } else { n + 1 };
        if phi.shape()[0] != rows {
            let without = if phi_next.is_some() {
                ""
            } else {
                " (without phi_next the last row is a next state)"
            };
            let reason = format!(
                "shape {:?} with {n} rewards; accepted is ({rows}, d){without}",
                phi.shape()
            );
            return Err(refused("phi", reason));
        }
        if let Some(next) = phi_next.as_ref().filter(|next| next.shape() != phi.shape()) {
            let reason =
                format!("shape {:?}; accepted is that of phi, {:?}", next.shape(), phi.shape());
            return Err(refused("phi_next", reason));
        }
        let marks = |name, marks: Option<Marks>| match marks {
            Some(marks) if marks.len() != n => Err(refused(
                name,
                format!("{} marks; accepted is {n}, one for each reward", marks.len()),
            )),
            Some(marks) => Ok(marks.as_array().iter().copied().collect()),
            None => Ok(vec![false; n]),
        };
        Ok(Transitions {
            d,
            phi: row_major(phi),
            reward: reward.as_array().iter().copied().collect(),
            phi_next: phi_next.map(|next| row_major(&next)),
            terminal: marks("terminal", terminal)?,
            end: marks("end", end)?,
        })
    }

    fn observed_by(&self, stream: &mut dyn Stream) -> Result<(), Error> {
        let next = self.phi_next.as_deref().unwrap_or_else(|| &self.phi[self.d..]);
        let rows = self.phi.chunks_exact(self.d).zip(next.chunks_exact(self.d));
        for (i, ((phi, next), reward)) in rows.zip(&self.reward).enumerate() {
            let next = Some(next).filter(|_| !self.terminal[i]);
            stream.observe(phi, *reward, next)?;
            if self.end[i] && !self.terminal[i] {
                stream.end_episode();
            }
        }
        Ok(())
    }
}

/// What a model has read of a stream.
#[pyclass(module = "ictd")]
pub(crate) struct Context {
    d: usize,
    stream: Box<dyn Stream>,
}

impl Context {
    fn row(&self, name: &str, phi: &Numbers1) -> PyResult<Vec<f64>> {
        let row: Vec<f64> = phi.as_array().iter().copied().collect();
        if row.len() != self.d {
            let reason = format!("{} features; accepted is {}", row.len(), self.d);
            return Err(refused(name, reason));
        }
        Ok(row)
    }
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (d, model = None, retention = None))]
    fn new(d: usize, model: Option<&Model>, retention: Option<f64>) -> PyResult<Self> {
        let universal;
        let model = match model {
            Some(model) => model,
            None => {
                universal = Model::universal(Some(d), 0.9)?;
                &universal
            }
        };
        if let Some(own) = model.estimator.features().filter(|own| *own != d) {
            return Err(refused("d", format!("{d}; accepted is {own}, the features of the model")));
        }
        Ok(Context { d, stream: model.estimator.stream(d, retention).map_err(python)? })
    }

    #[pyo3(signature = (phi, reward, phi_next))]
    fn observe(&mut self, phi: Numbers1, reward: f64, phi_next: Option<Numbers1>) -> PyResult<()> {
        arithmetic::check()?;
        let phi = self.row("phi", &phi)?;
        let phi_next = phi_next.map(|next| self.row("phi_next", &next)).transpose()?;
        self.stream.observe(&phi, reward, phi_next.as_deref()).map_err(python)
    }

    fn end_episode(&mut self) {
        self.stream.end_episode();
    }

    fn clear(&mut self) {
        self.stream.clear();
    }

    fn __len__(&self) -> usize {
        self.stream.len() as usize
    }

    fn copy(&self) -> Self {
        Context { d: self.d, stream: self.stream.copy() }
    }

    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        arithmetic::check()?;
        Ok(py.detach(|| self.stream.weights()).map_err(python)?.to_pyarray(py))
    }

    fn values<'py>(&self, py: Python<'py>, query: Numbers<'py>) -> PyResult<Bound<'py, PyAny>> {
        arithmetic::check()?;
        let shape = query.shape().to_vec();
        if !(1..=2).contains(&shape.len()) || shape.last() != Some(&self.d) {
            let reason = format!("shape {shape:?}; accepted is ({0},) or (m, {0})", self.d);
            return Err(refused("query", reason));
        }
        let queries: Vec<f64> = query.as_array().iter().copied().collect();
        let values = py.detach(|| self.stream.values(&queries)).map_err(python)?;
        Ok(match shape.len() {
            1 => values[0].into_pyobject(py)?.into_any(),
            _ => values.to_pyarray(py).into_any(),
        })
    }
}
