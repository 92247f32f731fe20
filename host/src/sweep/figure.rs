//! A metric at the end of the runs against the first numeric axis of the grid, drawn only from `summary.csv` and `config.toml`:
//! a curve for each combination of the other axes, the median over seeds with the quartiles as its band. Many combinations are
//! drawn in several panels; without a numeric axis each one is a point.

use super::collect::{STATISTICS, SUMMARY};
use super::judged;
use crate::error::Error;
use crate::experiments::learning::metrics;
use crate::run::{RunFiles, report};
use crate::train::capacity;
use crate::train::log::METRICS;
use compute::settings::setting;
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use std::path::Path;

/// The largest number of curves in a panel, and of panels in a row.
const CURVES: usize = 7;
const COLUMNS: usize = 3;
const ROWS: usize = 40;
/// The metrics that are shown by default, the first one in the figure; and what is shown of runs that are not judged.
const SHOWN: [&str; 3] = ["value_error", "explained_td0", "iws_judged"];
const OTHERWISE: [&str; 2] = ["msve", "loss"];
/// An axis without 0 is logarithmic if its ends have at least this ratio.
const DECADE: f64 = 10.0;

/// Returns the name of a judgement or of a metric of a log point, or the expected names as an error.
pub fn metric(name: &str) -> Result<String, String> {
    let of_points = metrics(capacity::LAYERS);
    let mut known = of_points.iter().map(|(metric, _)| &**metric).chain(judged::NAMES);
    if known.any(|metric| metric == name) {
        return Ok(name.to_owned());
    }
    let expected = "of layer 0 (_1, _2, ... where layers have their own)";
    let mut names: Vec<_> = metrics(1).into_iter().map(|(name, _)| name).collect();
    names.extend(judged::NAMES.map(str::to_owned));
    Err(format!("expected one of {}: those with _0 {expected}", names.join(", ")))
}

/// A run: its value on each axis, and the metric's quartiles.
type Row = (Vec<String>, [f64; 3]);

/// Returns the figure, if there is more than one run.
pub fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let text = String::from_utf8_lossy(&records.get("config.toml")?).into_owned();
    let config: toml::Table = text.parse().unwrap_or_default();
    let typed = config.get("metric").and_then(|metric| metric.as_str());
    let typed = typed.map(metric).transpose();
    let typed = typed.map_err(|e| Error::file(Path::new("config.toml"), format!("metric: {e}")))?;
    let summary = records.get(SUMMARY)?;
    let Some(metric) = shown(&summary, typed.as_deref())?.into_iter().next() else {
        return Ok(Vec::new());
    };
    let (axes, rows) = rows(&summary, &metric)?;
    let is_varied = |axis: &usize| rows.iter().any(|row| row.0[*axis] != rows[0].0[*axis]);
    let at = |row: &Row, axis: usize| row.0[axis].parse().ok().filter(|x: &f64| x.is_finite());
    let varied: Vec<usize> = (0..axes.len()).filter(is_varied).collect();
    let is_numeric = |axis: &&usize| rows.iter().all(|row| at(row, **axis).is_some());
    let x = varied.iter().find(is_numeric).copied();
    if varied.is_empty() {
        return Ok(Vec::new());
    }
    // Keep the plan's order.
    let mut curves = Vec::<(String, Vec<(f64, [f64; 3])>)>::new();
    for (number, row) in rows.iter().enumerate() {
        let other = varied.iter().filter(|axis| Some(**axis) != x);
        let said: Vec<_> =
            other.map(|axis| format!("{} = {}", axes[*axis], row.0[*axis])).collect();
        let place = x.map_or(Some(number as f64 + 1.0), |x| at(row, x));
        let (label, point) = (said.join(", "), place.map(|place| (place, row.1)));
        match curves.iter().position(|(other, _)| *other == label) {
            Some(place) => curves[place].1.extend(point),
            None => curves.push((label, point.into_iter().collect())),
        }
    }
    let places = curves.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x));
    let (low, high) = places.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    let ends = rows.iter().flat_map(|row| row.1).filter(|y| y.is_finite());
    let (least, largest) =
        ends.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(y), high.max(y)));
    // In a figure an underscore begins an index.
    let words = metric.replace('_', " ");
    let label = METRICS.iter().find(|m| m.name == metric).map_or(&*words, |m| m.label);
    let against = x.map_or("combination", |x| &axes[x]);
    let curve = |(label, points): &(String, Vec<(f64, [f64; 3])>)| {
        let mut points = points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Curve { marked: true, ..Curve::with_quartiles(label, points) }
    };
    let several = curves.len() > CURVES;
    let panel = |of: &[(String, Vec<_>)]| {
        let y = Axis::linear(label);
        Panel::Curves(Curves {
            x: Axis {
                label: against.into(),
                log: x.is_some() && low > 0.0 && high / low >= DECADE,
                ..Axis::default()
            },
            // The panels have one scale.
            y: if several && least < largest {
                Axis { low: Some(least), high: Some(largest), ..y }
            } else {
                y
            },
            curves: of.iter().map(curve).collect(),
            ..Curves::default()
        })
    };
    let panels: Vec<_> = curves.chunks(CURVES).map(panel).collect();
    let figure = Figure {
        title: format!("{label} at the end of the runs against {against}"),
        subtitle: "median over seeds; bands are quartiles".into(),
        columns: panels.len().min(COLUMNS),
        panels,
    };
    Ok(vec![(format!("{metric}-by-{against}"), figure)])
}

/// Returns the metrics to show: the typed one, or those by default that the runs have.
fn shown(summary: &[u8], typed: Option<&str>) -> Result<Vec<String>, Error> {
    if let Some(typed) = typed {
        return Ok(vec![typed.to_owned()]);
    }
    let has = |metric: &&str| -> Result<bool, Error> {
        let (_, rows) = rows(summary, metric)?;
        Ok(rows.iter().any(|row| row.1[1].is_finite()))
    };
    let mut found = Vec::new();
    for metric in SHOWN.iter().chain(&OTHERWISE) {
        if (found.is_empty() || SHOWN.contains(metric)) && has(metric)? {
            found.push((*metric).to_owned());
        }
    }
    Ok(found)
}

/// Returns the metrics of each run as a table: its value on each axis, and each metric's median and quartiles over seeds.
pub fn table(summary: &[u8], typed: Option<&str>) -> Result<String, Error> {
    let (mut axes, mut names) = (Vec::new(), Vec::new());
    // The runs' values on the axes, and their cells.
    let mut lines = Vec::<(Vec<String>, Vec<String>)>::new();
    for metric in shown(summary, typed)? {
        let (of, rows) = rows(summary, &metric)?;
        (axes, names) = (of, [names, vec![metric]].concat());
        for (values, quartiles) in rows {
            let [lower, median, upper] = quartiles.map(|x| report::number(x, 4));
            let at = lines.iter().position(|(other, _)| *other == values).unwrap_or(lines.len());
            if at == lines.len() {
                lines.push((values, Vec::new()));
            }
            // A run without an earlier metric has a gap.
            lines[at].1.resize(names.len() - 1, "—".into());
            lines[at].1.push(format!("{median} ({lower} to {upper})"));
        }
    }
    lines.iter_mut().for_each(|(_, cells)| cells.resize(names.len(), "—".into()));
    let more = lines.len().saturating_sub(ROWS);
    let more =
        if more > 0 { format!("and {more} more runs in {SUMMARY}\n") } else { String::new() };
    let lines = lines.into_iter().take(ROWS).map(|(values, cells)| [values, cells].concat());
    Ok(report::table(&[axes, names].concat(), lines) + &more)
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
