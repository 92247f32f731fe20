//! The predictor of signals.

use crate::arithmetic;
use crate::array::{AT_ONCE, Integer, Number, numbers, refused, shaped, tuple, whole};
use ictd_core::scalar::Real;
use ictd_core::{Error, Predictor as OfSamples};
use numpy::{Element, PyArrayDyn, PyArrayMethods as _, PyUntypedArrayMethods as _, ToPyArray};
use pyo3::prelude::*;
use pyo3::sync::MutexExt as _;
use pyo3::types::{PyBytes, PyType};
use std::array::from_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How Python pickles: a class, its arguments, and a state.
type Reduced<'py> = (Bound<'py, PyType>, (Vec<f32>, usize), Bound<'py, PyBytes>);

/// The largest number of horizons; fewer are padded by repeating the last one, as in C.
const HORIZONS: usize = 4;

/// The predictors' outputs, row by row and signal by signal.
#[derive(Default)]
struct Said {
    value: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
    known: Vec<bool>,
    depth: Vec<f32>,
    surprise: Vec<f32>,
    recent: Vec<f32>,
    status: Vec<u8>,
}

/// A predictor of samples of either type.
trait Samples: Send {
    fn observe(&mut self, sample: f64, horizons: usize, said: &mut Said);
    fn reset(&mut self);
    fn bytes(&self) -> Result<Vec<u8>, Error>;
    fn copy(&self) -> Box<dyn Samples>;
}

impl<S: Real + Send + 'static> Samples for OfSamples<HORIZONS, S> {
    fn observe(&mut self, sample: f64, horizons: usize, said: &mut Said) {
        let seen = self.observe(S::from_f64(sample));
        for prediction in &seen.predictions[..horizons] {
            said.value.push(prediction.mean.to_f64());
            said.low.push(prediction.low.to_f64());
            said.high.push(prediction.high.to_f64());
            said.known.push(prediction.known);
        }
        said.depth.push(seen.depth);
        said.surprise.push(seen.surprise);
        said.recent.push(seen.recent);
        said.status.push(seen.status as u8);
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; Self::SIZE];
        Ok(self.write(&mut bytes)?.to_vec())
    }

    fn copy(&self) -> Box<dyn Samples> {
        Box::new(*self)
    }
}

#[doc = crate::docstring!("Predictor")]
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Predictor {
    #[pyo3(get)]
    horizons: Vec<f32>,
    signals: usize,
    predictors: Mutex<Vec<Box<dyn Samples>>>,
}

#[doc = crate::docstring!("Predictions")]
#[pyclass(frozen, get_all, module = "ictd")]
pub(crate) struct Predictions {
    value: Py<PyArrayDyn<f64>>,
    low: Py<PyArrayDyn<f64>>,
    high: Py<PyArrayDyn<f64>>,
    known: Py<PyArrayDyn<bool>>,
    depth: Py<PyArrayDyn<f32>>,
    surprise: Py<PyArrayDyn<f32>>,
    recent: Py<PyArrayDyn<f32>>,
    status: Py<PyArrayDyn<u8>>,
}

type Arrays = (
    Py<PyArrayDyn<f64>>,
    Py<PyArrayDyn<f64>>,
    Py<PyArrayDyn<f64>>,
    Py<PyArrayDyn<bool>>,
    Py<PyArrayDyn<f32>>,
    Py<PyArrayDyn<f32>>,
    Py<PyArrayDyn<f32>>,
    Py<PyArrayDyn<u8>>,
);

#[pymethods]
impl Predictions {
    #[new]
    #[pyo3(signature = (*arrays))]
    fn new(arrays: Arrays) -> Self {
        let (value, low, high, known, depth, surprise, recent, status) = arrays;
        Predictions { value, low, high, known, depth, surprise, recent, status }
    }

    /// Returns the arguments with which Python pickles predictions.
    fn __getnewargs__(&self, py: Python<'_>) -> Arrays {
        let [value, low, high] = [&self.value, &self.low, &self.high].map(|x| x.clone_ref(py));
        let [depth, surprise, recent] =
            [&self.depth, &self.surprise, &self.recent].map(|x| x.clone_ref(py));
        let (known, status) = (self.known.clone_ref(py), self.status.clone_ref(py));
        (value, low, high, known, depth, surprise, recent, status)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<ictd.Predictions, value of shape {}>", tuple(self.value.bind(py).shape()))
    }

