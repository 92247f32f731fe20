//! Limits on untrusted input ([`guide::limits`](crate::guide::limits)), in bytes if they are of type `u64`: a larger file is
//! rejected before memory is allocated.

pub use judge::rows::{LONGEST_NAME as COLUMN_NAME, LONGEST_ROW as ROW};

pub const TEXT: u64 = 64 << 20;
pub const RECORD: u64 = 1 << 30;
pub const MODEL: u64 = 256 << 20;
pub const TABLE: u64 = 1 << 30;
pub const PLAN: u64 = 4 << 20;
pub const STREAM: u64 = 1 << 40;
pub const FEATURES: usize = 64;
pub const ENTRIES: usize = 1_000_000;
pub const ARRAYS: usize = 4096;
pub const NAMES: usize = 1000;

/// The records that are written piece by piece, one row for each row of the user or run of a sweep.
const STREAMED: [&str; 2] = ["predictions.csv", "sweep.csv"];

pub fn of_record(name: &str) -> u64 {
    match name.rsplit('/').next().unwrap_or(name) {
        name if STREAMED.contains(&name) => STREAM,
        name if name.ends_with(".json") || name.ends_with(".toml") => TEXT,
        _ => RECORD,
    }
}
