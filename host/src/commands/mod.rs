//! The commands other than the single figures of the paper.

pub mod bench;
pub mod digest;
pub mod evaluate;
pub mod main_job;
pub mod plot;
pub mod predict;
pub mod report;
pub mod reproduce;
pub mod stored_model;
pub mod sweep;
pub mod train_run;

use crate::experiments::Experiment;

pub(crate) const WITH_FIGURES: &[Experiment] =
    &[bench::ENTRY, evaluate::ENTRY, predict::ENTRY, train_run::ENTRY, sweep::ENTRY];
