//! Which runs a page shows.

use super::run::{RESULTS, RunFiles, place, results};
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::run::config::command_of;
use std::path::Path;

/// The treatment of a run that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Stop: the report was asked for.
    Refuse,
    /// Leave it out, and say so on the page: the report comes with other runs.
    LeaveOut,
}

/// Returns the run of a directory, or the runs in it, by name. A training run that is not finished has no
/// results, and is none yet.
/// Errors: [`Error::File`] if no run is found, or the directory's own results are damaged.
pub(super) fn find(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<Vec<RunFiles>, Error> {
    let entries = files::list(directory).map_err(|e| Error::file(directory, e))?;
    let has_results = |path: &Path| files::kind(&path.join(RESULTS)) != Kind::Nothing;
    let is_run = |path: &Path| has_results(path) || is_damaged(path, catalogue);
    if has_results(directory) {
        match results(directory) {
            // The main job's are those of the runs inside.
            Ok(results) if results.command == "main" => {}
            Err(_) if damaged == Damaged::LeaveOut => {}
            Err(error) => return Err(error),
            Ok(_) => {
                let name = files::name_of(directory);
                return Ok(vec![RunFiles { name, path: directory.to_owned() }]);
            }
        }
    }
    let mut runs: Vec<_> = entries
        .into_iter()
        .map(|(name, _)| RunFiles {
            path: directory.join(&name),
            name: name.to_string_lossy().into_owned(),
        })
        .filter(|run| is_run(&run.path))
        .collect();
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    if runs.is_empty() {
        let reason = "holds no run: accepted is a directory with the results.json that a run wrote";
        return Err(Error::file(directory, reason));
    }
    Ok(runs)
}

/// Returns a run of an experiment without results: its other files are there.
fn is_damaged(path: &Path, catalogue: &Catalogue) -> bool {
    command_of(path).is_ok_and(|command| place(&command, catalogue).is_some())
}
