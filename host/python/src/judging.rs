//! The evaluation of any value function.

use crate::arithmetic;
use crate::array::{Integer, numbers, refused, roomy, shaped, tuple, whole};
use crate::error::python;
use crate::model::Model;
use crate::train::{Settings, recipe};
use compute::Recipe;
use compute::words::{Word as _, WordList};
use ictd::error::WithContext as _;
use judge::bench::{self, BenchContext, BenchTask, DIM, LEN, Score};
use judge::bridge::{JudgedContext, Verdict, contexts, judge};
use numpy::PyArrayDyn;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// The largest number of contexts.
const MOST: usize = 1 << 12;

/// Contexts in fresh tasks, with the tasks' true values.
#[pyclass(frozen, module = "ictd._ictd")]
pub(crate) struct Contexts {
    recipe: Recipe,
    all: Vec<JudgedContext>,
}

impl Contexts {
    fn states(&self) -> usize {
        self.all.first().map_or(0, |c| c.weights.len())
    }

    fn together(&self, of: fn(&JudgedContext) -> &Vec<f64>) -> Vec<f64> {
        self.all.iter().flat_map(of).copied().collect()
    }

    /// Returns an array of finite numbers, context by context.
    fn split(
        &self,
        name: &str,
        given: &Bound<'_, PyAny>,
        each: &[usize],
    ) -> PyResult<Vec<Vec<f64>>> {
        let (found, expected) = (numbers(name, given, false)?, [&[self.all.len()], each].concat());
        if found.shape != expected {
            let (shape, expected) = (tuple(&found.shape), tuple(&expected));
            return Err(refused(name, format!("shape {shape}; expected {expected}")));
        }
        let found = found.finite(name)?.data;
        Ok(found.chunks(each.iter().product::<usize>().max(1)).map(<[f64]>::to_vec).collect())
    }
}

type Doubles<'py> = Bound<'py, PyArrayDyn<f64>>;

