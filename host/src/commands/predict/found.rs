//! The results of `ictd predict`: errors, the best settings, what to take, and a figure.

use crate::error::Error;
use crate::program::printable;
use crate::run::records::RunFiles;
use crate::run::report::{number, table};
use compute::predict::{ALARM, Candidate, ForecastScore, SignalForecast};
use figures::{Axis, Curve, Curves, Figure, NamedFigures, Panel};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Nothing is recommended from fewer horizons of judged rows than this.
const HORIZONS: f64 = 24.0;
/// What needs no settings is preferred to what is better by less than this factor.
const NEARLY: f64 = 1.03;
/// More places than this at which a candidate is no better than the mean are not named.
const PLACES: usize = 4;
/// More panels than this are not drawn.
const PANELS: usize = 12;

/// One row of `shown.csv`: what the figure shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ShownRow {
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

/// Puts the last rows of each task into the records.
pub(super) fn put_shown(tasks: &[SignalForecast], records: &mut RunFiles) -> Result<(), Error> {
    let of_task = |task: &SignalForecast| -> Vec<_> {
        let rows = task.shown.iter().filter_map(|shown| {
            let (rest, &[predictor, predictor_low, predictor_high, surprise]) =
                shown.predictions.split_last_chunk()?;
            Some(ShownRow {
                cumulant: task.name.clone(),
                gamma: task.gamma,
                row: shown.row,
                value: shown.value,
                followed: shown.followed,
                universal: *rest.first()?,
                predictor,
                predictor_low,
                predictor_high,
                surprise,
            })
        });
        rows.collect()
    };
    records.put_csv("shown.csv", &tasks.iter().flat_map(of_task).collect::<Vec<_>>())
}

/// Returns an error as the table shows it. An estimator that diverged has none, and nobody has one if the returns never
/// changed.
fn shown(error: Option<f64>) -> String {
    error.map_or("—".to_owned(), |x| number(x, 3))
}

fn size(error: Option<f64>) -> f64 {
    error.unwrap_or(f64::INFINITY)
}

/// What `ictd predict` has measured: `tasks`, one for each column and discount, those of a column side by side.
pub(super) struct Found<'a> {
    tasks: &'a [SignalForecast],
    /// Tasks of each column.
    tasks_per_column: usize,
    /// The estimators, with their settings.
    candidates: &'a [Candidate],
    /// The names of the estimators, each once.
    names: Vec<&'a str>,
    /// The normalised errors: a row for each task, a column for each candidate.
    errors: Vec<Vec<Option<f64>>>,
    /// The geometric means over tasks of the candidates' errors.
    means: Vec<Option<f64>>,
}

impl<'a> Found<'a> {
    pub(super) fn new(tasks: &'a [SignalForecast], tasks_per_column: usize) -> Self {
        let candidates = tasks[0].candidates();
        let mut names: Vec<&str> = candidates.iter().map(|c| c.name.as_str()).collect();
        names.dedup();
        let errors: Vec<Vec<_>> =
            tasks.iter().map(|task| task.judged.normalised_errors()).collect();
        // A signal after which nothing ever changed says nothing about anyone, nor does a column that counts the rows.
        let is_telling = |task: &SignalForecast| {
            let says = task.judged.standard_deviation() > 0.0 && task.judged.counts_by().is_none();
            says || tasks.len() == tasks_per_column
        };
        let telling: Vec<_> =
            tasks.iter().zip(&errors).filter(|(task, _)| is_telling(task)).collect();
        let mean = |at: usize| {
            let errors: Option<Vec<f64>> = telling.iter().map(|(_, errors)| errors[at]).collect();
            let errors = errors.unwrap_or_default();
            let sum: f64 = errors.iter().map(|x| libm::log(*x)).sum();
            Some(libm::exp(sum / errors.len() as f64)).filter(|x| x.is_finite())
        };
        let means = (0..candidates.len()).map(mean).collect();
        Found { tasks, tasks_per_column, candidates, names, errors, means }
    }

    /// Returns the tasks of each column with their errors.
    fn columns(&self) -> impl Iterator<Item = (&'a [SignalForecast], &[Vec<Option<f64>>])> {
        let errors = self.errors.chunks(self.tasks_per_column);
        self.tasks.chunks(self.tasks_per_column).zip(errors)
    }

