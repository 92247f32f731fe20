use crate::program::printable;
use std::fmt::{self, Display};
use std::io;
use std::path::{Path, PathBuf};

/// An error in a file: its path, and the place and reason within.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", file.display())]
pub struct FormatError {
    /// The file, as the caller named it.
    pub file: PathBuf,
    /// The problem, and what is accepted.
    pub problem: Problem,
}

/// Why a file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be read or written.
    #[error("{0}")]
    Io(io::Error),
    /// The file is not of its format, or damaged.
    #[error("not a readable {format} file: {reason}")]
    Malformed {
        /// The format that was expected.
        format: &'static str,
        /// The contradiction.
        reason: String,
    },
    /// The file (or an array in it) is larger than the reader is willing to hold.
    #[error("{what} needs {bytes} bytes: accepted are at most {limit}")]
    TooLarge {
        /// The file, or the array within.
        what: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// An array (or tensor) is not there.
    #[error("array `{array}` is missing: the file holds {present}")]
    MissingArray {
        /// The array that is needed.
        array: String,
        /// The arrays that are there.
        present: Names,
    },
    /// An array (or tensor), a column, a row or a cell of a table, or a named entry is not usable.
    #[error("{place}: {reason}; accepted is {accepted}")]
    Unusable {
        /// The array, the column or the entry by its name; the row counted from 1 after the header.
        place: String,
        /// The reason.
        reason: String,
        /// The accepted form.
        accepted: String,
    },
    /// Another process works on this run directory.
    #[error("in use by {holder}: {advice}")]
    InUse {
        /// The process, as far as it is known.
        holder: String,
        /// The advice.
        advice: String,
    },
}

impl Problem {
    /// This problem in this file.
    pub fn in_file(self, file: &Path) -> FormatError {
        FormatError { file: file.to_owned(), problem: self }
    }

    pub(crate) fn malformed(format: &'static str, reason: impl Display) -> Self {
        Problem::Malformed { format, reason: reason.to_string() }
    }

    pub(crate) fn unusable(
        place: impl Display,
        reason: impl Display,
        accepted: impl Display,
    ) -> Self {
        let (place, reason) = (place.to_string(), reason.to_string());
        Problem::Unusable { place, reason, accepted: accepted.to_string() }
    }

    pub(crate) fn array(array: &str, reason: impl Display, accepted: impl Display) -> Self {
        Problem::unusable(format_args!("array `{array}`"), reason, accepted)
    }

    pub(crate) fn entry(entry: &str, reason: impl Display, accepted: impl Display) -> Self {
        Problem::unusable(format_args!("`{entry}`"), reason, accepted)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Problem::Io(error)
    }
}

impl From<compute::rows::Problem> for Problem {
    fn from(problem: compute::rows::Problem) -> Self {
        match problem {
            compute::rows::Problem::Io(error) => Problem::Io(error),
            compute::rows::Problem::Unusable { place, reason, accepted } => {
                Problem::Unusable { place, reason, accepted }
            }
        }
    }
}

/// The names in a file, shown as a list of bounded length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        if self.0.is_empty() {
            return write!(f, "none");
        }
        for (i, name) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}`{}`", if i == 0 { "" } else { ", " }, excerpt(name))?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Returns a piece of a file as it may stand in a message: one line, printable, at most 40 characters.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    let line: String = text.chars().take(SHOWN).collect();
    let mut out = printable(&line).replace('\n', " ");
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}
