//! The user's own tasks, from an `.npz` file.
//!
//! | array | of T tasks, or of one | |
//! |---|---|---|
//! | `p` | (T, m, m) or (m, m) | p(s' \| s), from row to column |
//! | `reward` | (T, m) or (m,) | the reward on leaving a state |
//! | `phi` | (T, m, d), (m, d), optional | features; one-hot states without it |
//! | `p0` | (T, m) or (m,), optional | the initial distribution; uniform without it |
//! | `terminal` | (T, m) or (m,), optional | 1: an episode ends in this state, of value 0 |
//! | `gamma` | one number, optional | the discount |
//!
//! m and d are at most 64. All tasks share an array that has no axis of tasks.
//!
//! A file without `p` has logged transitions, in the arrays `phi`, `reward`, `phi_next`, `terminal` and `end` of
//! [`super::trajectory`]. Its array `task`, (n), optional, names the task of each row, and `gamma` may be there, too.

use super::npy::{Array, Data, tuple};
use super::npz::{self, Npz};
use super::trajectory::{Trajectory, numbers};
use crate::error::{Error, Problem};
use crate::files;
use compute::estimator::EpisodeEnd;
use compute::logged::Log;
use compute::own_tasks::{Misfit, OwnData, OwnTasks, TaskArrays};
use compute::recipe::Recipe;
use std::io::{Read, Seek};
use std::path::Path;

/// The name of the file with the tasks of a run.
pub const FILE_NAME: &str = "tasks.npz";

/// The largest number of values in all tasks, as if none shared an array.
const MOST: usize = 1 << 24;

/// Arrays as given, perhaps without the axis of tasks.
#[derive(Clone, Debug, Default)]
pub struct GivenArrays {
    /// The transition probabilities p.
    pub p: Option<Array>,
    /// The rewards r.
    pub reward: Option<Array>,
    /// The features phi.
    pub phi: Option<Array>,
    /// The initial distributions p_0.
    pub p0: Option<Array>,
    /// The states that end an episode.
    pub terminal: Option<Array>,
    /// The discount gamma.
    pub gamma: Option<Array>,
}

impl GivenArrays {
    /// Returns the tasks, or [`Problem::Unusable`], naming the array, its shape and the expected one.
    pub fn tasks(self) -> Result<OwnTasks, Problem> {
        let missing = |name| Problem::Unusable(format!("array `{name}` is missing"));
        let p = self.p.ok_or_else(|| missing("p"))?;
        let reward = self.reward.ok_or_else(|| missing("reward"))?;
        let (count, m) = match *p.shape {
            [m, also] if m == also => (None, m),
            [count, m, also] if m == also => (Some(count), m),
            _ => return Err(Problem::array("p", p.describe(), "(m, m) or (tasks, m, m)")),
        };
        // Each array with an axis of tasks states their number.
        let stacked = |array: &Option<Array>, alone: usize| {
            let shape = &array.as_ref()?.shape;
            (shape.len() == alone + 1).then(|| shape[0])
        };
        let reward = Some(reward);
        let others = [(&reward, 1), (&self.phi, 2), (&self.p0, 1), (&self.terminal, 1)];
        let of_others = others.iter().find_map(|(array, alone)| stacked(array, *alone));
        let count = count.or(of_others).unwrap_or(1);
        let dim = self.phi.as_ref().map_or(m, |phi| phi.shape.last().copied().unwrap_or(0));
        if count.saturating_mul(m * (m + dim + 3)) > MOST {
            let reason = format!("{count} tasks of {m} states");
            return Err(Problem::array("p", reason, format!("at most {MOST} numbers in all")));
        }
        // A file of a few bytes may claim any number of tasks.
        files::room(64 * (count * m * (m + dim + 3)) as u64)?;
        let fill =
            |name: &str, array: Option<Array>, own: &[usize], otherwise: &dyn Fn(usize) -> f64| {
                let size: usize = own.iter().product();
                let Some(array) = array else {
                    return Ok((0..count * size).map(|at| otherwise(at % size)).collect());
                };
                let stack = [&[count], own].concat();
                if array.shape == stack {
                    numbers(name, &array)
                } else if array.shape == own {
                    Ok(numbers(name, &array)?.repeat(count))
                } else {
                    let [alone, stack] = [own, &stack].map(tuple);
                    Err(Problem::array(name, array.describe(), format!("{alone} or {stack}")))
                }
            };
        let none = |_| 0.0;
        let terminal = fill("terminal", self.terminal, &[m], &none)?;
        if let Some(at) = terminal.iter().position(|x| ![0.0, 1.0].contains(x)) {
            let reason = format!("{} at {at}", terminal[at]);
            return Err(Problem::array("terminal", reason, "0 or 1 for each state"));
        }
        let terminal: Vec<bool> = terminal.into_iter().map(|x| x == 1.0).collect();
        let has_starts = self.p0.is_some();
        let mut arrays = TaskArrays {
            states: m,
            dim,
            p: fill("p", Some(p), &[m, m], &none)?,
            reward: fill("reward", reward, &[m], &none)?,
            phi: fill("phi", self.phi, &[m, dim], &|at| f64::from(at / m == at % m))?,
            p0: fill("p0", self.p0, &[m], &none)?,
            terminal,
            gamma: discount(self.gamma)?,
        };
        if !has_starts {
            for (start, end) in arrays.p0.chunks_mut(m.max(1)).zip(arrays.terminal.chunks(m.max(1)))
            {
                let share = 1.0 / end.iter().filter(|end| !**end).count() as f64;
                start.iter_mut().zip(end).for_each(|(p, end)| *p = if *end { 0.0 } else { share });
            }
        }
        OwnTasks::new(arrays).map_err(misfit)
    }
}

