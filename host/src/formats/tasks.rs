//! The user's own tasks, from an `.npz` file.
//!
//! [`guide::task`](crate::guide::task) has its arrays; those of a log are read by [`super::trajectory`].

use super::npy::{Array, Data, tuple};
use super::npz::{self, Npz};
use super::trajectory::Trajectory;
use crate::error::{Error, InFile as _, Problem};
use crate::files;
use compute::logged::Log;
use compute::own_tasks::{OwnData, OwnTasks, TaskArrays};
use compute::recipe::Recipe;
use compute::transitions::EpisodeEnd;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::path::Path;

pub const FILE_NAME: &str = "tasks.npz";

/// The largest number of values in all tasks, as if none shared an array.
const MOST: usize = 1 << 24;

const ARRAYS: [&str; 6] = ["p", "reward", "phi", "p0", "terminal", "gamma"];

pub fn from_arrays(given: &BTreeMap<&str, Array>) -> Result<OwnTasks, Problem> {
    if let Some(name) = ["p", "reward"].into_iter().find(|name| !given.contains_key(name)) {
        return Err(Problem::Unusable(format!("array `{name}` is missing")));
    }
    let m = match *given["p"].shape {
        [m, also] | [_, m, also] if m == also => m,
        _ => return Err(Problem::array("p", given["p"].describe(), "(m, m) or (tasks, m, m)")),
    };
    // Rewards on each pair of states have the shape of the rewards of m tasks.
    if m > 1 && given["p"].shape == given["reward"].shape {
        let expected = format!(
            "({m},): of rewards that depend on both states, (p * r).sum(1); for {m} tasks, p of shape ({m}, {m}, {m})"
        );
        return Err(Problem::array("reward", given["reward"].describe(), expected));
    }
    // Each array with an axis of tasks states their number.
    let stacked = |(name, array): (&&str, &Array)| match (*name, &array.shape[..]) {
        ("p" | "phi", [count, _, _]) | ("reward" | "p0" | "terminal", [count, _]) => Some(*count),
        _ => None,
    };
    let count = given.iter().find_map(stacked).unwrap_or(1);
    let dim = given.get("phi").map_or(m, |phi| phi.shape.last().copied().unwrap_or(0));
    let size = count.saturating_mul(m * (m + dim + 3));
    if size > MOST {
        let reason = format!("{count} tasks of {m} states");
        return Err(Problem::array("p", reason, format!("at most {MOST} numbers in all")));
    }
    // A file of a few bytes may claim any number of tasks.
    files::room(64 * size as u64)?;
    let fill = |name: &str, own: &[usize], otherwise: fn(usize, usize) -> f64| {
        let Some(array) = given.get(name) else {
            let one = (0..own.iter().product()).map(|at| otherwise(at, own[0]));
            return Ok(one.collect::<Vec<_>>().repeat(count));
        };
        let stack = [&[count], own].concat();
        if array.shape == stack {
            array.numbers(name)
        } else if array.shape == own {
            Ok(array.numbers(name)?.repeat(count))
        } else {
            let [alone, stack] = [own, &stack].map(tuple);
            Err(Problem::array(name, array.describe(), format!("{alone} or {stack}")))
        }
    };
    let terminal = fill("terminal", &[m], |_, _| 0.0)?;
    if let Some(at) = terminal.iter().position(|x| ![0.0, 1.0].contains(x)) {
        let reason = format!("{} at {at}", terminal[at]);
        return Err(Problem::array("terminal", reason, "0 or 1 for each state"));
    }
    let mut arrays = TaskArrays {
        states: m,
        dim,
        p: fill("p", &[m, m], |_, _| 0.0)?,
        reward: fill("reward", &[m], |_, _| 0.0)?,
        phi: fill("phi", &[m, dim], |at, m| f64::from(at / m == at % m))?,
        p0: fill("p0", &[m], |_, _| 1.0)?,
        terminal: terminal.into_iter().map(|x| x == 1.0).collect(),
        gamma: given.get("gamma").map(discount).transpose()?,
    };
    if !given.contains_key("p0") {
        for (start, end) in arrays.p0.chunks_mut(m.max(1)).zip(arrays.terminal.chunks(m.max(1))) {
            let share = 1.0 / end.iter().filter(|end| !**end).count() as f64;
            start.iter_mut().zip(end).for_each(|(p, end)| *p = if *end { 0.0 } else { share });
        }
    }
    OwnTasks::new(arrays).map_err(Problem::Unusable)
}

