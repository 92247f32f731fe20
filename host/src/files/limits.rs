//! Limits on untrusted input: a larger file is rejected before memory is allocated.

pub use compute::rows::{LONGEST_NAME as COLUMN_NAME, LONGEST_ROW as ROW};

/// The largest size in bytes of a text that people write or read: a config, a lock, results.
pub const TEXT: u64 = 64 << 20;
/// The largest size in bytes of a record of a run: its tables, its results, a checkpoint.
pub const RECORD: u64 = 1 << 30;
/// The largest size in bytes of a model.
pub const MODEL: u64 = 256 << 20;
/// The largest size in bytes of a file in which `ictd compare` searches for the place that differs.
pub const COMPARED: u64 = 256 << 20;
/// The largest size in bytes of a table of transitions, and of an array in an archive.
pub const TABLE: u64 = 1 << 30;
/// The largest size in bytes of a plan of a sweep.
pub const PLAN: u64 = 4 << 20;
/// The largest size in bytes of a file that is read piece by piece.
pub const STREAM: u64 = 1 << 40;
/// The largest feature dimension of transitions.
pub const FEATURES: usize = 64;
/// The largest number of names in a folder that is listed.
pub const ENTRIES: usize = 1_000_000;
/// The largest number of arrays in an archive.
pub const ARRAYS: usize = 4096;
/// The largest number of names at one level of a run's results, which a page shows as columns.
pub const NAMES: usize = 1000;

/// The records that are written piece by piece, one row for each row of the user or run of a sweep.
const STREAMED: [&str; 2] = ["predictions.csv", "sweep.csv"];

/// Returns the largest size in bytes of a file in a run directory, by its name.
pub fn of_record(name: &str) -> u64 {
    match name.rsplit('/').next().unwrap_or(name) {
        name if STREAMED.contains(&name) => STREAM,
        name if name.ends_with(".json") || name.ends_with(".toml") => TEXT,
        _ => RECORD,
    }
}
