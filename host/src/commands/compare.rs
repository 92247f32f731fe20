//! `ictd compare`: two runs or two files, bit for bit.

mod contents;

use crate::error::Error;
use crate::page;
use crate::run::info;
use crate::run::report::{self, Claim, Report, Verdict};
use contents::first_difference;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that say how a run went, not what came out; the page shows what `run.json` says.
const NOT_COMPARED: [&str; 3] = [".lock", info::FILE_NAME, page::NAME];

/// The most rows of a table on the terminal.
const SHOWN: usize = 20;

/// Compare two runs or two files: bit-equal or not, where they first differ, metrics side by side
///
/// A and B are two run directories or two files. Arrays (.npz), parameters (.safetensors), tables
/// (.csv) and results (.json) are compared number by number, bits included, so that the first difference
/// is a place in them; other files byte by byte. Of run directories every file is compared but
/// `run.json`, which says how the run went, `report.html`, which shows it, and the lock. Exit code 0 if
/// all is equal, 1 if not.
#[derive(Clone, Debug, clap::Args)]
pub struct Compare {
    /// A run directory or a file
    pub a: PathBuf,
    /// Another
    pub b: PathBuf,
}

/// How the two sides' versions of a file relate.
struct FileComparison {
    name: String,
    /// None if they are equal.
    difference: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Error::File`] or [`Error::Format`] for a path that cannot be read.
pub fn run(options: &Compare) -> Result<Report, Error> {
    let Compare { a, b } = options;
    let files = match (kind(a)?, kind(b)?) {
        (Kind::Directory, Kind::Directory) => directories(a, b)?,
        (Kind::File, Kind::File) => {
            let name = a.file_name().unwrap_or_default().to_string_lossy().into_owned();
            vec![FileComparison { name, difference: first_difference(a, b)? }]
        }
        _ => return Err(Error::file(b, "accepted are two directories or two files")),
    };
    let metrics = metrics(a, b);
    let different: Vec<_> = files.iter().filter(|f| f.difference.is_some()).collect();

    let mut report = Report::new("compare");
    report.results.insert("equal".into(), json!(different.is_empty()));
    report.results.insert("files_compared".into(), json!(files.len()));
    report.results.insert(
        "differences".into(),
        different
            .iter()
            .map(|f| json!({ "file": f.name, "first_difference": f.difference }))
            .collect(),
    );
    report.results.insert(
        "metrics".into(),
        metrics
            .iter()
            .map(|(name, a, b)| json!({ "metric": name, "a": a, "b": b, "equal": a == b }))
            .collect(),
    );
    report.text = text(&files, &metrics);
    report.claims.push(Claim {
        claim: "A and B are bit-equal".into(),
        paper: "—".into(),
        measured: format!("{} of {} files equal", files.len() - different.len(), files.len()),
        verdict: Verdict::of(different.is_empty()),
    });
    Ok(report)
}

#[derive(PartialEq)]
enum Kind {
    Directory,
    File,
}

fn kind(path: &Path) -> Result<Kind, Error> {
    let metadata = fs::metadata(path).map_err(|e| Error::file(path, e))?;
    Ok(if metadata.is_dir() { Kind::Directory } else { Kind::File })
}

/// Every file of either side, in the order of their names.
fn directories(a: &Path, b: &Path) -> Result<Vec<FileComparison>, Error> {
    let (in_a, in_b) = (files_below(a)?, files_below(b)?);
    let all: BTreeSet<_> = in_a.union(&in_b).collect();
    if all.is_empty() {
        return Err(Error::file(a, "no files: accepted is the directory of a run"));
    }
    all.into_iter()
        .map(|name| {
            let difference = match (in_a.contains(name), in_b.contains(name)) {
                (true, true) => first_difference(&a.join(name), &b.join(name))?,
                (true, false) => Some("only in A".to_owned()),
                _ => Some("only in B".to_owned()),
            };
            Ok(FileComparison { name: name.display().to_string(), difference })
        })
        .collect()
}

fn files_below(directory: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let mut files = BTreeSet::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        let path = directory.join(&below);
        let refuse = |e| Error::file(&path, e);
        for entry in fs::read_dir(&path).map_err(refuse)? {
            let entry = entry.map_err(refuse)?;
            let name = entry.file_name();
            let kind = entry.file_type().map_err(refuse)?;
            let text = name.to_string_lossy();
            if kind.is_dir() {
                waiting.push(below.join(&name));
            } else if !NOT_COMPARED.contains(&text.as_ref()) {
                files.insert(below.join(&name));
            }
        }
    }
    Ok(files)
}

/// The numbers that both sides' results have under the same name.
fn metrics(a: &Path, b: &Path) -> Vec<(String, f64, f64)> {
    let numbers = |path: &Path| {
        let file = if path.is_dir() { path.join("results.json") } else { path.to_owned() };
        let value = fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut numbers = Vec::new();
        flatten("", &value.unwrap_or(Value::Null), &mut numbers);
        numbers
    };
    let in_b: std::collections::BTreeMap<String, f64> = numbers(b).into_iter().collect();
    numbers(a)
        .into_iter()
        .filter_map(|(name, x)| Some((name.clone(), x, *in_b.get(&name)?)))
        .collect()
}

fn flatten(name: &str, value: &Value, numbers: &mut Vec<(String, f64)>) {
    let below =
        |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        Value::Number(number) => numbers.extend(number.as_f64().map(|x| (name.to_owned(), x))),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, x)| flatten(&below(&i.to_string()), x, numbers));
        }
        Value::Object(entries) => {
            entries.iter().for_each(|(key, x)| flatten(&below(key), x, numbers));
        }
        _ => {}
    }
}

/// The report for a human: what differs, and the metrics that differ.
fn text(files: &[FileComparison], metrics: &[(String, f64, f64)]) -> String {
    let mut out = String::new();
    let mut rows = vec![["file", "first difference"].map(str::to_owned)];
    rows.extend(files.iter().filter_map(|f| Some([f.name.clone(), f.difference.clone()?])));
    let more = rows.len().saturating_sub(1 + SHOWN);
    rows.truncate(1 + SHOWN);
    if rows.len() > 1 {
        out.push_str(&report::table(&rows));
        out.push_str(&if more > 0 {
            format!("and {more} more files\n\n")
        } else {
            "\n".to_owned()
        });
    }
    let mut rows = vec![["metric", "A", "B", "B - A"].map(str::to_owned)];
    let differing = metrics.iter().filter(|(_, a, b)| a != b);
    let count = differing.clone().count();
    rows.extend(differing.take(SHOWN).map(|(name, a, b)| {
        [name.clone(), a.to_string(), b.to_string(), format!("{:.3e}", b - a)]
    }));
    if count > 0 {
        out.push_str(&report::table(&rows));
        let more = count.saturating_sub(SHOWN);
        out.push_str(&if more > 0 {
            format!("and {more} more metrics\n\n")
        } else {
            "\n".to_owned()
        });
    }
    out
}
