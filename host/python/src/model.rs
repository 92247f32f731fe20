//! Models and contexts.

use crate::arithmetic;
use crate::error::python;
use compute::estimator::{EpisodeEnd, Estimator, MAX_FEATURES, Method, Stream, Transitions};
use compute::parameters::{LayerParameters, Parameters};
use compute::recipe::{AttentionKind, LayerSharing};
use ictd::error::{Error, WithContext as _};
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
    /// The number of features that it takes, if that is not any.
    d: Option<usize>,
    name: String,
}

pub(crate) fn refused(argument: &str, reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {reason}"))
}

/// Refuses a number of features beyond what there is room for.
fn check_features(argument: &str, d: usize, what: &str) -> PyResult<()> {
    match d {
        1..=MAX_FEATURES => Ok(()),
        _ => Err(refused(argument, format!("{d}{what}; expected 1 to {MAX_FEATURES}"))),
    }
}

impl Model {
    /// Judges the settings once, with one feature or as many as it takes: every other number of features is alike.
    fn new(
        name: &str,
        d: Option<usize>,
        method: Method,
        gamma: f64,
        layers: usize,
    ) -> PyResult<Self> {
        if let Some(d) = d {
            check_features("d", d, "")?;
        }
        let estimator = Estimator { method, gamma, layers };
        if !(0.0..1.0).contains(&gamma) {
            return Err(refused("gamma", format!("{gamma}; expected a number in [0, 1)")));
        }
        estimator.stream(d.unwrap_or(1), None).context("the model").map_err(python)?;
        Ok(Model { estimator, d, name: name.to_owned() })
    }

    /// Returns a stream of d features.
    fn stream(&self, d: usize, retention: Option<f64>) -> Result<Box<dyn Stream>, Error> {
        if retention.is_some() && !self.estimator.has_a_context() {
            return Err(Error::option("retention", "only a model that reads a context has one"));
        }
        self.estimator.stream(d, retention).context("the context")
    }

    /// Returns a stream that has read transitions.
    fn read(&self, data: &Transitions, gamma: Option<f64>) -> Result<Box<dyn Stream>, Error> {
        let estimator = match gamma {
            Some(gamma) => self.estimator.with_gamma(gamma).context("the model")?,
            None => self.estimator.clone(),
        };
        let mut stream = estimator.stream(data.d, None).context("the model")?;
        data.observed_by(&mut *stream).context("observing")?;
        Ok(stream)
    }

    /// Transitions that it can read, in a thread that computes the same bits as the command line.
    fn transitions(
        &self,
        phi: &Numbers2,
        reward: &Numbers1,
        phi_next: Option<Numbers2>,
        terminal: Option<Marks>,
        end: Option<Marks>,
        rho: Option<Numbers1>,
    ) -> PyResult<Transitions> {
        arithmetic::check()?;
        let mut data = transitions(phi, reward, phi_next, terminal, end)?;
        data.rho = rho.map(|rho| rho.as_array().iter().copied().collect());
        if let Some(rho) = data.rho.as_ref().filter(|rho| rho.len() != data.len()) {
            let reason =
                format!("{} weights; expected {}, one for each reward", rho.len(), data.len());
            return Err(refused("rho", reason));
        }
        if let Some(own) = self.d.filter(|own| *own != data.d) {
            let reason = format!("{} features; expected {own}, those of the model", data.d);
            return Err(refused("phi", reason));
        }
        check_features("phi", data.d, " features")?;
        Ok(data)
    }
}

/// Returns the weights that a stream gives.
fn weights_of(stream: &dyn Stream) -> Result<Vec<f64>, Error> {
    let nonlinear = "softmax attention: its value is not linear in the features";
    let weights = stream.weights().context("the value function")?;
    weights.ok_or_else(|| Error::option("model", nonlinear))
}

