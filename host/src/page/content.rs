//! The content of a page.

use super::find::{Damaged, LeftOut, find};
use super::run::Run;
use crate::digests;
use crate::error::{Doing, Error};
use crate::experiments::Catalogue;
use std::path::Path;

/// The content of the page.
pub struct Content {
    /// In the paper's order.
    pub runs: Vec<Run>,
    /// The runs that are not shown, by name, and why.
    pub left_out: LeftOut,
    /// The kernels' digests of this machine.
    pub digests: Vec<digests::Row>,
    /// [`live::story`] on this machine.
    pub story: u64,
}

impl Content {
    /// Reads the run of a directory, or the runs in it.
    /// Errors: [`Error::File`] if there is no run, or a damaged one that is not to be left out;
    /// [`Error::Core`] if a kernel fails.
    pub fn read(directory: &Path, damaged: Damaged, catalogue: &Catalogue) -> Result<Self, Error> {
        let (read, of_machine) = rayon::join(
            || Self::runs(directory, damaged, catalogue),
            || Ok::<_, Error>((live::story().doing("the report's live part")?, digests::rows()?)),
        );
        let ((runs, left_out), (story, digests)) = (read?, of_machine?);
        Ok(Content { runs, left_out, digests, story })
    }

    /// Returns the runs, and those that are left out.
    fn runs(
        directory: &Path,
        damaged: Damaged,
        catalogue: &Catalogue,
    ) -> Result<(Vec<Run>, LeftOut), Error> {
        let (found, mut left_out) = find(directory, damaged, catalogue)?;
        let mut runs = Vec::new();
        for files in found {
            match Run::read(&files, catalogue) {
                Ok(run) => runs.push(run),
                Err(error) if damaged == Damaged::LeaveOut => {
                    let reason = match &error {
                        Error::File { path, reason } => {
                            let file = path.file_name().unwrap_or_default().to_string_lossy();
                            format!("{file}: {reason}")
                        }
                        other => other.one_line(),
                    };
                    left_out.push((files.name, reason));
                }
                Err(error) => return Err(error),
            }
        }
        runs.sort_by_key(|run| run.order(catalogue));
        Ok((runs, left_out))
    }

    /// Returns the files that are not as their run wrote them.
    pub fn changed(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(|run| {
            let changed = run.made.iter().flat_map(|made| &made.changed);
            changed.map(|name| format!("{}/{name}", run.name))
        })
    }
}
