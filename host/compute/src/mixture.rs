//! The tasks of a recipe: named distributions, of this program or added to it, or tasks given as data.

use crate::capacity::STATES;
use crate::own_tasks::{OwnTasks, TaskArrays};
use ictd_core::rng::Rng;
use ictd_core::tasks::{StateCounts, TaskSpec};
use ictd_core::{Error, Result};
use std::fmt;
use std::sync::OnceLock;

/// A distribution of tasks that a program adds ([`add_tasks`]).
pub trait TaskFamily: fmt::Debug + Send + Sync {
    /// The name, which `--task` accepts.
    fn name(&self) -> &'static str;

    /// The numbers of states that a task may have, at most [`OWN`](crate::capacity::OWN).
    fn states(&self) -> StateCounts;

    /// Draws a task of m = `states` and d = `dim`: the arrays of one task. All random numbers come from `rng`, in one order.
    /// Returns the reason for which these sizes have none.
    fn draw(&self, states: usize, dim: usize, gamma: f64, rng: &mut Rng) -> Result<TaskArrays>;
}

static ADDED: OnceLock<&[&dyn TaskFamily]> = OnceLock::new();

/// Gives tasks their names in this process, once.
/// Returns the reason if a name is taken or cannot be typed, or if tasks were added before.
pub fn add_tasks(families: &'static [&'static dyn TaskFamily]) -> Result<(), String> {
    let mut taken = TaskSpec::NAMES.to_vec();
    for name in families.iter().map(|family| family.name()) {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || !name.chars().all(plain) || taken.contains(&name) {
            return Err(format!("task {name:?}: expected a new name of letters, digits and `-`"));
        }
        taken.push(name);
    }
    ADDED.set(families).map_err(|_| "tasks are added once, before the program runs".to_owned())
}

/// A distribution of tasks with a name.
#[derive(Clone, Copy, Debug)]
pub enum NamedTask {
    Paper(TaskSpec),
    Added(&'static dyn TaskFamily),
}

impl PartialEq for NamedTask {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl NamedTask {
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        let added = ADDED.get().copied().unwrap_or_default();
        let paper = TaskSpec::ALL.iter().map(|spec| NamedTask::Paper(*spec));
        paper.chain(added.iter().map(|family| NamedTask::Added(*family)))
    }

    pub fn name(&self) -> &'static str {
        match self {
            NamedTask::Paper(spec) => spec.name(),
            NamedTask::Added(family) => family.name(),
        }
    }

    /// Returns the numbers of states for which there is room; `None` for a task with infinitely many.
    pub fn states(&self) -> Option<StateCounts> {
        match self {
            NamedTask::Paper(spec) => {
                let counts = spec.states()?;
                Some(StateCounts { most: counts.most.min(STATES), ..counts })
            }
            NamedTask::Added(family) => Some(family.states()),
        }
    }

    /// Returns the distribution, if the program did not add it.
    pub fn spec(&self) -> Option<TaskSpec> {
        match self {
            NamedTask::Paper(spec) => Some(*spec),
            NamedTask::Added(_) => None,
        }
    }
}

/// Draws a task of a distribution that the program added.
/// Returns the core's error if the distribution does not have this number of states, or if its arrays define no task.
pub fn draw_added(
    family: &dyn TaskFamily,
    states: usize,
    dim: usize,
    gamma: f64,
    rng: &mut Rng,
) -> Result<TaskArrays> {
    let StateCounts { least, most, .. } = family.states();
    if !(least..=most).contains(&states) {
        return Err(Error::OutOfRange {
            parameter: "states",
            expected: "a number that the task allows",
        });
    }
    let mut arrays = family.draw(states, dim, gamma, rng)?;
    if (arrays.states, arrays.dim) != (states, dim) || !arrays.is_one_task() {
        return Err(Error::Mismatch { parameter: "task" });
    }
    arrays.restart_at_ends();
    Ok(arrays)
}

#[derive(Clone, Debug, PartialEq)]
pub enum TaskMixture {
    /// Named distributions, used in turn; as text their names, separated by commas.
    Named(Vec<NamedTask>),
    Own(OwnTasks),
}

impl TaskMixture {
    /// Returns the named distributions; empty for tasks given as data.
    pub fn named(&self) -> &[NamedTask] {
        match self {
            TaskMixture::Named(named) => named,
            TaskMixture::Own(_) => &[],
        }
    }

    pub fn own(&self) -> Option<&OwnTasks> {
        match self {
            TaskMixture::Named(_) => None,
            TaskMixture::Own(own) => Some(own),
        }
    }

    /// Returns the number of states of its first finite distribution, unless another is given.
    pub fn default_states(&self) -> Option<usize> {
        Some(self.named().iter().find_map(NamedTask::states)?.default)
    }
}

impl From<TaskSpec> for TaskMixture {
    fn from(spec: TaskSpec) -> Self {
        TaskMixture::Named(vec![NamedTask::Paper(spec)])
    }
}

impl fmt::Display for TaskMixture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TaskMixture::Named(named) => {
                f.write_str(&named.iter().map(NamedTask::name).collect::<Vec<_>>().join(","))
            }
            TaskMixture::Own(own) => f.write_str(own.name()),
        }
    }
}

/// Parses names of task distributions, or the name of tasks given as data.
pub(crate) fn mixture(text: &str) -> Result<TaskMixture, String> {
    const MOST: usize = 1000;
    if let Some(own) = OwnTasks::named(text) {
        return Ok(TaskMixture::Own(own));
    }
    let one = |name: &str| NamedTask::all().find(|task| task.name() == name);
    let named: Option<Vec<_>> = text.split(',').map(one).collect();
    let named = named.filter(|named| named.len() <= MOST).map(TaskMixture::Named);
    named.ok_or_else(|| {
        let names: Vec<_> = NamedTask::all().map(|task| task.name()).collect();
        format!("expected a list of {}, or FILE.npz", names.join(", "))
    })
}
