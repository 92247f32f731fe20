//! This machine's digests of the core's kernels, compared with those of every platform.

use ictd_core::Error;
use ictd_core::digest::{Digest, combine, kernels};
use ictd_core::scalar::Scalar;
use std::collections::BTreeMap;

/// The digests that every platform must give.
const EXPECTED: &str = include_str!("../../../tests/digests.txt");

/// The digest of a kernel (the last row is of `all`), the kernel's description, and whether the digest is the expected one.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub kernel: &'static str,
    pub about: &'static str,
    pub digest: String,
    pub expected: &'static str,
    pub equal: bool,
}

/// Computes [`rows_on`] `f32`.
pub fn rows() -> Result<Vec<Row>, Error> {
    rows_on::<f32>()
}

/// Computes the digest of every kernel, and of all together, on `f32` or lanes of it.
/// Returns the core's error if a kernel fails, which no platform should see.
pub fn rows_on<S: Scalar<Element = f32>>() -> Result<Vec<Row>, Error> {
    let expected: BTreeMap<&str, &str> = EXPECTED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, digest)| (name, digest.trim()))
        .collect();
    let row = |kernel, about, digest: Digest| {
        let digest = digest.to_string();
        let expected = expected.get(kernel).copied().unwrap_or("missing");
        let equal = digest == expected;
        Row { kernel, about, digest, expected, equal }
    };
    let (mut all, mut rows) = (Digest::EMPTY, Vec::new());
    for kernel in kernels::<S>() {
        let digest = kernel.digest()?;
        rows.push(row(kernel.name, kernel.about, digest));
        all = combine([all, digest]);
    }
    rows.push(row("all", "all kernels", all));
    Ok(rows)
}
