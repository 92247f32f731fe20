//! Files that appear complete or not at all.

use super::{
    Kind, Locked, NEW, TEMPORARY, append, kind, list, lock, refused, remove, rename, sync,
};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file being written under a temporary name in its folder. Dropping it before `publish` deletes it.
pub struct Staged {
    path: PathBuf,
    /// `None` once the file has its name.
    temporary: Option<PathBuf>,
    /// Holds the lock.
    file: File,
}

/// Returns the temporary name of a file. It is always the same, so that the next process reuses what a killed one left.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(NEW);
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

/// Writes a file under a temporary name. Returns an error if its name is taken by anything but a regular file, or if another
/// process writes it.
pub fn stage(path: &Path, content: &[u8]) -> io::Result<Staged> {
    if !matches!(kind(path), Kind::Nothing | Kind::File) {
        return Err(refused("no regular file stands there"));
    }
    let temporary = temporary(path);
    let Locked::Mine(file) = lock(&temporary)? else {
        return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process writes it"));
    };
    let staged = Staged { path: path.to_owned(), temporary: Some(temporary), file };
    staged.file.set_len(0)?;
    append(&staged.file, content)?;
    sync(&staged.file)?;
    Ok(staged)
}

impl Staged {
    pub fn publish(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            rename(temporary, &self.path)?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = remove(temporary);
        }
    }
}

/// Writes one file: at any moment it is the old one or the new one. Returns the errors of [`stage`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    stage(path, content)?.publish()
}

/// Removes the incomplete files of killed processes in a folder.
pub fn sweep(folder: &Path) -> io::Result<()> {
    for (name, kind) in list(folder)? {
        if kind == Kind::File && name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()) {
            let path = folder.join(name);
            // Unless a process is still writing it.
            if let Ok(Locked::Mine(_)) = lock(&path) {
                remove(&path)?;
            }
        }
    }
    Ok(())
}
