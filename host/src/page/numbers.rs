//! A run's results as tables: whatever they are, numbers of seeds with their spread.

use super::html;
use crate::experiments::learning::quartiles;
use crate::experiments::mean_and_stderr;
use serde_json::{Map, Value};

/// The tables of the results, those of single seeds folded away.
pub(super) fn tables(results: &Map<String, Value>) -> String {
    let mut out = String::new();
    let (mut single, mut columns) = (Vec::new(), Vec::new());
    for (key, value) in results {
        match value {
            Value::Array(items) if seeds(items).is_some() => out.push_str(&of_seeds(key, items)),
            Value::Array(items) if items.iter().all(is_number) && !items.is_empty() => {
                columns.push((key.as_str(), items));
            }
            Value::Object(object) if object.values().all(Value::is_object) => {
                out.push_str(&of_objects(key, object));
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
    out.push_str(&of_columns(&columns));
    if !single.is_empty() {
        out.push_str(&html::table("Results", &words(["result", "value"]), &single));
    }
    out
}

fn is_number(value: &Value) -> bool {
    value.is_number() || value.is_null()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).into()
}

/// The seeds of a list of results of seeds.
fn seeds(items: &[Value]) -> Option<Vec<&Map<String, Value>>> {
    let objects: Vec<_> = items.iter().map(Value::as_object).collect::<Option<_>>()?;
    let are_seeds = !objects.is_empty() && objects.iter().all(|o| o.contains_key("seed"));
    are_seeds.then_some(objects)
}

/// Each metric over seeds, and a folded table of each seed.
fn of_seeds(key: &str, items: &[Value]) -> String {
    let Some(seeds) = seeds(items) else { return String::new() };
    let rows: Vec<Vec<(String, String, f64)>> = seeds.iter().map(|s| flat(s)).collect();
    let first = rows.first().map(Vec::as_slice).unwrap_or_default();
    let mut spread = Vec::new();
    for (name, _, _) in first.iter().filter(|(name, _, x)| name != "seed" && !x.is_nan()) {
        let values: Vec<f64> = rows
            .iter()
            .filter_map(|row| row.iter().find(|(n, _, _)| n == name))
            .map(|(_, _, x)| *x)
            .filter(|x| x.is_finite())
            .collect();
        let [lower, median, upper] = quartiles(values.clone());
        let (mean, stderr) = mean_and_stderr(values.iter().copied());
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        spread.push(vec![
            name.clone(),
            short(median),
            format!("{} to {}", short(lower), short(upper)),
            format!("{} to {}", short(least), short(most)),
            format!("{} ± {}", short(mean), short(stderr)),
        ]);
    }
    let what = if key == "seeds" { String::new() } else { format!("{}: ", label(key)) };
    let caption = format!("{what}{} seeds, at the end of training", seeds.len());
    let head = words(["metric", "median", "quartiles", "range", "mean ± standard error"]);
    let mut out = html::table(&caption, &head, &spread);
    let head: Vec<String> = first.iter().map(|(name, _, _)| name.clone()).collect();
    let body: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|(_, text, _)| text.clone()).collect()).collect();
    out.push_str(&format!(
        "<details><summary>{}each of the {} seeds</summary>\n{}</details>\n",
        html::escape(&what),
        seeds.len(),
        html::table(&format!("{what}each seed"), &head, &body)
    ));
    out
}

/// The entries of a seed: name, text, and number or NaN; lists become one entry per layer.
fn flat(seed: &Map<String, Value>) -> Vec<(String, String, f64)> {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let mut out = Vec::new();
    for (key, value) in seed {
        match value {
            Value::Array(items) => {
                for (layer, item) in items.iter().enumerate() {
                    out.push((format!("{}, layer {layer}", label(key)), text(item), number(item)));
                }
            }
            Value::Object(_) => {}
            value => out.push((label(key), text(value), number(value))),
        }
    }
    out
}

