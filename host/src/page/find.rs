//! Which runs a page shows.

use super::made::RESULTS;
use super::run::{RunFiles, place, results};
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::run::config::{self, Inside};
use std::path::Path;

/// Names, and why nothing is shown of what bears them.
pub(super) type LeftOut = Vec<(String, String)>;

/// The treatment of a run that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Stop: the report was asked for.
    Refuse,
    /// Leave it out, and say so on the page: the report comes with other runs.
    LeaveOut,
}

/// Returns the run of a directory, or the runs in it, by name; and what is left out there, with the reason: links, what
/// cannot be read, and runs without results, as a training run is until it has finished.
/// Errors: [`Error::File`] if no run is found, or the directory's own results are damaged.
pub(super) fn find(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(Vec<RunFiles>, LeftOut), Error> {
    let inside = config::inside(directory)?;
    let has_results = |path: &Path| files::kind(&path.join(RESULTS)) != Kind::Nothing;
    if has_results(directory) {
        match results(directory) {
            // The main job's are those of the runs inside.
            Ok(results) if results.command == "main" => {}
            Err(_) if damaged == Damaged::LeaveOut => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let name = files::name_of(directory);
                return Ok((vec![RunFiles { name, path: directory.to_owned() }], Vec::new()));
            }
        }
    }
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for Inside { name, path, command } in inside {
        // Results without a config are shown, and an experiment without results is damaged.
        let is_shown = match &command {
            Ok(Some(command)) => has_results(&path) || place(command, catalogue).is_some(),
            _ => files::kind(&path) == Kind::Folder && has_results(&path),
        };
        match command {
            _ if is_shown => runs.push(RunFiles { name, path }),
            Err(reason) => left_out.push((name, reason)),
            Ok(Some(_)) => left_out.push((name, format!("no {RESULTS}: it has not finished"))),
            Ok(None) => {}
        }
    }
    if runs.is_empty() {
        let reason = "holds no run: accepted is a directory with the results.json that a run wrote";
        return Err(Error::file(directory, reason));
    }
    Ok((runs, left_out))
}
