//! The content of a page: its runs, the runs that are left out, and digests.

use super::made::{NO_RESULTS, RESULTS};
use super::run::{RunPage, place, results};
use crate::error::{Error, WithContext};
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::run::config::{self, FolderEntry};
use std::path::{Path, PathBuf};

type LeftOut = Vec<(String, String)>;

/// The treatment of a run that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Stop, since the user requested the report.
    Refuse,
    /// Leave it out, and say so on the page: the report comes with other runs.
    LeaveOut,
}

pub struct Content {
    pub runs: Vec<RunPage>,
    pub left_out: LeftOut,
    pub digests: Vec<digests::Row>,
    pub story: u64,
}

impl Content {
    pub fn read(directory: &Path, damaged: Damaged, catalogue: &Catalogue) -> Result<Self, Error> {
        let (read, of_machine) = rayon::join(
            || read(directory, damaged, catalogue),
            || {
                Ok::<_, Error>((
                    live::story().context("the report's live part")?,
                    digests::rows::<f32>().context("the digests")?,
                ))
            },
        );
        let ((runs, left_out), (story, digests)) = (read?, of_machine?);
        Ok(Content { runs, left_out, digests, story })
    }

    pub fn changed(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(|run| {
            let changed = run.made.iter().flat_map(|made| &made.changed);
            changed.map(|name| format!("{}/{name}", run.name))
        })
    }
}

fn read(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(Vec<RunPage>, LeftOut), Error> {
    let (found, mut left_out) = find(directory, damaged, catalogue)?;
    let mut runs = Vec::new();
    for path in found {
        match RunPage::read(&path, catalogue) {
            Ok(run) => runs.push(run),
            Err(error) if damaged == Damaged::LeaveOut => {
                let reason = match &error {
                    Error::File { path, problem } => {
                        let file = path.file_name().unwrap_or_default().to_string_lossy();
                        format!("{file}: {problem}")
                    }
                    other => other.one_line(),
                };
                left_out.push((files::name_of(&path), reason));
            }
            Err(error) => return Err(error),
        }
    }
    let place = |run: &RunPage| place(&run.results.command, catalogue).unwrap_or(usize::MAX);
    runs.sort_by_key(|run| (place(run), run.name.clone()));
    Ok((runs, left_out))
}

/// Returns the run of a directory, or the runs in it, by name; and those left out, with the reason: links, unreadable folders,
/// and runs without results, such as an unfinished training run.
fn find(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(Vec<PathBuf>, LeftOut), Error> {
    let inside = config::inside(directory)?;
    let has_results = |path: &Path| files::kind(&path.join(RESULTS)) != Kind::Nothing;
    if has_results(directory) {
        match results(directory) {
            // The main job's results are those of the runs inside.
            Ok(results) if results.command == "main" => {}
            Err(_) if damaged == Damaged::LeaveOut => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok((vec![directory.to_owned()], Vec::new())),
        }
    }
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for FolderEntry { name, path, command } in inside {
        // Results without a config are shown, and an experiment without results is damaged.
        let is_shown = match &command {
            Ok(Some(command)) => has_results(&path) || place(command, catalogue).is_some(),
            _ => files::kind(&path) == Kind::Folder && has_results(&path),
        };
        match command {
            _ if is_shown => runs.push(path),
            Err(reason) => left_out.push((name, reason)),
            Ok(Some(_)) => left_out.push((name, format!("no {RESULTS}: {NO_RESULTS}"))),
            Ok(None) => {}
        }
    }
    if runs.is_empty() {
        let reason = match left_out.first() {
            Some((name, reason)) => format!("no run can be shown: {name}: {reason}"),
            None => {
                "holds no run: expected a directory with the results.json that a run wrote".into()
            }
        };
        return Err(Error::file(directory, reason));
    }
    Ok((runs, left_out))
}