    #[doc = crate::docstring!("Predictions.onset")]
    fn onset<'py>(&self, py: Python<'py>, threshold: Number) -> Bound<'py, PyArrayDyn<bool>> {
        let (surprise, recent) = (self.surprise.bind(py), self.recent.bind(py));
        let (surprise, recent) = (surprise.readonly(), recent.readonly());
        let (surprise, recent) = (surprise.as_array(), recent.as_array());
        let threshold = threshold.0 as f32;
        let mut onset = surprise.mapv(|surprise| surprise > threshold);
        onset.zip_mut_with(&recent, |onset, recent| *onset &= *recent <= threshold);
        onset.to_pyarray(py)
    }
}

impl Predictor {
    /// Waits until no other thread uses the predictors.
    fn locked<'a>(&'a self, py: Python<'_>) -> MutexGuard<'a, Vec<Box<dyn Samples>>> {
        self.predictors.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    /// Observes rows of samples, below so many axes. `expected`: the shape of a single signal's samples, and that of several's.
    fn take(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        axes: usize,
        [one, all]: [&str; 2],
    ) -> PyResult<Predictions> {
        let (x, signals, horizons) = (numbers("x", x, true)?, self.signals, self.horizons.len());
        let fits = match x.shape.get(axes..) {
            Some([]) => signals == 1,
            Some([of_row]) => *of_row == signals,
            _ => false,
        };
        if !fits {
            let one = if signals == 1 { format!("{one} or ") } else { String::new() };
            let reason = format!("shape {}; expected {one}{all}", tuple(&x.shape));
            return Err(refused("x", reason));
        }
        let before = &x.shape[..axes];
        arithmetic::check()?;
        let mut locked = self.locked(py);
        let (predictors, mut said) = (&mut *locked, Said::default());
        let is_long = x.data.len() > signals * AT_ONCE;
        let kept: Vec<_> = predictors.iter().filter(|_| is_long).map(|p| p.copy()).collect();
        for rows in x.data.chunks(signals * AT_ONCE) {
            py.detach(|| {
                for row in rows.chunks(signals) {
                    for (predictor, sample) in predictors.iter_mut().zip(row) {
                        predictor.observe(*sample, horizons, &mut said);
                    }
                }
            });
            // A call that is interrupted has observed nothing.
            if let (true, Err(interrupt)) = (is_long, py.check_signals()) {
                *predictors = kept;
                return Err(interrupt);
            }
        }
        let of_signals = [before, &[signals]].concat();
        let of_horizons = [&of_signals[..], &[horizons]].concat();
        Ok(Predictions {
            value: array(py, &of_horizons, said.value)?,
            low: array(py, &of_horizons, said.low)?,
            high: array(py, &of_horizons, said.high)?,
            known: array(py, &of_horizons, said.known)?,
            depth: array(py, &of_signals, said.depth)?,
            surprise: array(py, &of_signals, said.surprise)?,
            recent: array(py, &of_signals, said.recent)?,
            status: array(py, &of_signals, said.status)?,
        })
    }
}

fn array<T: Element + Copy>(
    py: Python<'_>,
    shape: &[usize],
    numbers: Vec<T>,
) -> PyResult<Py<PyArrayDyn<T>>> {
    shaped(py, shape, numbers).map(Bound::unbind)
}

#[pymethods]
impl Predictor {
    #[new]
    #[pyo3(signature = (horizons, signals = Integer(1), limits = None, dtype = "float64"))]
    fn new(
        horizons: &Bound<'_, PyAny>,
        signals: Integer,
        limits: Option<(Number, Number)>,
        dtype: &str,
    ) -> PyResult<Self> {
        arithmetic::check()?;
        let signals = whole("signals", signals)?;
        let given = numbers("horizons", horizons, false)?.column("horizons", "1 to 4 numbers")?;
        let horizons: Vec<f32> = given.iter().map(|h| *h as f32).collect();
        if !(1..=1024).contains(&signals) {
            return Err(refused("signals", format!("{signals}; expected 1 to 1024")));
        }
        let once = |i: usize| !horizons[..i].contains(&horizons[i]);
        let taken = |i: usize| (1.0..=1e6).contains(&horizons[i]) && once(i);
        if !(1..=HORIZONS).contains(&horizons.len()) || !(0..horizons.len()).all(taken) {
            let expected = "1 to 4 different numbers of samples, from 1 to 1,000,000";
            return Err(refused("horizons", format!("{horizons:?}; expected {expected}")));
        }
        let filled: [f32; HORIZONS] = from_fn(|h| horizons[h.min(horizons.len() - 1)]);
        let limits = limits.map(|(low, high)| (low.0, high.0));
        let (low, high) = limits.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let single = || OfSamples::new(filled)?.with_limits(low as f32, high as f32);
        let double = || OfSamples::new(filled)?.with_limits(low, high);
        let predictor = match dtype {
            "float32" => single().map(|p| Samples::copy(&p)),
            "float64" => double().map(|p| Samples::copy(&p)),
            _ => return Err(refused("dtype", format!("{dtype:?}; expected float64 or float32"))),
        };
        let predictor = predictor.map_err(|_| {
            refused("limits", format!("({low}, {high}); expected (low, high), low < high"))
        })?;
        let predictors = (0..signals).map(|_| predictor.copy()).collect();
        Ok(Predictor { horizons, signals, predictors: Mutex::new(predictors) })
    }

