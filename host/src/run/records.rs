//! What a run writes: records that other tools read, and that every figure is drawn from.
//!
//! A run directory holds `config.toml` (reproduces the run), `results.json` (what `--json` prints),
//! CSV files with one row per measurement, and the figures: the same bytes for the same config on any
//! machine. How the run went stands in `run.json` ([`crate::run::info`]). All files are written to
//! temporary names first and renamed when all of them are complete.

use crate::error::Error;
use crate::run::lock::{RunLock, TEMPORARY_PREFIX};
use figures::Pictures;
use ictd_core::digest::Digest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files of a run: in memory, or read from its directory when asked for.
#[derive(Debug, Default)]
pub struct Records {
    directory: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    /// Where files too large for the memory are written to meanwhile.
    streams_to: PathBuf,
    streamed: Vec<StreamedFile>,
}

/// A file under a temporary name in the directory of its run, complete.
#[derive(Debug)]
struct StreamedFile {
    name: String,
    file: tempfile::NamedTempFile,
    digest: Digest,
}

/// A file of a run that is written piece by piece.
pub struct Stream {
    name: String,
    path: PathBuf,
    writer: io::BufWriter<tempfile::NamedTempFile>,
    digest: Digest,
}

impl Stream {
    /// Appends bytes.
    /// Errors: [`Error::Write`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.digest.bytes(bytes);
        self.writer.write_all(bytes).map_err(|e| Error::write(&self.path, e))
    }
}

impl Records {
    /// No records yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No records yet, of a run that may write piece by piece in this directory.
    pub fn streaming_to(directory: &RunDirectory) -> Self {
        Records { streams_to: directory.path.clone(), ..Self::default() }
    }

    /// Begins a file that need not fit the memory.
    /// Errors: [`Error::Write`].
    pub fn stream(&self, name: &str) -> Result<Stream, Error> {
        let path = self.streams_to.join(name);
        let file = temporary(&self.streams_to).map_err(|e| Error::write(&path, e))?;
        let writer = io::BufWriter::with_capacity(1 << 16, file);
        Ok(Stream { name: name.to_owned(), path, writer, digest: Digest::EMPTY })
    }

    /// Adds a file that was written piece by piece.
    /// Errors: [`Error::Write`].
    pub fn put_stream(&mut self, stream: Stream) -> Result<(), Error> {
        let Stream { name, path, writer, digest } = stream;
        let file = writer.into_inner().map_err(|e| Error::write(&path, e.into_error()))?;
        file.as_file().sync_all().map_err(|e| Error::write(&path, e))?;
        self.streamed.push(StreamedFile { name, file, digest });
        Ok(())
    }

    /// The records of a finished run.
    /// Errors: [`Error::File`] if there is no such directory.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        if !directory.is_dir() {
            return Err(Error::file(directory, "accepted is the directory of a run"));
        }
        Ok(Records { directory: directory.to_owned(), ..Self::default() })
    }

    /// Adds a file.
    pub fn put(&mut self, name: &str, content: impl Into<Vec<u8>>) {
        self.files.insert(name.to_owned(), content.into());
    }

    /// Adds a CSV file with a head and one line per row.
    /// Errors: [`Error::File`] if a row is no flat record.
    pub fn put_csv<T: Serialize>(&mut self, name: &str, rows: &[T]) -> Result<(), Error> {
        self.put_rows(name, csv::Writer::from_writer(Vec::new()), rows)
    }

    /// As [`Records::put_csv`], with the names of the columns: a row is a tuple, and a list in it as many
    /// columns.
    /// Errors: [`Error::File`] if a row has another length.
    pub fn put_table<T: Serialize>(
        &mut self,
        name: &str,
        head: &[&str],
        rows: &[T],
    ) -> Result<(), Error> {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        writer.write_record(head).map_err(|e| Error::file(Path::new(name), e))?;
        self.put_rows(name, writer, rows)
    }

    fn put_rows<T: Serialize>(
        &mut self,
        name: &str,
        mut writer: csv::Writer<Vec<u8>>,
        rows: &[T],
    ) -> Result<(), Error> {
        let refuse = |e: String| Error::file(Path::new(name), e);
        for row in rows {
            writer.serialize(row).map_err(|e| refuse(e.to_string()))?;
        }
        let content = writer.into_inner().map_err(|e| refuse(e.to_string()))?;
        self.put(name, content);
        Ok(())
    }

    /// Draws pictures among the files: `NAME.svg` and `NAME.png`, or `NAME.gif`.
    /// Errors: [`Error::Figure`] if one cannot be drawn.
    pub fn draw(&mut self, pictures: &Pictures) -> Result<(), Error> {
        for (name, picture) in pictures {
            let refuse = |source| Error::Figure { name: name.clone(), source };
            for (ending, content) in picture.files().map_err(refuse)? {
                self.put(&format!("{name}.{ending}"), content);
            }
        }
        Ok(())
    }

    /// The content of a file.
    /// Errors: [`Error::File`] if it cannot be read.
    pub fn get(&self, name: &str) -> Result<Vec<u8>, Error> {
        match self.files.get(name) {
            Some(content) => Ok(content.clone()),
            None => {
                let path = self.directory.join(name);
                std::fs::read(&path).map_err(|e| Error::file(&path, e))
            }
        }
    }

    /// The rows of a CSV file, at least one. No run writes a table without rows, and a figure drawn from
    /// one would be empty.
    /// Errors: [`Error::File`], naming the line and column that cannot be read; without rows, and
    /// for other columns than [`Records::put_csv`] writes.
    pub fn csv<T: Serialize + DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Error> {
        let content = self.get(name)?;
        let refuse = |reason: String| Error::file(&self.directory.join(name), reason);
        let mut reader = csv::Reader::from_reader(content.as_slice());
        let rows: Vec<T> = reader
            .deserialize()
            .collect::<Result<_, _>>()
            .map_err(|e: csv::Error| refuse(format!("{e}; accepted is what a run wrote")))?;
        let Some(first) = rows.first() else {
            return Err(refuse("holds no rows; accepted is what a run wrote".into()));
        };
        let mut written = Records::new();
        written.put_csv(name, std::slice::from_ref(first))?;
        let text = |content: &[u8]| {
            let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
            String::from_utf8_lossy(line).trim_end().to_owned()
        };
        let (found, accepted) = (text(&content), text(&written.get(name)?));
        if found != accepted {
            return Err(refuse(format!("line 1: `{found}`; accepted is `{accepted}`")));
        }
        Ok(rows)
    }

    /// The files in memory.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()))
    }

    /// The digests of the files that were written piece by piece.
    pub fn streamed(&self) -> impl Iterator<Item = (&str, Digest)> {
        self.streamed.iter().map(|file| (file.name.as_str(), file.digest))
    }
}

