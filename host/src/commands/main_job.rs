//! `ictd` without a command: what the paper claims, measured, in one run.

use crate::config;
use crate::error::Error;
use crate::experiments::{self, Experiment, demo::Demo, figure_2::Figure2, verify::Verify};
use crate::page::{self, Damaged};
use crate::records::RunDirectory;
use crate::report::Report;
use crate::session::Session;
use serde_json::json;

/// The main job has no options of its own.
#[derive(serde::Serialize)]
struct Defaults {}

/// Runs `verify`, `demo` and `figure-2` with their defaults.
///
/// # Errors
/// Theirs, and [`Error::Write`].
pub fn run(session: &Session) -> Result<Report, Error> {
    let directory = RunDirectory::create(session.out.clone())?;
    let started = std::time::Instant::now();
    let parts = [
        (Verify::ID, experiments::run(&Verify::default(), session)?),
        (Demo::ID, experiments::run(&Demo::default(), session)?),
        (Figure2::ID, experiments::run(&Figure2::default(), session)?),
    ];
    let mut report = Report::new("main");
    report.results.insert("seed".into(), json!(session.seed));
    for (id, part) in parts {
        report.results.insert(id.into(), part.to_value());
        report.claims.extend(part.claims);
        report.files.extend(part.files);
    }
    report.results.insert("seconds".into(), json!(started.elapsed().as_secs_f64()));
    let config = config::to_text("main", session.seed, &Defaults {})?;
    let results = report.to_value().to_string();
    let files = [("config.toml", config.as_bytes()), ("results.json", results.as_bytes())];
    report.files.splice(0..0, directory.write(files)?);
    report.files.push(page::write(directory.path(), Damaged::LeaveOut)?.0);
    Ok(report)
}
