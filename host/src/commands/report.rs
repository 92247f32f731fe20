//! `ictd report`.

use crate::error::Error;
use crate::experiments::Catalogue;
use crate::page::{self, Damaged};
use crate::run::report::{Report, Verdict};
use crate::run::session::Session;
use serde::Serialize;
use std::path::PathBuf;

/// Write the report of finished runs: one HTML file with claims, figures, numbers and a live part
///
/// DIR is the directory of a run (for example results/demo), or one that holds several. The page,
/// DIR/report.html, needs no network and no server: open it in any browser. It is written there, beside
/// the runs; there is no --out.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportOptions {
    /// The directory of a run, or one that holds several
    #[arg(value_name = "DIR", default_value = "results")]
    pub directory: PathBuf,
}

/// The findings.
#[derive(Serialize)]
struct Found<'a> {
    runs: Vec<&'a str>,
    claims_hold: usize,
    claims_hold_in_part: usize,
    claims_do_not_hold: usize,
    /// Files that are not as their run wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changed: Vec<String>,
    /// What stands beside the runs and is not shown, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

/// Writes the page.
/// Errors: [`Error::File`] if there is no run or one is damaged, [`Error::Write`].
pub fn run(
    options: &ReportOptions,
    session: &Session,
    catalogue: &Catalogue,
) -> Result<Report, Error> {
    let write = || page::write(&options.directory, Damaged::Refuse, catalogue);
    let (path, content) = session.on_threads(2, write)??;
    let count = |v: Verdict| content.runs.iter().map(|run| run.count(v)).sum::<usize>();
    let found = Found {
        runs: content.runs.iter().map(|run| run.name.as_str()).collect(),
        claims_hold: count(Verdict::Holds),
        claims_hold_in_part: count(Verdict::HoldsInPart),
        claims_do_not_hold: count(Verdict::DoesNotHold),
        changed: content.changed().collect(),
        left_out: content.left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
    };
    let mut report = Report::of("report", &found);
    report.text = format!("{}\n", path.display());
    if !found.changed.is_empty() {
        report.text.push_str(&format!("Not as the run wrote it: {}.\n", found.changed.join(", ")));
    }
    for what in &found.left_out {
        report.text.push_str(&format!("left out: {what}\n"));
    }
    report.files.push(path);
    Ok(report)
}
