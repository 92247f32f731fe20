//! `ictd reproduce` and `ictd list`.

use crate::error::Error;
use crate::experiments::experiment::refuse_unused;
use crate::experiments::{self, Catalogue, Experiment, learning::TrainingBudget};
use crate::formats::error::one_of;
use crate::page;
use crate::run::report::{Report, table};
use crate::run::session::Session;
use serde_json::{Value, json};
use std::time::Instant;

/// Repeat figures of the paper: train, draw, and judge its claims
///
/// Each ID (see `ictd list`) writes its figures, the records behind them and a verdict for each claim
/// into a directory of its name. Training runs that several figures share are kept in runs/ and are
/// trained once; after Ctrl-C, the same command continues. A claim about seeds is tested by the 95 %
/// confidence interval of its share or mean over the seeds, which is shown with the threshold. A claim
/// that does not hold makes exit code 1, unless it is known not to hold: that is shown as "does not hold
/// (as known)".
#[derive(Clone, Debug, clap::Args)]
pub struct Reproduce {
    /// Experiments, or `all`
    #[arg(value_name = "ID", default_value = "all")]
    pub ids: Vec<String>,
    #[command(flatten)]
    pub scale: TrainingBudget,
    /// Print only the claims that do not hold, and the number that do
    #[arg(long)]
    pub check: bool,
}

pub fn run(options: &Reproduce, session: &Session, catalogue: &Catalogue) -> Result<Report, Error> {
    let started = Instant::now();
    let chosen = choose(&options.ids)?;
    let mut report = Report::of("reproduce", &json!({ "seed": session.seed }));
    refuse_unused(&options.scale, &chosen)?;
    for entry in chosen {
        let part = entry.run(&options.scale, session)?;
        report.results.insert(entry.id.into(), part.to_value());
        report.claims.extend(part.claims);
        report.files.extend(part.files);
    }
    page::add(&mut report, &session.out, catalogue, session)?;
    report.brief = options.check;
    report.results.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    Ok(report)
}

/// Returns the experiments of these names, each once, in the paper's order.
pub fn choose(ids: &[String]) -> Result<Vec<&'static Experiment>, Error> {
    let known = |id: &String| id == "all" || experiments::all().any(|e| e.id == id);
    if let Some(unknown) = ids.iter().find(|id| !known(id)) {
        let ids: Vec<_> = experiments::all().map(|e| e.id).collect();
        let expected = one_of(unknown, &[&["all"], &ids[..]].concat());
        return Err(Error::Usage(format!("{unknown}: expected {expected}")));
    }
    let is_wanted = |e: &&Experiment| ids.iter().any(|id| id == "all" || id == e.id);
    Ok(experiments::all().filter(is_wanted).collect())
}

pub fn list() -> Report {
    let listed = |e: &Experiment| json!({ "id": e.id, "figure": e.figure });
    let found: Vec<Value> = experiments::all().map(listed).collect();
    let mut report = Report::of("list", &json!({ "experiments": found }));
    let rows = experiments::all().map(|e| [e.id, e.figure].map(str::to_owned));
    report.text = table(&["command", "figure of the paper"], rows);
    report
}
