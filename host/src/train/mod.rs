//! Training from the command line: runs the crate [`compute`], shows progress, and writes a run's directory.

pub mod directory;
pub mod options;
pub mod run;
mod seed_files;
mod summary;

pub use compute::{LogPoint, Recipe, SeedRun, capacity, checkpoint, group, level, log, shapes};
pub use directory::TrainDirectory;
pub use options::{LayerSharing, NetworkKind, Seeds, Train};
pub use run::train;
pub use summary::Summary;
