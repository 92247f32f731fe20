//! The results of `ictd predict`: errors with intervals, and a figure.

use crate::error::Error;
use crate::program::printable;
use crate::run::records::RunFiles;
use crate::run::report::{number, table};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use judge::predict::{ALARM, Candidate, ForecastScore, SignalForecast, log_ratio_interval};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::Range;

const PANELS: usize = 12;
/// The changes of a signal that the predictor measures in single precision.
const MEASURED: Range<f64> = 1e-16..1e12;

/// The step of single precision, in standard deviations of the returns, from which the written predictions say little.
const COARSE: f64 = 0.1;

const SHOWN: [&str; 10] = [
    "signal",
    "gamma",
    "row",
    "value",
    "return",
    "universal",
    "predictor",
    "predictor_low",
    "predictor_high",
    "surprise",
];

#[derive(Deserialize)]
struct ShownRow {
    signal: String,
    gamma: f64,
    row: u64,
    value: f64,
    r#return: f32,
    universal: f32,
    predictor: f32,
    predictor_low: f32,
    predictor_high: f32,
    surprise: f32,
}

pub(super) fn put_shown(tasks: &[SignalForecast], records: &mut RunFiles) -> Result<(), Error> {
    let rows = tasks.iter().flat_map(|task| {
        task.shown.iter().filter_map(|row| {
            let (rest, of_predictor) = row.predictions.split_last_chunk::<4>()?;
            let head = (&task.name, task.gamma, row.row, row.value, row.realised_return);
            Some((head, rest.first()?, of_predictor))
        })
    });
    records.put_table("shown.csv", &SHOWN, rows)
}

/// Returns a number with three significant digits. An estimator that diverged has no error, and no estimator has one for constant
/// returns.
fn shown(x: f64) -> String {
    let digits = if x > 0.0 { libm::floor(libm::log10(x)) } else { 0.0 };
    if x.is_nan() { "—".to_owned() } else { number(x, (2.0 - digits).clamp(0.0, 7.0) as usize) }
}

/// The results of `ictd predict`: `tasks`, one for each column and discount, grouped by column.
pub(super) struct Found<'a> {
    tasks: &'a [SignalForecast],
    tasks_per_column: usize,
    candidates: &'a [Candidate],
    names: Vec<&'a str>,
    /// The normalised errors, NaN where there is none: a row for each task, a column for each candidate.
    errors: Vec<Vec<f64>>,
    scores: Vec<&'a ForecastScore>,
    /// The geometric means of the candidates' errors over the tasks whose returns change, and the scores of these tasks above.
    means: Vec<f64>,
}

impl<'a> Found<'a> {
    pub(super) fn new(tasks: &'a [SignalForecast], tasks_per_column: usize) -> Self {
        let candidates = tasks[0].candidates();
        let mut names: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
        names.dedup();
        let errors = tasks.iter().map(|task| task.judged.normalised_errors());
        let errors = errors.map(|of| of.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect());
        let errors: Vec<Vec<f64>> = errors.collect();
        // A signal with constant returns does not distinguish estimators.
        let is_telling = |task: &SignalForecast| {
            task.judged.standard_deviation() > 0.0 || tasks.len() == tasks_per_column
        };
        let telling: Vec<_> =
            tasks.iter().zip(&errors).filter(|(task, _)| is_telling(task)).collect();
        let mean = |at: usize| {
            let sum: f64 = telling.iter().map(|(_, errors)| libm::log(errors[at])).sum();
            let mean = libm::exp(sum / telling.len() as f64);
            if mean.is_finite() { mean } else { f64::NAN }
        };
        let means = (0..candidates.len()).map(mean).collect();
        let scores = telling.iter().map(|(task, _)| &task.judged).collect();
        Found { tasks, tasks_per_column, candidates, names, errors, scores, means }
    }

    fn columns(&self) -> impl Iterator<Item = (&'a [SignalForecast], &[Vec<f64>])> {
        let errors = self.errors.chunks(self.tasks_per_column);
        self.tasks.chunks(self.tasks_per_column).zip(errors)
    }

