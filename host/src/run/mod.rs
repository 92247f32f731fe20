//! The parts of every run.

pub mod config;
pub mod exchange;
pub mod info;
pub mod lock;
pub mod progress;
pub mod records;
pub mod report;
pub mod session;

pub use info::RunManifest;
pub use records::{RunDirectory, RunFiles};
pub use report::{Claim, Report, Source, Verdict};
pub use session::Session;
