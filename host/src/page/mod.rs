//! The report of finished runs as a page: one HTML file that needs nothing else, not even a network.
//!
//! It is made of the records that the runs wrote, so the same files give the same bytes. Its figures are
//! drawn again from them, in colours that follow the page's theme; text of a file is escaped, and the
//! page's own policy forbids every request.

mod command_line;
mod document;
mod find;
mod made;
mod numbers;
mod run;
mod section;
mod table;
mod text;
mod verdict;

pub use find::RunFiles;
pub use made::Made;
pub use run::Run;

use crate::digests;
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::run::records::RunDirectory;
use crate::run::report::Report;
use std::path::{Path, PathBuf};

/// The file's name.
pub const NAME: &str = "report.html";

/// What to do about a run that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Stop: the report was asked for.
    Refuse,
    /// Leave it out, and say so on the page: the report comes with other runs.
    LeaveOut,
}

/// What the page shows.
pub struct Content {
    /// In the paper's order.
    pub runs: Vec<Run>,
    /// Directories whose runs could not be read, with the reason.
    pub left_out: Vec<(String, String)>,
    /// The kernels' digests of this machine.
    pub digests: Vec<digests::Row>,
    /// [`live::story`] on this machine.
    pub story: u64,
}

impl Content {
    /// Reads the run of a directory, or the runs in it.
    ///
    /// # Errors
    /// [`Error::File`] if there is no run, or a damaged one that is not to be left out;
    /// [`Error::Core`] if a kernel fails.
    pub fn read(directory: &Path, damaged: Damaged, catalogue: &Catalogue) -> Result<Self, Error> {
        use crate::error::Doing;
        let (mut runs, mut left_out) = (Vec::new(), Vec::new());
        for files in find::find(directory, damaged, catalogue)? {
            match Run::read(&files, catalogue) {
                Ok(run) => runs.push(run),
                Err(Error::File { path, reason }) if damaged == Damaged::LeaveOut => {
                    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    left_out.push((files.name, format!("{file}: {reason}")));
                }
                Err(error) => return Err(error),
            }
        }
        runs.sort_by_key(|run| run.order(catalogue));
        let story = live::story().doing("the report's live part")?;
        Ok(Content { runs, left_out, digests: digests::rows()?, story })
    }

    /// The page.
    pub fn to_html(&self) -> String {
        document::document(self)
    }
}

/// Adds the page of the runs in a directory to a command's report.
///
/// # Errors
/// As [`write`].
pub fn add(report: &mut Report, directory: &Path, catalogue: &Catalogue) -> Result<(), Error> {
    let (path, _) = write(directory, Damaged::LeaveOut, catalogue)?;
    report.closing = format!("report, for a browser: {}\n", path.display());
    report.files.push(path);
    Ok(())
}

/// Writes the page into the directory of the runs; where it is.
///
/// # Errors
/// As [`Content::read`], and [`Error::Write`].
pub fn write(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(PathBuf, Content), Error> {
    let content = Content::read(directory, damaged, catalogue)?;
    let html = content.to_html();
    RunDirectory::create(directory.to_owned())?.write([(NAME, html.as_bytes())])?;
    Ok((directory.join(NAME), content))
}