    /// Returns the candidate of a name with the least error, and this error.
    fn best(&self, name: &str, errors: &[f64]) -> Option<(usize, f64)> {
        let of_name = errors.iter().enumerate().filter(|(at, _)| self.candidates[*at].name == name);
        of_name.map(|(at, error)| (at, *error)).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Returns the 90 % interval of a candidate's mean error.
    fn interval(&self, at: usize) -> [f64; 2] {
        log_ratio_interval(&self.scores, at, None).map(libm::exp)
    }

    pub(super) fn results(&self, rows: u64, d: usize, missing_rows: u64) -> Value {
        let gamma = |(task, errors): (&SignalForecast, &Vec<f64>)| {
            let estimators = self.candidates.iter().zip(errors).map(|(c, error)| {
                json!({ "name": c.name, "column": c.column, "normalised_error": error })
            });
            json!({
                "gamma": task.gamma,
                "judged_rows": task.judged.judged,
                "standard_deviation": task.judged.standard_deviation(),
                "coverage": coverage(&task.judged),
                "surprises": task.judged.alarms,
                "estimators": estimators.collect::<Vec<_>>(),
            })
        };
        let signals = self.columns().map(|(tasks, errors)| {
            let judged = &tasks[0].judged;
            json!({
                "name": tasks[0].name,
                "rows": judged.rows,
                "gaps": judged.gaps,
                "constant": constant(judged),
                "gammas": tasks.iter().zip(errors).map(gamma).collect::<Vec<_>>(),
            })
        });
        let mut places: Vec<_> = (0..self.candidates.len()).collect();
        places.sort_by(|a, b| self.means[*a].total_cmp(&self.means[*b]));
        let mean = |at: usize| {
            let column = &self.candidates[at].column;
            json!({ "column": column, "geometric_mean": self.means[at], "interval": self.interval(at) })
        };
        json!({
            "rows": rows,
            "missing_rows": missing_rows,
            "dimension": d,
            "signals": signals.collect::<Vec<_>>(),
            "single_settings": places.into_iter().map(mean).collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self, missing_rows: u64) -> String {
        let mut text = format!(
            "normalised errors: mean (prediction - return)^2 / variance of the returns (1: their mean)\n{}\n{}",
            self.means(),
            self.table()
        );
        for (tasks, _) in self.columns() {
            let (name, judged) = (&tasks[0].name, &tasks[0].judged);
            if let Some(x) = constant(judged) {
                text.push_str(&format!("`{name}` is {x} in every row.\n"));
            }
            let width = judged.range.map_or(0.0, |(low, high)| high - low);
            if width > 0.0 && !MEASURED.contains(&width) {
                text.push_str(&format!(
                    "`{name}` changes by {width:.0e} in all, and the predictor computes in f32 (changes below 1e-18 are none, \
                     samples beyond 1e12 are glitches).\n"
                ));
            }
            let step = |task: &SignalForecast| {
                let sum = task.level.unwrap_or(0.0).abs() / (1.0 - task.gamma);
                f64::from(f32::EPSILON) * sum / task.judged.standard_deviation()
            };
            // A ratio to 0 is infinite.
            if tasks.iter().map(step).any(|step| step > COARSE && step.is_finite()) {
                text.push_str(&format!(
                    "`{name}`: at its level, the f32 numbers of predictions.csv and shown.csv are coarser than a tenth of the \
                     returns' standard deviation.\n"
                ));
            }
            if judged.gaps > 0 {
                text.push_str(&format!("`{name}`: rows skipped: {}.\n", judged.gaps));
            }
        }
        if missing_rows > 0 {
            text.push_str(&format!("Rows missing by their times: {missing_rows}.\n"));
        }
        text
    }

    /// Returns the estimators, each with its best single setting, by their mean errors.
    fn means(&self) -> String {
        let best = self.names.iter().filter_map(|name| self.best(name, &self.means));
        let mut best: Vec<_> = best.collect();
        best.sort_by(|a, b| a.1.total_cmp(&b.1));
        let lines = best.into_iter().map(|(at, mean)| {
            let interval = match self.interval(at).map(shown) {
                _ if mean.is_nan() => String::new(),
                [low, high] => format!("{low} to {high}"),
            };
            [self.candidates[at].column.clone(), shown(mean), interval]
        });
        table(&["one setting for all", "geometric mean", "90 % interval"], lines)
    }

    fn table(&self) -> String {
        let mut head = ["signal", "gamma", "rows"].map(str::to_owned).to_vec();
        head.extend(self.names.iter().map(|name| match *name {
            "td" | "lstd" => format!("{name}, best in hindsight"),
            name => name.to_owned(),
        }));
        head.extend(["in its band", "surprises", "in 1,000 rows"].map(str::to_owned));
        let lines = self.tasks.iter().zip(&self.errors).map(|(task, errors)| {
            let judged = &task.judged;
            let best = |name: &&str| {
                self.best(name, errors).map_or(String::new(), |(at, error)| {
                    let settings = self.candidates[at].column[name.len()..].trim_start();
                    let error = shown(error);
                    if settings.is_empty() { error } else { format!("{error} ({settings})") }
                })
            };
            let share = 1000.0 * judged.alarms as f64 / judged.rows as f64;
            let mut line =
                vec![task.name.clone(), task.gamma.to_string(), judged.judged.to_string()];
            line.extend(self.names.iter().map(best));
            line.extend([shown(coverage(judged)), judged.alarms.to_string(), number(share, 2)]);
            line
        });
        let text = table(&head, lines);
        format!(
            "{text}in its band: the share of returns in the predictor's 90 % band; surprises: above {ALARM}\n"
        )
    }
}

fn coverage(judged: &ForecastScore) -> f64 {
    judged.in_band as f64 / judged.banded as f64
}

fn constant(judged: &ForecastScore) -> Option<f64> {
    judged.range.filter(|(low, high)| low == high).map(|(x, _)| x)
}

/// Returns the last rows of each signal and discount, times 1 - gamma: predictions and returns are means of the values ahead.
pub(super) fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let rows: Vec<ShownRow> = records.csv("shown.csv", &SHOWN)?;
    let groups = rows.chunk_by(|a, b| a.signal == b.signal && a.gamma == b.gamma);
    let panels = groups.take(PANELS).map(|rows| {
        let ShownRow { signal, gamma, .. } = &rows[0];
        let x: Vec<f64> = rows.iter().map(|r| r.row as f64).collect();
        let curve = |label: &str, y: &dyn Fn(&ShownRow) -> f64, dashed| {
            let y = rows.iter().map(y).collect();
            Curve { dashed, ..Curve::plain(label, x.clone(), y) }
        };
        let mean = |x: f32| f64::from(x) * (1.0 - gamma);
        let edges = |r: &ShownRow| (mean(r.predictor_low), mean(r.predictor_high));
        let predictor = curve("predictor, 90 % band", &|r| mean(r.predictor), false);
        let predictor = Curve { band: rows.iter().map(edges).collect(), ..predictor };
        // A gap between two marks, so that no line joins them.
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
            // An underscore would lower the next character, and figures contain no control characters.
            title: format!("{}, gamma = {gamma}", printable(signal).replace('_', " ")),
            x: Axis::linear("row"),
            y: Axis::linear("value, and mean of the values ahead"),
            curves: vec![
                curve("signal", &|r| r.value, true),
                curve("return", &|r| mean(r.r#return), false),
                predictor,
                curve("universal", &|r| mean(r.universal), false),
                Curve::plain(&label, vec![start, start + horizon], vec![low, low]),
                Curve::plain(&surprise, marked, values),
            ],
        })
    });
    let figure = Figure {
        title: "Predictions and returns".into(),
        subtitle: "the last rows; times 1 - gamma, so that the units are the signal's".into(),
        panels: panels.collect(),
        columns: 1,
    };
    Ok(vec![("predictions".into(), figure)])
}
