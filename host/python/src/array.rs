//! Converts arguments from Python to numbers; an error names the argument.

pub(crate) use ictd::formats::tuple;
use judge::estimator::on_large_stack;
use numpy::ndarray::Array;
use numpy::{
    AllowTypeChange, Element, PyArrayDyn, PyArrayLikeDyn, PyUntypedArrayMethods as _, ToPyArray,
};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString};

/// The number of transitions, states or samples after which Ctrl-C is noticed.
pub(crate) const AT_ONCE: usize = 1 << 14;

/// From here on, double precision does not represent every integer.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_992.0;

/// An integer as Python has it: also a float with an integer value, such as 3.0.
#[derive(Clone, Copy)]
pub(crate) struct Integer(pub(crate) i128);

impl<'py> FromPyObject<'_, 'py> for Integer {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyFloat>().map(|x| x.value()) {
            Ok(x) if x.fract() == 0.0 && x.abs() < LARGEST_INTEGER => Ok(Integer(x as i128)),
            _ => match given.extract::<i128>() {
                // Beyond 2^127 it is the largest or the smallest number, which `whole` refuses.
                Err(e) if e.is_instance_of::<PyOverflowError>(given.py()) => {
                    Ok(Integer(if given.gt(0)? { i128::MAX } else { i128::MIN }))
                }
                found => found.map(Integer),
            },
        }
    }
}

/// A number as Python has it.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) f64);

impl<'py> FromPyObject<'_, 'py> for Number {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<f64>() {
            // An integer beyond all floats is infinite, which every setting refuses by name.
            Err(e) if e.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(Number(if given.gt(0)? { f64::INFINITY } else { f64::NEG_INFINITY }))
            }
            found => found.map(Number),
        }
    }
}

/// Returns a number of things, or a seed.
pub(crate) fn whole<T: TryFrom<i128>>(name: &str, Integer(x): Integer) -> PyResult<T> {
    T::try_from(x).map_err(|_| match x {
        0.. => refused(name, "an integer of 2^64 or more; expected a smaller one"),
        _ => refused(name, format!("{x}; expected an integer, at least 0")),
    })
}

/// Computes with a large stack: Python's threads may have a small one.
pub(crate) fn roomy<T: Send>(f: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    // Inlined, it would need the room in the caller's frame, on the small stack.
    #[inline(never)]
    fn apart<T>(f: impl FnOnce() -> T) -> T {
        f()
    }
    on_large_stack(|| apart(f)).map_err(|e| refused("thread", e))?
}

/// Numbers, row by row.
pub(crate) struct Numbers {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

pub(crate) fn refused(argument: &str, reason: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{argument}: {reason}"))
}

/// Returns the numbers of an argument. Masked entries become NaN if numbers `may_miss`, and are rejected otherwise.
pub(crate) fn numbers(name: &str, given: &Bound<'_, PyAny>, may_miss: bool) -> PyResult<Numbers> {
    if let Ok(number) = given.cast_exact::<PyFloat>() {
        return Ok(Numbers { shape: vec![], data: vec![number.extract()?] });
    }
    let py = given.py();
    let no_numbers = |e: PyErr| refused(name, format!("{}; expected numbers", e.value(py)));
    // (A field of a record lies at any distance from the next one, which the crate's strides cannot say.)
    if let Ok(array) = given.cast_exact::<PyArrayDyn<f64>>()
        && array.is_contiguous()
    {
        return taken(array).map_err(no_numbers);
    }
    let numpy = py.import("numpy")?;
    let is_masked = given.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)?;
    let array = numpy.call_method1("asarray", (given,)).map_err(no_numbers)?;
    let dtype = array.getattr("dtype")?;
    let kind: char = dtype.getattr("kind")?.extract()?;
    let what = match kind {
        'f' | 'i' | 'u' | 'b' => None,
        'c' => Some("complex numbers"),
        'M' | 'm' => Some("dates or times"),
        'U' | 'S' | 'T' => Some("text"),
        'O' => {
            let what = |x: Bound<'_, PyAny>| {
                let is_text = x.is_instance_of::<PyString>() || x.is_instance_of::<PyBytes>();
                let size = |x: f64| x.abs() >= LARGEST_INTEGER;
                let is_large = x.is_instance_of::<PyInt>() && x.extract().map_or(true, size);
                if is_text { Some("text") } else { is_large.then_some("integers of 2^53 or more") }
            };
            array.getattr("flat")?.try_iter()?.flatten().find_map(what)
        }
        _ => Some("records"),
    };
    if let Some(what) = what {
        return Err(refused(name, format!("{what} ({dtype}); expected real numbers")));
    }
    let array = array.call_method1("astype", ("float64",)).map_err(no_numbers)?;
    let mut found = taken(array.cast::<PyArrayDyn<f64>>()?).map_err(no_numbers)?;
    if let ('i' | 'u', Some(x)) = (kind, found.data.iter().find(|x| x.abs() >= LARGEST_INTEGER)) {
        return Err(refused(name, format!("the integer {x}; expected less than 2^53")));
    }
    if is_masked {
        let mask = numpy.getattr("ma")?.call_method1("getmaskarray", (given,))?;
        let mask = mask.extract::<PyArrayLikeDyn<'_, bool, AllowTypeChange>>()?;
        if !may_miss && mask.as_array().iter().any(|masked| *masked) {
            return Err(refused(name, "masked entries; expected numbers everywhere"));
        }
        let entries = found.data.iter_mut().zip(mask.as_array());
        entries.filter(|(_, masked)| **masked).for_each(|(x, _)| *x = f64::NAN);
    }
    Ok(found)
}

