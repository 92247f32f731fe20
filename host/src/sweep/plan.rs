//! The plan of a sweep: a TOML file that says which recipes and which seeds.

use crate::error::Error;
use crate::files;
use crate::train::options::{Recipe, Seeds, Train, folder_of};
use compute::settings::{Accepts, SETTINGS, setting};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::{Table, Value};

/// The most runs.
const RUNS: usize = 10_000;
/// The most seeds of all runs together.
const SEEDS: usize = 1_000_000;
/// The longest name of a run.
const LONGEST_NAME: usize = 100;

/// Recipes, each to be trained with the same seeds.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The settings that the runs differ in: those of the grid in the file's order, then those of named runs.
    pub axes: Vec<String>,
    /// First the grid, its last axis the fastest, then the named ones.
    pub runs: Vec<Run>,
    /// In ascending order.
    pub seeds: Vec<u64>,
}

/// One recipe of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// The folder of its recipe.
    pub folder: String,
    /// The name of one of `[[runs]]`; empty for a point of the grid.
    pub name: String,
    /// Its value on each of the plan's axes; empty if it has none.
    pub values: Vec<String>,
    /// Its settings.
    pub recipe: Recipe,
}

impl Run {
    /// Returns its name in errors and tables.
    pub fn title(&self, axes: &[String]) -> String {
        if !self.name.is_empty() {
            return format!("run `{}`", self.name);
        }
        let values = axes.iter().zip(&self.values).map(|(axis, value)| format!("{axis} = {value}"));
        let all = values.collect::<Vec<_>>().join(", ");
        if all.is_empty() { "the run".to_owned() } else { all }
    }
}

impl Plan {
    /// Reads a plan; a number of seeds is counted from `first`.
    /// Errors: [`Error::File`], naming the key and what is accepted.
    pub fn read(path: &Path, first: u64) -> Result<Self, Error> {
        let bytes = files::read(path, files::limits::PLAN).map_err(|e| Error::file(path, e))?;
        let text = String::from_utf8(bytes).map_err(|_| Error::file(path, "accepted is UTF-8"))?;
        Self::of_text(&text, first).map_err(|reason| Error::file(path, reason))
    }

    /// As [`Plan::read`], of the file's content.
    pub fn of_text(text: &str, first: u64) -> Result<Self, String> {
        let mut plan: Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(1, |s| 1 + text[..s.start].matches('\n').count());
            format!("line {line}: {}; accepted is TOML", e.message())
        })?;
        let seeds = seeds(plan.remove("seeds"), first)?;
        let fixed = table_of("settings", plan.remove("settings"))?;
        let grid = grid_of(plan.remove("grid"), &fixed)?;
        let named = named_runs(plan.remove("runs"))?;
        if let Some((key, _)) = plan.iter().next() {
            return Err(format!("{}: accepted are seeds, settings, grid and runs", brief(key)));
        }
        let mut axes: Vec<String> = grid.iter().map(|(key, _)| key.clone()).collect();
        for key in named.iter().flat_map(|(_, table)| table.keys()) {
            if !axes.contains(key) {
                axes.push(key.clone());
            }
        }
        let count = grid.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()));
        let only_named = grid.is_empty() && !named.is_empty();
        let points = if only_named { Some(0) } else { count };
        let all = points.and_then(|n| n.checked_add(named.len())).filter(|n| *n <= RUNS);
        let too_many =
            || format!("accepted are at most {RUNS} runs, and {SEEDS} seeds of all runs");
        let (Some(points), Some(all)) = (points, all) else { return Err(too_many()) };
        if all * seeds.len() > SEEDS {
            return Err(too_many());
        }
        let mut runs: Vec<Run> = Vec::with_capacity(all);
        let mut folders = BTreeMap::new();
        let of_grid = (0..points).map(|number| {
            let (mut rest, mut table) = (number, fixed.clone());
            for (key, values) in grid.iter().rev() {
                table.insert(key.clone(), values[rest % values.len()].clone());
                rest /= values.len();
            }
            (String::new(), table)
        });
        let of_names = named.iter().map(|(name, own)| {
            let mut table = fixed.clone();
            table.extend(own.clone());
            (name.clone(), table)
        });
        for (name, table) in of_grid.chain(of_names) {
            let values = axes.iter().map(|axis| shown(&table, axis)).collect();
            let recipe = Recipe::deserialize(table).map_err(|e| e.message().to_owned())?;
            let folder = folder_of(&recipe).map_err(|e| e.to_string())?;
            let run = Run { folder, name, values, recipe };
            let title = run.title(&axes);
            run.recipe.check().map_err(|e| format!("{title}: --{e}"))?;
            if let Some(other) = folders.insert(run.folder.clone(), runs.len()) {
                let other: &Run = &runs[other];
                let what = if other.recipe == run.recipe { "recipe" } else { "folder's name" };
                let of = other.title(&axes);
                return Err(format!("{title}: the {what} of {of}; accepted is each recipe once"));
            }
            runs.push(run);
        }
        Ok(Plan { axes, runs, seeds })
    }

    /// Returns a run as `ictd train` would be told of it; its seeds begin at the returned one.
    pub fn train(&self, run: &Run) -> (u64, Train) {
        Train::from(run.recipe.clone()).with_seeds(&self.seeds.iter().copied().collect())
    }
}

/// Text of any length, as a line shows it.
fn brief(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_NAME).collect();
    if short.len() < text.len() { short + "..." } else { short }
}

