//! The predictor of signals.

use crate::arithmetic;
use crate::model::refused;
use ictd_core::{Error, Predictor as OfSize};
use numpy::ndarray::{Array, Dimension, IntoDimension};
use numpy::{AllowTypeChange, PyArrayDyn, PyArrayLikeDyn, PyUntypedArrayMethods as _, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use std::array::from_fn;

type Samples<'py> = PyArrayLikeDyn<'py, f32, AllowTypeChange>;

/// How Python pickles: a class, its arguments, and a state.
type Reduced<'py> = (Bound<'py, PyType>, (Vec<f32>, usize), Bound<'py, PyBytes>);

/// The maximum number of horizons; fewer are padded by repeating the last one, as in C.
const HORIZONS: usize = 4;

/// What a predictor says, row by row.
#[derive(Default)]
struct Said {
    value: Vec<f32>,
    low: Vec<f32>,
    high: Vec<f32>,
    surprise: Vec<f32>,
}

/// A predictor of any number of signals.
trait AnyPredictor: Send + Sync {
    fn observe(&mut self, samples: &[f32], horizons: usize, said: &mut Said);
    fn bytes(&self) -> Result<Vec<u8>, Error>;
}

impl<const N: usize, const D: usize> AnyPredictor for OfSize<N, D, HORIZONS> {
    fn observe(&mut self, samples: &[f32], horizons: usize, said: &mut Said) {
        let seen = OfSize::observe(self, from_fn::<f32, N, _>(|s| samples[s]));
        for prediction in seen.predictions.iter().flat_map(|of_signal| &of_signal[..horizons]) {
            said.value.push(prediction.mean);
            said.low.push(prediction.low);
            said.high.push(prediction.high);
        }
        said.surprise.extend(seen.surprise);
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.byte_len()];
        self.write(&mut bytes)?;
        Ok(bytes)
    }
}

/// Makes the predictor for a number of signals: of a few sizes, which are those of C.
macro_rules! of_signals {
    ($signals:expr, $make:ident, $from:expr) => {
        match $signals {
            1 => OfSize::<1, 4, HORIZONS>::$make($from).map(boxed),
            2 => OfSize::<2, 6, HORIZONS>::$make($from).map(boxed),
            3 => OfSize::<3, 6, HORIZONS>::$make($from).map(boxed),
            _ => OfSize::<4, 8, HORIZONS>::$make($from).map(boxed),
        }
    };
}

fn boxed<const N: usize, const D: usize>(
    predictor: OfSize<N, D, HORIZONS>,
) -> Box<dyn AnyPredictor> {
    Box::new(predictor)
}

/// Predictions of signals, with their bands, and surprises.
#[pyclass(module = "ictd")]
pub(crate) struct Predictor {
    #[pyo3(get)]
    horizons: Vec<f32>,
    #[pyo3(get)]
    signals: usize,
    predictor: Box<dyn AnyPredictor>,
}

/// What a predictor says of one sample, or of many.
#[pyclass(frozen, get_all, module = "ictd")]
pub(crate) struct Predictions {
    value: Py<PyArrayDyn<f32>>,
    low: Py<PyArrayDyn<f32>>,
    high: Py<PyArrayDyn<f32>>,
    surprise: Py<PyArrayDyn<f32>>,
}

impl Predictor {
    /// Takes rows of samples. `before`: the shape of what is returned, but for signals and horizons.
    fn take(&mut self, py: Python<'_>, x: &Samples, before: &[usize]) -> PyResult<Predictions> {
        arithmetic::check()?;
        let samples: Vec<f32> = x.as_array().iter().copied().collect();
        let said = py.detach(|| {
            let mut said = Said::default();
            for row in samples.chunks(self.signals) {
                self.predictor.observe(row, self.horizons.len(), &mut said);
            }
            said
        });
        let of_signals = [before, &[self.signals]].concat();
        let of_horizons = [&of_signals[..], &[self.horizons.len()]].concat();
        let array = |shape: &[usize], numbers| -> PyResult<_> {
            let array = Array::from_shape_vec(shape.into_dimension().into_dyn(), numbers);
            Ok(array.map_err(|e| refused("x", e))?.to_pyarray(py).unbind())
        };
        Ok(Predictions {
            value: array(&of_horizons, said.value)?,
            low: array(&of_horizons, said.low)?,
            high: array(&of_horizons, said.high)?,
            surprise: array(&of_signals, said.surprise)?,
        })
    }
}