fn misfit(e: Misfit) -> Problem {
    Problem::array(e.array, e.reason, e.expected)
}

/// Returns the discount of all tasks.
fn discount(array: Option<Array>) -> Result<Option<f64>, Problem> {
    let Some(array) = array else { return Ok(None) };
    match numbers("gamma", &array)?[..] {
        [first, ref rest @ ..] if rest.iter().all(|x| *x == first) => Ok(Some(first)),
        _ => {
            let expected = "one discount for all tasks (or none, and --gamma-range)";
            Err(Problem::array("gamma", array.describe(), expected))
        }
    }
}

/// Reads tasks. Returns [`Error::File`], naming the array, its shape and the expected one.
pub fn read<R: Read + Seek>(npz: &mut Npz<R>) -> Result<OwnTasks, Error> {
    let names = npz.names();
    let has = |name: &str| names.iter().any(|found| found == name);
    if has("phi") && !has("p") {
        return read_log(npz);
    }
    npz.refuse_unknown(&["p", "reward", "phi", "p0", "terminal", "gamma"])?;
    let given = GivenArrays {
        p: Some(npz.array("p")?),
        reward: Some(npz.array("reward")?),
        phi: npz.optional_array("phi")?,
        p0: npz.optional_array("p0")?,
        terminal: npz.optional_array("terminal")?,
        gamma: npz.optional_array("gamma")?,
    };
    given.tasks().map_err(|problem| problem.in_file(&npz.file))
}

fn read_log<R: Read + Seek>(npz: &mut Npz<R>) -> Result<OwnTasks, Error> {
    npz.refuse_unknown(&["phi", "reward", "phi_next", "terminal", "end", "task", "gamma"])?;
    let gamma = npz.optional_array("gamma")?;
    let (Trajectory { transitions, .. }, task) = Trajectory::with_tasks(npz)?;
    let log = || {
        // A run writes all features twice, in a file that it can read again.
        if transitions.phi_next.len() > MOST {
            let reason = format!("{} numbers", transitions.phi_next.len());
            return Err(Problem::array("phi", reason, format!("at most {MOST}")));
        }
        Log::new(transitions, &task, discount(gamma)?).map_err(misfit)
    };
    log().map(OwnTasks::from).map_err(|problem| problem.in_file(&npz.file))
}

/// Returns the content of a file with these tasks: equal tasks give equal bytes. Returns the errors of [`npz::to_bytes`].
pub fn to_bytes(tasks: &OwnData) -> std::io::Result<Vec<u8>> {
    let array = |shape: &[usize], numbers: &[f64]| Array {
        shape: shape.to_vec(),
        data: Data::F64(numbers.to_vec()),
    };
    let mut arrays = match tasks {
        OwnData::Mrps(tasks) => {
            let (count, m, d) = (tasks.count(), tasks.states, tasks.dim);
            let terminal = Data::I64(tasks.terminal.iter().map(|end| (*end).into()).collect());
            vec![
                ("p", array(&[count, m, m], &tasks.p)),
                ("reward", array(&[count, m], &tasks.reward)),
                ("phi", array(&[count, m, d], &tasks.phi)),
                ("p0", array(&[count, m], &tasks.p0)),
                ("terminal", Array { shape: vec![count, m], data: terminal }),
            ]
        }
        OwnData::Log(log) => {
            let t = log.transitions();
            let (n, d) = (t.len(), t.d);
            let phi = t.from.iter().flat_map(|row| &t.phi[row * d..][..d]).copied();
            let marked = |as_| t.marks.iter().map(move |mark| f64::from(u8::from(*mark == as_)));
            vec![
                ("phi", array(&[n, d], &phi.collect::<Vec<_>>())),
                ("reward", array(&[n], &t.reward)),
                ("phi_next", array(&[n, d], &t.phi_next)),
                ("terminal", array(&[n], &marked(EpisodeEnd::Terminal).collect::<Vec<_>>())),
                ("end", array(&[n], &marked(EpisodeEnd::End).collect::<Vec<_>>())),
                ("task", array(&[n], log.task())),
            ]
        }
    };
    arrays.extend(tasks.gamma().map(|gamma| ("gamma", array(&[], &[gamma]))));
    npz::to_bytes(&arrays.iter().map(|(name, array)| (*name, array)).collect::<Vec<_>>())
}

/// Returns a recipe with the tasks that it names by a file, or by their digest in the folder of its run.
/// Errors: [`Error::File`], also for other tasks than it names; [`Error::Option`] if it is not a recipe for them.
pub fn load(recipe: Recipe, run: Option<&Path>) -> Result<Recipe, Error> {
    let Some(own) = recipe.task.own().filter(|own| own.read().is_err()) else {
        return Ok(recipe);
    };
    let (named, expected) = own.source();
    let file = match (named, run) {
        (Some(file), _) => file.into(),
        (None, Some(run)) => run.join(FILE_NAME),
        (None, None) => return Ok(recipe),
    };
    let reader = match run {
        // In a run's folder no link is followed.
        Some(run) if named.is_none() => files::read_below(run, FILE_NAME, files::limits::TABLE),
        _ => files::read(&file, files::limits::TABLE),
    };
    let bytes = reader.map_err(|e| Problem::Io(e).in_file(&file))?;
    let mut tasks = read(&mut Npz::new(&file, std::io::Cursor::new(bytes))?)?;
    tasks.place = file.display().to_string();
    if let Some(expected) = expected.filter(|expected| *expected != tasks.name()) {
        let reason =
            format!("its tasks have changed: they are {}; expected {expected}", tasks.name());
        return Err(Error::file(&file, reason));
    }
    Ok(recipe.with_own_tasks(tasks)?)
}
