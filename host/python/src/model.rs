//! Models.

use crate::arithmetic;
use crate::array::{
    AT_ONCE, Integer, Number, Numbers, marks, numbers, of_rewards, refused, roomy, shaped, tuple,
    whole,
};
use crate::error::python;
use compute::recipe::{AttentionKind, LayerSharing};
use compute::transitions::{EpisodeEnd, Transitions};
use compute::words::Word as _;
use ictd::error::{Error, InFile as _, WithContext as _};
use ictd::formats::seed_run::{PARAMS_FILE, PartialParams, SeedLog, log_point};
use ictd::model_file::{self, Typed};
use ictd_core::model::crc32;
use judge::estimator::{
    Contexts, Estimator, LinearValues, MAX_FEATURES, Method, Stream, on_large_stack,
};
use judge::parameters::{LayerParameters, Parameters};
use numpy::ndarray::ArrayView2;
use numpy::{PyArray1, PyReadonlyArray3, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub(crate) type Given<'a, 'py> = &'a Bound<'py, PyAny>;

/// The default number of layers of a construction.
const LAYERS: Integer = Integer(15);

/// The largest number of layers or iterations, the command line's.
const MOST_LAYERS: usize = 65_535;
/// The multiplications that layers of their own matrices may take, and the number of layers that any may have: seconds.
const WORK: [usize; 2] = [300_000_000, 1000];

#[doc = crate::docstring!("Model")]
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Model {
    pub(crate) estimator: Estimator,
    /// The number of features; `None` if the model takes any number.
    pub(crate) d: Option<usize>,
    name: String,
    kept: Mutex<Option<Kept>>,
}

/// A stream that was used, with its number of features and its discount: to clear it takes a hundredth of making one.
struct Kept(usize, f64, Box<dyn Stream>);

/// Rejects a number of features outside 1 to [`MAX_FEATURES`].
pub(crate) fn check_features(argument: &str, d: usize, what: &str) -> PyResult<()> {
    match d {
        1..=MAX_FEATURES => Ok(()),
        _ => Err(refused(argument, format!("{d}{what}; expected 1 to {MAX_FEATURES}"))),
    }
}

pub(crate) fn check_discount(gamma: f64) -> PyResult<()> {
    if (0.0..1.0).contains(&gamma) {
        return Ok(());
    }
    Err(refused("gamma", format!("{gamma}; expected a number in [0, 1)")))
}

/// Returns the checksum of a pickled model.
fn checksum_of(d: Option<usize>, gamma: f64, layers: usize, method: &[u8]) -> u32 {
    let numbers = [d.unwrap_or(0) as u64, gamma.to_bits(), layers as u64];
    crc32(&[numbers.map(u64::to_le_bytes).as_flattened(), method].concat())
}

/// How Python pickles a model: the constructor and its arguments.
type ReducedModel<'py> =
    (Bound<'py, PyAny>, (String, Option<usize>, f64, usize, Bound<'py, PyBytes>));

