//! Tasks given as data, each drawn with the same probability: a stack of (p_0, p, r, phi), or logged transitions.

use crate::array_checks::{check_numbers, misfit};
use crate::capacity::OWN;
use crate::logged::Log;
use crate::words::{InvalidSetting, invalid};
use ictd_core::Error;
use ictd_core::digest::Digest;
use ictd_core::scalar::Real;
use ictd_core::tasks::Mrp;
use nalgebra::{SMatrix, SVector};
use std::sync::Arc;

/// A weight below this is 0 up to rounding.
const NO_WEIGHT: f64 = 1e-12;

/// The arrays of T tasks of m states and d features each, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskArrays {
    /// m, at most [`OWN`].
    pub states: usize,
    /// d, at most [`OWN`].
    pub dim: usize,
    /// p_0, (T, m).
    pub p0: Vec<f64>,
    /// p(s' | s), (T, m, m).
    pub p: Vec<f64>,
    /// r(s), (T, m).
    pub reward: Vec<f64>,
    /// phi(s), (T, m, d).
    pub phi: Vec<f64>,
    /// True for states that end an episode, (T, m).
    pub terminal: Vec<bool>,
    /// The discount of all tasks, if the data define one.
    pub gamma: Option<f64>,
}

#[derive(Clone, Debug)]
pub enum OwnData {
    Mrps(Arc<TaskArrays>),
    /// Logged transitions, whose true values are not known.
    Log(Arc<Log>),
}

impl OwnData {
    pub fn dim(&self) -> usize {
        match self {
            OwnData::Mrps(arrays) => arrays.dim,
            OwnData::Log(log) => log.transitions.d,
        }
    }

    pub fn gamma(&self) -> Option<f64> {
        match self {
            OwnData::Mrps(arrays) => arrays.gamma,
            OwnData::Log(log) => log.gamma,
        }
    }
}

/// Tasks that a recipe names by the digest of their numbers; equal digests are equal tasks.
#[derive(Clone, Debug)]
pub struct OwnTasks {
    /// `own-` or `log-` and the digest or, before the tasks are read, the name of their file.
    name: String,
    data: Option<OwnData>,
    /// The name in messages: that of the file, if the tasks were read from one.
    pub place: String,
}

impl PartialEq for OwnTasks {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl TaskArrays {
    pub fn count(&self) -> usize {
        self.reward.len() / self.states.max(1)
    }

    /// Returns a task; rewards and features of terminal states are 0.
    /// Returns the core's error if D < d, or if the arrays do not define a task.
    pub fn task<R: Real, const D: usize>(&self, number: usize) -> Result<Mrp<R, D, OWN>, Error> {
        let Self { states: m, dim: d, .. } = *self;
        if d > D {
            return Err(Error::CapacityExceeded { parameter: "dim", capacity: D });
        }
        let row = |s: usize| number * m + s;
        let real = |is_inside: bool, of: &[f64], at: usize| {
            if is_inside { R::from_f64(of[at]) } else { R::ZERO }
        };
        let vector = |of: &[f64]| SVector::from_fn(|s, _| real(s < m, of, row(s)));
        let p = SMatrix::from_fn(|s, next| real(s.max(next) < m, &self.p, row(s) * m + next));
        let phi = SMatrix::from_fn(|i, s| real(s < m && i < d, &self.phi, row(s) * d + i));
        let terminal = std::array::from_fn::<_, OWN, _>(|s| s < m && self.terminal[row(s)]);
        Mrp::new(m, &vector(&self.p0), &p, &vector(&self.reward), &phi)?.with_terminal(&terminal)
    }

    /// Returns the number of states without weight in the value errors: no state leads back to them, and they end no episode.
    /// Returns the core's error if a stationary distribution is not unique.
    pub fn weightless(&self) -> Result<usize, Error> {
        let mut count = 0;
        for number in 0..self.count() {
            let task = self.task::<f64, OWN>(number)?;
            let weights = task.stationary_distribution()?;
            let none = |s: &usize| !task.is_terminal(*s) && weights[*s].abs() < NO_WEIGHT;
            count += (0..self.states).filter(none).count();
        }
        Ok(count)
    }

    /// Overwrites terminal states: they lead to the next start, with reward and features 0.
    pub(crate) fn restart_at_ends(&mut self) {
        let (m, d) = (self.states, self.dim);
        for row in (0..self.terminal.len()).filter(|row| self.terminal[*row]) {
            let start = &self.p0[row / m * m..][..m];
            self.p[row * m..][..m].copy_from_slice(start);
            self.phi[row * d..][..d].fill(0.0);
            self.reward[row] = 0.0;
        }
    }