/// A directory that a run may write to.
pub struct RunDirectory {
    path: PathBuf,
    _lock: Option<RunLock>,
}

impl RunDirectory {
    /// Makes the directory and tries it, so that a run does not compute for nothing.
    /// Errors: [`Error::Write`] if it cannot be made or written to.
    pub fn create(path: PathBuf) -> Result<Self, Error> {
        std::fs::create_dir_all(&path).map_err(|e| Error::write(&path, e))?;
        temporary(&path).map_err(|e| Error::write(&path, e))?;
        Ok(RunDirectory { path, _lock: None })
    }

    /// As [`RunDirectory::create`], for this process alone: another one that claims the directory is
    /// refused until this claim is dropped.
    /// Errors: also [`Error::Format`] if another process works on it.
    pub fn claim(path: PathBuf) -> Result<Self, Error> {
        let directory = RunDirectory::create(path)?;
        let lock = RunLock::acquire(directory.path())?;
        Ok(RunDirectory { _lock: Some(lock), ..directory })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all records.
    /// Errors: [`Error::Write`], naming the file.
    pub fn write_records(&self, mut records: Records) -> Result<Vec<PathBuf>, Error> {
        let streamed = std::mem::take(&mut records.streamed);
        let mut complete = self.complete(records.files())?;
        complete.extend(streamed.into_iter().map(|s| (s.file, self.path.join(s.name))));
        renamed(complete)
    }

    /// Writes all files to temporary names, then renames them: on a full disk none of them changes.
    /// Errors: [`Error::Write`], naming the file.
    pub fn write<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Vec<PathBuf>, Error> {
        renamed(self.complete(files)?)
    }

    /// The files under temporary names, with those that they are to have.
    fn complete<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> Result<Vec<(tempfile::NamedTempFile, PathBuf)>, Error> {
        let mut complete = Vec::new();
        for (name, content) in files {
            let path = self.path.join(name);
            let file = write_temporary(&self.path, content).map_err(|e| Error::write(&path, e))?;
            complete.push((file, path));
        }
        Ok(complete)
    }
}

fn renamed(complete: Vec<(tempfile::NamedTempFile, PathBuf)>) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    for (file, path) in complete {
        file.persist(&path).map_err(|e| Error::write(&path, e.error))?;
        written.push(path);
    }
    Ok(written)
}

/// Writes one file atomically: to a temporary name in its directory, then renamed.
/// Errors: [`Error::Write`], naming the file.
pub fn write_atomic(path: &Path, content: &[u8]) -> Result<(), Error> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    write_temporary(directory, content)
        .and_then(|file| file.persist(path).map_err(|e| e.error))
        .map_err(|e| Error::write(path, e))?;
    Ok(())
}

/// Flushed to the disk, so that a full one is noticed before anything is renamed.
fn write_temporary(directory: &Path, content: &[u8]) -> Result<tempfile::NamedTempFile, io::Error> {
    let mut file = temporary(directory)?;
    file.as_file_mut().write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// An empty file under a temporary name, which no error names: nobody has asked for it.
fn temporary(directory: &Path) -> Result<tempfile::NamedTempFile, io::Error> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY_PREFIX);
    #[cfg(unix)]
    {
        // As any new file: the umask takes away what it should.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory).map_err(|error| {
        let text = error.to_string();
        let reason = text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason);
        io::Error::new(error.kind(), reason)
    })
}
