//! `ictd digest`.

use crate::error::{Doing, Error};
use crate::report::{Report, table};
use ictd_core::digest::{Digest, combine, kernels};
use serde_json::json;
use std::collections::BTreeMap;

/// The digests that every platform must give.
const EXPECTED: &str = include_str!("../../../tests/digests.txt");

/// Run the determinism kernels and show this machine's digests beside the expected ones
///
/// Each kernel is a part of the numeric core on fixed seeds: forward passes, constructions, streaming
/// contexts, short training runs, stored bytes, random streams. Equal digests mean that every bit of
/// every result is what it is on every other platform. Exit code 1 if one differs.
#[derive(Clone, Debug, clap::Args)]
pub struct DigestOptions {}

/// A kernel's digest.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    /// The kernel's name; the last row is `all`.
    pub kernel: &'static str,
    /// What it runs.
    pub about: &'static str,
    /// On this machine.
    pub digest: String,
    /// On every platform.
    pub expected: &'static str,
    /// Whether they are.
    pub equal: bool,
}

/// Runs all kernels.
///
/// # Errors
/// [`Error::Core`] if a kernel fails.
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
    for kernel in kernels::<f32>() {
        let digest = kernel.digest().doing(kernel.name)?;
        rows.push(row(kernel.name, kernel.about, digest));
        all = combine([all, digest]);
    }
    rows.push(row("all", "all kernels", all));
    Ok(rows)
}

/// Shows them.
///
/// # Errors
/// [`Error::Core`] if a kernel fails.
pub fn run() -> Result<Report, Error> {
    let list = rows()?;
    let equal = list.iter().all(|row| row.equal);
    let mut rows = vec![["kernel", "this machine", "expected", "equal"].map(str::to_owned)];
    rows.extend(list.iter().map(|row| {
        let verdict = if row.equal { "yes" } else { "NO" };
        [row.kernel, &row.digest, row.expected, verdict].map(str::to_owned)
    }));
    let mut report = Report::new("digest");
    report.results.insert("equal".into(), json!(equal));
    report.results.insert("kernels".into(), json!(list));
    report.text = table(&rows);
    report.claims.push(crate::report::Claim {
        claim: "the same bits as on every other platform".into(),
        paper: "tests/digests.txt".into(),
        measured: if equal { "all digests equal" } else { "digests differ" }.into(),
        verdict: crate::report::Verdict::of(equal),
    });
    Ok(report)
}
