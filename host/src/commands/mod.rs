//! The commands that are no single figure of the paper.

pub mod main_job;
