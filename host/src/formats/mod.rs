//! Files that other tools write and read, as values and bytes.
//!
//! Writers return bytes; equal values give equal bytes. Every reader returns an [`Error`](crate::Error) that names the file,
//! the array or the row and column, and the expected content. No reader panics or allocates more than the file can justify:
//! every length field is checked against the bytes present before memory is allocated.

pub(crate) mod error;
pub mod layout;
mod npy;
pub mod npz;
pub mod parameters;
pub mod safetensors;
pub mod seed_run;
pub mod tasks;
pub mod trajectory;
mod transition_table;

pub use layout::Naming;
pub use npy::{Array, Data, tuple};
pub use npz::Npz;
pub use parameters::{LayerParameters, Parameters};
pub use trajectory::{Features, Trajectory};
