//! `ictd report`.

use crate::error::Error;
use crate::experiments::Catalogue;
use crate::page::{self, Damaged};
use crate::run::{Report, Session, Verdict};
use serde_json::json;
use std::path::PathBuf;

/// Write the report of finished runs: one HTML file with claims, figures, numbers and a live part
///
/// DIR is the directory of a run (for example results/demo), or one that holds several. The page,
/// DIR/report.html, needs no network and no server: open it in any browser. It is written there, next
/// to the runs; there is no --out.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportOptions {
    /// The directory of a run, or one that holds several
    #[arg(value_name = "DIR", default_value = "results")]
    pub directory: PathBuf,
}

pub fn run(
    options: &ReportOptions,
    session: &Session,
    catalogue: &Catalogue,
) -> Result<Report, Error> {
    let write = || page::write(&options.directory, Damaged::Refuse, catalogue);
    let (path, content) = session.on_threads(2, write)??;
    let count = |v: Verdict| content.runs.iter().map(|run| run.count(v)).sum::<usize>();
    let left_out: Vec<_> =
        content.left_out.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    let changed: Vec<_> = content.changed().collect();
    let found = json!({
        "runs": content.runs.iter().map(|run| &run.name).collect::<Vec<_>>(),
        "claims_hold": count(Verdict::Holds),
        "claims_hold_in_part": count(Verdict::HoldsInPart),
        "claims_do_not_hold": count(Verdict::DoesNotHold),
        "claims_cannot_be_told": count(Verdict::Undecided),
        "claims_not_measured": count(Verdict::NotMeasured),
        "changed": changed,
    });
    let mut report = Report::of("report", &found);
    report.text = format!("{}\n", path.display());
    if !changed.is_empty() {
        report.text.push_str(&format!("Not as the run wrote it: {}.\n", changed.join(", ")));
    }
    report.left_out(left_out);
    report.files.push(path);
    Ok(report)
}
