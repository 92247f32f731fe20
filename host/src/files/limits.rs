//! The limits of what is read, whoever made it: a file that is larger is refused before memory is asked for.

/// The most bytes of a text that people write or read: a config, a lock, a run.json, a model.
pub const TEXT: u64 = 64 << 20;
/// The most bytes of a record of a run: its tables, its results, a checkpoint.
pub const RECORD: u64 = 1 << 30;
/// The most bytes of a table of transitions, and of an array in an archive.
pub const TABLE: u64 = 1 << 30;
/// The most bytes of a plan of a sweep.
pub const PLAN: u64 = 4 << 20;
/// The most bytes of a file that is read piece by piece.
pub const STREAM: u64 = 1 << 40;
/// The most names in a folder that are listed.
pub const ENTRIES: usize = 1_000_000;
/// The most arrays of an archive.
pub const ARRAYS: usize = 4096;
/// The longest name of a column of signals, in bytes: it stands in each row of what is predicted.
pub const COLUMN_NAME: usize = 200;
/// The most names side by side in a run's results, which a page shows as columns.
pub const NAMES: usize = 1000;
