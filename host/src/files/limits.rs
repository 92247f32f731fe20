//! The limits of files that are read, whoever made them: a larger file is refused before memory is allocated.

pub use compute::rows::{LONGEST_NAME as COLUMN_NAME, LONGEST_ROW as ROW};

/// The most bytes of a text that people write or read: a config, a lock, results.
pub const TEXT: u64 = 64 << 20;
/// The most bytes of a record of a run: its tables, its results, a checkpoint.
pub const RECORD: u64 = 1 << 30;
/// The most bytes of a model.
pub const MODEL: u64 = 256 << 20;
/// The most bytes of a file in which `ictd compare` looks for the place that differs.
pub const COMPARED: u64 = 256 << 20;
/// The most bytes of a table of transitions, and of an array in an archive.
pub const TABLE: u64 = 1 << 30;
/// The most bytes of a plan of a sweep.
pub const PLAN: u64 = 4 << 20;
/// The most bytes of a file that is read piece by piece.
pub const STREAM: u64 = 1 << 40;
/// The largest feature dimension of transitions.
pub const FEATURES: usize = 64;
/// The most names in a folder that are listed.
pub const ENTRIES: usize = 1_000_000;
/// The most arrays of an archive.
pub const ARRAYS: usize = 4096;
/// The most names side by side in a run's results, which a page shows as columns.
pub const NAMES: usize = 1000;

/// The records that are written piece by piece, a row for each of the user's or of a sweep's.
const STREAMED: [&str; 2] = ["predictions.csv", "sweep.csv"];

/// Returns the most bytes of a file in a run directory, by its name.
pub fn of_record(name: &str) -> u64 {
    match name.rsplit('/').next().unwrap_or(name) {
        name if STREAMED.contains(&name) => STREAM,
        name if name.ends_with(".json") || name.ends_with(".toml") => TEXT,
        _ => RECORD,
    }
}
