//! The commands that are no single figure of the paper.

pub mod compare;
pub mod digest;
pub mod evaluate;
pub mod import;
pub mod list;
pub mod main_job;
pub mod model_file;
pub mod plot;
pub mod report;
pub mod reproduce;
pub mod shell;
pub mod stored_model;
pub mod train_run;

use crate::error::Error;
use crate::experiments::Entry;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// The commands here whose runs have figures.
pub(crate) const WITH_FIGURES: &[Entry] = &[
    Entry::of::<evaluate::Evaluate>(),
    Entry::of::<import::Import>(),
    Entry {
        id: "train",
        figure: "P and Q of a training run, and their learning progress",
        pictures: train_run::pictures,
        run: None,
        trains: false,
    },
];

/// A path, also none: what `--out` is where [`refuse_out`] accepts it.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Refuses `--out` for a command that writes beside what it reads.
fn refuse_out(out: &Path) -> Result<(), Error> {
    match out.as_os_str().is_empty() {
        true => Ok(()),
        false => Err(Error::Option {
            option: "--out",
            reason: format!(
                "{}: this command writes into DIR; accepted is DIR alone",
                out.display()
            ),
        }),
    }
}
