//! The commands that are no single figure of the paper.

pub mod compare;
pub mod construction;
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

use crate::experiments::Entry;

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