    /// Returns the candidate of a name with the least error, and that error.
    fn best(&self, name: &str, errors: &[Option<f64>]) -> Option<(&'a Candidate, Option<f64>)> {
        let errors = errors.iter().copied();
        let of_name = self.candidates.iter().zip(errors).filter(|(c, _)| c.name == name);
        of_name.min_by(|a, b| size(a.1).total_cmp(&size(b.1)))
    }

    /// Returns the candidates and their geometric means, the best first.
    fn single_settings(&self) -> Vec<(&'a Candidate, Option<f64>)> {
        let mut single: Vec<_> = self.candidates.iter().zip(self.means.iter().copied()).collect();
        single.sort_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        single
    }

    /// Returns the results of a file of so many rows with d features.
    pub(super) fn results(&self, rows: u64, d: usize, left_out: &[String]) -> Value {
        let gamma = |(task, errors): (&SignalForecast, &Vec<Option<f64>>)| {
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
        let cumulants = self.columns().map(|(tasks, errors)| {
            let judged = &tasks[0].judged;
            json!({
                "name": tasks[0].name,
                "rows": judged.rows,
                "gaps": judged.gaps,
                "constant": constant(judged),
                "counts_by": judged.counts_by(),
                "gammas": tasks.iter().zip(errors).map(gamma).collect::<Vec<_>>(),
            })
        });
        let single = self.single_settings();
        let recommended = self.recommended().ok();
        let mean =
            |(c, mean): &(&Candidate, _)| json!({ "column": c.column, "geometric_mean": mean });
        let places = |candidate: &Candidate| -> Vec<Value> {
            let worse = self.no_better(candidate).into_iter();
            worse.map(|task| json!({ "name": task.name, "gamma": task.gamma })).collect()
        };
        json!({
            "rows": rows,
            "dimension": d,
            "left_out": left_out,
            "cumulants": cumulants.collect::<Vec<_>>(),
            "single_settings": single.iter().map(mean).collect::<Vec<_>>(),
            "recommended": recommended.map(|(candidate, _)| &candidate.column),
            "recommended_is_no_better_at": recommended.map(|(candidate, _)| places(candidate)),
            "universal_is_no_better_at": self.candidates.first().map(places),
        })
    }

    /// Returns the results as text.
    pub(super) fn text(&self, left_out: &[String]) -> String {
        let mut text = format!(
            "normalised errors: mean (prediction - followed)^2 / variance of what followed (1: its mean);\n\
             of the predictor also what followed in its 90 % band, and surprises above {ALARM}\n{}\n\
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
            if let Some(step) = judged.counts_by() {
                text.push_str(&format!(
                    "`{name}` changes by {step} in every row: it is no signal, and no part of the means.\n"
                ));
            }
            if judged.gaps > 0 {
                let rows = if judged.gaps == 1 { "row" } else { "rows" };
                text.push_str(&format!("`{name}`: {} {rows} skipped.\n", judged.gaps));
            }
        }
        for column in left_out {
            text.push_str(&format!("`{column}` is left out: no numbers.\n"));
        }
        text.push_str(&self.recommendation());
        text
    }

    /// Returns the table of errors: a line for each task.
    fn table(&self) -> String {
        let mut head = ["cumulant", "gamma", "rows"].map(str::to_owned).to_vec();
        head.extend(self.names.iter().map(|name| match *name {
            "td" | "lstd" => format!("{name}, best in hindsight"),
            name => name.to_owned(),
        }));
        head.extend(["in its band", "surprises", "in 1,000 rows"].map(str::to_owned));
        let mut lines = vec![head];
        for (task, errors) in self.tasks.iter().zip(&self.errors) {
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
            lines.push(line);
        }
        table(&lines)
    }

    /// Returns what to take, with its mean error: the candidate with the least one, or one without settings that is nearly as
    /// good. Otherwise the reason why there is nothing to take.
    fn recommended(&self) -> Result<(&'a Candidate, f64), String> {
        let single = self.single_settings();
        let Some((best, Some(least))) = single.first().copied() else {
            return Err("what followed never changed, in single precision".into());
        };
        let horizons = |task: &SignalForecast| task.judged.judged as f64 * (1.0 - task.gamma);
        if self.tasks.iter().map(horizons).fold(f64::INFINITY, f64::min) < HORIZONS {
            return Err(format!("fewer than {HORIZONS} horizons of rows were judged"));
        }
        if least >= 1.0 {
            return Err("nothing here predicts better than the mean".into());
        }
        let needs_no_choice = |(candidate, _): &&(&Candidate, _)| !chosen(candidate);
        let simple = single.iter().find(needs_no_choice).copied();
        Ok(match simple {
            Some((candidate, Some(mean))) if mean <= NEARLY * least => (candidate, mean),
            _ => (best, least),
        })
    }

    /// Returns the columns and discounts at which a candidate is no better than the mean of what followed.
    fn no_better(&self, candidate: &Candidate) -> Vec<&'a SignalForecast> {
        let at = self.candidates.iter().position(|c| c.column == candidate.column);
        let is_worse =
            |errors: &Vec<Option<f64>>| at.and_then(|at| errors[at]).is_some_and(|x| x >= 1.0);
        let worse = self.tasks.iter().zip(&self.errors).filter(|(_, errors)| is_worse(errors));
        worse.map(|(task, _)| task).collect()
    }