impl Model {
    /// Checks the settings once, on a stream of d features, or of one: all numbers of features behave alike.
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
        check_discount(gamma)?;
        match method {
            Method::Constructed { alpha, .. }
            | Method::PreconditionedTd { alpha, .. }
            | Method::OnlineTd { alpha, .. }
            | Method::BatchTd { alpha, .. }
                if !(alpha > 0.0 && alpha.is_finite()) =>
            {
                return Err(refused("alpha", format!("{alpha}; expected a number above 0")));
            }
            Method::PreconditionedTd { alpha, beta } if !(beta / alpha).is_finite() => {
                return Err(refused("beta", format!("{beta}; expected a finite number")));
            }
            _ => {}
        }
        let (what, cost) = match &method {
            Method::BatchTd { .. } => ("iterations", 1),
            Method::Trained { parameters, .. } => ("layers", parameters.token_size.pow(3)),
            Method::PreconditionedTd { .. } => ("layers", (2 * d.unwrap_or(1) + 1).pow(3)),
            _ => ("layers", 1),
        };
        let has_layers = !matches!(
            method,
            Method::Lstd { .. } | Method::OnlineTd { .. } | Method::RecursiveLstd { .. }
        );
        if has_layers && !(1..=MOST_LAYERS).contains(&layers) {
            return Err(refused(what, format!("{layers}; expected 1 to {MOST_LAYERS}")));
        }
        model_file::check_depth(what, layers, cost, WORK).map_err(python)?;
        let estimator = Estimator { method, gamma, layers };
        let stream = || estimator.stream(d.unwrap_or(1), None).context("the model").map_err(python);
        roomy(stream)?;
        Ok(Model { estimator, d, name: name.to_owned(), kept: Mutex::new(None) })
    }

    /// Returns the model of a file or run, with the settings that its maker typed.
    fn of_file(name: &str, estimator: Estimator) -> PyResult<Self> {
        let Estimator { method, gamma, layers } = estimator;
        let d = match &method {
            Method::Trained { parameters, .. } => Some(parameters.feature_dimension()),
            _ => None,
        };
        Self::new(name, d, method, gamma, layers)
    }

    /// Returns a checksum of the method and its parameters.
    fn checksum(&self) -> u32 {
        crc32(&self.estimator.method.to_bytes().unwrap_or_default())
    }

    /// Returns a stream of d features.
    pub(crate) fn stream(
        &self,
        d: usize,
        retention: Option<f64>,
    ) -> Result<Box<dyn Stream>, Error> {
        if retention.is_some() && !self.estimator.has_a_context() {
            return Err(Error::option("retention", "only a model that reads a context has one"));
        }
        let stream = on_large_stack(|| self.estimator.stream(d, retention));
        stream.and_then(|made| made).context("the context")
    }

    /// Returns the estimator with another discount, if one is given.
    fn with_gamma(&self, gamma: Option<f64>) -> PyResult<Estimator> {
        gamma.map_or(Ok(()), check_discount)?;
        let gamma = gamma.unwrap_or(self.estimator.gamma);
        self.estimator.with_gamma(gamma).context("the model").map_err(python)
    }

    /// Calls `f` with a stream that has observed transitions.
    fn read<T>(
        &self,
        py: Python<'_>,
        data: &Transitions,
        gamma: Option<f64>,
        f: impl FnOnce(&dyn Stream) -> PyResult<T>,
    ) -> PyResult<T> {
        let (d, used) = (data.d, gamma.unwrap_or(self.estimator.gamma));
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = kept().take();
        let mut stream = match stream {
            Some(Kept(of, with, mut stream)) if (of, with) == (d, used) => {
                let empty = &mut stream;
                self.compute(py, d, || {
                    empty.clear();
                    Ok(())
                })?;
                stream
            }
            _ => {
                let estimator = self.with_gamma(gamma)?;
                let new = || estimator.stream(d, None).context("the model").map_err(python);
                // Made on a large stack, even a small one: layers pass over it.
                py.detach(|| roomy(new))?
            }
        };
        Self::observe(py, &mut *stream, data)?;
        let found = f(&*stream)?;
        // (Another keeps its transitions.)
        if self.estimator.has_a_context() {
            *kept() = Some(Kept(d, used, stream));
        }
        Ok(found)
    }

    /// Observes transitions. Ctrl-C interrupts it.
    pub(crate) fn observe(
        py: Python<'_>,
        stream: &mut dyn Stream,
        data: &Transitions,
    ) -> PyResult<()> {
        for start in (0..data.len()).step_by(AT_ONCE) {
            let rows = start..data.len().min(start + AT_ONCE);
            let observe = || stream.observe_rows(data, rows);
            py.detach(observe).context("observing").map_err(python)?;
            py.check_signals()?;
        }
        Ok(())
    }

    fn is_small(&self, d: usize) -> bool {
        d <= 16 && self.estimator.has_a_context()
    }

    /// Computes with a stream of d features, on a large stack if its layers or softmax attention need one.
    pub(crate) fn compute<T: Send>(
        &self,
        py: Python<'_>,
        d: usize,
        f: impl FnOnce() -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| if self.is_small(d) { f() } else { roomy(f) })
    }

    /// Returns the values of states of d features, row by row. Ctrl-C interrupts it.
    pub(crate) fn values_of(
        &self,
        py: Python<'_>,
        stream: &dyn Stream,
        d: usize,
        states: &[f64],
    ) -> PyResult<Vec<f64>> {
        let work = match &self.estimator.method {
            Method::Trained { attention: AttentionKind::Softmax, .. } => {
                self.estimator.layers * (stream.observed() as usize).pow(2)
            }
            _ => 1,
        };
        let (at_once, mut values) = ((AT_ONCE / work.max(1)).max(1), Vec::new());
        for states in states.chunks(d * at_once) {
            let read = || stream.values(states).context("the value function").map_err(python);
            values.extend(self.compute(py, d, read)?);
            py.check_signals()?;
        }
        Ok(values)
    }

    /// Returns the value function of a stream of d features.
    pub(crate) fn value_function_of(
        &self,
        py: Python<'_>,
        stream: &dyn Stream,
        d: usize,
    ) -> PyResult<ValueFunction> {
        let read = || stream.linear().context("the value function").map_err(python);
        let nonlinear = "softmax attention: its value is not linear in the features";
        let linear = self.compute(py, d, read)?.ok_or_else(|| refused("model", nonlinear))?;
        let LinearValues { weights, level } = linear;
        Ok(ValueFunction { weights: weights.to_pyarray(py).unbind(), level })
    }

    /// Returns transitions that the model can read, of the contexts in `phi`, (rows, d) or (B, rows, d); rejects a thread whose
    /// arithmetic would change the results.
    pub(crate) fn transitions(
        &self,
        phi: &Numbers,
        reward: Given,
        phi_next: Option<Given>,
        terminal: Option<Given>,
        end: Option<Given>,
        rho: Option<Given>,
    ) -> PyResult<Transitions> {
        arithmetic::check()?;
        let reward = numbers("reward", reward, false)?.finite("reward")?;
        let [ref leading @ .., found, d] = phi.shape[..] else {
            return Err(refused("phi", "expected features"));
        };
        let contexts = leading.first().copied();
        let n = match (contexts, &reward.shape[..]) {
            (Some(of), &[found, n]) if of == found => n,
            (Some(of), _) => {
                let reason = format!("shape {}; expected ({of}, n)", tuple(&reward.shape));
                return Err(refused("reward", reason));
            }
            (None, _) => reward.data.len(),
        };
        let of_rewards_shape: Vec<usize> = contexts.into_iter().chain([n]).collect();
        let reward = match contexts {
            Some(_) => reward.data,
            None => reward.column("reward", "(n,)")?,
        };
        let rows = if phi_next.is_some() { n } else { n + 1 };
        let shape = tuple(&phi.shape);
        if found != rows {
            let without = match phi_next {
                Some(_) => "",
                None => " (without phi_next the last row is a next state)",
            };
            let expected = contexts.map_or(String::new(), |contexts| format!("{contexts}, "));
            let reason =
                format!("shape {shape} with {n} rewards; expected ({expected}{rows}, d){without}");
            return Err(refused("phi", reason));
        }
        let phi_next = phi_next.map(|next| numbers("phi_next", next, false)?.finite("phi_next"));
        let phi_next = phi_next.transpose()?;
        if let Some(next) = phi_next.as_ref().filter(|next| next.shape != phi.shape) {
            let reason = format!("shape {}; expected that of phi, {shape}", tuple(&next.shape));
            return Err(refused("phi_next", reason));
        }
        let marks_of = |name, given| marks(name, given, &of_rewards_shape);
        let marks = marks_of("terminal", terminal)?.into_iter().zip(marks_of("end", end)?);
        let marks = marks.map(|(terminal, end)| EpisodeEnd::from_marks(terminal, end)).collect();
        let from = |context| context * rows..context * rows + n;
        let from: Vec<usize> = (0..contexts.unwrap_or(1)).flat_map(from).collect();
        let phi_next = match phi_next {
            Some(next) => next.data,
            None => phi.data.chunks((rows * d).max(1)).flat_map(|of| &of[d..]).copied().collect(),
        };
        let features = phi.data.clone();
        let mut data = Transitions { d, from, reward, phi_next, marks, phi: features, rho: None };
        if let Some(rho) = rho {
            let rho = numbers("rho", rho, false)?.finite("rho")?;
            data.rho = Some(of_rewards("rho", rho, "weights", &of_rewards_shape)?);
        }
        if let Some(own) = self.d.filter(|own| *own != d) {
            let reason = format!("{d} features; expected {own}, those of the model");
            return Err(refused("phi", reason));
        }
        check_features("phi", d, " features")?;
        Ok(data)
    }
}