/// Returns the values that a stream gives.
fn values_of(stream: &dyn Stream, queries: &[f64]) -> Result<Vec<f64>, Error> {
    let mut values = Vec::new();
    stream.values(queries, &mut values).context("the value function")?;
    Ok(values)
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (d = None, gamma = 0.9))]
    fn universal(d: Option<usize>, gamma: f64) -> PyResult<Self> {
        if let Some(d) = d {
            check_features("d", d, "")?;
        }
        let model = Box::new(model_file::shipped(gamma).map_err(python)?);
        Self::new("universal", None, Method::Universal(model), gamma, 1)
    }

    #[staticmethod]
    #[pyo3(signature = (d, alpha = 0.2, layers = LAYERS, gamma = 0.9))]
    fn td0(d: usize, alpha: f64, layers: usize, gamma: f64) -> PyResult<Self> {
        Self::new("td0", Some(d), Method::Constructed { alpha, trace_decay: 0.0 }, gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (d, trace_decay = 0.5, alpha = 0.2, layers = LAYERS, gamma = 0.9))]
    fn td_lambda(
        d: usize,
        trace_decay: f64,
        alpha: f64,
        layers: usize,
        gamma: f64,
    ) -> PyResult<Self> {
        let method = Method::Constructed { alpha, trace_decay };
        Self::new("td_lambda", Some(d), method, gamma, layers)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, alpha = 0.1, gamma = 0.9, true_online = true))]
    fn online_td(lambda_: f64, alpha: f64, gamma: f64, true_online: bool) -> PyResult<Self> {
        let method = Method::OnlineTd { lambda: lambda_, alpha, true_online };
        Self::new("online_td", None, method, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, ridge = 0.3, retention = 0.9998, gamma = 0.9))]
    fn recursive_lstd(lambda_: f64, ridge: f64, retention: f64, gamma: f64) -> PyResult<Self> {
        let method = Method::RecursiveLstd { lambda: lambda_, retention, ridge };
        Self::new("recursive_lstd", None, method, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.0, alpha = 0.2, iterations = LAYERS, gamma = 0.9))]
    fn batch_td(lambda_: f64, alpha: f64, iterations: usize, gamma: f64) -> PyResult<Self> {
        let method = Method::BatchTd { lambda: lambda_, alpha };
        Self::new("batch_td", None, method, gamma, iterations)
    }

    #[staticmethod]
    #[pyo3(signature = (lambda_ = 0.9, ridge = 0.3, gamma = 0.9))]
    fn lstd(lambda_: f64, ridge: f64, gamma: f64) -> PyResult<Self> {
        Self::new("lstd", None, Method::Lstd { lambda: lambda_, ridge }, gamma, 0)
    }

    #[staticmethod]
    #[pyo3(signature = (p, q, gamma = 0.9, layers = None, trace_decay = 0.0))]
    fn linear(
        p: Matrices,
        q: Matrices,
        gamma: f64,
        layers: Option<usize>,
        trace_decay: f64,
    ) -> PyResult<Self> {
        let shape = p.shape().to_vec();
        let (count, k) = match shape[..] {
            [k, also] if k == also => (1, k),
            [count, k, also] if k == also => (count, k),
            _ => (0, 0),
        };
        if k < 3 || k.is_multiple_of(2) || count == 0 {
            let expected = "(2 d + 1, 2 d + 1) or (L, 2 d + 1, 2 d + 1)";
            return Err(refused("p", format!("shape {shape:?}; expected {expected}")));
        }
        if q.shape() != shape {
            let reason = format!("shape {:?}; expected that of p, {shape:?}", q.shape());
            return Err(refused("q", reason));
        }
        let depth = match layers {
            Some(layers) if count > 1 && layers != count => {
                return Err(refused("layers", format!("{layers}; expected {count}, as in p")));
            }
            None if count == 1 && shape.len() == 2 => {
                return Err(refused("layers", "expected how often the layer is applied"));
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
            layer_sharing: if count == 1 {
                LayerSharing::Autoregressive
            } else {
                LayerSharing::Sequential
            },
            depth: Some(depth),
            attention: Some(AttentionKind::Linear),
            gamma: Some(gamma),
            context_length: None,
            trace_decay,
        });
        let method = Method::Trained { parameters, attention: AttentionKind::Linear };
        Self::new("linear", Some((k - 1) / 2), method, gamma, depth)
    }

    #[staticmethod]
    #[pyo3(signature = (path, gamma = None, layers = None, seed = 0))]
    fn load(path: PathBuf, gamma: Option<f64>, layers: Option<usize>, seed: u64) -> PyResult<Self> {
        let name = path.display().to_string();
        let file = model_file::seed_of_run(&path, seed).map_err(python)?;
        let parameters = match model_file::open(&file, gamma).map_err(python)? {
            AnyModel::Universal(model) => {
                if layers.is_some() {
                    return Err(refused("layers", "the universal model has none"));
                }
                let gamma = model.gamma();
                return Self::new(&name, None, Method::Universal(model), gamma, 1);
            }
            AnyModel::Dense(parameters, _) => parameters,
        };
        let unsaid = |argument| refused(argument, format!("{name} does not say; it must be given"));
        let gamma = gamma.or(parameters.gamma).ok_or_else(|| unsaid("gamma"))?;
        let depth = layers.or(parameters.depth).ok_or_else(|| unsaid("layers"))?;
        if parameters.layers.len() > 1 && parameters.depth.is_some_and(|own| own != depth) {
            return Err(refused("layers", format!("{depth}; the model has as many as are stored")));
        }
        let attention = parameters.attention.unwrap_or(AttentionKind::Linear);
        let d = Some(parameters.feature_dimension());
        Self::new(&name, d, Method::Trained { parameters, attention }, gamma, depth)
    }

    #[getter]
    fn gamma(&self) -> f64 {
        self.estimator.gamma
    }

    #[getter]
    fn layers(&self) -> Option<usize> {
        Some(self.estimator.layers).filter(|layers| *layers > 0)
    }

    #[getter]
    fn d(&self) -> Option<usize> {
        self.d
    }

    fn __repr__(&self) -> String {
        let layers = self.layers().map_or(String::new(), |layers| format!(", layers={layers}"));
        format!("<ictd.Model {}, gamma={}{layers}>", self.name, self.gamma())
    }

    #[pyo3(signature = (phi, reward, phi_next = None, query = None, gamma = None, terminal = None, end = None, rho = None))]
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
        rho: Option<Numbers1<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = self.transitions(&phi, &reward, phi_next, terminal, end, rho)?;
        let queries = match query {
            Some(query) if query.shape()[1] != data.d => {
                let reason = format!("shape {:?}; expected (m, {})", query.shape(), data.d);
                return Err(refused("query", reason));
            }
            Some(query) => row_major(&query),
            None => row_major(&phi),
        };
        let values =
            py.detach(|| values_of(&*self.read(&data, gamma)?, &queries)).map_err(python)?;
        Ok(values.to_pyarray(py))
    }

    #[pyo3(signature = (phi, reward, phi_next = None, gamma = None, terminal = None, end = None, rho = None))]
    fn weights<'py>(
        &self,
        py: Python<'py>,
        phi: Numbers2<'py>,
        reward: Numbers1<'py>,
        phi_next: Option<Numbers2<'py>>,
        gamma: Option<f64>,
        terminal: Option<Marks<'py>>,
        end: Option<Marks<'py>>,
        rho: Option<Numbers1<'py>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let data = self.transitions(&phi, &reward, phi_next, terminal, end, rho)?;
        let weights = py.detach(|| weights_of(&*self.read(&data, gamma)?)).map_err(python)?;
        Ok(weights.to_pyarray(py))
    }
}

