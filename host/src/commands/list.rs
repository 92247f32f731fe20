//! `ictd list`.

use crate::experiments;
use crate::run::report::{Report, table};
use serde_json::{Value, json};

/// List the experiments and the figures of the paper that they repeat
#[derive(Clone, Debug, clap::Args)]
pub struct List {}

pub fn run() -> Report {
    let listed = |e: &experiments::Experiment| json!({ "id": e.id, "figure": e.figure });
    let found: Vec<Value> = experiments::ALL.iter().map(listed).collect();
    let mut report = Report::of("list", &json!({ "experiments": found }));
    let rows = experiments::ALL.iter().map(|e| [e.id, e.figure].map(str::to_owned));
    report.text = table(&["command", "figure of the paper"], rows);
    report
}