/// VD, IWS, SS, the explained shares and the mean squared value errors.
type Judged = (f64, f64, f64, Vec<(&'static str, f64)>, [f64; 4]);

#[pymethods]
impl Contexts {
    #[new]
    fn new(
        py: Python<'_>,
        settings: Settings,
        tasks: Option<PyBackedBytes>,
        count: Integer,
        seed: Integer,
    ) -> PyResult<Self> {
        let (count, seed) = (whole("contexts", count)?, whole("seed", seed)?);
        arithmetic::check()?;
        let recipe = recipe(&settings, tasks, Recipe::check)?;
        if !(2..=MOST).contains(&count) {
            return Err(refused("contexts", format!("{count}; expected 2 to {MOST}")));
        }
        let all = || contexts(&recipe, count, seed).context("the contexts").map_err(python);
        Ok(Contexts { all: py.detach(|| roomy(all))?, recipe })
    }

    #[getter]
    fn gamma(&self) -> f64 {
        self.recipe.gamma
    }

    /// Returns phi, (contexts, n + 1, d), rewards, (contexts, n), and the states, (contexts, m, d).
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<(Doubles<'py>, Doubles<'py>, Doubles<'py>)> {
        let (count, n, d) = (self.all.len(), self.recipe.context_length, self.recipe.dim);
        Ok((
            shaped(py, &[count, n + 1, d], self.together(|c| &c.features))?,
            shaped(py, &[count, n], self.together(|c| &c.rewards))?,
            shaped(py, &[count, self.states(), d], self.together(|c| &c.states))?,
        ))
    }

    /// Evaluates values, (contexts, m), after the first `length` transitions of each context, and gradients, (contexts, m, d).
    fn judge(
        &self,
        py: Python<'_>,
        length: usize,
        values: &Bound<'_, PyAny>,
        gradients: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Judged> {
        arithmetic::check()?;
        if !(1..=self.recipe.context_length).contains(&length) {
            let most = self.recipe.context_length;
            return Err(refused("lengths", format!("{length}; expected 1 to {most}")));
        }
        let (m, d) = (self.states(), self.recipe.dim);
        let values = self.split("values", values, &[m])?;
        let gradients =
            gradients.map(|given| self.split("gradients", given, &[m, d])).transpose()?;
        let verdict = || {
            judge(&self.recipe, &self.all, length, &values, gradients.as_deref())
                .context("the judge")
                .map_err(python)
        };
        let Verdict { vd, iws, ss, explained, msve } = py.detach(|| roomy(verdict))?;
        Ok((vd, iws, ss, explained, msve))
    }
}

/// The contexts of one task of the suite of `ictd bench`.
#[pyclass(frozen, module = "ictd._ictd")]
pub(crate) struct Suite {
    all: Vec<BenchContext>,
}

/// A score with its 90 % interval.
type Scored = (f64, f64, f64);

fn scored(Score { mean, low, high }: Score) -> Scored {
    (mean, low, high)
}

#[pymethods]
impl Suite {
    #[new]
    fn new(py: Python<'_>, task: &str, count: Integer, seed: Integer) -> PyResult<Self> {
        arithmetic::check()?;
        let (count, seed) = (whole("contexts", count)?, whole("seed", seed)?);
        let task = BenchTask::from_word(task).ok_or_else(|| refused("task", task))?;
        if !(2..=MOST).contains(&count) {
            return Err(refused("contexts", format!("{count}; expected 2 to {MOST}")));
        }
        let all = || task.seeds(count, seed).into_iter().map(|seed| task.context(seed)).collect();
        let drawn = || roomy(|| Result::context(all(), task.word()).map_err(python));
        Ok(Suite { all: py.detach(drawn)? })
    }

    #[staticmethod]
    fn tasks() -> WordList {
        BenchTask::WORDS
    }

    /// Returns phi, (contexts, n + 1, d), rewards, (contexts, n), states, (contexts, m, d), and importance weights.
    fn arrays<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Doubles<'py>, Doubles<'py>, Doubles<'py>, Doubles<'py>)> {
        let (count, mut phi, mut rho) = (self.all.len(), Vec::new(), Vec::new());
        for BenchContext { transitions: t, .. } in &self.all {
            phi.extend_from_slice(&t.phi);
            phi.extend_from_slice(&t.phi_next[(LEN - 1) * DIM..]);
            rho.extend((0..LEN).map(|i| t.weight(i)));
        }
        let together = |of: fn(&BenchContext) -> &Vec<f64>| -> Vec<f64> {
            self.all.iter().flat_map(of).copied().collect()
        };
        let states = together(|c| &c.states);
        Ok((
            shaped(py, &[count, LEN + 1, DIM], phi)?,
            shaped(py, &[count, LEN], together(|c| &c.transitions.reward))?,
            shaped(py, &[count, states.len() / count / DIM, DIM], states)?,
            shaped(py, &[count, LEN], rho)?,
        ))
    }

    /// Returns the score of values, (contexts, m), of which any may be infinite or NaN.
    fn score(&self, values: &Bound<'_, PyAny>) -> PyResult<Scored> {
        let found = numbers("function", values, false)?;
        let (m, count) = (self.all[0].values.len(), self.all.len());
        if found.shape != [count, m] {
            let (shape, expected) = (tuple(&found.shape), tuple(&[count, m]));
            return Err(refused(
                "function",
                format!("values of shape {shape}; expected {expected}"),
            ));
        }
        let each = self.all.iter().zip(found.data.chunks(m));
        Ok(scored(bench::score(&each.map(|(c, of)| bench::errors(c, of)).collect::<Vec<_>>())))
    }

    /// Returns the score of a model; `None` if it takes no importance weights and this task has them.
    fn score_of(&self, py: Python<'_>, model: &Model) -> PyResult<Option<Scored>> {
        arithmetic::check()?;
        if let Some(d) = model.d.filter(|d| *d != DIM) {
            return Err(refused("d", format!("{d} features in the model; expected {DIM}")));
        }
        let has_weights = self.all.iter().any(|c| c.transitions.rho.is_some());
        if has_weights && !model.estimator.takes_weights() {
            return Ok(None);
        }
        let errors = || {
            let estimator = model.estimator.with_gamma(bench::GAMMA)?;
            let of = |c| Ok(bench::errors(c, &bench::predicted(&estimator, c)?));
            self.all.iter().map(of).collect::<ictd_core::Result<Vec<_>>>()
        };
        let errors = py.detach(|| roomy(|| errors().context("the model").map_err(python)))?;
        Ok(Some(scored(bench::score(&errors))))
    }

    /// Returns the mean of the scores of all tasks.
    #[staticmethod]
    fn mean(scores: Vec<Scored>) -> Scored {
        let of = |(mean, low, high)| Score { mean, low, high };
        scored(Score::over_tasks(&scores.into_iter().map(of).collect::<Vec<_>>()))
    }
}
