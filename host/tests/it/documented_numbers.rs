//! Numbers in README and guide against the records that they come from. `numbers.txt` has the sentences, each number
//! as `{experiment/run/metric/statistic = number}`, from `ictd reproduce experiment`. A statistic is the `median` or
//! `mean` over seeds, the `mean`, `median` or `sum at X`, `1 - median`, or the count of seeds that have `at least X` or
//! are `below X`. After
//! `ictd reproduce all`, `ICTD_RECORDS=results cargo test -p host --test it documented_numbers` compares them with every
//! record in that folder.

use crate::common::*;
use ictd::experiments::measurements::{MeasurementTable, RunMeasurements};
use ictd::experiments::statistics::{mean_and_stderr, median};
use ictd::run::records::RunFiles;
use std::collections::BTreeMap;

const NUMBERS: &str = include_str!("numbers.txt");

/// A number in a sentence: where it is from, and its digits.
type Number<'a> = [&'a str; 2];

/// Returns a sentence's page, its words, and its numbers.
fn sentence(line: &str) -> (&str, String, Vec<Number<'_>>) {
    let (page, marked) = line.split_once(": ").unwrap();
    let (mut words, mut numbers) = (String::new(), Vec::new());
    for part in marked.split_inclusive('}') {
        let (before, number) = part.split_once('{').unwrap_or((part, ""));
        words.push_str(before);
        if let Some((source, digits)) = number.trim_end_matches('}').rsplit_once(" = ") {
            words.push_str(digits);
            numbers.push([source, digits]);
        }
    }
    (page, words, numbers)
}

fn sentences() -> impl Iterator<Item = (&'static str, String, Vec<Number<'static>>)> {
    NUMBERS.lines().filter(|line| !line.is_empty()).map(sentence)
}

/// Returns a number of a record.
fn statistic(of: RunMeasurements, metric: &str, statistic: &str) -> f64 {
    let (kind, values) = match statistic.split_once(" at ") {
        Some((kind, place)) => (kind, of.values_at(metric, place.parse().unwrap())),
        None => (statistic, of.values(metric)),
    };
    let limit = |words| kind.strip_prefix(words).map(|x: &str| x.parse::<f64>().unwrap());
    let count = |is_counted: &dyn Fn(&f64) -> bool| values.iter().filter(|x| is_counted(x)).count();
    match (kind, limit("at least "), limit("below ")) {
        (_, Some(limit), _) => count(&|x| *x >= limit) as f64,
        (_, _, Some(limit)) => count(&|x| *x < limit) as f64,
        ("sum", ..) => values.iter().sum(),
        ("mean", ..) => mean_and_stderr(values.into_iter()).0,
        ("median", ..) => median(&values),
        ("1 - median", ..) => 1.0 - median(&values),
        _ => panic!("no statistic: {statistic}"),
    }
}

/// Returns how many numbers have a record in a folder, and those that differ from it.
pub(crate) fn differing(folder: &Path) -> (usize, Vec<String>) {
    let (mut compared, mut differing, mut read) = (0, Vec::new(), BTreeMap::new());
    for (page, _, numbers) in sentences() {
        for [source, digits] in numbers {
            let [experiment, run, metric, of] = source.split('/').collect::<Vec<_>>()[..] else {
                panic!("{source}")
            };
            let directory = folder.join(experiment);
            if !directory.join("records.csv").is_file() {
                continue;
            }
            let (long, text) = read.entry(experiment).or_insert_with(|| {
                let long = MeasurementTable::read(&RunFiles::open(&directory).unwrap());
                (long.unwrap(), directory.text("records.csv"))
            });
            // The main job trains one of the three bases.
            let base = run.rsplit_once(" + ").map(|(_, base)| format!(" + {base},"));
            if base.is_some_and(|base| !text.contains(&base)) {
                continue;
            }
            let found = statistic(long.of(run), metric, of);
            let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
            compared += 1;
            let found_digits = format!("{found:.decimals$}");
            // Nothing has no sign.
            let is_zero = found_digits.parse() == Ok(0.0);
            if found_digits.trim_start_matches(if is_zero { "-" } else { "" }) != digits {
                differing.push(format!("{page}: {source} is {found}, not {digits}"));
            }
        }
    }
    (compared, differing)
}

#[test]
fn the_pages_have_the_numbers_of_their_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (page, words, numbers) in sentences() {
        let text = plain(&root.text(page));
        assert!(!numbers.is_empty() && text.contains(&plain(&words)), "{page} lacks: {words}");
    }
    if let Some(folder) = std::env::var_os("ICTD_RECORDS") {
        let (compared, differing) = differing(Path::new(&folder));
        assert!(compared > 0 && differing.is_empty(), "{compared}: {differing:#?}");
    }
}