/// An object of objects: a row for each, a column for each number in them.
fn of_objects(key: &str, object: &Map<String, Value>) -> String {
    let mut columns: Vec<&String> = Vec::new();
    for inner in object.values().filter_map(Value::as_object) {
        for (name, value) in inner {
            if is_scalar(value) && !columns.contains(&name) {
                columns.push(name);
            }
        }
    }
    if columns.is_empty() {
        return String::new();
    }
    let row = |(name, inner): (&String, &Value)| -> Vec<String> {
        let cells = columns.iter().map(|c| inner.get(c.as_str()).map(text).unwrap_or_default());
        std::iter::once(label(name)).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = object.iter().map(row).collect();
    let head: Vec<String> =
        std::iter::once(String::from("of")).chain(columns.iter().map(|c| label(c))).collect();
    html::table(&label(key), &head, &rows)
}

/// Lists of equal length side by side; a mean with its standard error in one column.
fn of_columns(columns: &[(&str, &Vec<Value>)]) -> String {
    let mut out = String::new();
    let mut lengths: Vec<usize> = columns.iter().map(|(_, items)| items.len()).collect();
    lengths.dedup();
    for length in lengths {
        let of_length = || columns.iter().filter(|(_, items)| items.len() == length);
        let error_of = |key: &str| {
            let name = format!("{}_stderr", key.strip_suffix("_mean")?);
            of_length().find(|(other, _)| *other == name).map(|(_, items)| *items)
        };
        let is_error = |key: &str| {
            let mean = key.strip_suffix("_stderr").map(|k| format!("{k}_mean"));
            mean.is_some_and(|mean| of_length().any(|(other, _)| *other == mean))
        };
        let shown: Vec<_> = of_length().filter(|(key, _)| !is_error(key)).collect();
        let head: Vec<String> = shown
            .iter()
            .map(|(key, _)| match error_of(key) {
                Some(_) => format!("{} ± standard error", label(key)),
                None => label(key),
            })
            .collect();
        let cell = |key: &str, items: &Vec<Value>, i: usize| match error_of(key) {
            Some(errors) => format!("{} ± {}", text(&items[i]), text(&errors[i])),
            None => text(&items[i]),
        };
        let rows: Vec<Vec<String>> = (0..length)
            .map(|i| shown.iter().map(|(key, items)| cell(key, items, i)).collect())
            .collect();
        let table = html::table("Measured", &head, &rows);
        if length > 12 {
            let summary = format!("{} rows of numbers", rows.len());
            out.push_str(&format!("<details><summary>{summary}</summary>\n{table}</details>\n"));
        } else {
            out.push_str(&table);
        }
    }
    out
}

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

/// Four significant digits.
fn short(x: f64) -> String {
    let size = x.abs();
    let text = if !x.is_finite() {
        "–".into()
    } else if size == 0.0 {
        "0".into()
    } else if (1e-3..1e4).contains(&size) {
        let digits = size.log10().floor() as i32;
        format!("{x:.*}", (3 - digits).clamp(0, 6) as usize)
    } else {
        format!("{x:.2e}")
    };
    text.replace('-', "−")
}

/// The words for a name in the results.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: Value) -> String {
        tables(value.as_object().expect("an object"))
    }

    #[test]
    fn seeds_are_shown_with_their_spread_and_each_alone() {
        let seed = |s: u64, iws: f64| json!({"seed": s, "digest": format!("d{s}"), "iws": iws});
        let html = of(json!({"seeds": [seed(0, 1.0), seed(1, 2.0), seed(2, 6.0)]}));
        assert!(html.contains("3 seeds, at the end of training"), "{html}");
        let row = "<th scope=\"row\">IWS</th><td>2.000</td><td>1.500 to 4.000</td>\
                   <td>1.000 to 6.000</td><td>3.000 ± 1.247</td>";
        assert!(html.contains(row), "{html}");
        assert!(html.contains("<td>d2</td><td>6.000</td>"), "{html}");
    }

    #[test]
    fn layers_undefined_metrics_and_foreign_names_are_shown() {
        let seed = json!({"seed": 0, "vd": null, "p_bottom_right": [0.5, 0.25], "<b>": 1.5});
        let html = of(json!({"a & <i>": [seed]}));
        assert!(html.contains("P[−1, −1], layer 1</th><td>0.2500</td>"), "{html}");
        assert!(html.contains("&lt;b&gt;") && !html.contains("<b>") && !html.contains("<i>"));
        assert!(html.contains("<td>–</td>"), "{html}");
    }

    #[test]
    fn means_stand_beside_their_errors_and_objects_become_rows() {
        let html = of(json!({
            "context_lengths": [1, 3], "msve_mean": [0.5, 0.25], "msve_stderr": [0.1, 1e-5],
            "constructions": {"td0": {"max_abs_error": 4.4e-16, "list": [1]}, "x": {}},
            "max_abs_error": 1e-16,
        }));
        assert!(html.contains("<th scope=\"row\">3</th><td>0.2500 ± 1.00e−5</td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">TD(0)</th><td>4.40e−16</td>"), "{html}");
        assert!(html.contains("<th scope=\"row\">max abs error</th><td>1.00e−16</td>"), "{html}");
    }
}