    /// Returns what to take, and where that and the universal model are no better than the mean, in words.
    fn recommendation(&self) -> String {
        let (mut text, recommended) = match self.recommended() {
            Ok((candidate, mean)) => (self.advice(candidate, mean), Some(candidate)),
            Err(reason) => (format!("nothing to recommend: {reason}\n"), None),
        };
        let both = recommended.into_iter().chain(self.candidates.first());
        let mut said: Vec<&str> = Vec::new();
        for candidate in both {
            let worse = self.no_better(candidate);
            if worse.is_empty() || said.contains(&candidate.column.as_str()) {
                continue;
            }
            said.push(&candidate.column);
            let mut places: Vec<_> = worse
                .iter()
                .map(|task| format!("`{}` at gamma = {}", task.name, task.gamma))
                .collect();
            if places.len() > PLACES {
                let more = places.len() - PLACES;
                places.truncate(PLACES);
                places.push(format!("{more} more"));
            }
            text.push_str(&format!(
                "do not take {} for {}: it is no better than the mean there\n",
                candidate.column,
                places.join(", ")
            ));
        }
        text
    }

    /// Returns the line about what to take.
    fn advice(&self, candidate: &Candidate, mean: f64) -> String {
        let share = match self.means[0] {
            Some(universal) if universal > mean => {
                format!(": {} of the error of universal", number(mean / universal, 2))
            }
            _ => String::new(),
        };
        let hindsight =
            if chosen(candidate) { ", with settings that were chosen after the fact" } else { "" };
        format!("recommended here: {}{share}{hindsight}\n", candidate.column)
    }
}

/// Returns true for a candidate whose settings were chosen after the fact.
fn chosen(candidate: &Candidate) -> bool {
    matches!(candidate.name.as_str(), "td" | "lstd")
}

/// Returns the share of returns that were in the predictor's band.
fn coverage(judged: &ForecastScore) -> Option<f64> {
    (judged.banded > 0).then(|| judged.in_band as f64 / judged.banded as f64)
}

/// Returns the value of a column that never changed.
fn constant(judged: &ForecastScore) -> Option<f64> {
    judged.range.filter(|(low, high)| low == high).map(|(x, _)| x)
}

/// Returns the last rows of each cumulant and discount, in the signal's units: predictions and what followed, times
/// 1 - gamma, are means of the values ahead.
pub(super) fn figures(records: &RunFiles) -> Result<NamedFigures, Error> {
    let rows: Vec<ShownRow> = records.csv("shown.csv")?;
    let groups = rows.chunk_by(|a, b| a.cumulant == b.cumulant && a.gamma == b.gamma);
    let panels = groups.take(PANELS).map(|rows| {
        let ShownRow { cumulant, gamma, .. } = &rows[0];
        let x: Vec<f64> = rows.iter().map(|r| r.row as f64).collect();
        let curve = |label: &str, y: &dyn Fn(&ShownRow) -> f64, dashed| {
            let y = rows.iter().map(y).collect();
            Curve { dashed, ..Curve::plain(label, x.clone(), y) }
        };
        let mean = |x: f32| f64::from(x) * (1.0 - gamma);
        let edges = |r: &ShownRow| (mean(r.predictor_low), mean(r.predictor_high));
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
            title: format!("{}, gamma = {gamma}", printable(cumulant).replace('_', " ")),
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
