//! What a command found: results, claims of the paper beside measured numbers, files written.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// A claim of the paper and what was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claim {
    /// What is claimed, in a few words.
    pub claim: String,
    /// The paper's words or number.
    pub paper: String,
    /// The number of this run.
    pub measured: String,
    /// Whether the claim holds.
    pub verdict: Verdict,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Holds,
    /// For some seeds, for some of its parts, or within the spread only.
    HoldsInPart,
    /// It does not.
    DoesNotHold,
}

impl Verdict {
    /// [`Verdict::Holds`] or [`Verdict::DoesNotHold`].
    pub fn of(holds: bool) -> Self {
        if holds { Verdict::Holds } else { Verdict::DoesNotHold }
    }

    fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::DoesNotHold => "DOES NOT HOLD",
        }
    }
}

/// Claims of the paper that are known not to hold: that they do not is the expected result, reported
/// like any other, but not as a failure.
pub const REFUTED: [&str; 3] = [
    // The mask keeps the query out of the keys.
    "v_TF is not linear in the query",
    // On the chains that it was trained on, the RNN's error falls with the context's length: not by policy
    // evaluation, as the one whose layers are delayed, and which never sees the query, does the same.
    "RNN, Boyan's chain: no policy evaluation in context",
    "delayed RNN, Boyan's chain: no policy evaluation in context",
];

/// What one command found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All results, the content of `--json`.
    pub results: Map<String, Value>,
    /// The claims that the results support or not.
    pub claims: Vec<Claim>,
    /// What failed beside the claims, one line each: exit code 1.
    pub failures: Vec<String>,
    /// Lines for a human, printed before the claims.
    pub text: String,
    /// The files written.
    pub files: Vec<PathBuf>,
}

impl Report {
    /// A report of results alone.
    pub fn new(command: &str) -> Self {
        let mut report = Report::default();
        report.results.insert("command".into(), json!(command));
        report
    }

    /// False if something failed, or a claim does not hold, other than those of [`REFUTED`]: exit
    /// code 1.
    pub fn holds(&self) -> bool {
        let refuted = |c: &Claim| REFUTED.contains(&c.claim.as_str());
        self.failures.is_empty()
            && self.claims.iter().all(|c| c.verdict != Verdict::DoesNotHold || refuted(c))
    }

    /// The results with claims and files, as a JSON object.
    pub fn to_value(&self) -> Value {
        let mut object = self.results.clone();
        object.insert("holds".into(), json!(self.holds()));
        if !self.failures.is_empty() {
            object.insert("failures".into(), json!(self.failures));
        }
        object.insert("claims".into(), json!(self.claims));
        object.insert("files".into(), json!(self.files));
        Value::Object(object)
    }

    /// [`Report::to_value`] as text on one line.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// The report for a human.
    pub fn to_text(&self) -> String {
        let mut out = self.text.clone();
        if !self.failures.is_empty() {
            out.push_str(&format!("\n{}\n", self.failures.join("\n")));
        }
        if !self.claims.is_empty() {
            let mut rows = vec![["claim", "paper", "measured", "verdict"].map(str::to_owned)];
            rows.extend(self.claims.iter().map(|c| {
                let Claim { claim, paper, measured, verdict } = c.clone();
                [claim, paper, measured, verdict.words().to_owned()]
            }));
            out.push_str(&table(&rows));
            if let Some(directory) = self.files.first().and_then(|f| f.parent()) {
                out.push_str(&format!("\nfigures and numbers: {}\n", directory.display()));
            }
            if let Some(page) = self.files.iter().find(|f| f.ends_with(crate::page::NAME)) {
                out.push_str(&format!("report, for a browser: {}\n", page.display()));
            }
        }
        out
    }
}

/// A number with so many decimals, or in scientific notation where that would hide it.
pub fn number(x: f64, decimals: usize) -> String {
    let size = x.abs();
    if size == 0.0 || (1e-4..1e6).contains(&size) {
        format!("{x:.decimals$}")
    } else {
        format!("{x:.2e}")
    }
}

/// Rows in columns of equal width; the first row is the head.
pub fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let columns = rows.first().map_or(0, |r| r.as_ref().len());
    let width = |i: usize| {
        rows.iter().filter_map(|r| r.as_ref().get(i)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<_> = row
            .as_ref()
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
        if index == 0 {
            let rules: Vec<_> = widths.iter().map(|&w| "─".repeat(w)).collect();
            out.push_str(&rules.join("  "));
            out.push('\n');
        }
    }
    out
}
