//! The results of `ictd predict`: errors, the best settings, what to take, and a figure.

use crate::error::Error;
use crate::program::printable;
use crate::run::records::Records;
use crate::run::report::{number, table};
use compute::predict::{ALARM, Candidate, Task};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The estimators, in the order of the table.
const NAMES: [&str; 10] = [
    "universal",
    "predictor",
    "td",
    "lstd",
    "ar",
    "holt",
    "average",
    "seasonal",
    "persistence",
    "zero",
];
/// More panels than this are not drawn.
const PANELS: usize = 12;

/// The findings.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    rows: u64,
    dimension: usize,
    /// The columns that are not predicted, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<Value>,
    cumulants: Vec<Cumulant>,
    /// Over all cumulants and discounts, the best first.
    single_settings: Vec<Single>,
    /// The best single setting.
    recommended: String,
}

/// A cumulant.
#[derive(Debug, Serialize)]
pub(super) struct Cumulant {
    name: String,
    /// The column that the features are made of, or `phi`.
    features_of: String,
    rows: u64,
    gaps: u64,
    /// Its value, if it never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    constant: Option<f64>,
    gammas: Vec<OfGamma>,
}

/// A cumulant and a discount.
#[derive(Debug, Serialize)]
struct OfGamma {
    gamma: f64,
    /// The rows that it looks ahead: 1 / (1 - gamma).
    horizon: f64,
    judged_rows: u64,
    /// The standard deviation of what followed; 0 if that never changed.
    standard_deviation: f64,
    /// The share of the judged rows in which the predictor's band held what followed, of those in which it had ends.
    coverage: Option<f64>,
    /// The rows whose surprise was above 0.999, and how many those are in 1,000.
    surprises: u64,
    surprises_in_1000: f64,
    estimators: Vec<OfEstimator>,
    /// The columns of the best of all and of each algorithm, in hindsight.
    best: String,
    best_td: String,
    best_lstd: String,
}

/// An estimator on a cumulant and a discount.
#[derive(Clone, Debug, Serialize)]
struct OfEstimator {
    name: String,
    settings: Map<String, Value>,
    /// Its column in predictions.csv.
    column: String,
    /// None if it diverged, or what followed never changed.
    normalised_error: Option<f64>,
}

/// An estimator with one setting for all cumulants and discounts.
#[derive(Clone, Debug, Serialize)]
struct Single {
    name: String,
    settings: Map<String, Value>,
    column: String,
    /// The geometric mean of the normalised errors.
    geometric_mean: Option<f64>,
}

/// One row of `shown.csv`: what the figure shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ShownRow {
    cumulant: String,
    gamma: f64,
    row: u64,
    value: f64,
    followed: f32,
    universal: f32,
    predictor: f32,
    predictor_low: f32,
    predictor_high: f32,
    surprise: f32,
}

/// Returns the place of the least error, if there is any.
fn least(errors: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let size = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
    let least = errors.enumerate().min_by(|a, b| size(a.1).total_cmp(&size(b.1)));
    least.filter(|(_, error)| error.is_some()).map(|(i, _)| i)
}

impl Cumulant {
    /// Sums up the tasks of one cumulant.
    pub(super) fn new(features_of: String, tasks: &[Task], candidates: &[Candidate]) -> Self {
        let gammas = tasks.iter().map(|task| OfGamma::new(task, candidates)).collect();
        let (name, judged) = (tasks[0].name.clone(), &tasks[0].judged);
        let constant = judged.range.filter(|(low, high)| low == high).map(|(x, _)| x);
        Cumulant { name, features_of, rows: judged.rows, gaps: judged.gaps, constant, gammas }
    }
}

