//! `ictd compare`: two runs or two files, bit for bit.

pub mod contents;

use crate::error::Error;
use crate::files::{self, Kind};
use crate::page;
use crate::run::report::{self, Claim, Report, Verdict};
use crate::run::{info, lock, transaction};
use contents::first_difference;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files that say how a run went, not what came out; the page shows what `run.json` says.
const NOT_COMPARED: [&str; 3] = [lock::FILE_NAME, info::FILE_NAME, page::NAME];

/// The most folders within each other, and the most files.
const DEEPEST: usize = 16;
const MOST_FILES: usize = 1_000_000;

/// The longest name of a metric.
const LONGEST_NAME: usize = 1000;

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

/// What is found.
#[derive(Serialize)]
struct Found {
    equal: bool,
    files_compared: usize,
    differences: Vec<Difference>,
    metrics: Vec<Metric>,
}

/// A file that differs, and where it first does.
#[derive(Serialize)]
struct Difference {
    file: String,
    first_difference: String,
}

/// A number that both sides' results have under the same name.
#[derive(Serialize)]
struct Metric {
    metric: String,
    a: f64,
    b: f64,
    equal: bool,
}

/// Runs the command.
/// Errors: [`Error::File`] or [`Error::Format`] for a path that cannot be read.
pub fn run(options: &Compare) -> Result<Report, Error> {
    let Compare { a, b } = options;
    let is_directory = |path: &Path| match files::is_folder(path) {
        true => Ok(true),
        // Says what is wrong with it, if it is no file either.
        false => files::open(path).map(|_| false).map_err(|e| Error::file(path, e)),
    };
    let (files_compared, differences) = match (is_directory(a)?, is_directory(b)?) {
        (true, true) => directories(a, b)?,
        (false, false) => {
            let file = a.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let difference = |first_difference| Difference { file, first_difference };
            (1, first_difference(a, b)?.map(difference).into_iter().collect())
        }
        _ => return Err(Error::file(b, "accepted are two directories or two files")),
    };
    let equal = differences.is_empty();
    let found = Found { equal, files_compared, differences, metrics: metrics(a, b) };
    let mut report = Report::of("compare", &found);
    report.text = found.text();
    let files_equal = files_compared - found.differences.len();
    let measured = format!("{files_equal} of {files_compared} files equal");
    let verdict = Verdict::of(equal);
    report.claims.push(Claim::new("A and B are bit-equal", "—", measured, verdict));
    Ok(report)
}

/// How many files there are on either side, and those that differ, in the order of their names.
fn directories(a: &Path, b: &Path) -> Result<(usize, Vec<Difference>), Error> {
    let (in_a, in_b) = (files_below(a)?, files_below(b)?);
    let all: BTreeSet<_> = in_a.union(&in_b).collect();
    if all.is_empty() {
        return Err(Error::file(a, "no files: accepted is the directory of a run"));
    }
    let mut differences = Vec::new();
    for name in &all {
        let first = match (in_a.contains(*name), in_b.contains(*name)) {
            (true, true) => {
                let [a, b] = [a.join(name), b.join(name)];
                match [&a, &b].into_iter().find(|path| files::kind(path) != Kind::File) {
                    Some(path) => {
                        let reason = "a link, or no regular file: not followed in a run";
                        return Err(Error::file(path, reason));
                    }
                    None => first_difference(&a, &b)?,
                }
            }
            (true, false) => Some("only in A".to_owned()),
            _ => Some("only in B".to_owned()),
        };
        let file = name.display().to_string();
        differences.extend(first.map(|first_difference| Difference { file, first_difference }));
    }
    Ok((all.len(), differences))
}

fn files_below(directory: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        let path = directory.join(&below);
        let refuse = |e| Error::file(&path, e);
        transaction::settle_unclaimed(&path)?;
        for (name, kind) in files::list(&path).map_err(refuse)? {
            let text = name.to_string_lossy();
            if kind == Kind::Folder {
                waiting.push(below.join(&name));
            } else if !NOT_COMPARED.contains(&text.as_ref()) {
                found.insert(below.join(&name));
            }
        }
        if below.components().count() > DEEPEST || found.len() > MOST_FILES {
            let reason =
                format!("accepted are {MOST_FILES} files in {DEEPEST} folders within each other");
            return Err(Error::file(&path, reason));
        }
    }
    Ok(found)
}

/// The numbers that both sides' results have under the same name.
fn metrics(a: &Path, b: &Path) -> Vec<Metric> {
    let numbers = |path: &Path| {
        let bytes = if files::is_folder(path) {
            files::read_below(path, "results.json", files::RECORD)
        } else {
            files::read(path, files::RECORD)
        };
        let value = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut numbers = Vec::new();
        flatten("", &value.unwrap_or(Value::Null), &mut numbers);
        numbers
    };
    let in_b: BTreeMap<String, f64> = numbers(b).into_iter().collect();
    let common = numbers(a).into_iter().filter_map(|(metric, a)| {
        let b = *in_b.get(&metric)?;
        Some(Metric { metric, a, b, equal: a == b })
    });
    common.collect()
}

fn flatten(name: &str, value: &Value, numbers: &mut Vec<(String, f64)>) {
    let below =
        |part: &str| if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") };
    match value {
        _ if name.len() > LONGEST_NAME => {}
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

impl Found {
    /// For a human: what differs, and the metrics that differ.
    fn text(&self) -> String {
        let file = |d: &Difference| [&d.file, &d.first_difference].map(String::clone);
        let metric = |m: &Metric| {
            [m.metric.clone(), m.a.to_string(), m.b.to_string(), format!("{:.3e}", m.b - m.a)]
        };
        let metrics = self.metrics.iter().filter(|m| !m.equal).map(metric);
        let files = self.differences.iter().map(file);
        shown("files", ["file", "first difference"], files)
            + &shown("metrics", ["metric", "A", "B", "B - A"], metrics)
    }
}

/// A table of as many rows as are shown, and how many there are besides.
fn shown<const N: usize>(
    what: &str,
    head: [&str; N],
    mut rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut table = vec![head.map(str::to_owned)];
    table.extend(rows.by_ref().take(SHOWN));
    match (table.len(), rows.count()) {
        (1, _) => String::new(),
        (_, 0) => report::table(&table) + "\n",
        (_, more) => report::table(&table) + &format!("and {more} more {what}\n\n"),
    }
}