#[doc = crate::docstring!("ValueFunction")]
#[pyclass(frozen, get_all, module = "ictd")]
pub(crate) struct ValueFunction {
    #[doc = crate::docstring!("ValueFunction.weights")]
    weights: Py<PyArray1<f64>>,
    #[doc = crate::docstring!("ValueFunction.level")]
    level: f64,
}

#[pymethods]
impl ValueFunction {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let d = self.weights.bind(py).len()?;
        Ok(format!("<ictd.ValueFunction level={}, {d} weights>", self.level))
    }
}

#[pymethods]
impl Model {
    #[doc = crate::docstring!("Model.universal")]
    #[staticmethod]
    #[pyo3(signature = (d = None, gamma = Number(0.9)))]
    pub(crate) fn universal(d: Option<Integer>, gamma: Number) -> PyResult<Self> {
        if let Some(d) = d {
            check_features("d", whole("d", d)?, "")?;
        }
        let model = Box::new(model_file::shipped(gamma.0).map_err(python)?);
        Self::new("universal", None, Method::Universal(model), gamma.0, 1)
    }

    #[doc = crate::docstring!("Model.td0")]
    #[staticmethod]
    #[pyo3(signature = (d, alpha = Number(0.2), layers = LAYERS, gamma = Number(0.9)))]
    fn td0(d: Integer, alpha: Number, layers: Integer, gamma: Number) -> PyResult<Self> {
        let (d, layers) = (Some(whole("d", d)?), whole("layers", layers)?);
        Self::new(
            "td0",
            d,
            Method::Constructed { alpha: alpha.0, trace_decay: 0.0 },
            gamma.0,
            layers,
        )
    }

