//! One process at a time on a run directory.

use crate::formats::{FormatError, Problem};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process;

/// The name of the lock file in a run directory.
pub const FILE_NAME: &str = ".lock";

/// How the names of half-written files begin.
pub(crate) const TEMPORARY_PREFIX: &str = ".ictd-";

/// The claim of this process on a run directory, until it is dropped or the process ends however it
/// ends: the operating system releases it.
#[derive(Debug)]
pub struct RunLock {
    file: File,
}

impl RunLock {
    /// Claims the directory, which is made if it does not exist, and removes what a killed process
    /// left half-written in it.
    /// Errors: [`Problem::InUse`] if another process holds it, [`Problem::Io`].
    pub fn acquire(directory: &Path) -> Result<Self, FormatError> {
        let acquire = || -> Result<Self, Problem> {
            fs::create_dir_all(directory)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(directory.join(FILE_NAME))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Problem::InUse { holder: holder(&content(&mut file)) });
                }
                Err(TryLockError::Error(e)) => return Err(e.into()),
            }
            file.set_len(0)?;
            write!(file, "process {}", process::id())?;
            remove_leftovers(directory)?;
            Ok(RunLock { file })
        };
        acquire().map_err(|problem| problem.in_file(directory))
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // The file stays, empty: removing it would let two processes lock two files of one name.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

/// Removes the temporary files of a process that was killed while it wrote: under the lock no other
/// process has any here.
pub(crate) fn remove_leftovers(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let temporary = entry.file_name().to_string_lossy().starts_with(TEMPORARY_PREFIX);
        if temporary && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The first bytes of a lock file; none of one that cannot be read.
fn content(file: &mut File) -> Vec<u8> {
    let mut content = vec![0; 64];
    let length = file.read(&mut content).unwrap_or(0);
    content.truncate(length);
    content
}

/// Who holds the lock, from the file's content: a line that can be shown.
pub fn holder(content: &[u8]) -> String {
    let text: String =
        String::from_utf8_lossy(content).chars().filter(|c| !c.is_control()).collect();
    if text.is_empty() { "another process".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_claim_is_refused_and_names_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("run");
        let first = RunLock::acquire(&run).unwrap();
        let refusal = RunLock::acquire(&run).unwrap_err();
        let message = refusal.to_string();
        assert!(matches!(refusal.problem, Problem::InUse { .. }), "{message}");
        assert!(message.contains(&format!("process {}", process::id())), "{message}");
        drop(first);
        RunLock::acquire(&run).unwrap();
    }

    #[test]
    fn a_lock_file_that_a_killed_process_left_does_not_block() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE_NAME), "process 1").unwrap();
        RunLock::acquire(directory.path()).unwrap();
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        for name in [".ictd-a1b2", "results.json", ".hidden"] {
            fs::write(directory.path().join(name), "half").unwrap();
        }
        let lock = RunLock::acquire(directory.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".hidden", FILE_NAME, "results.json"]);
        drop(lock);
    }
}
