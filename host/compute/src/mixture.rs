//! The tasks of a recipe: named distributions, or tasks given as data.

use crate::own_tasks::OwnTasks;
use ictd_core::tasks::TaskSpec;
use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum TaskMixture {
    /// Named distributions, used in turn; as text their names, separated by commas.
    Named(Vec<TaskSpec>),
    Own(OwnTasks),
}

impl TaskMixture {
    /// Returns the named distributions; empty for tasks given as data.
    pub fn specs(&self) -> &[TaskSpec] {
        match self {
            TaskMixture::Named(specs) => specs,
            TaskMixture::Own(_) => &[],
        }
    }

    pub fn own(&self) -> Option<&OwnTasks> {
        match self {
            TaskMixture::Named(_) => None,
            TaskMixture::Own(own) => Some(own),
        }
    }
}

impl From<TaskSpec> for TaskMixture {
    fn from(spec: TaskSpec) -> Self {
        TaskMixture::Named(vec![spec])
    }
}

impl fmt::Display for TaskMixture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TaskMixture::Named(specs) => {
                f.write_str(&specs.iter().map(|spec| spec.name()).collect::<Vec<_>>().join(","))
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
    let specs = text.split(',').map(str::parse).collect::<Result<Vec<TaskSpec>, _>>();
    let expected = || format!("expected a list of {}, or FILE.npz", TaskSpec::NAMES.join(", "));
    let specs = specs.ok().filter(|specs| specs.len() <= MOST);
    specs.map(TaskMixture::Named).ok_or_else(expected)
}