/// Returns the numbers of an array, row by row.
fn row_major(array: &Numbers2) -> Vec<f64> {
    array.as_array().iter().copied().collect()
}

fn transitions(
    phi: &Numbers2,
    reward: &Numbers1,
    phi_next: Option<Numbers2>,
    terminal: Option<Marks>,
    end: Option<Marks>,
) -> PyResult<Transitions> {
    let (n, d) = (reward.len(), phi.shape()[1]);
    let rows = if phi_next.is_some() { n } else { n + 1 };
    if phi.shape()[0] != rows {
        let without = match phi_next {
            Some(_) => "",
            None => " (without phi_next the last row is a next state)",
        };
        let shape = phi.shape();
        let reason = format!("shape {shape:?} with {n} rewards; expected ({rows}, d){without}");
        return Err(refused("phi", reason));
    }
    if let Some(next) = phi_next.as_ref().filter(|next| next.shape() != phi.shape()) {
        let reason = format!("shape {:?}; expected that of phi, {:?}", next.shape(), phi.shape());
        return Err(refused("phi_next", reason));
    }
    let marked = |name, marks: Option<Marks>| match marks {
        Some(marks) if marks.len() != n => {
            let reason = format!("{} marks; expected {n}, one for each reward", marks.len());
            Err(refused(name, reason))
        }
        Some(marks) => Ok(marks.as_array().iter().copied().collect()),
        None => Ok(vec![false; n]),
    };
    let marks = marked("terminal", terminal)?.into_iter().zip(marked("end", end)?);
    let marks = marks.map(|marked| match marked {
        (true, _) => EpisodeEnd::Terminal,
        (false, true) => EpisodeEnd::End,
        (false, false) => EpisodeEnd::Continues,
    });
    let phi = row_major(phi);
    let phi_next = phi_next.map_or_else(|| phi[d..].to_vec(), |next| row_major(&next));
    let reward = reward.as_array().iter().copied().collect();
    let (from, marks) = ((0..n).collect(), marks.collect());
    Ok(Transitions { d, from, reward, phi_next, marks, phi, rho: None })
}

