//! `ictd plot`.

use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::page::{NO_RESULTS, Provenance, RESULTS};
use crate::run::config::{FolderEntry, command_of};
use crate::run::{Report, RunDirectory, RunFiles, Session, config};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Draw the figures of a finished run again, from its records, without computing
///
/// DIR is the directory of a run (for example results/demo), or one that holds several. The figures are
/// written there, next to the records; there is no --out.
#[derive(Clone, Debug, clap::Args)]
pub struct Plot {
    /// The directory of a run, or one that holds several
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Also write each figure as PDF
    #[arg(long)]
    pub pdf: bool,
}

pub fn run(options: &Plot, session: &Session, catalogue: &Catalogue) -> Result<Report, Error> {
    let (mut report, mut changed) = (Report::of("plot", &()), Vec::new());
    let mut left_out = Vec::new();
    super::report::restore(&options.directory, session)?;
    for run in runs(&options.directory, &mut left_out)? {
        let directory = RunDirectory::claim(run.clone())?;
        let mut records = RunFiles::open(&run)?;
        let id = command_of(&run)?;
        let Some(entry) = catalogue.entries().find(|e| e.id == id) else {
            let known: Vec<_> = catalogue.entries().map(|e| e.id).collect();
            let reason = format!("command: `{id}` has no figures: known are {}", known.join(", "));
            return Err(Error::file(&run.join("config.toml"), reason));
        };
        let (made, drawn) = session
            .on_threads(2, || rayon::join(|| Provenance::read(&run), || entry.drawn(&records)))?;
        if let Some(made) = made? {
            changed.extend(made.changed.into_iter().map(|name| run.join(name)));
        }
        let drawn = drawn?;
        records.draw(&drawn);
        if options.pdf {
            for (name, figure) in &drawn {
                records.put(&format!("{name}.pdf"), figure.to_pdf());
            }
        }
        report.files.extend(directory.write(records.files())?);
    }
    if !changed.is_empty() {
        let names: Vec<_> = changed.iter().map(|path| path.to_string_lossy()).collect();
        report.text = format!("Not as the run wrote it: {}.\n", names.join(", "));
        report.results.insert("changed".into(), json!(names));
    }
    if !left_out.is_empty() {
        report.left_out(left_out);
    }
    for file in &report.files {
        report.text.push_str(&format!("{}\n", file.display()));
    }
    Ok(report)
}

/// Returns the directory itself if it is a run's, else the runs in it, sorted.
fn runs(directory: &Path, left_out: &mut Vec<String>) -> Result<Vec<PathBuf>, Error> {
    let inside = config::inside(directory)?;
    if command_of(directory).is_ok_and(|id| id != "main") {
        return Ok(vec![directory.to_owned()]);
    }
    let has_results = |path: &Path| files::kind(&path.join(RESULTS)) != Kind::Nothing;
    let mut runs = Vec::new();
    for FolderEntry { path, command, .. } in inside {
        match command {
            Ok(Some(command)) if command == "train" && !has_results(&path) => {
                left_out.push(format!("{}: no {RESULTS}: {NO_RESULTS}", path.display()));
            }
            Ok(Some(command)) if command != "main" => runs.push(path),
            Ok(_) => {}
            Err(reason) => left_out.push(format!("{}: {reason}", path.display())),
        }
    }
    if runs.is_empty() {
        let reason = match left_out.first() {
            Some(reason) => format!("no run can be drawn: {reason}"),
            None => {
                "holds no run: expected a directory with the config.toml that a run wrote".into()
            }
        };
        return Err(Error::file(directory, reason));
    }
    Ok(runs)
}