impl OfGamma {
    fn new(task: &Task, candidates: &[Candidate]) -> Self {
        let found: Vec<_> = (candidates.iter().zip(task.judged.normalised_errors()))
            .map(|(candidate, normalised_error)| OfEstimator {
                name: candidate.name.clone(),
                settings: candidate.settings.iter().map(|(k, x)| ((*k).into(), json!(x))).collect(),
                column: candidate.column(),
                normalised_error,
            })
            .collect();
        let best = |name: &str| {
            let of: Vec<_> = found.iter().filter(|e| name.is_empty() || e.name == name).collect();
            let best = least(of.iter().map(|e| e.normalised_error)).and_then(|i| of.get(i));
            best.map_or(String::new(), |e| e.column.clone())
        };
        let judged = &task.judged;
        OfGamma {
            coverage: (judged.banded > 0).then(|| judged.in_band as f64 / judged.banded as f64),
            surprises: judged.alarms,
            surprises_in_1000: 1000.0 * judged.alarms as f64 / judged.rows as f64,
            gamma: task.gamma,
            horizon: 1.0 / (1.0 - task.gamma),
            judged_rows: judged.judged,
            standard_deviation: judged.standard_deviation(),
            best: best(""),
            best_td: best("td"),
            best_lstd: best("lstd"),
            estimators: found,
        }
    }

    fn error(&self, column: &str) -> Option<f64> {
        self.estimators.iter().find(|e| e.column == column)?.normalised_error
    }
}

impl Found {
    /// Returns the findings about all cumulants.
    pub(super) fn new(
        rows: u64,
        dimension: usize,
        left_out: Vec<String>,
        cumulants: Vec<Cumulant>,
    ) -> Self {
        let no_numbers = |column| json!({ "column": column, "reason": "no numbers" });
        let left_out = left_out.into_iter().map(no_numbers).collect();
        // A cumulant after which nothing ever changed says nothing about anyone.
        let all: Vec<_> = (cumulants.iter().flat_map(|c| &c.gammas))
            .filter(|g| g.standard_deviation > 0.0 || cumulants.len() == 1)
            .collect();
        let first = cumulants.iter().flat_map(|c| &c.gammas).next();
        let mut single_settings: Vec<_> = (first.into_iter().flat_map(|g| &g.estimators))
            .map(|e| {
                let errors: Option<Vec<_>> = all.iter().map(|g| g.error(&e.column)).collect();
                let logarithms = errors.unwrap_or_default();
                let sum: f64 = logarithms.iter().map(|x| libm::log(*x)).sum();
                let mean = libm::exp(sum / logarithms.len() as f64);
                Single {
                    name: e.name.clone(),
                    settings: e.settings.clone(),
                    column: e.column.clone(),
                    geometric_mean: Some(mean).filter(|x| x.is_finite()),
                }
            })
            .collect();
        let size = |s: &Single| s.geometric_mean.unwrap_or(f64::INFINITY);
        single_settings.sort_by(|a, b| size(a).total_cmp(&size(b)));
        let best = single_settings.first().filter(|s| s.geometric_mean.is_some());
        let recommended = best.map_or(String::new(), |s| s.column.clone());
        Found { rows, dimension, left_out, cumulants, single_settings, recommended }
    }

    /// The tables behind the figure.
    pub(super) fn put_records(&self, tasks: &[Task], records: &mut Records) -> Result<(), Error> {
        let (mut errors, mut shown) = (Vec::new(), Vec::new());
        let gammas = self.cumulants.iter().flat_map(|c| c.gammas.iter().map(move |g| (c, g)));
        for ((cumulant, found), task) in gammas.zip(tasks) {
            let estimators = found.estimators.iter();
            errors.extend(
                estimators.map(|e| (&cumulant.name, found.gamma, &e.column, e.normalised_error)),
            );
            let place = |column: &str| found.estimators.iter().position(|e| e.column == column);
            let universal = place("universal");
            shown.extend(task.shown.iter().filter_map(|s| {
                let (_, &[predictor, predictor_low, predictor_high, surprise]) =
                    s.predictions.split_last_chunk()?;
                Some(ShownRow {
                    cumulant: cumulant.name.clone(),
                    gamma: found.gamma,
                    row: s.row,
                    value: s.value,
                    followed: s.followed,
                    universal: universal
                        .and_then(|at| s.predictions.get(at))
                        .map_or(f32::NAN, |x| *x),
                    predictor,
                    predictor_low,
                    predictor_high,
                    surprise,
                })
            }));
        }
        let head = ["cumulant", "gamma", "estimator", "normalised_error"];
        records.put_table("errors.csv", &head, &errors)?;
        records.put_csv("shown.csv", &shown)
    }

