//! `ictd report`.

use super::train_run;
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::page::{self, Damaged, Provenance, RESULTS};
use crate::run::config::{self, FolderEntry};
use crate::run::{Report, Session, Verdict};
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
    /// Write nothing, and name each file that is not what its run computes: of a training run, what its checkpoints give; of
    /// another, what its run.json says. Exit code 1 if there is one
    #[arg(long)]
    pub check: bool,
    /// With --check, also train again, and name each checkpoint that differs
    #[arg(long, requires = "check")]
    pub retrain: bool,
}

pub fn run(
    options: &ReportOptions,
    session: &Session,
    catalogue: &Catalogue,
) -> Result<Report, Error> {
    if options.check {
        return check(options, session);
    }
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

/// Returns the runs in a folder, or the run that it is, and whether each is one of training.
fn runs(directory: &Path) -> Result<Vec<(PathBuf, bool)>, Error> {
    let is_training = |command: &str| command == "train";
    match config::command_of(directory) {
        Ok(command) if command != "main" => {
            return Ok(vec![(directory.to_owned(), is_training(&command))]);
        }
        _ => {}
    }
    let shared = directory.join("runs");
    let mut inside = config::inside(directory)?;
    if files::is_folder(&shared) {
        inside.extend(config::inside(&shared)?);
    }
    let run = |entry: FolderEntry| Some((entry.path, is_training(&entry.command.ok()??)));
    Ok(inside.into_iter().filter_map(run).collect())
}

/// Makes files of the finished training runs in a folder again where they are not what the checkpoints give.
pub fn restore(directory: &Path, session: &Session) -> Result<(), Error> {
    for (path, _) in runs(directory)?.into_iter().filter(|(_, is_training)| *is_training) {
        let is_intact = match Provenance::read(&path)? {
            Some(made) => made.changed.is_empty(),
            None => files::kind(&path.join(RESULTS)) == Kind::Nothing,
        };
        if !is_intact {
            train_run::restore(&path, session)?;
        }
    }
    Ok(())
}

/// Names each file that is not what its run computes.
fn check(options: &ReportOptions, session: &Session) -> Result<Report, Error> {
    let runs = runs(&options.directory)?;
    if runs.is_empty() {
        return Err(Error::file(&options.directory, "holds no run: expected one, or several"));
    }
    let mut differing = Vec::new();
    for (path, is_training) in &runs {
        let names = match is_training {
            true => train_run::check(path, options.retrain, session)?,
            false => Provenance::read(path)?.map_or(Vec::new(), |made| made.changed),
        };
        differing.extend(names.iter().map(|name| path.join(name).display().to_string()));
    }
    let found = json!({ "runs": runs.len(), "differing": differing });
    let mut report = Report::of("report", &found);
    report.text = format!("{} runs, {} files differ\n", runs.len(), differing.len());
    report.failures = differing;
    Ok(report)
}
