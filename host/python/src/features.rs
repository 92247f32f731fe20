//! Features of raw observations, and the judgement of values by returns.

use crate::array::{Number, numbers, refused, roomy, shaped};
use crate::model::{Given, check_discount};
use compute::transitions::{EpisodeEnd, Transitions};
use ictd::encoder::Encoder;
use ictd::returns::{self, Half, Interval};
use numpy::PyArrayDyn;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn encoder(json: &str) -> PyResult<Encoder> {
    Encoder::from_json(json).map_err(PyValueError::new_err)
}

/// Returns observations, (n, k).
fn observations(given: Given) -> PyResult<(Vec<f64>, usize)> {
    let found = numbers("observations", given, false)?;
    let [rows, k] = found.table("observations", "(n, k)")?;
    if rows == 0 || k == 0 {
        return Err(refused("observations", "none; expected at least one number"));
    }
    Ok((found.finite("observations")?.data, k))
}

/// Returns the encoder of a kind as JSON, from the first rows of observations.
#[pyfunction]
pub(crate) fn fit_features(kind: &str, given: Given) -> PyResult<String> {
    let (rows, k) = observations(given)?;
    Ok(Encoder::fit(kind, &rows, k).map_err(PyValueError::new_err)?.to_json())
}

/// Returns the features of observations, (n, d).
#[pyfunction]
pub(crate) fn encode<'py>(
    py: Python<'py>,
    json: &str,
    given: Given,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let (encoder, (rows, k)) = (encoder(json)?, observations(given)?);
    let expected = encoder.observed();
    if k != expected {
        return Err(refused("observations", format!("{k} numbers; expected {expected}")));
    }
    let n = rows.len() / k;
    shaped(py, &[n, encoder.features()], py.detach(|| encoder.encode(&rows)))
}

/// A mean with its 90 % interval.
type Estimate = (f64, f64, f64);

/// The halves of a log whose returns judge values.
#[pyclass(frozen, module = "ictd")]
pub(crate) struct Returns {
    halves: [Half; 2],
}

#[pymethods]
impl Returns {
    #[new]
    fn new(
        phi: Given,
        reward: Given,
        phi_next: Given,
        terminal: Given,
        end: Given,
        rho: Option<Given>,
        gamma: Number,
    ) -> PyResult<Self> {
        let Number(gamma) = gamma;
        check_discount(gamma)?;
        let of = |name: &str, given: Given| numbers(name, given, false)?.finite(name);
        let (phi, next) = (of("phi", phi)?, of("phi_next", phi_next)?);
        let (reward, d) = (of("reward", reward)?.data, phi.table("phi", "(n, d)")?[1]);
        let (n, terminal, end) = (reward.len(), of("terminal", terminal)?, of("end", end)?);
        let rho = rho.map(|rho| of("rho", rho)).transpose()?.map(|rho| rho.data);
        let lengths =
            [phi.data.len(), next.data.len(), terminal.data.len() * d, end.data.len() * d];
        if lengths != [n * d; 4] || rho.as_ref().is_some_and(|rho| rho.len() != n) {
            return Err(refused("reward", format!("{n} rewards; expected one for each row")));
        }
        let marks = terminal.data.iter().zip(&end.data);
        let marks =
            marks.map(|(terminal, end)| EpisodeEnd::from_marks(*terminal == 1.0, *end == 1.0));
        let data = Transitions {
            d,
            from: (0..n).collect(),
            reward,
            phi: phi.data,
            phi_next: next.data,
            marks: marks.collect(),
            rho,
        };
        Ok(Returns { halves: Half::both(&data, gamma) })
    }

    /// The number of transitions of the first half.
    fn middle(&self) -> usize {
        self.halves[0].transitions.len()
    }

    /// The number of known returns, and of episodes with any.
    fn known(&self) -> [usize; 2] {
        returns::known(&self.halves)
    }

    /// The states of a half after which the return is known, (m, d).
    fn states<'py>(&self, py: Python<'py>, half: usize) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let of = self.halves.get(half).ok_or_else(|| refused("half", "expected 0 or 1"))?;
        let (states, d) = (of.states(), of.transitions.d);
        shaped(py, &[states.len() / d, d], states)
    }

    fn error(&self, values: [Vec<f64>; 2]) -> PyResult<Option<Estimate>> {
        roomy(|| Ok(returns::error(&self.halves, &values).map(estimate)))
    }

    fn advantage(&self, first: [Vec<f64>; 2], second: [Vec<f64>; 2]) -> PyResult<Option<Estimate>> {
        roomy(|| Ok(returns::advantage(&self.halves, &first, &second).map(estimate)))
    }
}

fn estimate(Interval { mean, low, high }: Interval) -> Estimate {
    (mean, low, high)
}
