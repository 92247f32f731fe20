//! The parts of a run, whatever it computes.

pub mod config;
pub mod info;
pub mod lock;
pub mod progress;
pub mod records;
pub mod report;
pub mod session;
pub mod transaction;
