//! The report of finished runs as a page: one HTML file that needs no other file and no network.
//!
//! The same records give the same bytes. Figures are drawn again, in colours that follow the page's theme; text of a
//! file is escaped, and the page's own policy forbids every request.

pub mod command_line;
mod content;
mod document;
pub mod html;
mod made;
pub mod numbers;
pub mod section;
pub mod words;

pub use content::{Content, Damaged, RunPage};
pub use made::{NO_RESULTS, Provenance, RESULTS};

use crate::error::{Error, InFile as _};
use crate::experiments::Catalogue;
use crate::files::{self, Kind};
use crate::run::records::write_atomic;
use crate::run::{Report, Session};
use std::path::{Path, PathBuf};

pub const NAME: &str = "report.html";

const TITLE: &str = "In-context TD: claims and measurements";

pub fn add(
    report: &mut Report,
    directory: &Path,
    catalogue: &Catalogue,
    session: &Session,
) -> Result<(), Error> {
    let (path, _) = session.on_threads(2, || write(directory, Damaged::LeaveOut, catalogue))??;
    report.closing = format!("report, for a browser: {}\n", path.display());
    report.files.push(path);
    Ok(())
}

pub fn write(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(PathBuf, Content), Error> {
    let content = Content::read(directory, damaged, catalogue)?;
    let html = document::document(&content);
    let path = directory.join(NAME);
    if files::kind(&path) == Kind::File {
        let found = files::read(&path, files::RECORD).in_file(&path)?;
        // The title is near the page's beginning.
        if !found.windows(TITLE.len()).take(4096).any(|text| text == TITLE.as_bytes()) {
            return Err(Error::file(&path, "ictd did not write it; expected a page that it wrote"));
        }
    }
    write_atomic(&path, html.as_bytes())?;
    Ok((path, content))
}
