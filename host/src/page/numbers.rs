//! A run's results as tables: whatever they are, numbers of seeds with their spread.

use super::html::{self, table, tag};
use crate::experiments::statistics::{mean_and_stderr, quartiles};
use serde_json::{Map, Value};

/// Returns the tables of the results, those of single seeds folded away.
pub fn tables(results: &Map<String, Value>) -> String {
    let (mut tables, mut single) = (Vec::new(), Vec::new());
    for (key, value) in results {
        match value {
            Value::Array(items) if items.is_empty() => {}
            Value::Array(items) if items.iter().all(|item| item.get("seed").is_some()) => {
                tables.push(of_seeds(key, items));
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
    let mut out = tables.concat();
    if !single.is_empty() {
        out += &table("Results", &["result", "value"], &single);
    }
    out
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// Each metric over seeds, and a folded table of each seed.
fn of_seeds(key: &str, seeds: &[Value]) -> String {
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
    let summary = format!("{}each of the {} seeds", html::text(&what), seeds.len());
    let each = table(&format!("{what}each seed"), &head, &body);
    table(&caption, &metrics, &spread) + &tag("details", tag("summary", summary) + &each)
}

/// Returns a metric's name, median, quartiles, range, and mean with its standard error.
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

/// Returns the results of a seed; a list becomes one entry per layer.
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

/// Returns an object of objects: a row for each, a column for each number in them.
fn of_objects(key: &str, object: &Map<String, Value>) -> String {
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
    if columns.is_empty() { String::new() } else { table(&label(key), &head, &rows) }
}

/// Returns a value of the results in words; a list or an object is a dash.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(n) if n.is_f64() => short(n.as_f64().unwrap_or(f64::NAN)),
        Value::Number(n) => n.to_string(),
        _ => "–".into(),
    }
}

/// Returns a number with four significant digits.
fn short(x: f64) -> String {
    let size = x.abs();
    let text = if !x.is_finite() {
        "–".into()
    } else if size == 0.0 {
        "0".into()
    } else if (1e-3..1e4).contains(&size) {
        let digits = libm::log10(size).floor() as i32;
        format!("{x:.*}", (3 - digits).clamp(0, 6) as usize)
    } else {
        format!("{x:.2e}")
    };
    text.replace('-', "−")
}

/// Returns the words for a name in the results.
fn label(key: &str) -> String {
    match key {
        "p_bottom_right" => "P[−1, −1]".into(),
        "p_avg_abs_others" => "mean |other entries of P|".into(),
        "q_trace_upper_left" => "tr Q[:d, :d]".into(),
        "q_trace_upper_right" => "tr Q[:d, d:2d]".into(),
        "q_avg_abs_others" => "mean |other entries of Q|".into(),
        "vd" | "iws" | "ss" | "msve" => key.to_uppercase(),
        "msve_mean" => "MSVE".into(),
        "td0" => "TD(0)".into(),
        "td_lambda" => "TD(λ)".into(),
        other => other.strip_suffix("_mean").unwrap_or(other).replace('_', " "),
    }
}
