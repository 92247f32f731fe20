//! `ictd report`.

use super::train_run;
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::page::{self, Damaged, Provenance, RESULTS};
use crate::run::{Report, Session, Verdict, config};
use serde_json::json;
use std::path::{Path, PathBuf};

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
    restore(&options.directory, session)?;
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

/// Makes files of the finished training runs in a folder again where they are not what the checkpoints give.
pub fn restore(directory: &Path, session: &Session) -> Result<(), Error> {
    let inside = config::inside(directory)?;
    let inside = inside.into_iter().filter(|entry| entry.command == Ok(Some("train".into())));
    let own = config::command_of(directory).is_ok_and(|command| command == "train");
    let own = own.then(|| directory.to_owned());
    for path in own.into_iter().chain(inside.map(|entry| entry.path)) {
        let is_said = match Provenance::read(&path)? {
            Some(made) => made.changed.is_empty(),
            None => files::kind(&path.join(RESULTS)) == Kind::Nothing,
        };
        if !is_said {
            train_run::restore(&path, session)?;
        }
    }
    Ok(())
}
