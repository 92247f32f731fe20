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

/// Runs all kernels.
///
/// # Errors
/// [`Error::Core`] if a kernel fails.
pub fn run() -> Result<Report, Error> {
    let expected: BTreeMap<&str, &str> = EXPECTED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .map(|(name, digest)| (name, digest.trim()))
        .collect();
    let mut report = Report::new("digest");
    let mut rows = vec![["kernel", "this machine", "expected", "equal"].map(str::to_owned)];
    let (mut all, mut equal, mut list) = (Digest::EMPTY, true, Vec::new());
    let mut add = |name: &str, about: &str, digest: Digest| {
        let digest = digest.to_string();
        let want = expected.get(name).copied().unwrap_or("missing");
        let is_equal = digest == want;
        equal &= is_equal;
        list.push(json!({
            "kernel": name, "about": about, "digest": digest, "expected": want, "equal": is_equal,
        }));
        let verdict = if is_equal { "yes" } else { "NO" };
        rows.push([name, &digest, want, verdict].map(str::to_owned));
    };
    for kernel in kernels::<f32>() {
        let digest = kernel.digest().doing(kernel.name)?;
        add(kernel.name, kernel.about, digest);
        all = combine([all, digest]);
    }
    add("all", "all kernels", all);
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
