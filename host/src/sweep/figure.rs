//! A metric at the end of the runs against the first numeric axis of the grid, drawn only from `summary.csv` and `config.toml`:
//! a curve for each combination of the other axes, the median over seeds with the quartiles as its band.

use super::collect::{STATISTICS, SUMMARY};
use crate::error::Error;
use crate::experiments::learning::metrics;
use crate::run::{RunFiles, report};
use crate::train::capacity;
use crate::train::log::METRICS;
use compute::settings::setting;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use std::path::Path;

const CURVES: usize = 7;
const ROWS: usize = 40;
/// An axis without 0 is logarithmic if its ends have at least this ratio.
const DECADE: f64 = 10.0;

/// Returns one of the metrics of a log point, by its name in `sweep.csv`, or the expected names as an error.
pub fn metric(name: &str) -> Result<String, String> {
    if metrics(capacity::LAYERS).iter().any(|(metric, _)| metric == name) {
        return Ok(name.to_owned());
    }
    let expected = "of layer 0 (_1, _2, ... where layers have their own)";
    let names: Vec<_> = metrics(1).into_iter().map(|(name, _)| name).collect();
    Err(format!("expected one of {}: those with _0 {expected}", names.join(", ")))
}

/// A run: its value on each axis, and the metric's quartiles.
type Row = (Vec<String>, [f64; 3]);

/// Returns the figure, if an axis has several numbers.
pub fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let text = String::from_utf8_lossy(&records.get("config.toml")?).into_owned();
    let config: toml::Table = text.parse().unwrap_or_default();
    let name = config.get("metric").and_then(|metric| metric.as_str()).unwrap_or_default();
    let metric = metric(name)
        .map_err(|e| Error::file(Path::new("config.toml"), format!("metric {name}: {e}")))?;
    let (axes, rows) = rows(&records.get(SUMMARY)?, &metric)?;
    let is_varied = |axis: &usize| rows.iter().any(|row| row.0[*axis] != rows[0].0[*axis]);
    let at = |row: &Row, axis: usize| row.0[axis].parse().ok().filter(|x: &f64| x.is_finite());
    let varied: Vec<usize> = (0..axes.len()).filter(is_varied).collect();
    let is_numeric = |axis: &&usize| rows.iter().all(|row| at(row, **axis).is_some());
    let Some(x) = varied.iter().find(is_numeric).copied() else { return Ok(Vec::new()) };
    // Keep the plan's order.
    let mut curves = Vec::<(String, Vec<(f64, [f64; 3])>)>::new();
    for row in &rows {
        let other = varied.iter().filter(|axis| **axis != x);
        let said: Vec<_> =
            other.map(|axis| format!("{} = {}", axes[*axis], row.0[*axis])).collect();
        let (label, point) = (said.join(", "), at(row, x).map(|x| (x, row.1)));
        match curves.iter().position(|(other, _)| *other == label) {
            Some(place) => curves[place].1.extend(point),
            None if curves.len() < CURVES => curves.push((label, point.into_iter().collect())),
            None => {}
        }
    }
    let xs = rows.iter().filter_map(|row| at(row, x));
    let (low, high) = xs.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let curve = |(label, mut points): (String, Vec<(f64, [f64; 3])>)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { marked: true, ..Curve::with_quartiles(&label, points) }
    };
    let label = METRICS.iter().find(|m| m.name == metric).map_or(&*metric, |m| m.label);
    let curves = Curves {
        x: Axis {
            label: axes[x].clone(),
            log: low > 0.0 && high / low >= DECADE,
            ..Axis::default()
        },
        y: Axis::linear(label),
        curves: curves.into_iter().map(curve).collect(),
        ..Curves::default()
    };
    let figure = Figure {
        title: format!("{label} at the end of the runs against {}", axes[x]),
        subtitle: "median over seeds; bands are quartiles".into(),
        panels: vec![Panel::Curves(curves)],
        columns: 1,
    };
    Ok(vec![(format!("{metric}-by-{}", axes[x]), figure)])
}

/// Returns a metric of each run as a table: its value on each axis, and the quartiles over seeds.
pub fn table(summary: &[u8], metric: &str) -> Result<String, Error> {
    let (mut head, rows) = rows(summary, metric)?;
    let more = rows.len().saturating_sub(ROWS);
    head.extend([format!("{metric}: lower quartile"), "median".into(), "upper".into()]);
    let lines = rows.into_iter().take(ROWS).map(|(mut cells, quartiles)| {
        cells.extend(quartiles.map(|x| report::number(x, 4)));
        cells
    });
    let more =
        if more > 0 { format!("and {more} more runs in {SUMMARY}\n") } else { String::new() };
    Ok(report::table(&head, lines) + &more)
}

fn rows(summary: &[u8], metric: &str) -> Result<(Vec<String>, Vec<Row>), Error> {
    let refuse = |reason: String| {
        Error::file(Path::new(SUMMARY), format!("{reason}; expected what a sweep wrote"))
    };
    let mut reader = csv::Reader::from_reader(summary);
    let head = reader.headers().map_err(|e| refuse(e.to_string()))?.clone();
    let count = head.len().saturating_sub(2 + STATISTICS.len());
    let axes: Vec<_> = head
        .iter()
        .skip(1)
        .take(count)
        .map(|axis| axis.trim_start_matches("--").to_owned())
        .collect();
    let ends = head.iter().skip(1 + count).eq(["metric"].into_iter().chain(STATISTICS));
    if !ends || !axes.iter().all(|axis| setting(axis).is_ok()) {
        return Err(refuse(format!("line 1: `{}`", head.iter().collect::<Vec<_>>().join(","))));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| refuse(e.to_string()))?;
        if &record[1 + count] == metric {
            let values = record.iter().skip(1).take(count).map(str::to_owned).collect();
            let last = head.len() - 3;
            let quartiles = [0, 1, 2].map(|i| record[last + i].parse().unwrap_or(f64::NAN));
            rows.push((values, quartiles));
        }
    }
    Ok((axes, rows))
}
