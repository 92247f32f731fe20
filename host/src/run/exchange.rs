//! A run's result is written into a folder beside its place, and exchanged with the one there in one step.
//!
//! A process that is killed before that step leaves the old result, and one that is killed after it the new one. What it leaves
//! beside the place, the next process removes ([`settle`]).

use super::info;
use super::lock::{self, RunLock};
use crate::error::{Error, ToFile as _};
use crate::files::{self, Kind};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Marks a folder that has not taken its place.
const STAGED: &str = ".ictd-staged";

const OLD: &str = ".ictd-old-";

/// Returns the path beside a place; `None` for a path such as `.`, beside which nothing is staged.
fn beside(place: &Path, mark: &str) -> Option<PathBuf> {
    let mut name = OsString::from(mark);
    name.push(place.file_name()?);
    Some(place.with_file_name(name))
}

fn new(place: &Path) -> io::Result<PathBuf> {
    beside(place, files::NEW).ok_or_else(|| io::Error::other("expected the name of a folder"))
}

/// Returns the folder in which the result of a run is staged; makes it if it is not there.
pub fn staged(place: &Path) -> io::Result<PathBuf> {
    let new = new(place)?;
    if !files::is_folder(&new) {
        files::make_folders(&new)?;
        files::create(&new.join(STAGED))?;
    }
    Ok(new)
}

/// Puts what is staged in its place, and moves the user's own files there from the old folder, which it removes.
pub fn exchange(place: &Path) -> io::Result<()> {
    let new = new(place)?;
    files::sync_folder(&new)?;
    if files::exchange(&new, place)? {
        files::sync_folder(files::parent(place))?;
    } else if let Some(old) = beside(place, OLD) {
        files::rename(place, &old)?;
        files::rename(&new, place)?;
    }
    settle(place)
}

/// Puts back a folder that a process was killed while replacing, on a system that cannot exchange two.
pub fn put_back(place: &Path) -> Result<(), Error> {
    match beside(place, OLD).filter(|old| files::is_folder(old) && files::is_free(place)) {
        Some(old) => {
            let _lock = RunLock::acquire(&old)?;
            files::rename(&old, place).to_file(place)
        }
        None => Ok(()),
    }
}

/// Removes what is beside a place that this process holds: a folder that did not take it, or the old one.
pub fn settle(place: &Path) -> io::Result<()> {
    for folder in [OLD, files::NEW].iter().filter_map(|mark| beside(place, mark)) {
        if !files::is_folder(&folder) {
            continue;
        }
        if files::kind(&folder.join(STAGED)) == Kind::File {
            files::remove_all(&folder)?;
        } else {
            retire(&folder, place)?;
        }
    }
    files::remove(&place.join(STAGED))
}

/// Removes a replaced folder. Files that its run did not write are the user's, and are moved to the new one.
fn retire(old: &Path, place: &Path) -> io::Result<()> {
    let ours = info::files(old).map_err(io::Error::other)?;
    for (name, kind) in files::list(old)? {
        let text = name.to_string_lossy();
        let is_ours = text == lock::FILE_NAME || ours.iter().any(|ours| *ours == text);
        let from = old.join(&name);
        if text == info::FILE_NAME {
            // It says which files are the run's, so it goes last.
            continue;
        }
        if kind != Kind::Folder && (is_ours || text.starts_with(files::TEMPORARY)) {
            files::remove(&from)?;
            continue;
        }
        let mut to = place.join(&name);
        while !files::is_free(&to) {
            to.as_mut_os_string().push("~");
        }
        files::rename(&from, &to)?;
    }
    files::sync_folder(place)?;
    files::remove(&old.join(info::FILE_NAME))?;
    files::remove_folder(old)
}