/// A model's context: the stream that it has read.
#[pyclass(module = "ictd")]
pub(crate) struct Context {
    d: usize,
    stream: Box<dyn Stream>,
}

impl Context {
    fn row(&self, name: &str, phi: &Numbers1) -> PyResult<Vec<f64>> {
        let row: Vec<f64> = phi.as_array().iter().copied().collect();
        if row.len() != self.d {
            let reason = format!("{} features; expected {}", row.len(), self.d);
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
        if let Some(own) = model.d.filter(|own| *own != d) {
            return Err(refused("d", format!("{d}; expected {own}, the features of the model")));
        }
        check_features("d", d, "")?;
        Ok(Context { d, stream: model.stream(d, retention).map_err(python)? })
    }

    #[pyo3(signature = (phi, reward, phi_next, rho = 1.0))]
    fn observe(
        &mut self,
        phi: Numbers1,
        reward: f64,
        phi_next: Option<Numbers1>,
        rho: f64,
    ) -> PyResult<()> {
        arithmetic::check()?;
        let phi = self.row("phi", &phi)?;
        let phi_next = phi_next.map(|next| self.row("phi_next", &next)).transpose()?;
        let next = phi_next.as_deref();
        self.stream.observe_weighted(&phi, reward, next, rho).context("observing").map_err(python)
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
        Ok(py.detach(|| weights_of(&*self.stream)).map_err(python)?.to_pyarray(py))
    }

    fn values<'py>(&self, py: Python<'py>, query: Numbers<'py>) -> PyResult<Bound<'py, PyAny>> {
        arithmetic::check()?;
        let shape = query.shape().to_vec();
        if !(1..=2).contains(&shape.len()) || shape.last() != Some(&self.d) {
            let reason = format!("shape {shape:?}; expected ({0},) or (m, {0})", self.d);
            return Err(refused("query", reason));
        }
        let queries: Vec<f64> = query.as_array().iter().copied().collect();
        let values = py.detach(|| values_of(&*self.stream, &queries)).map_err(python)?;
        Ok(match shape.len() {
            1 => values[0].into_pyobject(py)?.into_any(),
            _ => values.to_pyarray(py).into_any(),
        })
    }
}