    #[doc = crate::docstring!("Model.td_lambda")]
    #[staticmethod]
    #[pyo3(signature = (d, trace_decay = Number(0.5), alpha = Number(0.2), layers = LAYERS, gamma = Number(0.9)))]
    fn td_lambda(
        d: Integer,
        trace_decay: Number,
        alpha: Number,
        layers: Integer,
        gamma: Number,
    ) -> PyResult<Self> {
        let method = Method::Constructed { alpha: alpha.0, trace_decay: trace_decay.0 };
        let (d, layers) = (Some(whole("d", d)?), whole("layers", layers)?);
        Self::new("td_lambda", d, method, gamma.0, layers)
    }

    #[doc = crate::docstring!("Model.preconditioned_td")]
    #[staticmethod]
    #[pyo3(signature = (d, alpha, beta, layers = LAYERS, gamma = Number(0.9)))]
    fn preconditioned_td(
        d: Integer,
        alpha: Number,
        beta: Number,
        layers: Integer,
        gamma: Number,
    ) -> PyResult<Self> {
        let (d, layers) = (Some(whole("d", d)?), whole("layers", layers)?);
        let method = Method::PreconditionedTd { alpha: alpha.0, beta: beta.0 };
        Self::new("preconditioned_td", d, method, gamma.0, layers)
    }

