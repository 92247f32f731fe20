//! The errors that a user sees: always one line that names the option, parameter or file. Functions that return an
//! [`Error`] document only those that a caller distinguishes.

use crate::program::printable;
use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command line that clap rejected, in one line.
    #[error("{0}")]
    Usage(String),
    /// An option, as typed, whose value cannot be used though its own range check passed; with the expected value.
    #[error("{option}: {reason}")]
    Option { option: Cow<'static, str>, reason: String },
    /// A file that cannot be read or has unexpected content, or a directory that another process holds.
    #[error("{}: {problem}", path.display())]
    File { path: PathBuf, problem: Problem },
    #[error("--out: cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{context}: {source}")]
    Core { context: String, source: ictd_core::Error },
    /// Ctrl-C in a training run.
    #[error(
        "interrupted: finished seeds and checkpoints are kept; run the same command again to continue"
    )]
    Paused,
    #[error("interrupted: nothing of this run was written")]
    Interrupted,
    /// Ctrl-C twice, or in the middle of something long.
    #[error(
        "interrupted at once: run the same command again to continue from what is on the disk, or to start over"
    )]
    Stopped,
    #[error("stdout: {0}")]
    Stdout(io::Error),
    #[error("a defect of ictd, please report it: {0}")]
    Defect(String),
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is damaged, or something in it is missing, too large or not usable.
    #[error("{0}")]
    Unusable(String),
    #[error("in use by {holder}: {advice}")]
    InUse { holder: String, advice: String },
}

impl Problem {
    pub fn in_file(self, path: &Path) -> Error {
        Error::File { path: path.to_owned(), problem: self }
    }

    pub(crate) fn malformed(format: &str, reason: impl Display) -> Self {
        Problem::Unusable(format!("not a readable {format} file: {reason}"))
    }

    /// Returns the problem of a column, a row or a cell; rows are counted from 1 after the header.
    pub(crate) fn unusable(
        place: impl Display,
        reason: impl Display,
        expected: impl Display,
    ) -> Self {
        Problem::Unusable(format!("{place}: {reason}; expected {expected}"))
    }

    pub(crate) fn array(array: &str, reason: impl Display, expected: impl Display) -> Self {
        Problem::unusable(format_args!("array `{array}`"), reason, expected)
    }

    pub(crate) fn entry(entry: &str, reason: impl Display, expected: impl Display) -> Self {
        Problem::unusable(format_args!("`{entry}`"), reason, expected)
    }
}

impl From<String> for Problem {
    fn from(reason: String) -> Self {
        Problem::Unusable(reason)
    }
}

impl From<tables::Problem> for Problem {
    fn from(problem: tables::Problem) -> Self {
        match problem {
            tables::Problem::Io(error) => Problem::Io(error),
            tables::Problem::Unusable(text) => Problem::Unusable(text),
        }
    }
}

/// The largest number of characters of a message.
const LONGEST: usize = 290;

impl Error {
    pub fn is_in_use(&self) -> bool {
        matches!(self, Error::File { problem: Problem::InUse { .. }, .. })
    }

    pub fn option(option: impl Into<Cow<'static, str>>, reason: impl ToString) -> Self {
        Error::Option { option: option.into(), reason: reason.to_string() }
    }

    pub fn file(path: &Path, reason: impl ToString) -> Self {
        Problem::Unusable(reason.to_string()).in_file(path)
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Interrupted | Error::Paused | Error::Stopped => 130,
            Error::Defect(_) => 101,
            _ => 2,
        }
    }

    /// Returns the message without line breaks, as a terminal may show it; of a long one, the beginning and the end.
    pub fn one_line(&self) -> String {
        let text = self.to_string();
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line: Vec<char> = printable(&lines.join(" ")).chars().collect();
        if line.len() <= LONGEST {
            return line.into_iter().collect();
        }
        let [begin, end] = [&line[..LONGEST / 2], &line[line.len() - LONGEST / 2 + 3..]];
        begin.iter().chain(&[' ', '…', ' ']).chain(end).collect()
    }
}

impl From<compute::InvalidSetting> for Error {
    fn from(invalid: compute::InvalidSetting) -> Self {
        Error::option(format!("--{}", invalid.setting), invalid.reason)
    }
}

pub trait InFile<T> {
    fn in_file(self, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<Problem>> InFile<T> for Result<T, E> {
    fn in_file(self, path: &Path) -> Result<T, Error> {
        self.map_err(|problem| problem.into().in_file(path))
    }
}

pub trait ToFile<T> {
    fn to_file(self, path: &Path) -> Result<T, Error>;
}

impl<T> ToFile<T> for io::Result<T> {
    fn to_file(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Write { path: path.to_owned(), source })
    }
}

pub trait WithContext<T> {
    fn context(self, what: impl ToString) -> Result<T, Error>;
}

impl<T> WithContext<T> for Result<T, ictd_core::Error> {
    fn context(self, what: impl ToString) -> Result<T, Error> {
        self.map_err(|source| Error::Core { context: what.to_string(), source })
    }
}
