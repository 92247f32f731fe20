//! The digests of the core's kernels, compiled with optimisation.

use ictd_core::Error;
use ictd_core::digest::{Digest, kernels};

/// A kernel's name, what it computes, and its digest.
pub type Row = (&'static str, &'static str, Result<Digest, Error>);

/// Returns the rows of all kernels; each kernel runs when its row is requested.
pub fn rows() -> impl Iterator<Item = Row> {
    kernels::<f32>().into_iter().map(|kernel| (kernel.name, kernel.about, kernel.digest()))
}
