//! The records of a run, which other tools read, and from which every figure is drawn.
//!
//! A run directory holds `config.toml` (reproduces the run), `results.json` (the output of `--json`), CSV files with one row
//! per measurement, and the figures: the same bytes for the same config on any machine. `run.json` records how the run went
//! ([`crate::run::info`]). The result of a run replaces the one before as a whole ([`exchange`]).

use crate::error::{Error, InFile as _, ToFile as _};
use crate::files::limits::{RECORD, of_record};
use crate::files::{self, File, Kind};
use crate::run::info::{self, RunManifest};
use crate::run::lock::{self, RunLock};
use crate::run::report::Claim;
use crate::run::{config, exchange};
use figures::Figure;
use ictd_core::digest::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// The files of a run: in memory, or read from its directory on demand.
#[derive(Debug, Default)]
pub struct RunFiles {
    directory: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    /// The place of the run, beside which files that are too large for the memory are staged.
    place: PathBuf,
    streamed: Vec<Stream>,
}

/// A file of a run that is written piece by piece, in the folder in which its result is staged.
#[derive(Debug)]
pub struct Stream {
    name: String,
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    digest: Digest,
}

impl Stream {
    const BUFFER: usize = 1 << 16;

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.digest.bytes(bytes);
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() < Self::BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), Error> {
        files::append(&self.file, &self.buffer).to_file(&self.path)?;
        self.buffer.clear();
        Ok(())
    }
}

impl RunFiles {
    pub fn streaming_to(directory: &RunDirectory) -> Self {
        RunFiles { place: directory.path.clone(), ..Self::default() }
    }

    pub fn stream(&self, name: &str) -> Result<Stream, Error> {
        let path = self.place.join(name);
        let staged = exchange::staged(&self.place).to_file(&path)?;
        let file = files::create(&staged.join(name)).to_file(&path)?;
        Ok(Stream { name: name.to_owned(), path, file, buffer: Vec::new(), digest: Digest::EMPTY })
    }

    pub fn put_stream(&mut self, mut stream: Stream) -> Result<(), Error> {
        stream.flush()?;
        files::sync(&stream.file).to_file(&stream.path)?;
        self.streamed.push(stream);
        Ok(())
    }

    pub fn open(directory: &Path) -> Result<Self, Error> {
        if !files::is_folder(directory) {
            return Err(Error::file(directory, "expected the directory of a run"));
        }
        Ok(RunFiles { directory: directory.to_owned(), ..Self::default() })
    }

    pub fn put(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.files.insert(name.to_owned(), content.into());
    }

    /// Adds a CSV file with the names of its columns: a row is a tuple, and a list in it fills several columns.
    pub fn put_table<T: Serialize>(
        &mut self,
        name: &str,
        head: &[&str],
        rows: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        self.put(name, [to_csv(name, [head])?, to_csv(name, rows)?].concat());
        Ok(())
    }

    pub fn draw(&mut self, figures: &[(String, Figure)]) {
        for (name, figure) in figures {
            self.put(&format!("{name}.svg"), figure.to_svg());
        }
    }

    pub fn get(&self, name: &str) -> Result<Vec<u8>, Error> {
        match self.files.get(name) {
            Some(content) => Ok(content.clone()),
            None => {
                let path = self.directory.join(name);
                files::read(&path, of_record(name).min(RECORD)).in_file(&path)
            }
        }
    }

    pub fn has(&self, name: &str) -> bool {
        let on_disk = || files::kind(&self.directory.join(name)) == Kind::File;
        self.files.contains_key(name) || !self.directory.as_os_str().is_empty() && on_disk()
    }

    /// Returns the rows of a CSV file with these columns, at least one, as in every table that a run writes.
    pub fn csv<T: DeserializeOwned>(&self, name: &str, head: &[&str]) -> Result<Vec<T>, Error> {
        let content = self.get(name)?;
        let mut reader = csv::Reader::from_reader(content.as_slice());
        let found = reader.headers().map_err(|e| self.damaged(name, e))?;
        if found != head {
            let found = found.iter().collect::<Vec<_>>().join(",");
            let reason = format!("line 1: `{found}`; expected `{}`", head.join(","));
            return Err(Error::file(&self.directory.join(name), reason));
        }
        let rows: Result<Vec<T>, _> = reader.deserialize().collect();
        // The file is named in front.
        let reason = |e: csv::Error| e.to_string().replacen("CSV deserialize error: ", "", 1);
        match rows.map_err(|e| self.damaged(name, reason(e)))? {
            rows if rows.is_empty() => Err(self.damaged(name, "holds no rows")),
            rows => Ok(rows),
        }
    }

    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.get(name)?).map_err(|e| self.damaged(name, e))
    }

    pub fn damaged(&self, name: &str, reason: impl Display) -> Error {
        let reason = format!("{reason}; expected what a run wrote");
        Error::file(&self.directory.join(name), reason)
    }

    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()))
    }
}

pub fn to_csv<T: Serialize>(
    name: &str,
    rows: impl IntoIterator<Item = T>,
) -> Result<Vec<u8>, Error> {
    let refuse = |e: &dyn Display| Error::file(Path::new(name), e);
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(|e| refuse(&e))?;
    }
    writer.into_inner().map_err(|e| refuse(&e))
}

