//! A metric at the end of the runs against each numeric axis of the grid, from `summary.csv` and `config.toml` alone.
//!
//! Each combination of the other axes is a curve, the median over seeds with the quartiles as its band. Where these are
//! more than there are colours, the numeric ones among them are panels. Runs beside the grid are dashed lines.

use super::collect::{STATISTICS, SUMMARY, metrics};
use crate::error::Error;
use crate::files;
use crate::run::records::Records;
use crate::train::capacity;
use crate::train::log::METRICS;
use figures::{Axis, Curve, Curves, Figure, HorizontalLine, NamedFigures, Panel};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many curves a panel has: as many as there are colours.
const CURVES: usize = 7;
/// How many panels a figure has, and how many axes have one.
const PANELS: usize = 24;
const AXES: usize = 24;
/// An axis without 0 is logarithmic if its ends have at least this ratio.
const DECADE: f64 = 10.0;

/// Each with its name.
type Points<'a> = Vec<(String, Vec<&'a Row>)>;

/// Returns one of the metrics of a log point, by its name in `sweep.csv`.
/// Errors: what is accepted.
pub fn metric(name: &str) -> Result<String, String> {
    if metrics(capacity::LAYERS).iter().any(|metric| metric == name) {
        return Ok(name.to_owned());
    }
    let accepted = "of layer 0 (_1, _2, ... where layers have their own)";
    Err(format!("accepted is one of {}: those with _0 {accepted}", metrics(1).join(", ")))
}

/// A run: its value on each axis, and the metric's quartiles.
struct Row {
    name: String,
    values: Vec<String>,
    quartiles: [f64; 3],
}

impl Row {
    /// Returns its place on a numeric axis.
    fn at(&self, axis: usize) -> Option<f64> {
        self.values[axis].parse().ok().filter(|x: &f64| x.is_finite())
    }
}

/// Returns the figures.
/// Errors: [`Error::File`] if a record is missing or damaged.
pub fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let text = String::from_utf8_lossy(&records.get("config.toml")?).into_owned();
    let config: toml::Table = text.parse().unwrap_or_default();
    let name = config.get("metric").and_then(|metric| metric.as_str()).unwrap_or_default();
    let metric = metric(name)
        .map_err(|e| Error::file(Path::new("config.toml"), format!("metric {name}: {e}")))?;
    let (axes, rows) = rows(&records.get(SUMMARY)?, &metric).map_err(|e| {
        Error::file(Path::new(SUMMARY), format!("{e}; accepted is what a sweep wrote"))
    })?;
    let (grid, named): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.name.is_empty());
    let distinct =
        |axis: usize| grid.iter().map(|row| &row.values[axis]).collect::<BTreeSet<_>>().len();
    let varied: Vec<usize> = (0..axes.len()).filter(|axis| distinct(*axis) > 1).collect();
    let is_numeric = |axis: &usize| grid.iter().all(|row| row.at(*axis).is_some());
    let (numeric, other): (Vec<usize>, Vec<usize>) =
        varied.iter().partition(|axis| is_numeric(axis));
    let figure = |x: &usize| {
        let numeric: Vec<usize> = numeric.iter().copied().filter(|axis| axis != x).collect();
        let combined = |axes: &[usize]| {
            let of =
                |row: &Row| axes.iter().map(|axis| row.values[*axis].clone()).collect::<Vec<_>>();
            grid.iter().map(of).collect::<BTreeSet<_>>().len()
        };
        let all = [&other[..], &numeric[..]].concat();
        let (panels, series) =
            if combined(&all) <= CURVES { (vec![], all) } else { (numeric, other.clone()) };
        let label = METRICS.iter().find(|m| m.name == metric).map_or(&*metric, |m| m.label);
        let panels = self::panels(&grid, &named, &axes, *x, [&panels, &series], label);
        let title = format!("{label} at the end of the runs against {}", axes[*x]);
        let subtitle = "median over seeds; bands are quartiles".into();
        (format!("{metric}-by-{}", axes[*x]), Figure { title, subtitle, panels, columns: 3 })
    };
    Ok(numeric
        .iter()
        .take(AXES)
        .map(figure)
        .filter(|(_, figure)| !figure.panels.is_empty())
        .collect())
}

