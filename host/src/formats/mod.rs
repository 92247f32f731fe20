//! Files that other tools write and read, as values and bytes.
//!
//! The writers make bytes, equal ones of equal values. Every reader returns an [`Error`](crate::Error) that
//! names the file, the array or the row and column, and what is expected. None panics, and none
//! allocates more than the file can back: every length field is checked against the bytes that are
//! there before memory is asked for.

pub(crate) mod error;
mod npy;
pub mod npz;
pub mod parameters;
pub mod safetensors;
pub mod seed_run;
pub mod signal_table;
pub mod tasks;
pub mod trajectory;
mod transition_table;

pub use npy::{Array, Data};