    #[doc = crate::docstring!("Model.online_td")]
    #[staticmethod]
    #[pyo3(signature = (lambda_ = Number(0.9), alpha = Number(0.1), gamma = Number(0.9), true_online = true))]
    fn online_td(
        lambda_: Number,
        alpha: Number,
        gamma: Number,
        true_online: bool,
    ) -> PyResult<Self> {
        let method = Method::OnlineTd { lambda: lambda_.0, alpha: alpha.0, true_online };
        Self::new("online_td", None, method, gamma.0, 0)
    }

    #[doc = crate::docstring!("Model.recursive_lstd")]
    #[staticmethod]
    #[pyo3(signature = (lambda_ = Number(0.9), ridge = Number(0.3), retention = Number(0.9998), gamma = Number(0.9)))]
    fn recursive_lstd(
        lambda_: Number,
        ridge: Number,
        retention: Number,
        gamma: Number,
    ) -> PyResult<Self> {
        let method =
            Method::RecursiveLstd { lambda: lambda_.0, retention: retention.0, ridge: ridge.0 };
        Self::new("recursive_lstd", None, method, gamma.0, 0)
    }

    #[doc = crate::docstring!("Model.batch_td")]
    #[staticmethod]
    #[pyo3(signature = (lambda_ = Number(0.0), alpha = Number(0.2), iterations = LAYERS, gamma = Number(0.9)))]
    fn batch_td(
        lambda_: Number,
        alpha: Number,
        iterations: Integer,
        gamma: Number,
    ) -> PyResult<Self> {
        let method = Method::BatchTd { lambda: lambda_.0, alpha: alpha.0 };
        Self::new("batch_td", None, method, gamma.0, whole("iterations", iterations)?)
    }

    #[doc = crate::docstring!("Model.lstd")]
    #[staticmethod]
    #[pyo3(signature = (lambda_ = Number(0.9), ridge = Number(0.3), gamma = Number(0.9)))]
    fn lstd(lambda_: Number, ridge: Number, gamma: Number) -> PyResult<Self> {
        Self::new("lstd", None, Method::Lstd { lambda: lambda_.0, ridge: ridge.0 }, gamma.0, 0)
    }

