//! The content of a page: its runs, each read from its directory, the runs that are left out, and digests.

use super::command_line::{changes, repeats};
use super::made::{NO_RESULTS, Provenance, RESULTS};
use crate::error::{Error, WithContext as _};
use crate::experiments::{self, Catalogue};
use crate::files::{self, Kind, limits::NAMES};
use crate::run::config::{self, FolderEntry};
use crate::run::{Claim, RunFiles, Verdict};
use figures::{Figure, NamedFigures};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

type LeftOut = Vec<(String, String)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// Stop, since the user requested the report.
    Refuse,
    /// Leave it out, and say so on the page: the report comes with other runs.
    LeaveOut,
}

pub struct Content {
    pub runs: Vec<RunPage>,
    pub left_out: LeftOut,
    pub digests: Vec<digests::Row>,
    pub story: u64,
}

impl Content {
    pub fn read(directory: &Path, damaged: Damaged, catalogue: &Catalogue) -> Result<Self, Error> {
        let (runs, left_out) = read(directory, damaged, catalogue)?;
        let story = live::story().context("the report's live part")?;
        let digests = digests::rows().context("the digests")?;
        Ok(Content { runs, left_out, digests, story })
    }

    pub fn changed(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(|run| {
            let changed = run.made.iter().flat_map(|made| &made.changed);
            changed.map(|name| format!("{}/{name}", run.name))
        })
    }
}

fn read(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<(Vec<RunPage>, LeftOut), Error> {
    let (found, mut left_out) = find(directory, damaged)?;
    let mut runs = Vec::new();
    for path in found {
        match RunPage::read(&path, catalogue) {
            Ok(run) => runs.push(run),
            Err(error) if damaged == Damaged::LeaveOut => {
                let reason = match &error {
                    Error::File { path, problem } => {
                        let file = path.file_name().unwrap_or_default().to_string_lossy();
                        format!("{file}: {problem}")
                    }
                    other => other.one_line(),
                };
                left_out.push((files::name_of(&path), reason));
            }
            Err(error) => return Err(error),
        }
    }
    let place = |run: &RunPage| place(&run.results.command).unwrap_or(usize::MAX);
    runs.sort_by_key(|run| (place(run), run.name.clone()));
    Ok((runs, left_out))
}

/// Returns the run of a directory, or the runs in it, by name; and those left out, with the reason: unreadable folders, and
/// runs without results, such as an unfinished training run.
fn find(directory: &Path, damaged: Damaged) -> Result<(Vec<PathBuf>, LeftOut), Error> {
    let inside = config::inside(directory)?;
    let has_results = |path: &Path| files::kind(&path.join(RESULTS)) != Kind::Nothing;
    if has_results(directory) {
        match results(directory) {
            // The main job's results are those of the runs inside.
            Ok(results) if results.command == "main" => {}
            Err(_) if damaged == Damaged::LeaveOut => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok((vec![directory.to_owned()], Vec::new())),
        }
    }
    let (mut runs, mut left_out) = (Vec::new(), Vec::new());
    for FolderEntry { name, path, command } in inside {
        // Results without a config are shown, and an experiment without results is damaged.
        let is_shown = match &command {
            Ok(Some(command)) => has_results(&path) || place(command).is_some(),
            _ => files::kind(&path) == Kind::Folder && has_results(&path),
        };
        match command {
            _ if is_shown => runs.push(path),
            Err(reason) => left_out.push((name, reason)),
            Ok(Some(_)) => left_out.push((name, format!("no {RESULTS}: {NO_RESULTS}"))),
            Ok(None) => {}
        }
    }
    if runs.is_empty() {
        let reason = match left_out.first() {
            Some((name, reason)) => format!("no run can be shown: {name}: {reason}"),
            None => {
                "holds no run: expected a directory with the results.json that a run wrote".into()
            }
        };
        return Err(Error::file(directory, reason));
    }
    Ok((runs, left_out))
}

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
    pub frames: Vec<Figure>,
}

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

fn place(command: &str) -> Option<usize> {
    experiments::all().position(|e| e.id == command)
}

fn results(directory: &Path) -> Result<Results, Error> {
    let records = RunFiles::open(directory)?;
    let results: Results = records.json(RESULTS)?;
    if !(has_few_names(&results.numbers, 0) && has_few_names(&results.config, 0)) {
        let reason = format!("more than {NAMES} names or numbers side by side");
        return Err(records.damaged(RESULTS, reason));
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