    /// Returns the single setting of a name that was best.
    fn single(&self, name: &str) -> Option<&Single> {
        self.single_settings.iter().find(|s| s.name == name)
    }

    /// For a human.
    pub(super) fn text(&self) -> String {
        let error = |x: Option<f64>| x.map_or("—".to_owned(), |x| number(x, 3));
        let all = self.single_settings.iter().map(|s| s.name.as_str());
        let given: Vec<&str> = all.filter(|name| !NAMES.contains(name)).collect();
        let there = |name: &&str| self.single(name).is_some();
        let [first, rest @ ..] = NAMES;
        let names: Vec<&str> = [first].into_iter().chain(given).chain(rest).filter(there).collect();
        let title = |name: &str| match name {
            "td" | "lstd" => format!("{name}, best in hindsight"),
            _ => name.to_owned(),
        };
        let mut rows = vec![["cumulant", "gamma", "rows"].map(str::to_owned).to_vec()];
        rows[0].extend(names.iter().map(|name| title(name)));
        let head = ["cumulant", "gamma", "in its band", "surprises", "in 1,000 rows"];
        let mut alarms = vec![head.map(str::to_owned).to_vec()];
        for cumulant in &self.cumulants {
            for found in &cumulant.gammas {
                let of = |name: &&str| {
                    let best = match *name {
                        "td" => &found.best_td,
                        "lstd" => &found.best_lstd,
                        name => return error(found.error(name)),
                    };
                    let settings = best.split_once(' ').map_or("", |(_, settings)| settings);
                    format!("{} ({settings})", error(found.error(best)))
                };
                let place = [cumulant.name.clone(), found.gamma.to_string()];
                let mut row = place.to_vec();
                row.push(found.judged_rows.to_string());
                row.extend(names.iter().map(of));
                rows.push(row);
                let coverage = found.coverage.map_or("-".to_owned(), |share| number(share, 3));
                let surprises = found.surprises.to_string();
                let alarm = [coverage, surprises, number(found.surprises_in_1000, 2)];
                alarms.push(place.into_iter().chain(alarm).collect());
            }
        }
        let mut out = String::from(
            "normalised errors: mean (prediction - followed)^2 / variance of what followed (1: its mean)\n",
        );
        out.push_str(&table(&rows));
        out.push_str(&format!(
            "\nthe predictor: what followed in its 90 % band, and surprises above {ALARM}\n{}",
            table(&alarms)
        ));
        if rows.len() > 2 {
            out.push_str("\none setting for all, geometric means:\n");
        } else {
            out.push('\n');
        }
        for name in names.into_iter().filter(|name| *name != "zero") {
            if let Some(single) = self.single(name) {
                out.push_str(&format!("  {}: {}\n", single.column, error(single.geometric_mean)));
            }
        }
        for cumulant in &self.cumulants {
            if let Some(x) = cumulant.constant {
                out.push_str(&format!("`{}` is {x} in every row.\n", cumulant.name));
            }
            if cumulant.gaps > 0 {
                let rows = if cumulant.gaps == 1 { "row" } else { "rows" };
                out.push_str(&format!("`{}`: {} {rows} skipped.\n", cumulant.name, cumulant.gaps));
            }
        }
        for column in self.left_out.iter().filter_map(|left| left["column"].as_str()) {
            out.push_str(&format!("`{column}` is left out: no numbers.\n"));
        }
        out.push_str(&self.recommendation());
        out
    }