    #[doc = crate::docstring!("Model.linear")]
    #[staticmethod]
    #[pyo3(signature = (p, q, gamma = Number(0.9), layers = None, trace_decay = Number(0.0)))]
    fn linear(
        p: Given,
        q: Given,
        gamma: Number,
        layers: Option<Integer>,
        trace_decay: Number,
    ) -> PyResult<Self> {
        let layers = layers.map(|layers| whole("layers", layers)).transpose()?;
        let [p, q] = [("p", p), ("q", q)].map(|(name, m)| numbers(name, m, false)?.finite(name));
        let (p, q) = (p?, q?);
        let shape = &p.shape;
        let (count, k) = match shape[..] {
            [k, also] if k == also => (1, k),
            [count, k, also] if k == also => (count, k),
            _ => (0, 0),
        };
        if k < 3 || k.is_multiple_of(2) || count == 0 {
            let expected = "(2 d + 1, 2 d + 1) or (L, 2 d + 1, 2 d + 1)";
            return Err(refused("p", format!("shape {}; expected {expected}", tuple(shape))));
        }
        if q.shape != *shape {
            let (shape, of_p) = (tuple(&q.shape), tuple(shape));
            let reason = format!("shape {shape}; expected that of p, {of_p}");
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
        let single = |m: &Numbers| m.data.iter().map(|x| *x as f32).collect::<Vec<f32>>();
        let (p, q) = (single(&p), single(&q));
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
            gamma: Some(gamma.0),
            context_length: None,
            trace_decay: trace_decay.0,
        });
        let method = Method::Trained { parameters, attention: AttentionKind::Linear };
        Self::new("linear", Some((k - 1) / 2), method, gamma.0, depth)
    }

    #[doc = crate::docstring!("Model.load")]
    #[staticmethod]
    #[pyo3(signature = (path, gamma = None, layers = None, seed = Integer(0), attention = None))]
    fn load(
        path: PathBuf,
        gamma: Option<Number>,
        layers: Option<Integer>,
        seed: Integer,
        attention: Option<&str>,
    ) -> PyResult<Self> {
        let typed = typed(gamma, layers, attention)?;
        let estimator = typed.estimator(&path, whole("seed", seed)?).map_err(python)?;
        Self::of_file(&path.display().to_string(), estimator)
    }

    /// Returns the transformer of a seed: P, (S, K, K), and Q, with the settings of its `params.json`.
    #[staticmethod]
    #[pyo3(name = "_of_run")]
    fn of_run(
        p: PyReadonlyArray3<f32>,
        q: PyReadonlyArray3<f32>,
        settings: &[u8],
        gamma: Option<Number>,
        layers: Option<Integer>,
    ) -> PyResult<Self> {
        let file = Path::new(PARAMS_FILE);
        let settings = PartialParams::from_json(file, settings).map_err(python)?;
        let (p, q) = (p.as_array(), q.as_array());
        let all = |m: ArrayView2<f32>| m.iter().copied().collect();
        let stored = p.outer_iter().zip(q.outer_iter());
        let stored = stored.map(|(p, q)| LayerParameters { p: all(p), q: all(q) });
        let point = log_point(0, f64::NAN, &stored.collect::<Vec<_>>());
        let (token_size, layer_sharing) = (p.shape()[1], LayerSharing::Sequential);
        let log = SeedLog { token_size, layer_sharing, points: Vec::new() };
        let parameters = log.parameters(&point, &settings).in_file(file).map_err(python)?;
        let estimator = typed(gamma, layers, None)?.complete(parameters).map_err(python)?;
        Self::of_file("of a run", estimator)
    }

    /// Rebuilds a model from the arguments of [`Model::__reduce__`].
    #[staticmethod]
    #[pyo3(name = "_restore")]
    fn restore(
        name: &str,
        d: Option<usize>,
        gamma: f64,
        layers: usize,
        method: &[u8],
    ) -> PyResult<Self> {
        let intact = method.split_last_chunk().and_then(|(bytes, checksum)| {
            let found = checksum_of(d, gamma, layers, bytes).to_le_bytes();
            Method::from_bytes(bytes).ok().filter(|_| found == *checksum)
        });
        let method = intact.ok_or_else(|| refused("the model", "its bytes are damaged"))?;
        Self::new(name, d, method, gamma, layers)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<ReducedModel<'py>> {
        let Estimator { method, gamma, layers } = &self.estimator;
        let mut bytes = method.to_bytes().context("the model").map_err(python)?;
        bytes.extend(checksum_of(self.d, *gamma, *layers, &bytes).to_le_bytes());
        let state = PyBytes::new(py, &bytes);
        let restore = py.get_type::<Self>().getattr("_restore")?;
        Ok((restore, (self.name.clone(), self.d, *gamma, *layers, state)))
    }

    #[doc = crate::docstring!("Model.gamma")]
    #[getter]
    fn gamma(&self) -> f64 {
        self.estimator.gamma
    }

    #[doc = crate::docstring!("Model.layers")]
    #[getter]
    fn layers(&self) -> Option<usize> {
        let has_none = matches!(self.estimator.method, Method::Universal(_));
        Some(self.estimator.layers).filter(|layers| *layers > 0 && !has_none)
    }

    #[doc = crate::docstring!("Model.d")]
    #[getter]
    fn d(&self) -> Option<usize> {
        self.d
    }

    pub(crate) fn __repr__(&self) -> String {
        let layers = self.layers().map_or(String::new(), |layers| format!(", layers={layers}"));
        let said = match &self.estimator.method {
            Method::Universal(_) => String::new(),
            // Two models of one name differ in their parameters.
            Method::Trained { .. } => format!(", #{:08x}", self.checksum()),
            Method::Constructed { alpha, trace_decay } if *trace_decay == 0.0 => {
                format!(", alpha={alpha}")
            }
            Method::Constructed { alpha, trace_decay }
            | Method::Iterated { alpha, trace_decay } => {
                format!(", trace_decay={trace_decay}, alpha={alpha}")
            }
            Method::FixedPoint { trace_decay } => format!(", trace_decay={trace_decay}"),
            Method::OnlineTd { lambda, alpha, true_online } => {
                let kind = if *true_online { "" } else { ", true_online=False" };
                format!(", lambda_={lambda}, alpha={alpha}{kind}")
            }
            Method::RecursiveLstd { lambda, retention, ridge } => {
                format!(", lambda_={lambda}, ridge={ridge}, retention={retention}")
            }
            Method::BatchTd { lambda, alpha } => format!(", lambda_={lambda}, alpha={alpha}"),
            Method::Lstd { lambda, ridge } => format!(", lambda_={lambda}, ridge={ridge}"),
            Method::PreconditionedTd { alpha, beta } => format!(", alpha={alpha}, beta={beta}"),
        };
        format!("<ictd.Model {}{said}, gamma={}{layers}>", self.name, self.gamma())
    }

    /// Returns true for a model with the same numbers, wherever it comes from.
    fn __eq__(&self, other: &Self) -> bool {
        let (one, two) = (&self.estimator, &other.estimator);
        let numbers = |of: &Estimator| (of.gamma.to_bits(), of.layers, of.method.to_bytes().ok());
        self.d == other.d && numbers(one) == numbers(two)
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.checksum()) ^ self.estimator.gamma.to_bits()
    }

    #[doc = crate::docstring!("Model.values")]
    #[pyo3(signature = (phi, reward, phi_next = None, query = None, gamma = None, terminal = None, end = None, rho = None))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        phi: Given<'_, 'py>,
        reward: Given<'_, 'py>,
        phi_next: Option<Given<'_, 'py>>,
        query: Option<Given<'_, 'py>>,
        gamma: Option<Number>,
        terminal: Option<Given<'_, 'py>>,
        end: Option<Given<'_, 'py>>,
        rho: Option<Given<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // A list of contexts, which may have different lengths.
        if let Ok(list) = phi.cast::<PyList>()
            && list.iter().next().is_some_and(|first| axes(&first) == Some(2))
        {
            let of = |given: Option<Given<'_, 'py>>, i: usize| given.map(|all| all.get_item(i));
            let context = |i: usize| {
                let all = [Some(reward), phi_next, query, terminal, end, rho];
                let given = all.map(|all| of(all, i).transpose());
                let [reward, phi_next, query, terminal, end, rho] = given;
                let reward = reward?.ok_or_else(|| refused("reward", "missing"))?;
                let (phi_next, query, terminal) = (phi_next?, query?, terminal?);
                self.values(
                    py,
                    &list.get_item(i)?,
                    &reward,
                    phi_next.as_ref(),
                    query.as_ref(),
                    gamma,
                    terminal.as_ref(),
                    end?.as_ref(),
                    rho?.as_ref(),
                )
            };
            let context = |i| context(i).map_err(|e| in_context(py, e, i));
            let values = (0..list.len()).map(context).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, values)?.into_any());
        }
        let gamma = gamma.map(|gamma| gamma.0);
        let phi = features(phi)?;
        let data = self.transitions(&phi, reward, phi_next, terminal, end, rho)?;
        let contexts = (phi.shape.len() == 3).then_some(phi.shape[0]);
        let (d, rows) = (data.d, phi.shape[phi.shape.len() - 2]);
        let (queries, query_count, has_own_queries) = match query {
            None => (phi.data, rows, true),
            Some(query) => {
                let query = numbers("query", query, false)?;
                let (m, has_own) = match (contexts, &query.shape[..]) {
                    (Some(contexts), &[found, m, of]) if (found, of) == (contexts, d) => (m, true),
                    (_, &[m, of]) if of == d => (m, false),
                    _ => {
                        let expected = match contexts {
                            None => format!("(m, {d})"),
                            Some(contexts) => format!("(m, {d}) or ({contexts}, m, {d})"),
                        };
                        query.table("query", &expected)?;
                        let shape = tuple(&query.shape);
                        return Err(refused(
                            "query",
                            format!("shape {shape}; expected {expected}"),
                        ));
                    }
                };
                (query.finite("query")?.data, m, has_own)
            }
        };
        let Some(contexts) = contexts else {
            let values = |stream: &dyn Stream| self.values_of(py, stream, d, &queries);
            return Ok(self.read(py, &data, gamma, values)?.to_pyarray(py).into_any());
        };
        let len = data.len() / contexts.max(1);
        let data = Contexts { transitions: data, len, queries, query_count, has_own_queries };
        let (estimator, mut values) = (self.with_gamma(gamma)?, Vec::new());
        let at_once = (8 * AT_ONCE / (len + query_count).max(1)).max(1);
        for start in (0..contexts).step_by(at_once) {
            let some = start..contexts.min(start + at_once);
            let found = py.detach(|| estimator.values_in_contexts(&data, some));
            values.extend(found.map_err(|(context, source)| {
                python(Error::Core { context: format!("context {context}"), source })
            })?);
            py.check_signals()?;
        }
        Ok(shaped(py, &[contexts, query_count], values)?.into_any())
    }

    #[doc = crate::docstring!("Model.value_function")]
    #[pyo3(signature = (phi, reward, phi_next = None, gamma = None, terminal = None, end = None, rho = None))]
    fn value_function<'py>(
        &self,
        py: Python<'py>,
        phi: Given<'_, 'py>,
        reward: Given<'_, 'py>,
        phi_next: Option<Given<'_, 'py>>,
        gamma: Option<Number>,
        terminal: Option<Given<'_, 'py>>,
        end: Option<Given<'_, 'py>>,
        rho: Option<Given<'_, 'py>>,
    ) -> PyResult<ValueFunction> {
        let phi = features(phi)?;
        phi.table("phi", ONE_CONTEXT)?;
        let data = self.transitions(&phi, reward, phi_next, terminal, end, rho)?;
        let read = |stream: &dyn Stream| self.value_function_of(py, stream, data.d);
        self.read(py, &data, gamma.map(|gamma| gamma.0), read)
    }
}