fn taken(array: &Bound<'_, PyArrayDyn<f64>>) -> PyResult<Numbers> {
    let array: PyArrayLikeDyn<'_, f64, AllowTypeChange> = array.extract()?;
    let data = array.as_array().iter().copied().collect();
    Ok(Numbers { shape: array.shape().to_vec(), data })
}

impl Numbers {
    /// Returns (rows, columns).
    pub(crate) fn table(&self, name: &str, expected: &str) -> PyResult<[usize; 2]> {
        match self.shape[..] {
            [rows, columns] => Ok([rows, columns]),
            _ => {
                let reshape = match (self.shape.len(), name) {
                    (1, "query") if !expected.ends_with(", 1)") => ": query[None] for one state",
                    (1, _) => ": .reshape(-1, 1) for one feature",
                    _ => "",
                };
                let shape = tuple(&self.shape);
                Err(refused(name, format!("shape {shape}; expected {expected}{reshape}")))
            }
        }
    }

    /// Returns the numbers of (n,) or of one column, (n, 1).
    pub(crate) fn column(self, name: &str, expected: &str) -> PyResult<Vec<f64>> {
        match self.shape[..] {
            [_] | [_, 1] => Ok(self.data),
            _ => Err(refused(name, format!("shape {}; expected {expected}", tuple(&self.shape)))),
        }
    }

    /// Rejects NaN and infinities.
    pub(crate) fn finite(self, name: &str) -> PyResult<Self> {
        match self.data.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                let place = if self.shape.is_empty() { String::new() } else { format!(" at {at}") };
                let reason =
                    format!("{}{place} is NaN or infinite; expected finite numbers", self.data[at]);
                Err(refused(name, reason))
            }
            None => Ok(self),
        }
    }
}

/// Returns one number for each reward; these have `shape`, (n,), or (B, n) of several contexts.
pub(crate) fn of_rewards(
    name: &str,
    found: Numbers,
    what: &str,
    shape: &[usize],
) -> PyResult<Vec<f64>> {
    let (n, expected) = (shape.iter().product::<usize>(), tuple(shape));
    if shape.len() == 2 && found.shape != shape {
        return Err(refused(name, format!("shape {}; expected {expected}", tuple(&found.shape))));
    } else if shape.len() == 2 {
        return Ok(found.data);
    }
    let found = found.column(name, &expected)?;
    if found.len() != n {
        let reason = format!("{} {what}; expected {n}, one for each reward", found.len());
        return Err(refused(name, reason));
    }
    Ok(found)
}

/// Returns the marks of transitions; all false without an argument.
pub(crate) fn marks(
    name: &str,
    given: Option<&Bound<'_, PyAny>>,
    shape: &[usize],
) -> PyResult<Vec<bool>> {
    let Some(given) = given else { return Ok(vec![false; shape.iter().product()]) };
    let mark = |x: &f64| match *x {
        0.0 => Ok(false),
        1.0 => Ok(true),
        x => Err(refused(name, format!("{x}; expected true or false (1 or 0)"))),
    };
    let found = numbers(name, given, false)?;
    of_rewards(name, found, "marks", shape)?.iter().map(mark).collect()
}

/// Returns numbers as an array.
pub(crate) fn shaped<'py, T: Element + Copy>(
    py: Python<'py>,
    shape: &[usize],
    data: Vec<T>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let array = Array::from_shape_vec(shape.to_vec(), data);
    Ok(array.map_err(|e| refused("recipe", e))?.to_pyarray(py))
}
