//! `ictd list`.

use crate::experiments;
use crate::run::report::{Report, table};
use serde_json::{Value, json};

/// List the experiments and the figures of the paper that they repeat
#[derive(Clone, Debug, clap::Args)]
pub struct List {}

pub fn run() -> Report {
    let mut rows = vec![["command", "figure of the paper"].map(str::to_owned)];
    rows.extend(experiments::ALL.iter().map(|e| [e.id, e.figure].map(str::to_owned)));
    let listed = |e: &experiments::Experiment| json!({ "id": e.id, "figure": e.figure });
    let found: Vec<Value> = experiments::ALL.iter().map(listed).collect();
    let mut report = Report::of("list", &json!({ "experiments": found }));
    report.text = table(&rows);
    report
}