fn typed(
    gamma: Option<Number>,
    layers: Option<Integer>,
    attention: Option<&str>,
) -> PyResult<Typed> {
    let gamma = gamma.map(|gamma| gamma.0);
    gamma.map_or(Ok(()), check_discount)?;
    let layers = layers.map(|layers| whole("layers", layers)).transpose()?;
    let kind = |word: &str| {
        let expected = || refused("attention", format!("{word:?}; expected linear or softmax"));
        AttentionKind::from_word(word).ok_or_else(expected)
    };
    Ok(Typed { layers, gamma, attention: attention.map(kind).transpose()? })
}

pub(crate) const ONE_CONTEXT: &str = "(n + 1, d), or (n, d) with phi_next";

/// Returns finite features, (rows, d), or (B, rows, d) of several contexts.
pub(crate) fn features(phi: Given) -> PyResult<Numbers> {
    let phi = numbers("phi", phi, false)?;
    if phi.shape.len() != 3 {
        phi.table("phi", ONE_CONTEXT)?;
    }
    phi.finite("phi")
}

/// Returns the error with the index of the context that it is about.
fn in_context(py: Python<'_>, e: PyErr, context: usize) -> PyErr {
    match e.is_instance_of::<PyValueError>(py) {
        true => PyValueError::new_err(format!("context {context}: {}", e.value(py))),
        false => e,
    }
}

/// Returns the number of axes of an array; `None` for anything else.
fn axes(given: Given) -> Option<usize> {
    given.getattr("ndim").ok()?.extract().ok()
}
