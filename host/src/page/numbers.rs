//! A run's results as tables: whatever they are, numbers of seeds with their spread.

use super::table::table;
use super::text::{label, short, text};
use crate::experiments::statistics::{mean_and_stderr, quartiles};
use maud::{Markup, html};
use serde_json::{Map, Value};

/// The tables of the results, those of single seeds folded away.
pub fn tables(results: &Map<String, Value>) -> Markup {
    let (mut tables, mut single, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in results {
        match value {
            Value::Array(items) if items.is_empty() => {}
            Value::Array(items) if items.iter().all(|item| item.get("seed").is_some()) => {
                tables.push(of_seeds(key, items));
            }
            Value::Array(items) if items.iter().all(|x| x.is_number() || x.is_null()) => {
                columns.push((key.as_str(), items.as_slice()));
            }
            Value::Object(object) if object.values().all(Value::is_object) => {
                tables.push(of_objects(key, object));
            }
            Value::Object(object) => {
                for (inner, value) in object.iter().filter(|(_, v)| is_scalar(v)) {
                    single.push(vec![format!("{}, {}", label(key), label(inner)), text(value)]);
                }
            }
            value if is_scalar(value) => single.push(vec![label(key), text(value)]),
            _ => {}
        }
    }
    html! {
        @for one in &tables { (one) }
        (of_columns(&columns))
        @if !single.is_empty() { (table("Results", &["result", "value"], &single)) }
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// Each metric over seeds, and a folded table of each seed.
fn of_seeds(key: &str, seeds: &[Value]) -> Markup {
    let rows: Vec<_> = seeds.iter().filter_map(Value::as_object).map(entries).collect();
    let first = rows.first().map(Vec::as_slice).unwrap_or_default();
    let spread: Vec<_> = first
        .iter()
        .filter(|entry| entry.name != "seed" && !entry.number.is_nan())
        .map(|Entry { name, .. }| {
            let of_seed = |row: &Vec<Entry>| row.iter().find(|e| e.name == *name).map(|e| e.number);
            let values = rows.iter().filter_map(of_seed).filter(|x| x.is_finite());
            spread(name, values.collect())
        })
        .collect();
    let what = if key == "seeds" { String::new() } else { format!("{}: ", label(key)) };
    let metrics = ["metric", "median", "quartiles", "range", "mean ± standard error"];
    let head: Vec<_> = first.iter().map(|entry| &entry.name).collect();
    let body: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(|entry| entry.text.clone()).collect()).collect();
    let caption = format!("{what}{} seeds, at the end of training", seeds.len());
    html! {
        (table(&caption, &metrics, &spread))
        details {
            summary { (what) "each of the " (seeds.len()) " seeds" }
            (table(&format!("{what}each seed"), &head, &body))
        }
    }
}

/// A metric's name, median, quartiles, range, and mean with its standard error.
fn spread(name: &str, values: Vec<f64>) -> Vec<String> {
    let (mean, stderr) = mean_and_stderr(values.iter().copied());
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [lower, median, upper] = quartiles(values);
    vec![
        name.to_owned(),
        short(median),
        format!("{} to {}", short(lower), short(upper)),
        format!("{} to {}", short(least), short(most)),
        format!("{} ± {}", short(mean), short(stderr)),
    ]
}

/// A result of a seed.
struct Entry {
    name: String,
    text: String,
    /// NaN if it is none.
    number: f64,
}

/// The results of a seed; a list becomes one entry per layer.
fn entries(seed: &Map<String, Value>) -> Vec<Entry> {
    let entry = |name: String, value: &Value| Entry {
        name,
        text: text(value),
        number: value.as_f64().unwrap_or(f64::NAN),
    };
    let mut out = Vec::new();
    for (key, value) in seed {
        match value {
            Value::Array(items) => out.extend(
                items
                    .iter()
                    .enumerate()
                    .map(|(l, x)| entry(format!("{}, layer {l}", label(key)), x)),
            ),
            Value::Object(_) => {}
            value => out.push(entry(label(key), value)),
        }
    }
    out
}

/// An object of objects: a row for each, a column for each number in them.
fn of_objects(key: &str, object: &Map<String, Value>) -> Markup {
    let mut columns: Vec<&String> = Vec::new();
    for (name, value) in object.values().filter_map(Value::as_object).flatten() {
        if is_scalar(value) && !columns.contains(&name) {
            columns.push(name);
        }
    }
    let row = |(name, inner): (&String, &Value)| -> Vec<String> {
        let cells = columns.iter().map(|c| inner.get(c.as_str()).map(text).unwrap_or_default());
        std::iter::once(label(name)).chain(cells).collect()
    };
    let rows: Vec<_> = object.iter().map(row).collect();
    let head: Vec<_> =
        std::iter::once("of".to_owned()).chain(columns.iter().map(|c| label(c))).collect();
    html! { @if !columns.is_empty() { (table(&label(key), &head, &rows)) } }
}

/// Lists of equal length side by side; a mean with its standard error in one column.
fn of_columns(columns: &[(&str, &[Value])]) -> Markup {
    let mut lengths: Vec<usize> = Vec::new();
    for (_, items) in columns {
        if !lengths.contains(&items.len()) {
            lengths.push(items.len());
        }
    }
    let of_length = |length: usize| -> Vec<_> {
        columns.iter().copied().filter(|(_, items)| items.len() == length).collect()
    };
    html! {
        @for length in lengths {
            @let measured = of_one_length(&of_length(length));
            @if length > 12 {
                details { summary { (length) " rows of numbers" } (measured) }
            } @else {
                (measured)
            }
        }
    }
}

fn of_one_length(columns: &[(&str, &[Value])]) -> Markup {
    let named = |name: String| columns.iter().find(|(other, _)| *other == name).map(|(_, x)| *x);
    let errors_of = |key: &str| named(format!("{}_stderr", key.strip_suffix("_mean")?));
    let mean_of = |key: &str| named(format!("{}_mean", key.strip_suffix("_stderr")?));
    let (mut head, mut rows) = (Vec::new(), Vec::<Vec<String>>::new());
    for (key, items) in columns.iter().filter(|(key, _)| mean_of(key).is_none()) {
        let errors = errors_of(key);
        head.push(match errors {
            Some(_) => format!("{} ± standard error", label(key)),
            None => label(key),
        });
        rows.resize(items.len(), Vec::new());
        for (i, row) in rows.iter_mut().enumerate() {
            row.push(match errors {
                Some(errors) => format!("{} ± {}", text(&items[i]), text(&errors[i])),
                None => text(&items[i]),
            });
        }
    }
    table("Measured", &head, &rows)
}