/// The panels against axis `x`: one for each combination of some axes, in it a curve for each of others.
fn panels(
    grid: &[Row],
    named: &[Row],
    axes: &[String],
    x: usize,
    [panels, series]: [&[usize]; 2],
    label: &str,
) -> Vec<Panel> {
    let said = |row: &Row, of: &[usize]| {
        let value = |axis: &usize| format!("{} = {}", axes[*axis], row.values[*axis]);
        of.iter().map(value).collect::<Vec<_>>().join(", ")
    };
    let xs: Vec<f64> = grid.iter().filter_map(|row| row.at(x)).collect();
    let (low, high) = xs.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
    let log = low > 0.0 && high / low >= DECADE;
    // In the plan's order: each panel, in it each curve, in it each point.
    let mut places = BTreeMap::<String, usize>::new();
    let mut found = Vec::<(String, Points<'_>)>::new();
    for row in grid {
        let (panel, curve) = (said(row, panels), said(row, series));
        let place = *places.entry(panel.clone()).or_insert(found.len());
        if place == found.len() {
            found.push((panel, Vec::new()));
        }
        let curves = &mut found[place].1;
        match curves.iter().position(|(name, _)| *name == curve) {
            Some(place) => curves[place].1.push(row),
            None if curves.len() < CURVES => curves.push((curve, vec![row])),
            None => {}
        }
    }
    let curve = |(label, mut rows): (String, Vec<&Row>)| {
        rows.sort_by(|a, b| a.at(x).unwrap_or(f64::NAN).total_cmp(&b.at(x).unwrap_or(f64::NAN)));
        let points = rows.iter().filter_map(|row| Some((row.at(x)?, row.quartiles)));
        Curve::with_quartiles(&label, points)
    };
    let line = |row: &Row| HorizontalLine { label: row.name.clone(), y: row.quartiles[1] };
    let panel = |(title, curves): (String, Vec<(String, Vec<&Row>)>)| {
        Panel::Curves(Curves {
            title,
            x: Axis { label: axes[x].clone(), log, ..Axis::default() },
            y: Axis::linear(label),
            curves: curves.into_iter().map(curve).collect(),
            lines: named.iter().take(CURVES).map(line).collect(),
        })
    };
    found.into_iter().take(PANELS).map(panel).collect()
}

/// Returns the axes of a summary, and the rows of a metric.
fn rows(summary: &[u8], metric: &str) -> Result<(Vec<String>, Vec<Row>), String> {
    let mut reader = csv::Reader::from_reader(summary);
    let head: Vec<String> =
        reader.headers().map_err(|e| e.to_string())?.iter().map(str::to_owned).collect();
    let count = head.len().saturating_sub(3 + STATISTICS.len());
    let axes: Vec<_> =
        head.iter().skip(2).take(count).map(|a| a.trim_start_matches('-').to_owned()).collect();
    let written =
        ["run", "name"].into_iter().chain(head.iter().skip(2).take(count).map(String::as_str));
    let written = written.chain(["metric"]).chain(STATISTICS);
    if !head.iter().map(String::as_str).eq(written)
        || !axes.iter().all(|axis| files::is_plain(axis))
    {
        return Err(format!("line 1: `{}`", head.join(",")));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| e.to_string())?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        if cell(2 + count) != metric {
            continue;
        }
        // The last three of the statistics.
        let number = |back: usize| cell(head.len() - back).parse().unwrap_or(f64::NAN);
        let values = (0..count).map(|axis| cell(2 + axis).to_owned()).collect();
        rows.push(Row {
            name: cell(1).to_owned(),
            values,
            quartiles: [number(3), number(2), number(1)],
        });
    }
    Ok((axes, rows))
}