/// Returns the seeds, in ascending order.
fn seeds(value: Option<Value>, first: u64) -> Result<Vec<u64>, String> {
    const ACCEPTED: &str = "accepted is a number, a list, or text such as \"0..9,20\"";
    let refuse = |reason: String| format!("seeds: {reason}");
    let (seeds, listed) = match value {
        Some(Value::Integer(count)) => (count.to_string().parse::<Seeds>(), None),
        Some(Value::String(text)) => (text.parse(), None),
        Some(Value::Array(list)) if !list.is_empty() => {
            let text: Vec<_> = list.iter().map(|seed| format!("{seed}..{seed}")).collect();
            (text.join(",").parse(), Some(list.len()))
        }
        _ => return Err(refuse(ACCEPTED.into())),
    };
    let options = Train { seeds: seeds.map_err(refuse)?, ..Train::default() };
    let seeds =
        options.check(first).map(|()| options.seed_set(first)).map_err(|e| e.to_string())?;
    if listed.is_some_and(|listed| listed != seeds.len()) {
        return Err(refuse("accepted is a list that names each seed once".into()));
    }
    Ok(seeds.into_iter().collect())
}

/// Keys in the file's order, and the values of each.
type Grid = Vec<(String, Vec<Value>)>;

/// Returns a value as a recipe's TOML has it.
fn said(key: &str, value: &Value) -> Result<Value, String> {
    let Some(setting) = setting(key) else {
        let all: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
        let key = brief(key);
        return Err(format!("{key}: no setting of a run: accepted are {}", all.join(", ")));
    };
    let is_switch = matches!(setting.accepts, Accepts::Switch);
    let text = match value {
        Value::Boolean(_) if is_switch => return Ok(value.clone()),
        Value::String(text) if !is_switch => text.clone(),
        Value::Integer(_) | Value::Float(_) => plain(value),
        value if is_switch => value.to_string(),
        _ => return Err(format!("{key}: accepted is a string or a number")),
    };
    setting.parse(&text).map_err(|accepted| format!("{key} {}: {accepted}", brief(&text)))?;
    let number = text.parse().map(Value::Integer);
    Ok(number.or_else(|_| text.parse().map(Value::Float)).unwrap_or(Value::String(text)))
}

/// Returns a value as it is typed.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(x) => x.to_string(),
        value => value.to_string(),
    }
}

/// Returns what a run's settings say of an axis, or what holds without a word; empty if nothing does.
fn shown(table: &Table, axis: &str) -> String {
    let default = || setting(axis).map_or(String::new(), |setting| setting.default.to_owned());
    table.get(axis).map_or_else(default, plain)
}

/// Returns a table of single values, each as a recipe's TOML has it.
fn table_of(name: &str, table: Option<Value>) -> Result<Table, String> {
    let table = match table {
        None => Table::new(),
        Some(Value::Table(table)) => table,
        Some(_) => return Err(format!("{name}: accepted is a table")),
    };
    let checked = |(key, value): (String, Value)| match said(&key, &value) {
        Ok(value) => Ok((key, value)),
        Err(reason) => Err(format!("{name}: {reason}")),
    };
    table.into_iter().map(checked).collect()
}

/// Returns the axes.
fn grid_of(grid: Option<Value>, fixed: &Table) -> Result<Grid, String> {
    let axes = match grid {
        None => return Ok(Grid::new()),
        Some(Value::Table(axes)) if !axes.is_empty() => axes,
        Some(_) => {
            return Err("grid: accepted is a table with a list of values for each key".into());
        }
    };
    let mut grid = Grid::new();
    for (key, values) in axes {
        let values = match values {
            Value::Array(values) if !values.is_empty() => values,
            _ => {
                let accepted = "accepted is a list of at least one value";
                return Err(format!("grid: {}: {accepted}", brief(&key)));
            }
        };
        if fixed.contains_key(&key) {
            return Err(format!("grid: {key}: accepted here or in settings, not in both"));
        }
        let checked = values.iter().map(|value| said(&key, value));
        let values = checked.collect::<Result<_, _>>().map_err(|e| format!("grid: {e}"))?;
        grid.push((key, values));
    }
    Ok(grid)
}

/// Returns the runs beside the grid, by their names.
fn named_runs(runs: Option<Value>) -> Result<Vec<(String, Table)>, String> {
    let runs = match runs {
        None => return Ok(Vec::new()),
        Some(Value::Array(runs)) => runs,
        Some(_) => return Err("runs: accepted are tables [[runs]]".into()),
    };
    if runs.len() > RUNS {
        return Err(format!("runs: accepted are at most {RUNS}"));
    }
    let (mut names, mut named) = (BTreeSet::new(), Vec::new());
    for (number, run) in runs.into_iter().enumerate() {
        let Value::Table(mut run) = run else {
            return Err("runs: accepted are tables [[runs]]".into());
        };
        let name = match run.remove("name") {
            Some(Value::String(name)) if files::is_plain(&name) && name.len() <= LONGEST_NAME => {
                name
            }
            _ => {
                let accepted = "accepted is a text of letters, digits, `_`, `-` and `.`";
                return Err(format!("runs: name of the run {}: {accepted}", number + 1));
            }
        };
        if !names.insert(name.clone()) {
            return Err(format!("runs: name {name}: accepted is each name once"));
        }
        let table = table_of(&format!("runs: {name}"), Some(Value::Table(run)))?;
        named.push((name, table));
    }
    Ok(named)
}