#[pymethods]
impl Predictor {
    #[new]
    #[pyo3(signature = (horizons, signals = 1))]
    fn new(horizons: Vec<f32>, signals: usize) -> PyResult<Self> {
        arithmetic::check()?;
        if !(1..=4).contains(&signals) {
            return Err(refused("signals", format!("{signals}; expected 1 to 4")));
        }
        let once = |i: usize| !horizons[..i].contains(&horizons[i]);
        let taken = |i: usize| (1.0..=1e6).contains(&horizons[i]) && once(i);
        if !(1..=HORIZONS).contains(&horizons.len()) || !(0..horizons.len()).all(taken) {
            let expected = "1 to 4 different numbers of samples, from 1 to 1,000,000";
            return Err(refused("horizons", format!("{horizons:?}; expected {expected}")));
        }
        let filled: [f32; HORIZONS] = from_fn(|h| horizons[h.min(horizons.len() - 1)]);
        let predictor = of_signals!(signals, of_signals, filled);
        Ok(Predictor {
            predictor: predictor.map_err(|e| refused("horizons", e))?,
            horizons,
            signals,
        })
    }

    fn observe(&mut self, py: Python<'_>, x: Samples) -> PyResult<Predictions> {
        let (shape, signals) = (x.shape(), self.signals);
        match shape {
            [] if signals == 1 => {}
            [samples] if *samples == signals => {}
            _ => {
                let one = if signals == 1 { "a number or " } else { "" };
                let expected =
                    format!("expected {one}({signals},), with None or NaN for a missing sample");
                return Err(refused("x", format!("shape {shape:?}; {expected}")));
            }
        }
        self.take(py, &x, &[])
    }

    fn run(&mut self, py: Python<'_>, x: Samples) -> PyResult<Predictions> {
        let (shape, signals) = (x.shape().to_vec(), self.signals);
        match shape[..] {
            [_] if signals == 1 => {}
            [_, of_each] if of_each == signals => {}
            _ => {
                let one = if signals == 1 { "(T,) or " } else { "" };
                let expected =
                    format!("expected {one}(T, {signals}), with NaN for a missing sample");
                return Err(refused("x", format!("shape {shape:?}; {expected}")));
            }
        }
        self.take(py, &x, &shape[..1])
    }

    fn reset(&mut self) -> PyResult<()> {
        *self = Self::new(self.horizons.clone(), self.signals)?;
        Ok(())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.predictor.bytes().map_err(|e| refused("predictor", e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let byte = |at: usize| data.get(at).copied().unwrap_or(0);
        let signals = usize::from(u16::from_le_bytes([byte(6), byte(7)])).clamp(1, 4);
        let predictor = of_signals!(signals, from_bytes, data).map_err(|e| refused("data", e))?;
        // The format has them behind its head.
        let mut horizons: Vec<f32> =
            (0..HORIZONS).map(|h| f32::from_le_bytes(from_fn(|i| byte(16 + 4 * h + i)))).collect();
        horizons.dedup();
        Ok(Predictor { horizons, signals, predictor })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        Ok((py.get_type::<Self>(), (self.horizons.clone(), self.signals), self.to_bytes(py)?))
    }

    fn __setstate__(&mut self, state: &[u8]) -> PyResult<()> {
        *self = Self::from_bytes(state)?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("<ictd.Predictor horizons={:?}, signals={}>", self.horizons, self.signals)
    }
}