fn discount(array: &Array) -> Result<f64, Problem> {
    match array.numbers("gamma")?[..] {
        [first, ref rest @ ..] if rest.iter().all(|x| *x == first) => Ok(first),
        _ => {
            let expected = "one discount for all tasks (or none, and --gamma-range)";
            Err(Problem::array("gamma", array.describe(), expected))
        }
    }
}

pub fn read<R: Read + Seek>(npz: &mut Npz<R>) -> Result<OwnTasks, Error> {
    let names = npz.names();
    let has = |name: &str| names.iter().any(|found| found == name);
    if has("phi") && !has("p") {
        return read_log(npz);
    }
    npz.refuse_unknown(&ARRAYS)?;
    let mut given = BTreeMap::from([("p", npz.array("p")?), ("reward", npz.array("reward")?)]);
    for name in &ARRAYS[2..] {
        given.extend(npz.optional_array(name)?.map(|array| (*name, array)));
    }
    from_arrays(&given).in_file(&npz.file)
}

fn read_log<R: Read + Seek>(npz: &mut Npz<R>) -> Result<OwnTasks, Error> {
    const OF_LOG: [&str; 6] = ["phi", "reward", "phi_next", "terminal", "end", "task"];
    npz.refuse_unknown(&[&OF_LOG[..], &["gamma"]].concat())?;
    let (gamma, mut arrays) = (npz.optional_array("gamma")?, BTreeMap::new());
    for name in OF_LOG {
        arrays.extend(npz.optional_array(name)?.map(|array| (name, array)));
    }
    let log = || {
        let (Trajectory { transitions, .. }, task) = Trajectory::of_arrays(&arrays)?;
        // A run writes all features twice, in a file that it can read again.
        if transitions.phi_next.len() > MOST {
            let reason = format!("{} numbers", transitions.phi_next.len());
            return Err(Problem::array("phi", reason, format!("at most {MOST}")));
        }
        let gamma = gamma.as_ref().map(discount).transpose()?;
        Log::new(transitions, &task, gamma).map_err(Problem::Unusable)
    };
    log().map(OwnTasks::from).in_file(&npz.file)
}

/// Returns the content of a file with these tasks: equal tasks give equal bytes.
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
            let t = &log.transitions;
            let (n, d) = (t.len(), t.d);
            let phi = t.from.iter().flat_map(|row| &t.phi[row * d..][..d]).copied();
            let marked = |as_| {
                let marks = t.marks.iter().map(|mark| f64::from(u8::from(*mark == as_)));
                array(&[n], &marks.collect::<Vec<_>>())
            };
            vec![
                ("phi", array(&[n, d], &phi.collect::<Vec<_>>())),
                ("reward", array(&[n], &t.reward)),
                ("phi_next", array(&[n, d], &t.phi_next)),
                ("terminal", marked(EpisodeEnd::Terminal)),
                ("end", marked(EpisodeEnd::End)),
                ("task", array(&[n], &log.task)),
            ]
        }
    };
    arrays.extend(tasks.gamma().map(|gamma| ("gamma", array(&[], &[gamma]))));
    npz::to_bytes(&arrays.iter().map(|(name, array)| (*name, array)).collect::<Vec<_>>())
}

/// Returns a recipe with the tasks that it names by a file, or by their digest in the folder of its run.
pub fn load(recipe: Recipe, run: Option<&Path>) -> Result<Recipe, Error> {
    let Some(own) = recipe.task.own().filter(|own| own.read().is_err()) else {
        return Ok(recipe);
    };
    let (named, expected) = own.source();
    let (file, reader) = match (named, run) {
        (Some(file), _) => (file.into(), files::read(Path::new(file), files::limits::TABLE)),
        (None, Some(run)) => {
            let file = run.join(FILE_NAME);
            let content = files::read(&file, files::limits::TABLE);
            (file, content)
        }
        (None, None) => return Ok(recipe),
    };
    let bytes = std::io::Cursor::new(reader.in_file(&file)?);
    let mut tasks = read(&mut Npz::new(&file, bytes)?)?;
    tasks.place = file.display().to_string();
    if let Some(expected) = expected.filter(|expected| *expected != tasks.name()) {
        let reason =
            format!("its tasks have changed: they are {}; expected {expected}", tasks.name());
        return Err(Error::file(&file, reason));
    }
    Ok(recipe.with_own_tasks(tasks)?)
}
