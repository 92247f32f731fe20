//! The commands that are no single figure of the paper.

pub mod list;
pub mod main_job;
pub mod plot;
pub mod shell;
