//! One run on a page, read from its directory.

use super::command_line::{changes, repeats};
use super::made::{Provenance, RESULTS};
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::files;
use crate::files::limits::NAMES;
use crate::run::{Claim, RunFiles, Verdict};
use figures::{Figure, NamedFigures};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

#[derive(Clone, Debug)]
pub struct RunPage {
    pub results: Results,
    /// The directory's name, unique in a page.
    pub name: String,
    /// The command line that repeats it, after `ictd`.
    pub repeats: String,
    pub made: Option<Provenance>,
    pub changes: Vec<(String, Option<String>)>,
    /// Whether claims are hidden, since run.json does not confirm the results.
    pub withheld: bool,
    pub figures: NamedFigures,
    /// P and Q during training, frame by frame.
    pub frames: Vec<Figure>,
}

/// The content of a results.json: what every run has, and its numbers.
#[derive(Clone, Debug, Deserialize)]
pub struct Results {
    pub command: String,
    /// The figure of the paper that it repeats, or another description.
    #[serde(default)]
    pub figure: Option<String>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    config: Map<String, Value>,
    #[serde(default)]
    pub claims: Vec<Claim>,
    #[serde(flatten)]
    pub numbers: Map<String, Value>,
}

pub(super) fn place(command: &str, catalogue: &Catalogue) -> Option<usize> {
    catalogue.experiments.iter().position(|e| e.id == command)
}

pub(super) fn results(directory: &Path) -> Result<Results, Error> {
    let records = RunFiles::open(directory)?;
    let refuse = |reason: String| {
        let reason = format!("{reason}; expected what a run wrote");
        Error::file(&directory.join(RESULTS), reason)
    };
    let results: Results =
        serde_json::from_slice(&records.get(RESULTS)?).map_err(|e| refuse(e.to_string()))?;
    if !(has_few_names(&results.numbers, 0) && has_few_names(&results.config, 0)) {
        return Err(refuse(format!("more than {NAMES} names or numbers side by side")));
    }
    Ok(results)
}

/// Returns true if no object of the results has too many names: the table's size grows with the square of that number. Lists at
/// the top are rows.
fn has_few_names(object: &Map<String, Value>, depth: usize) -> bool {
    fn of_value(value: &Value, depth: usize) -> bool {
        match value {
            Value::Object(object) => has_few_names(object, depth + 1),
            Value::Array(items) => {
                (depth == 0 || items.len() <= NAMES)
                    && items.iter().all(|item| of_value(item, depth + 1))
            }
            _ => true,
        }
    }
    object.len() <= NAMES && object.values().all(|value| of_value(value, depth))
}

impl RunPage {
    pub fn read(path: &Path, catalogue: &Catalogue) -> Result<Self, Error> {
        let mut results = results(path)?;
        for key in ["holds", "files", "seconds"] {
            results.numbers.remove(key);
        }
        let (name, records) = (files::name_of(path), RunFiles::open(path)?);
        let entry = catalogue.entries().find(|entry| entry.id == results.command);
        let figure = results.figure.take().or(entry.map(|entry| entry.figure.to_owned()));
        // A command that repeats no figure has "none: " before its description.
        results.figure = figure.map(|figure| {
            let shows = figure.strip_prefix("none: ").map(|it| format!("{name}: {it}"));
            shows.unwrap_or(figure)
        });
        let draw = || match entry {
            Some(entry) => Ok::<_, Error>((entry.drawn(&records)?, entry.frames(&records)?)),
            None => Ok(Default::default()),
        };
        let (made, drawn) = rayon::join(|| Provenance::read(path), draw);
        let (figures, frames) = drawn?;
        // Verdicts are shown as the run wrote them, or not at all.
        let made = made?;
        let stands = made.as_ref().is_some_and(|made| made.results_stand);
        let withheld = !results.claims.is_empty() && !stands;
        if withheld {
            results.claims.clear();
        }
        let Results { command, seed, config, .. } = &results;
        let repeats = repeats(&catalogue.command, command, *seed, config);
        let changes = changes(&catalogue.command, command, config);
        Ok(RunPage { results, name, repeats, made, changes, withheld, figures, frames })
    }

    pub fn title(&self) -> &str {
        self.results.figure.as_deref().unwrap_or(&self.name)
    }

    pub fn anchor(&self) -> String {
        anchor(&format!("run-{}", self.name))
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.results.claims.iter().filter(|c| c.verdict == verdict).count()
    }
}

pub(super) fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}