/// Returns the path of the run `name` in `--out`. `--out` may be a link, its entries may not: they are exchanged.
pub fn place(out: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = out.join(name);
    if files::is_link(&path) {
        return Err(Error::file(&path, "a link; expected a folder"));
    }
    Ok(path)
}

pub struct RunDirectory {
    pub path: PathBuf,
    /// The lock on the folder there, and on the one that takes its place.
    locks: Vec<RunLock>,
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        // Nothing is left beside it, unless the run failed.
        let _ = exchange::settle(&self.path);
    }
}

impl RunDirectory {
    /// Makes the directory and locks it for this process, so that a run does not compute in vain: other processes cannot lock
    /// it until the lock is dropped. Removes what a killed process left ([`exchange`]).
    pub fn claim(path: PathBuf) -> Result<Self, Error> {
        exchange::put_back(&path)?;
        files::make_folders(&path).to_file(&path)?;
        if let Some(name) = foreign(&path).to_file(&path)? {
            let reason = format!(
                "holds {name}, which ictd did not write; expected a directory that is new, \
                 empty, or was made by ictd"
            );
            return Err(Error::file(&path, reason));
        }
        let lock = RunLock::acquire(&path)?;
        exchange::settle(&path).and_then(|()| files::sweep(&path)).to_file(&path)?;
        Ok(RunDirectory { path, locks: vec![lock] })
    }

    /// Puts all records of a finished run, and its `run.json`, in the place of the previous run's, in one step.
    pub fn finish(
        mut self,
        mut records: RunFiles,
        info: RunManifest,
        claims: &[Claim],
    ) -> Result<Vec<PathBuf>, Error> {
        self.complete(&mut records, info, claims)?;
        let path = &self.path;
        let staged = exchange::staged(path).to_file(path)?;
        let mut written: Vec<_> =
            records.streamed.iter().map(|stream| stream.path.clone()).collect();
        for (name, content) in records.files() {
            let file = files::create(&staged.join(name));
            let file = file.and_then(|file| {
                files::append(&file, content)?;
                files::sync(&file)
            });
            file.to_file(&path.join(name))?;
            written.push(path.join(name));
        }
        self.locks.push(RunLock::acquire(&staged)?);
        exchange::exchange(&self.path).to_file(&self.path)?;
        Ok(written)
    }

    /// Adds the `run.json` of a finished run to its records. Returns an error for a file that no run wrote in a record's place.
    pub fn complete(
        &self,
        records: &mut RunFiles,
        mut info: RunManifest,
        claims: &[Claim],
    ) -> Result<(), Error> {
        info.files(records.files());
        for Stream { name, digest, .. } in &records.streamed {
            info.files.insert(name.clone(), digest.to_string().into());
        }
        info.verdicts = claims.to_vec();
        records.put(info::FILE_NAME, info.to_text(Some(info::FINISHED)));
        let old = info::files(&self.path)?;
        let is_foreign = |name: &&str| {
            !old.iter().any(|ours| ours == name) && !files::is_free(&self.path.join(name))
        };
        let mut names = records.files().map(|(name, _)| name);
        let streamed = records.streamed.iter().map(|stream| stream.name.as_str());
        if let Some(name) = names.by_ref().chain(streamed).find(is_foreign) {
            let reason = "no run wrote it, and it would be replaced; expected another folder";
            return Err(Error::file(&self.path.join(name), reason));
        }
        Ok(())
    }

    /// Replaces files one by one, `run.json` last, when all are complete; returns their paths.
    pub fn write<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Vec<PathBuf>, Error> {
        write_all(&self.path, files)
    }
}

/// Returns the first file in a directory that is not a run's, if the directory is not marked as one.
fn foreign(path: &Path) -> io::Result<Option<String>> {
    let begins = |name, mark: &str| {
        let content = files::read(&path.join(name), files::TEXT);
        content.is_ok_and(|content| content.starts_with(mark.as_bytes()))
    };
    // A user may have removed the lock of a process on another machine.
    if begins(lock::FILE_NAME, &format!("{}\n", lock::MARK))
        || begins("config.toml", config::FIRST_LINE)
    {
        return Ok(None);
    }
    let is_ours = |name: &str| {
        [lock::FILE_NAME, "report.html"].contains(&name) || name.starts_with(files::TEMPORARY)
    };
    let found = files::list(path)?.into_iter().find_map(|(name, kind)| {
        let name = name.to_string_lossy().into_owned();
        (kind != Kind::Folder && !is_ours(&name)).then_some(name)
    });
    Ok(found)
}

/// Replaces several files of a folder, `run.json` last, when all are complete; returns their paths.
pub fn write_all<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<Vec<PathBuf>, Error> {
    let mut complete = Vec::new();
    for (name, content) in files {
        let path = folder.join(name);
        complete.push((files::stage(&path, content).to_file(&path)?, path));
    }
    complete.sort_by_key(|(_, path)| path.ends_with(info::FILE_NAME));
    let mut written = Vec::new();
    for (file, path) in complete {
        if path.ends_with(info::FILE_NAME) {
            // It lists the others, so they are on the disk first.
            files::sync_folder(folder).to_file(folder)?;
        }
        file.publish().to_file(&path)?;
        written.push(path);
    }
    files::sync_folder(folder).to_file(folder)?;
    Ok(written)
}

pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), Error> {
    files::replace(path, content).to_file(path)
}
