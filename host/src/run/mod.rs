//! The parts of every run.

pub mod config;
pub mod info;
pub mod lock;
pub mod progress;
pub mod records;
pub mod report;
pub mod session;
pub mod transaction;
