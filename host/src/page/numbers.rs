//! The results of any run as tables, with the spread of numbers over seeds.

use super::html::table;
use crate::experiments::statistics::{mean_and_stderr, quartiles};
use serde_json::{Map, Value};

/// The largest number of characters of a name: each row repeats those above it.
const LONGEST: usize = 200;

pub fn tables(results: &Map<String, Value>) -> String {
    let (mut tables, mut single) = (String::new(), Vec::new());
    for (key, value) in results {
        match value.as_array().map(Vec::as_slice) {
            Some([first, ..]) if first.get("seed").is_some() => {
                tables += &of_seeds(key, value);
            }
            _ => flatten(label(key), value, 2, &mut single),
        }
    }
    if !single.is_empty() {
        tables += &table("Results", &["result", "value"], &single);
    }
    tables
}

/// Adds a row for each number and text of a value, and of the objects in it down to a depth.
fn flatten(name: String, value: &Value, depth: usize, rows: &mut Vec<Vec<String>>) {
    let text = match value {
        Value::Object(inner) if depth > 0 => {
            for (key, value) in inner {
                flatten(format!("{name}, {}", label(key)), value, depth - 1, rows);
            }
            return;
        }
        Value::Object(_) | Value::Array(_) => return,
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(n) if n.is_f64() => short(n.as_f64().unwrap_or(f64::NAN)),
        Value::Number(n) => n.to_string(),
        Value::Null => "–".into(),
    };
    rows.push(vec![name, text]);
}

fn of_seeds(key: &str, seeds: &Value) -> String {
    let seeds = seeds.as_array().into_iter().flatten();
    let all: Vec<_> = seeds.filter_map(Value::as_object).map(numbers).collect();
    let first = all.first().map(Vec::as_slice).unwrap_or_default();
    let metrics = first.iter().filter(|(name, number)| name != "seed" && number.is_some());
    let row = |(name, _): &(String, _)| {
        let of_seed = |seed: &Vec<(String, _)>| seed.iter().find(|of| of.0 == *name)?.1;
        spread(name, all.iter().filter_map(of_seed).collect())
    };
    let rows: Vec<_> = metrics.map(row).collect();
    let what = if key == "seeds" { String::new() } else { format!("{}: ", label(key)) };
    let caption = format!("{what}{} seeds, at the end of training", all.len());
    table(&caption, &["metric", "median", "quartiles", "range", "mean ± standard error"], &rows)
}

/// Returns the results of a seed that are numbers; a list becomes one for each layer.
fn numbers(seed: &Map<String, Value>) -> Vec<(String, Option<f64>)> {
    let of = |(key, value): (&String, &Value)| match value {
        Value::Array(items) => {
            let layer =
                |(l, x): (usize, &Value)| (format!("{}, layer {l}", label(key)), x.as_f64());
            items.iter().enumerate().map(layer).collect()
        }
        value => vec![(label(key), value.as_f64())],
    };
    seed.iter().flat_map(of).collect()
}

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

fn label(key: &str) -> String {
    match key {
        "p_bottom_right" => "P[−1, −1]".into(),
        "p_avg_abs_others" => "mean |other entries of P|".into(),
        "q_trace_upper_left" => "tr Q[:d, :d]".into(),
        "q_trace_upper_right" => "tr Q[:d, d:2d]".into(),
        "q_avg_abs_others" => "mean |other entries of Q|".into(),
        "vd" | "iws" | "ss" | "msve" => key.to_uppercase(),
        "td0" => "TD(0)".into(),
        "td_lambda" => "TD(λ)".into(),
        other => other.replace('_', " ").chars().take(LONGEST).collect(),
    }
}
