//! The readers of other tools' files; what damage does to them is in `mutated_files`.

mod layout;
mod npy;
mod npz;
mod safetensors;
pub(crate) mod seed_run;
mod trajectory;

use crate::common::{Array, Data, Path};
use ictd::Error;
use ictd::formats::npz::Npz;
use std::io::Cursor;

/// The path that readers of bytes are told in tests.
pub(crate) const FILE: &str = "example.file";