    #[doc = crate::docstring!("Predictor.signals")]
    #[getter]
    fn signals(&self) -> usize {
        self.signals
    }

    #[doc = crate::docstring!("Predictor.observe")]
    fn observe(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Predictions> {
        let expected =
            ["a number", &format!("({},), with None or NaN for a missing sample", self.signals)];
        self.take(py, x, 0, expected)
    }

    #[doc = crate::docstring!("Predictor.run")]
    fn run(&self, py: Python<'_>, x: &Bound<'_, PyAny>) -> PyResult<Predictions> {
        let all = format!("(T, {}), with NaN for a missing sample", self.signals);
        self.take(py, x, 1, ["(T,)", &all])
    }

    #[doc = crate::docstring!("Predictor.reset")]
    fn reset(&self, py: Python<'_>) {
        self.locked(py).iter_mut().for_each(|predictor| predictor.reset());
    }

    #[doc = crate::docstring!("Predictor.to_bytes")]
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        for predictor in self.locked(py).iter() {
            bytes.extend(predictor.bytes().map_err(|e| refused("predictor", e))?);
        }
        Ok(PyBytes::new(py, &bytes))
    }

    #[doc = crate::docstring!("Predictor.from_bytes")]
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let (mut rest, mut predictors, mut first) = (data, Vec::new(), None);
        // Predictors are stored in sequence, each with its length.
        while !rest.is_empty() || predictors.is_empty() {
            let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
            let word = |at: usize| from_fn(|i| byte(at + i));
            // The format stores the horizons after its header.
            let horizons: [f32; HORIZONS] = from_fn(|h| f32::from_le_bytes(word(12 + 4 * h)));
            let read = match byte(5) {
                8 => OfSamples::<HORIZONS, f64>::from_bytes(rest).map(|p| Samples::copy(&p)),
                _ => OfSamples::<HORIZONS, f32>::from_bytes(rest).map(|p| Samples::copy(&p)),
            };
            predictors.push(read.map_err(|e| refused("data", e))?);
            if *first.get_or_insert((horizons, byte(5))) != (horizons, byte(5)) {
                let reason = "predictors of several horizons or precisions; expected one kind";
                return Err(refused("data", reason));
            }
            rest = rest.get(u32::from_le_bytes(word(8)) as usize..).unwrap_or(&[]);
        }
        let mut horizons = first.map_or(Vec::new(), |(horizons, _)| horizons.to_vec());
        // Fewer are padded by repeating the last one.
        while horizons.len() > 1 && horizons.ends_with(&[horizons[horizons.len() - 2]]) {
            horizons.pop();
        }
        if (1..horizons.len()).any(|h| horizons[..h].contains(&horizons[h])) {
            let expected = "different ones, of which the last may be repeated";
            return Err(refused("data", format!("horizons {horizons:?}; expected {expected}")));
        }
        let signals = predictors.len();
        Ok(Predictor { horizons, signals, predictors: Mutex::new(predictors) })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let arguments = (self.horizons.clone(), self.signals);
        Ok((py.get_type::<Self>(), arguments, self.to_bytes(py)?))
    }

    fn __setstate__(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        let stored = Self::from_bytes(state)?;
        if (&stored.horizons, stored.signals) != (&self.horizons, self.signals) {
            return Err(refused(
                "state",
                "of other horizons or signals; expected this predictor's",
            ));
        }
        *self.locked(py) = stored.predictors.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<ictd.Predictor horizons={:?}, signals={}>", self.horizons, self.signals)
    }
}
