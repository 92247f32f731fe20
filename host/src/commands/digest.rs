//! `ictd digest`.

use crate::error::{Error, WithContext};
use crate::run::report::{Claim, Report, Source, Verdict, table};
use serde_json::json;

pub fn run() -> Result<Report, Error> {
    let list = digests::rows().context("the digests")?;
    let equal = list.iter().all(|row| row.equal);
    let rows = list.iter().map(|row| {
        let verdict = if row.equal { "yes" } else { "NO" };
        [row.kernel, &row.digest, row.expected, verdict].map(str::to_owned)
    });
    let mut report = Report::of("digest", &json!({ "equal": equal, "kernels": list }));
    report.text = table(&["kernel", "this machine", "expected", "equal"], rows);
    report.claims.push(Claim::new(
        "the same bits as on every other platform",
        Source::own(""),
        if equal { "all digests equal those of tests/digests.txt" } else { "digests differ" },
        Verdict::of(equal),
    ));
    Ok(report)
}
