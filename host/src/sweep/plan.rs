//! The plan of a sweep: a TOML file with the recipes and the seeds; and its parts for separate processes, the shards
//! ([`guide::sweep`](crate::guide::sweep)).

use crate::error::{Error, InFile as _};
use crate::files;
use crate::formats::tasks;
use crate::options;
use crate::run::config;
use crate::train::options::{Recipe, Seeds, Train, folder_of};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use toml::{Table, Value};

const RUNS: usize = 10_000;
const SEEDS: usize = 1_000_000;

#[derive(Clone, Debug)]
pub struct Plan {
    /// The keys of the grid, in the file's order.
    pub axes: Vec<String>,
    /// Every combination of the grid's values, the last axis the fastest.
    pub runs: Vec<PlannedRun>,
    pub seeds: Vec<u64>,
}

#[derive(Clone, Debug)]
pub struct PlannedRun {
    pub folder: String,
    pub values: Vec<String>,
    pub recipe: Recipe,
}

impl Plan {
    /// Reads a plan; a number of seeds starts at `first`.
    pub fn read(path: &Path, first: u64) -> Result<Self, Error> {
        let text = config::read_text(path, files::read(path, files::limits::PLAN))?;
        Self::of_text(&text, first).in_file(path)
    }

    pub fn of_text(text: &str, first: u64) -> Result<Self, String> {
        let mut plan = config::parse(text)?;
        let seed_value = plan.remove("seeds");
        let mut settings = Vec::new();
        for (key, value) in table(&mut plan, "settings")? {
            let text = setting_text(&key, &value).map_err(|e| format!("settings: {e}"))?;
            settings.push((key, text));
        }
        let fixed = |key: &str| settings.iter().any(|(fixed, _)| fixed == key);
        let mut grid = Vec::new();
        for (key, values) in table(&mut plan, "grid")? {
            let Value::Array(values) = values else {
                return Err(format!("grid: {}: expected a list of values", brief(&key)));
            };
            if fixed(&key) {
                return Err(format!(
                    "grid: {key}: it is in settings, too; expected in one of the two"
                ));
            }
            let values: Result<Vec<_>, _> =
                values.iter().map(|value| setting_text(&key, value)).collect();
            grid.push((key, values.map_err(|e| format!("grid: {e}"))?));
        }
        if let Some(key) = plan.keys().next() {
            return Err(format!("{}: expected seeds, settings and grid", brief(key)));
        }
        let seeds = seeds(seed_value, first)?;
        let count = grid.iter().try_fold(1_usize, |n, (_, values)| n.checked_mul(values.len()));
        let expected = |n: &usize| (1..=RUNS).contains(n) && n * seeds.len() <= SEEDS;
        count.filter(expected).ok_or_else(|| {
            format!("expected 1 to {RUNS} runs, and at most {SEEDS} seeds of all runs")
        })?;
        let with = |recipe: &Recipe, settings: &[(String, String)]| {
            let settings = settings.iter().map(|(key, text)| (key.as_str(), text.as_str()));
            recipe.clone().with_settings(settings).map_err(|e| e.to_string())
        };
        let base = with(&Recipe::default(), &settings)?;
        let mut points = vec![Vec::new()];
        for (key, values) in &grid {
            let with = |point: &Vec<_>, value: &String| {
                [&point[..], &[(key.clone(), value.clone())]].concat()
            };
            let longer = |point| values.iter().map(move |value| with(point, value));
            points = points.iter().flat_map(longer).collect();
        }
        let (mut runs, mut folders) = (Vec::new(), BTreeMap::new());
        for point in points {
            let said: Vec<_> =
                point.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            let title = if said.is_empty() { "the run".into() } else { said.join(", ") };
            let recipe = tasks::load(with(&base, &point)?, None).map_err(|e| e.to_string())?;
            recipe.check().map_err(|e| format!("{title}: --{e}"))?;
            let folder = folder_of(&recipe).map_err(|e| e.to_string())?;
            if let Some(other) = folders.insert(folder.clone(), title.clone()) {
                return Err(format!("{title}: the recipe of {other}; expected each recipe once"));
            }
            let values = point.into_iter().map(|(_, value)| value).collect();
            runs.push(PlannedRun { folder, values, recipe });
        }
        Ok(Plan { axes: grid.into_iter().map(|(key, _)| key).collect(), runs, seeds })
    }

    pub fn groups(&self, shard: Shard) -> Vec<Group<'_>> {
        let count = |lanes: &usize| self.runs.len() * self.seeds.len().div_ceil(*lanes);
        let lanes = [LANES, 8, 4, 2].into_iter().find(|lanes| count(lanes) >= shard.of);
        let of_run =
            |run| self.seeds.chunks(lanes.unwrap_or(1)).map(move |seeds| Group { run, seeds });
        self.runs.iter().flat_map(of_run).skip(shard.number - 1).step_by(shard.of).collect()
    }
}

/// The largest number of seeds of a group: the lanes of the widest register.
const LANES: usize = 16;
const SHARDS: usize = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// A number from 1 to `of`.
    pub number: usize,
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let fits = |shard: &Shard| shard.of <= SHARDS && (1..=shard.of).contains(&shard.number);
        parts.filter(fits).ok_or("expected I/N with I from 1 to N, for example 3/8".into())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub run: &'a PlannedRun,
    pub seeds: &'a [u64],
}

fn brief(text: &str) -> String {
    let short: String = text.chars().take(100).collect();
    if short.len() < text.len() { short + "..." } else { short }
}

fn seeds(value: Option<Value>, first: u64) -> Result<Vec<u64>, String> {
    let refuse = |reason: String| format!("seeds: {reason}");
    let seeds = match value {
        Some(Value::Integer(count)) => count.to_string().parse::<Seeds>(),
        Some(Value::String(text)) => text.parse(),
        _ => Err("expected a number, or text such as \"0..9,20\"".into()),
    };
    let options = Train { seeds: seeds.map_err(refuse)?, ..Train::default() };
    options.check(first).map_err(|e| e.to_string())?;
    Ok(options.seed_set(first).into_iter().collect())
}

fn table(plan: &mut Table, name: &str) -> Result<Table, String> {
    match plan.remove(name) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table),
        Some(_) => Err(format!("{name}: expected a table")),
    }
}

fn setting_text(key: &str, value: &Value) -> Result<String, String> {
    let setting = options::setting(key)?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Float(x) => x.to_string(),
        Value::Integer(_) => value.to_string(),
        _ => return Err(format!("{key}: expected a string or a number")),
    };
    (setting.set)(&mut Recipe::default(), &text)
        .map_err(|expected| format!("{key} {}: {expected}", brief(&text)))?;
    Ok(text)
}