    /// Returns true if the arrays' sizes are those of one task.
    pub(crate) fn is_one_task(&self) -> bool {
        let Self { states: m, dim: d, p0, p, reward, phi, terminal, .. } = self;
        let sizes = [(p0.len(), 1), (terminal.len(), 1), (p.len(), *m), (phi.len(), *d)];
        reward.len() == *m && sizes.iter().all(|(len, width)| *len == m * width)
    }

    fn check(&self) -> Result<(), String> {
        let Self { states: m, dim: d, .. } = *self;
        for (array, size, what) in [("p", m, "states"), ("phi", d, "features")] {
            if !(1..=OWN).contains(&size) {
                return misfit(array, format!("{size} {what}"), format!("1 to {OWN}"));
            }
        }
        if self.count() == 0 {
            return misfit("p", "no tasks", "at least one");
        }
        let Self { gamma, p0, p, reward, phi, .. } = self;
        check_numbers(*gamma, &[("p0", p0), ("p", p), ("reward", reward), ("phi", phi)])?;
        for number in 0..self.count() {
            let reason = format!("of task {number}");
            if self.terminal[number * m..][..m].iter().all(|ends| *ends) {
                return misfit("terminal", reason, "a state that ends no episode");
            }
            return match self.task::<f64, OWN>(number) {
                Ok(_) => continue,
                Err(Error::OutOfRange { parameter: "p_0", expected }) => {
                    misfit("p0", reason, expected)
                }
                Err(Error::OutOfRange { parameter: "p", .. }) => {
                    misfit("p", reason, "probabilities that sum to 1 in each row")
                }
                Err(e) => misfit("p", format!("{reason}: {e}"), "a task"),
            };
        }
        Ok(())
    }
}

impl From<Log> for OwnTasks {
    fn from(log: Log) -> Self {
        Self::with_data(format!("log-{}", log.digest()), Some(OwnData::Log(Arc::new(log))))
    }
}

impl OwnTasks {
    /// Returns the tasks of arrays whose shapes fit each other.
    /// Returns the reason if an array does not define tasks.
    pub fn new(mut arrays: TaskArrays) -> Result<Self, String> {
        arrays.restart_at_ends();
        arrays.check()?;
        let mut digest = Digest::EMPTY;
        [arrays.states, arrays.dim].into_iter().for_each(|size| digest.word(size as u64));
        let TaskArrays { p0, p, reward, phi, .. } = &arrays;
        // -0 becomes 0.
        [p0, p, reward, phi].into_iter().flatten().for_each(|x| digest.number(*x + 0.0));
        arrays.terminal.iter().for_each(|end| digest.word((*end).into()));
        digest.number(arrays.gamma.unwrap_or(-1.0));
        Ok(Self::with_data(format!("own-{digest}"), Some(OwnData::Mrps(Arc::new(arrays)))))
    }

    fn with_data(name: String, data: Option<OwnData>) -> Self {
        OwnTasks { place: name.clone(), name, data }
    }

    /// Reads a name: a digest after `own-` or `log-`, or a file that ends in `.npz`, perhaps with `#` and such a name after it.
    pub fn named(text: &str) -> Option<Self> {
        let own = Self::with_data(text.to_owned(), None);
        let (file, digest) = own.source();
        let is_file = |file: &str| file.to_ascii_lowercase().ends_with(".npz");
        file.map_or(digest.is_some(), is_file).then_some(own)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the named file, if any, and the expected name of its tasks, if any.
    pub fn source(&self) -> (Option<&str>, Option<&str>) {
        let is_digest = |text: &str| {
            let digest = text.strip_prefix("own-").or(text.strip_prefix("log-"));
            digest.is_some_and(|of| of.len() == 16 && of.bytes().all(|c| c.is_ascii_hexdigit()))
        };
        match self.name.rsplit_once('#').filter(|(_, name)| is_digest(name)) {
            Some((file, name)) => (Some(file), Some(name)),
            None if is_digest(&self.name) => (None, Some(&self.name)),
            None => (Some(&self.name), None),
        }
    }

    /// Returns [`InvalidSetting`] before the content is read.
    pub fn read(&self) -> Result<&OwnData, InvalidSetting> {
        let unread = || format!("{}: its tasks are in a file; expected --task FILE.npz", self.name);
        self.data.as_ref().map_or_else(|| invalid("task", unread()), Ok)
    }

    /// Returns [`InvalidSetting`] for a log, and before the tasks are read.
    pub fn mrps(&self) -> Result<&TaskArrays, InvalidSetting> {
        let unknown = "the true values of logged transitions are not known; expected tasks with p";
        match self.read()? {
            OwnData::Mrps(arrays) => Ok(arrays),
            OwnData::Log(_) => invalid("task", format!("{}: {unknown}", self.place)),
        }
    }
}
