//! Training from the command line: what the crate [`compute`] trains, watched, and what a run leaves in its directory.

pub mod directory;
pub mod options;
pub mod run;
mod seed_files;

pub use compute::{LogPoint, Recipe, SeedRun, capacity, checkpoint, group, level, log, shapes};
pub use options::Train;
pub use run::train;
