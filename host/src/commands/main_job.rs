//! `ictd` without a command: what the paper claims, measured, in one run.

use crate::error::Error;
use crate::experiments::learning::Scale;
use crate::experiments::{Catalogue, Experiment, demo::Demo, paper::FIGURE_2, verify::Verify};
use crate::page;
use crate::run::config;
use crate::run::info::{FILE_NAME as RUN_INFO, Outcome, RunInfo};
use crate::run::records::RunDirectory;
use crate::run::report::Report;
use crate::run::session::Session;
use serde_json::json;

/// Runs `verify`, `demo` and `figure-2` with their defaults.
/// Errors: Theirs, and [`Error::Write`].
pub fn run(session: &Session, catalogue: &Catalogue) -> Result<Report, Error> {
    let directory = RunDirectory::claim(session.out.clone())?;
    let mut info = RunInfo::new("main", session);
    let started = std::time::Instant::now();
    let mut report = Report::new("main");
    report.results.insert("seed".into(), json!(session.seed));
    // The same bytes for the same seed on any machine: no times, no paths.
    let mut written = report.clone();
    for entry in [Verify::ENTRY, Demo::ENTRY, FIGURE_2] {
        let part = entry.run(&Scale::default(), session)?;
        written.results.insert(entry.id.into(), part.reproducible().to_value());
        written.claims.extend_from_slice(&part.claims);
        report.results.insert(entry.id.into(), part.to_value());
        report.claims.extend(part.claims);
        report.files.extend(part.files);
    }
    report.results.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    // No options of its own.
    let config = config::to_text("main", session.seed, &json!({}))?;
    let results = format!("{:#}\n", written.to_value());
    let files = [("config.toml", config.as_bytes()), ("results.json", results.as_bytes())];
    info.files(files);
    info.verdicts(&report.claims);
    let info = info.to_text(Some(&Outcome::Finished));
    let files = files.into_iter().chain([(RUN_INFO, info.as_bytes())]);
    report.files.splice(0..0, directory.replace(files)?);
    page::add(&mut report, directory.path(), catalogue)?;
    Ok(report)
}
