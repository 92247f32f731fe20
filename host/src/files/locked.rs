//! Files that one process at a time may write.

use super::{faults, opened};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::Path;

/// A file that only this process may write, or the content of one that another process has locked.
pub enum Locked {
    /// This process holds the lock until the file is closed.
    Mine(File),
    /// Another process holds the lock; the first bytes of the file.
    Held(Vec<u8>),
}

/// Makes a file if it does not exist, and locks it. Returns an error for a link.
pub fn lock(path: &Path) -> io::Result<Locked> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = opened(path, true, &mut options)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return first_bytes(&file, 256).map(Locked::Held);
            }
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // Another process may have renamed it, or exchanged its folder, before it was locked.
        let here = identity(&file.metadata()?);
        if fs::symlink_metadata(path).is_ok_and(|found| identity(&found) == here) {
            return Ok(Locked::Mine(file));
        }
    }
}

#[cfg(unix)]
fn identity(found: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn identity(_found: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// Replaces the content of a small file, such as a lock, in place.
pub fn overwrite(mut file: &File, content: &[u8]) -> io::Result<()> {
    use std::io::Seek;
    file.set_len(0)?;
    file.rewind()?;
    faults::write(file, content)
}

pub fn first_bytes(mut file: &File, count: u64) -> io::Result<Vec<u8>> {
    use std::io::Seek;
    let mut content = Vec::new();
    file.rewind()?;
    file.take(count).read_to_end(&mut content)?;
    Ok(content)
}
