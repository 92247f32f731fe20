//! The tasks, the rows of `verify`, and the experiments with their figures that a program adds to `ictd`.

use super::Experiment;
use crate::error::Error;
use compute::mixture::{TaskFamily, add_tasks};
use judge::verify::{LayerValues, VerifySettings};
use std::sync::OnceLock;

/// The additions of a program; each list may be empty.
#[derive(Clone, Copy, Default)]
pub struct Extensions {
    /// Distributions of tasks, which `--task` accepts by name.
    pub tasks: &'static [&'static dyn TaskFamily],
    /// Comparisons in `ictd verify`, counted as the program's own claims.
    pub verify: &'static [VerifyRow],
    /// Experiments, for `ictd reproduce` and `ictd list`.
    pub experiments: &'static [Experiment],
}

/// A comparison of a transformer with the algorithm that its layers are said to execute.
pub struct VerifyRow {
    /// The name in the records.
    pub name: &'static str,
    /// The name in the report.
    pub label: &'static str,
    /// Returns the values after each layer for the random prompt of a seed ([`judge::verify::values_under`]).
    pub values: fn(&VerifySettings, u64) -> ictd_core::Result<Vec<LayerValues>>,
}

static ADDED: OnceLock<Extensions> = OnceLock::new();

/// Adds extensions to this process, once.
/// Returns an error for a name that is taken, and for a second call.
pub(crate) fn add(extensions: Extensions, taken: &[&str]) -> Result<(), Error> {
    let rows = extensions.verify.iter().map(|row| row.name);
    let ids = extensions.experiments.iter().map(|entry| entry.id);
    if let Some(name) = rows.chain(ids).find(|name| taken.contains(name)) {
        return Err(Error::Usage(format!("the name {name} is taken: expected another")));
    }
    add_tasks(extensions.tasks).map_err(Error::Usage)?;
    // Tasks were not added before, so nothing was.
    _ = ADDED.set(extensions);
    Ok(())
}

pub fn added() -> Extensions {
    ADDED.get().copied().unwrap_or_default()
}
