//! The files of a run directory change together, or none does.
//!
//! All new files are written under temporary names. Once the journal, `.ictd-commit`, stands there with the files to rename and
//! to remove, the directory counts as changed, and the next process completes the rest. Before, leftovers are removed.

use super::info;
use super::lock::RunLock;
use crate::error::{Error, ToFile as _};
use crate::files::{self, Kind, Staged};
use std::io;
use std::path::{Path, PathBuf};

pub const JOURNAL: &str = ".ictd-commit";

/// Puts new files in place, staged ones first and `run.json` last, and removes the other files of `old`; the caller must hold
/// the directory. Returns the paths of the new files.
///
/// If the process is killed, [`settle`] does the rest; it trusts the journal only about files that a `run.json` lists, the old
/// run's or the new one's: so `old` is [`info::files`] or empty.
pub fn commit(
    directory: &Path,
    mut new: Vec<(&str, &[u8])>,
    mut staged: Vec<(String, Staged)>,
    old: &[String],
) -> Result<Vec<PathBuf>, Error> {
    new.sort_by_key(|(name, _)| *name == info::FILE_NAME);
    for (name, content) in new {
        let path = directory.join(name);
        let file = files::stage(&path, content).to_file(&path)?;
        staged.push((name.to_owned(), file));
    }
    let is_new = |old: &String| staged.iter().any(|(name, _)| name == old);
    let gone = old.iter().filter(|old| files::is_plain(old) && !is_new(old));
    let gone = gone.map(|name| format!("remove {name}\n"));
    let journal: String =
        gone.chain(staged.iter().map(|(name, _)| format!("put {name}\n"))).collect();
    let names = staged.iter().map(|(name, _)| name);
    let written = names.clone().map(|name| directory.join(name)).collect();
    let ours: Vec<_> = old.iter().chain(names).cloned().collect();
    let journal = files::stage(&directory.join(JOURNAL), journal.as_bytes()).to_file(directory)?;
    journal.publish().to_file(directory)?;
    staged.into_iter().for_each(|(_, file)| file.keep());
    // Flush the names to the disk before changing one of them.
    files::sync_folder(directory).and_then(|()| finish(directory, &ours)).to_file(directory)?;
    Ok(written)
}

/// Completes the journal. Removes and replaces only files of `ours`.
fn finish(directory: &Path, ours: &[String]) -> io::Result<()> {
    let journal = files::read_below(directory, JOURNAL, files::TEXT)?;
    for line in String::from_utf8_lossy(&journal).lines() {
        let is_ours = |name: &str| ours.iter().any(|ours| ours == name);
        match line.split_once(' ').filter(|(_, name)| files::is_plain(name)) {
            Some(("remove", name)) => {
                if is_ours(name) {
                    files::remove(&directory.join(name))?;
                }
            }
            Some(("put", name)) => {
                if name == info::FILE_NAME {
                    // Replacing the old run.json loses the list of files to remove, so sync the removals first.
                    files::sync_folder(directory)?;
                }
                let path = directory.join(name);
                let new = files::temporary(&path);
                let is_free = || files::kind(&path) == Kind::Nothing;
                if files::kind(&new) == Kind::File && (is_ours(name) || is_free()) {
                    files::rename(&new, &path)?;
                }
            }
            _ => {
                let reason = format!("{JOURNAL}: `{line}` is nothing that ictd wrote");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
        }
    }
    files::sync_folder(directory)?;
    files::remove(&directory.join(JOURNAL))
}

/// Completes what a killed process left in a directory that this process holds.
pub fn settle(directory: &Path) -> io::Result<()> {
    if files::kind(&directory.join(JOURNAL)) != Kind::Nothing {
        // The journal is untrusted. `run.json` is replaced last, so until then it lists the old run's files, and the new one
        // under its temporary name the new run's.
        let mut ours = info::files(directory, "").map_err(io::Error::other)?;
        ours.extend(info::files(directory, files::NEW).map_err(io::Error::other)?);
        finish(directory, &ours)?;
    }
    files::sweep(directory)
}

/// Completes what a killed process left in a directory that is only read, unless a process works on it.
pub fn settle_unclaimed(directory: &Path) -> Result<(), Error> {
    if files::kind(&directory.join(JOURNAL)) == Kind::Nothing {
        return Ok(());
    }
    match RunLock::acquire(directory) {
        Ok(_lock) => settle(directory).to_file(directory),
        Err(e) if e.is_in_use() => Ok(()),
        Err(e) => Err(e),
    }
}
