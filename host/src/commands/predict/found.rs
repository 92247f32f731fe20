//! The results of `ictd predict`: errors, the best settings, a recommendation, and a figure.

use super::columns::Columns;
use crate::error::Error;
use crate::program::printable;
use crate::run::records::RunFiles;
use crate::run::report::{number, table};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use judge::predict::{ALARM, Candidate, ForecastScore, SignalForecast, log_ratio_interval};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::Range;

/// Nothing is recommended from fewer horizons of scored rows than this.
const HORIZONS: f64 = 24.0;
/// An estimator without settings is preferred to one whose error is smaller by less than this factor.
const NEARLY: f64 = 1.03;
/// The largest number of places without an improvement over the mean that are named.
const PLACES: usize = 4;
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

/// Returns an error as the table shows it. An estimator that diverged has none, and no estimator has one for constant returns.
fn shown(error: f64) -> String {
    if error.is_nan() { "—".to_owned() } else { number(error, 3) }
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

    fn best(&self, name: &str, errors: &[f64]) -> Option<(&'a Candidate, f64)> {
        let of_name = self.candidates.iter().zip(errors).filter(|(c, _)| c.name == name);
        of_name.map(|(c, error)| (c, *error)).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn ranked(&self) -> Vec<usize> {
        let mut places: Vec<_> = (0..self.candidates.len()).collect();
        places.sort_by(|a, b| self.means[*a].total_cmp(&self.means[*b]));
        places
    }

    pub(super) fn results(&self, rows: u64, d: usize, columns: &Columns, times: &str) -> Value {
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
        let recommended = self.recommended().ok();
        let left_out: Vec<_> = columns.left_out.iter().map(|(name, _)| name).collect();
        let mean = |at: usize| json!({ "column": self.candidates[at].column, "geometric_mean": self.means[at] });
        let places = |candidate: &Candidate| -> Vec<Value> {
            let worse = self.no_better(candidate).into_iter();
            worse.map(|task| json!({ "name": task.name, "gamma": task.gamma })).collect()
        };
        json!({
            "rows": rows,
            "dimension": d,
            "left_out": left_out,
            "time": columns.time,
            "times": times.lines().collect::<Vec<_>>(),
            "signals": signals.collect::<Vec<_>>(),
            "single_settings": self.ranked().into_iter().map(mean).collect::<Vec<_>>(),
            "recommended": recommended.as_ref().map(|advice| &advice.candidate.column),
            "recommended_over_mean": recommended.as_ref().map(|advice| advice.over_mean),
            "recommended_is_no_better_at":
                recommended.as_ref().map(|advice| places(advice.candidate)),
            "universal_is_no_better_at": self.candidates.first().map(places),
        })
    }

    pub(super) fn text(&self, of_columns: &str) -> String {
        let mut text = format!(
            "normalised errors: mean (prediction - return)^2 / variance of the returns (1: their mean);\n\
             of the predictor also the share of returns in its 90 % band, and surprises above {ALARM}\n{}\n\
             one setting for all, geometric means:\n",
            self.table()
        );
        for name in &self.names {
            if let Some((candidate, mean)) = self.best(name, &self.means) {
                text.push_str(&format!("  {}: {}\n", candidate.column, shown(mean)));
            }
        }
        for (tasks, _) in self.columns() {
            let (name, judged) = (&tasks[0].name, &tasks[0].judged);
            if let Some(x) = constant(judged) {
                text.push_str(&format!("`{name}` is {x} in every row.\n"));
            }
            let width = judged.range.map_or(0.0, |(low, high)| high - low);
            if width > 0.0 && !MEASURED.contains(&width) {
                text.push_str(&format!(
                    "`{name}` changes by {width:.0e} in all, and the predictor computes in f32 (changes below 1e-18 are none, \
                     samples beyond 1e12 are glitches): scale the column.\n"
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
                     returns' standard deviation: subtract a constant from the column.\n"
                ));
            }
            if judged.gaps > 0 {
                let rows = if judged.gaps == 1 { "row" } else { "rows" };
                text.push_str(&format!("`{name}`: {} {rows} skipped.\n", judged.gaps));
            }
        }
        text.push_str(of_columns);
        text.push_str(&self.recommendation());
        text
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
                self.best(name, errors).map_or(String::new(), |(candidate, error)| {
                    let settings = candidate.column[name.len()..].trim_start();
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
        table(&head, lines)
    }

    /// Returns the candidate with the smallest mean error, or one without settings nearly as good; or why there is none.
    fn recommended(&self) -> Result<Advice<'a>, String> {
        let places = self.ranked();
        let best = places[0];
        let least = self.means[best];
        if least.is_nan() {
            return Err("the returns never changed, in single precision".into());
        }
        let horizons = |task: &SignalForecast| task.judged.judged as f64 * (1.0 - task.gamma);
        if self.tasks.iter().map(horizons).fold(f64::INFINITY, f64::min) < HORIZONS {
            return Err(format!("fewer than {HORIZONS} horizons of rows were judged"));
        }
        let interval = |at, other| log_ratio_interval(&self.scores, at, other).map(libm::exp);
        let over_mean = interval(best, None);
        if least >= 1.0 || over_mean[1] >= 1.0 {
            return Err(format!(
                "nothing here predicts better than the mean for certain (the least error is {}, 90 % interval {})",
                number(least, 2),
                ends(over_mean)
            ));
        }
        let advice = Advice { candidate: &self.candidates[best], over_mean, over_simple: None };
        let simple = places.iter().copied().find(|at| !chosen(&self.candidates[*at]));
        let is_other = |at: &usize| *at != best && !self.means[*at].is_nan();
        let Some(at) = simple.filter(is_other) else { return Ok(advice) };
        let (candidate, mean) = (&self.candidates[at], self.means[at]);
        let (over, over_mean) = (interval(best, Some(at)), interval(at, None));
        let is_certain = mean < 1.0 && over_mean[1] < 1.0;
        Ok(if is_certain && (mean <= NEARLY * least || over[1] >= 1.0) {
            Advice { candidate, over_mean, ..advice }
        } else {
            Advice { over_simple: Some((candidate, least / mean, over)), ..advice }
        })
    }

    /// Returns the columns and discounts at which a candidate is not better than the mean of the returns.
    fn no_better(&self, candidate: &Candidate) -> Vec<&'a SignalForecast> {
        let at = self.candidates.iter().position(|c| c.column == candidate.column);
        let is_worse = |errors: &Vec<f64>| at.is_some_and(|at| errors[at] >= 1.0);
        let worse = self.tasks.iter().zip(&self.errors).filter(|(_, errors)| is_worse(errors));
        worse.map(|(task, _)| task).collect()
    }

    fn recommendation(&self) -> String {
        let advice = self.recommended();
        let mut text = match &advice {
            Ok(advice) => advice.text(),
            Err(reason) => format!("nothing to recommend: {reason}\n"),
        };
        let recommended = advice.ok().map(|advice| advice.candidate);
        let mut both: Vec<_> = recommended.into_iter().chain(self.candidates.first()).collect();
        both.dedup_by_key(|candidate| &candidate.column);
        for candidate in both {
            let worse = self.no_better(candidate);
            let place =
                |task: &&SignalForecast| format!("`{}` at gamma = {}", task.name, task.gamma);
            let mut places: Vec<_> = worse.iter().take(PLACES).map(place).collect();
            if places.is_empty() {
                continue;
            }
            if worse.len() > PLACES {
                places.push(format!("{} more", worse.len() - PLACES));
            }
            let (column, places) = (&candidate.column, places.join(", "));
            text.push_str(&format!(
                "do not take {column} for {places}: it is no better than the mean there\n"
            ));
        }
        text
    }
}

struct Advice<'a> {
    candidate: &'a Candidate,
    /// The 90 % interval of the candidate's mean error over that of the mean.
    over_mean: [f64; 2],
    /// The best candidate without settings, unless it is recommended: its relative error, and the interval of that.
    over_simple: Option<(&'a Candidate, f64, [f64; 2])>,
}

impl Advice<'_> {
    fn text(&self) -> String {
        let Advice { candidate, over_mean, over_simple } = self;
        let (column, over_mean) = (&candidate.column, ends(*over_mean));
        let mut text =
            format!("recommended here: {column}; 90 % interval of its error: {over_mean}");
        if let Some((simple, share, over)) = over_simple {
            let share = number(*share, 2);
            text.push_str(&format!(
                ", {share} ({}) of the error of {}",
                ends(*over),
                simple.column
            ));
        }
        if chosen(candidate) {
            text.push_str("; its settings were chosen after the fact");
        }
        text + "\n"
    }
}

fn ends([low, high]: [f64; 2]) -> String {
    format!("{} to {}", number(low, 2), number(high, 2))
}

fn chosen(candidate: &Candidate) -> bool {
    matches!(candidate.name.as_str(), "td" | "lstd")
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
