//! This machine's digests of the core's kernels, compared with those of every platform.

use crate::error::{Error, WithContext};
use ictd_core::digest::{Digest, combine};
use std::collections::BTreeMap;

/// The digests that every platform must give.
const EXPECTED: &str = include_str!("../../tests/digests.txt");

/// The digest of a kernel (the last row is of `all`), what that computes, and whether it is as on every platform.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub kernel: &'static str,
    pub about: &'static str,
    pub digest: String,
    pub expected: &'static str,
    pub equal: bool,
}

pub fn rows() -> Result<Vec<Row>, Error> {
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
    for (kernel, about, digest) in compute::digest::rows() {
        let digest = digest.context(kernel)?;
        rows.push(row(kernel, about, digest));
        all = combine([all, digest]);
    }
    rows.push(row("all", "all kernels", all));
    Ok(rows)
}