    /// Returns a line that says what to take.
    fn recommendation(&self) -> String {
        let judged = |s: &&Single| s.geometric_mean.is_some();
        let Some(best) = self.single_settings.first().filter(judged) else {
            return "nothing to recommend: what followed never changed, in single precision\n"
                .into();
        };
        let hindsight = match best.name.as_str() {
            "td" | "lstd" => ", with settings that were chosen after the fact",
            _ => "",
        };
        let universal = self.single("universal").and_then(|s| s.geometric_mean);
        let share = match (best.geometric_mean, universal) {
            (Some(best_mean), Some(universal)) if best.name != "universal" && universal > 0.0 => {
                format!(": {} of the error of universal", number(best_mean / universal, 2))
            }
            _ => String::new(),
        };
        format!("recommended here: {}{share}{hindsight}\n", best.column)
    }
}

/// Returns the last rows of each cumulant and discount, in the signal's units: predictions and what followed, times
/// 1 - gamma, are means of the values ahead.
pub(super) fn figures(records: &Records) -> Result<NamedFigures, Error> {
    let rows: Vec<ShownRow> = records.csv("shown.csv")?;
    let mut groups: Vec<(String, f64, Vec<&ShownRow>)> = Vec::new();
    let mut places = BTreeMap::new();
    for row in &rows {
        let key = (row.cumulant.clone(), row.gamma.to_bits());
        let at = *places.entry(key).or_insert_with(|| {
            groups.push((row.cumulant.clone(), row.gamma, Vec::new()));
            groups.len() - 1
        });
        groups[at].2.push(row);
    }
    let panels = groups.iter().take(PANELS).map(|(name, gamma, rows)| {
        let x: Vec<f64> = rows.iter().map(|r| r.row as f64).collect();
        let curve = |label: &str, y: &dyn Fn(&ShownRow) -> f64, dashed| {
            let y = rows.iter().map(|r| y(r)).collect();
            Curve { dashed, ..Curve::plain(label, x.clone(), y) }
        };
        let mean = |x: f32| f64::from(x) * (1.0 - gamma);
        let edges = |r: &&ShownRow| (mean(r.predictor_low), mean(r.predictor_high));
        let predictor = curve("predictor, 90 % band", &|r| mean(r.predictor), false);
        let predictor = Curve { band: rows.iter().map(edges).collect(), ..predictor };
        // Between two marks is nothing, so that no line joins them.
        let surprising = rows.iter().filter(|r| r.surprise > ALARM);
        let marks = surprising.flat_map(|r| [r.value, f64::NAN].map(|y| (r.row as f64, y))).unzip();
        let (marked, values): (Vec<f64>, Vec<f64>) = marks;
        let surprise = match marked.is_empty() {
            true => String::new(),
            false => format!("surprise above {ALARM}"),
        };
        let low = rows.iter().map(|r| r.value).fold(f64::INFINITY, f64::min);
        let (start, horizon) = (x.first().copied().unwrap_or(0.0), 1.0 / (1.0 - gamma));
        let label = format!("horizon, {} rows", number(horizon, 0));
        Panel::Curves(Curves {
            // An underscore would lower what follows it, and pictures are text without control characters.
            title: format!("{}, gamma = {gamma}", printable(name).replace('_', " ")),
            x: Axis::linear("row"),
            y: Axis::linear("value, and mean of the values ahead"),
            curves: vec![
                curve("signal", &|r| r.value, true),
                curve("what followed", &|r| mean(r.followed), false),
                predictor,
                curve("universal", &|r| mean(r.universal), false),
                Curve::plain(&label, vec![start, start + horizon], vec![low, low]),
                Curve::plain(&surprise, marked, values),
            ],
            ..Default::default()
        })
    });
    let figure = Figure {
        title: "Predictions, and what followed".into(),
        subtitle: "the last rows; times 1 - gamma, so that the units are the signal's".into(),
        panels: panels.collect(),
        columns: 1,
    };
    Ok(vec![("predictions".into(), figure)])
}
