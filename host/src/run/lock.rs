//! Locks a run directory for one process at a time.

use crate::error::{Error, InFile as _, Problem};
use crate::files::{self, File, Locked};
use crate::program::printable;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the lock file in a run directory. It also marks the directory as one of this program's.
pub const FILE_NAME: &str = ".lock";

/// The file's first line; the second names the process that holds it.
pub const MARK: &str = "ictd";

static HELD: Mutex<Vec<Arc<File>>> = Mutex::new(Vec::new());

/// The lock of this process on a run directory, until it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct RunLock {
    file: Arc<File>,
}

impl RunLock {
    /// Locks the directory. Returns [`Problem::InUse`] if another process holds it, or if a process on another machine held it
    /// last and has not recorded its end (not every network file system supports locks); [`Problem::Io`].
    pub fn acquire(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(FILE_NAME);
        let in_use = |content: &[u8], advice: String| {
            Err(Problem::InUse { holder: holder(content), advice }.in_file(directory))
        };
        let file = match files::lock(&path).in_file(&path)? {
            Locked::Mine(file) => file,
            Locked::Held(content) => {
                return in_use(&content, "wait until it ends, or choose another directory".into());
            }
        };
        let content = files::first_bytes(&file, 256).in_file(&path)?;
        // A process may have been killed while it wrote the mark.
        if !content.starts_with(MARK.as_bytes()) && !MARK.as_bytes().starts_with(&content) {
            return Err(Error::file(&path, "ictd did not write it; expected its lock"));
        }
        if is_elsewhere(&content) {
            return in_use(&content, format!("if it has ended, remove {}", path.display()));
        }
        let here = format!("{MARK}\nprocess {} on {}\n", process::id(), files::host());
        files::overwrite(&file, here.as_bytes()).in_file(&path)?;
        let file = Arc::new(file);
        HELD.lock().unwrap_or_else(PoisonError::into_inner).push(file.clone());
        Ok(RunLock { file })
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // The file stays: removing it would let two processes lock two files of one name.
        release(&self.file);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|file| !Arc::ptr_eq(file, &self.file));
    }
}

fn release(file: &File) {
    let _ = files::overwrite(file, format!("{MARK}\n").as_bytes());
    let _ = file.unlock();
}

pub fn release_all() {
    HELD.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|file| release(file));
}

/// Returns true if a process of another machine has not recorded its end.
fn is_elsewhere(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.trim().rsplit_once(" on ").is_some_and(|(_, host)| host != files::host())
}

/// Returns true if a process of this machine holds the lock, as far as is known: it may end at any moment.
pub fn is_held_here(error: &Error) -> bool {
    matches!(error, Error::File { problem: Problem::InUse { holder, .. }, .. }
        if !is_elsewhere(holder.as_bytes()))
}

pub fn holder(content: &[u8]) -> String {
    let text = String::from_utf8_lossy(content);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty() && *line != MARK);
    printable(line.unwrap_or("another process"))
}
