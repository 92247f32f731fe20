//! What a page shows of one run, read from its directory.

use super::Damaged;
use super::picture::{Animation, animation, frames};
use super::svg::{Inline, inline};
use crate::commands;
use crate::error::Error;
use crate::experiments;
use crate::records::Records;
use crate::report::{Claim, Verdict};
use crate::run_info;
use ictd_core::digest::Digest;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where a run is.
#[derive(Clone, Debug)]
pub struct RunFiles {
    /// The directory's name.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The command, for example `demo`.
    pub command: String,
    /// The directory's name, unique in a page.
    pub name: String,
    /// The figure of the paper that it repeats, or what else it shows.
    pub figure: Option<String>,
    /// The command line that repeats it, after `ictd`.
    pub repeats: String,
    /// With what it was made, if it says so.
    pub made: Option<Made>,
    /// Options that differ from the defaults.
    pub changes: Vec<(String, Option<String>)>,
    /// The paper's claims and what was measured.
    pub claims: Vec<Claim>,
    /// The other results.
    pub numbers: Map<String, Value>,
    /// The figures, by file name.
    pub figures: Vec<Inline>,
    /// The moving pictures, by file name.
    pub animations: Vec<Animation>,
    /// The files of the records.
    pub records: Vec<String>,
}

/// The part of a results.json that every run has.
#[derive(Deserialize)]
struct Results {
    command: String,
    #[serde(default)]
    figure: Option<String>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    config: Map<String, Value>,
    #[serde(default)]
    claims: Vec<Claim>,
    #[serde(flatten)]
    numbers: Map<String, Value>,
}

/// The part of a run.json that is shown.
#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    versions: BTreeMap<String, String>,
    #[serde(default)]
    platform: BTreeMap<String, Value>,
    #[serde(default)]
    digests: Digests,
}

#[derive(Default, Deserialize)]
struct Digests {
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// With what a run was made, and whether its files are still those that it wrote.
#[derive(Clone, Debug)]
pub struct Made {
    /// In words.
    pub by: String,
    /// Files that are not what the run wrote any more.
    pub changed: Vec<String>,
}

impl Made {
    /// From the run's run.json; none in a directory without one.
    fn read(directory: &Path, names: &[String]) -> Result<Option<Self>, Error> {
        if !names.iter().any(|name| name == run_info::FILE_NAME) {
            return Ok(None);
        }
        let records = Records::open(directory)?;
        let info: Info =
            serde_json::from_slice(&records.get(run_info::FILE_NAME)?).map_err(|e| {
                let reason = format!("{e}; accepted is what a run wrote");
                Error::file(&directory.join(run_info::FILE_NAME), reason)
            })?;
        let version = |key: &str| info.versions.get(key).map_or("?", String::as_str);
        let platform = |key: &str| match info.platform.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "?".into(),
        };
        let rustc = version("rustc").split(" (").next().unwrap_or_default();
        let by = format!(
            "ictd {}, {rustc}, opt-level {}, {}, {}, threads: {}",
            version("ictd"),
            version("opt_level"),
            platform("target"),
            platform("instructions"),
            platform("threads"),
        );
        let mut changed = Vec::new();
        for (name, digest) in info.digests.files {
            // A name leads nowhere but into the directory.
            let mut now = Digest::EMPTY;
            let is_there = names.contains(&name);
            if is_there {
                now.bytes(&records.get(&name)?);
            }
            if !is_there || now.to_string() != digest {
                changed.push(name);
            }
        }
        Ok(Some(Made { by, changed }))
    }
}

const RESULTS: &str = "results.json";

/// The moving picture of P and Q, and the records that it is drawn from.
pub(super) const EMERGENCE: &str = "emergence";
const MATRICES: &str = "matrices.csv";

/// The run of a directory, or the runs in it, by name. A training run that is not finished has no
/// results, and is none yet.
///
/// # Errors
/// [`Error::File`] if there is none, or the directory's own results are damaged.
pub(super) fn find(directory: &Path, damaged: Damaged) -> Result<Vec<RunFiles>, Error> {
    let entries = std::fs::read_dir(directory).map_err(|e| Error::file(directory, e))?;
    let is_run = |path: &Path| path.join(RESULTS).exists() || is_damaged(path);
    if directory.join(RESULTS).exists() {
        match results(directory) {
            // The main job's are those of the runs inside.
            Ok(results) if results.command == "main" => {}
            Err(_) if damaged == Damaged::LeaveOut => {}
            Err(error) => return Err(error),
            Ok(_) => {
                // "." has a name, too.
                let path = directory.canonicalize().map_err(|e| Error::file(directory, e))?;
                return Ok(vec![RunFiles { name: name_of(&path), path: directory.to_owned() }]);
            }
        }
    }
    let mut runs: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_run(path))
        .map(|path| RunFiles { name: name_of(&path), path })
        .collect();
    runs.sort_by(|a, b| a.name.cmp(&b.name));
    if runs.is_empty() {
        let reason = "holds no run: accepted is a directory with the results.json that a run wrote";
        return Err(Error::file(directory, reason));
    }
    Ok(runs)
}

/// A run of an experiment without results: its other files are there.
fn is_damaged(path: &Path) -> bool {
    let text = std::fs::read_to_string(path.join("config.toml")).unwrap_or_default();
    let Ok(config) = text.parse::<toml::Table>() else { return false };
    let command = config.get("command").and_then(toml::Value::as_str);
    command.is_some_and(|c| place(c).is_some())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The experiment's place in the paper.
fn place(command: &str) -> Option<usize> {
    experiments::ALL.iter().position(|e| e.id == command)
}

fn results(directory: &Path) -> Result<Results, Error> {
    let records = Records::open(directory)?;
    serde_json::from_slice(&records.get(RESULTS)?).map_err(|e| {
        let reason = format!("{e}; accepted is what a run wrote");
        Error::file(&directory.join(RESULTS), reason)
    })
}

impl Run {
    /// Reads a run.
    ///
    /// # Errors
    /// [`Error::File`], naming the file that is missing or damaged.
    pub fn read(files: &RunFiles) -> Result<Self, Error> {
        let Results { command, figure, seed, config, claims, mut numbers } = results(&files.path)?;
        for key in ["holds", "files", "seconds"] {
            numbers.remove(key);
        }
        let names = file_names(&files.path)?;
        let made = Made::read(&files.path, &names)?;
        let with_ending = |ending: &str| -> Vec<&String> {
            names.iter().filter(|name| name.ends_with(ending)).collect()
        };
        let records = Records::open(&files.path)?;
        let mut figures = Vec::new();
        for file in with_ending(".svg") {
            let refuse = |reason: String| Error::file(&files.path.join(file), reason);
            let text = String::from_utf8(records.get(file)?)
                .map_err(|e| refuse(format!("{e}; accepted is SVG")))?;
            let name = format!("{}-{}", files.name, file.trim_end_matches(".svg"));
            figures.push(inline(&text, &anchor(&name)).map_err(refuse)?);
        }
        if figures.is_empty() && has_figures(&command) {
            let reason = "is missing: `ictd plot` draws a run's figures again";
            return Err(Error::file(&files.path.join(format!("{command}.svg")), reason));
        }
        let mut animations = Vec::new();
        for file in with_ending(".gif") {
            let name = file.trim_end_matches(".gif");
            let mut moving = animation(name, records.get(file)?)
                .map_err(|reason| Error::file(&files.path.join(file), reason))?;
            if name == EMERGENCE && names.iter().any(|n| n == MATRICES) {
                moving.frames = frames(&records.csv(MATRICES)?);
            }
            animations.push(moving);
        }
        // A command that repeats no figure says "none: " and what it shows.
        let entry = commands::WITH_FIGURES.iter().find(|e| e.id == command);
        let figure =
            figure.or(entry.map(|e| e.figure.to_owned())).map(|f| match f.strip_prefix("none: ") {
                Some(shows) => format!("{}: {shows}", files.name),
                None => f,
            });
        let repeats = repeats(&command, seed, &config);
        let changes = changes(&command, &config);
        let records = with_ending(".csv").into_iter().cloned().collect();
        let name = files.name.clone();
        Ok(Run {
            command,
            name,
            figure,
            repeats,
            made,
            changes,
            claims,
            numbers,
            figures,
            animations,
            records,
        })
    }

    /// The paper's order, then by name.
    pub fn order(&self) -> (usize, String) {
        (place(&self.command).unwrap_or(usize::MAX), self.name.clone())
    }

    /// The heading.
    pub fn title(&self) -> &str {
        self.figure.as_deref().unwrap_or(&self.name)
    }

    /// The id of its section.
    pub fn anchor(&self) -> String {
        anchor(&format!("run-{}", self.name))
    }

    /// How many claims have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.claims.iter().filter(|c| c.verdict == verdict).count()
    }
}

fn file_names(path: &Path) -> Result<Vec<String>, Error> {
    let entries = std::fs::read_dir(path).map_err(|e| Error::file(path, e))?;
    let mut names: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // Other than a directory's, this order is the same everywhere.
    names.sort();
    Ok(names)
}

fn has_figures(command: &str) -> bool {
    place(command).is_some() || commands::WITH_FIGURES.iter().any(|e| e.id == command)
}

/// A name as an id.
fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

/// The options of a run that differ from the defaults: name and value, none if it is a switch.
fn changes(command: &str, config: &Map<String, Value>) -> Vec<(String, Option<String>)> {
    let root = crate::cli::command();
    let known = root.find_subcommand(command);
    let default = |key: &str| -> Option<String> {
        let argument = known?.get_arguments().find(|a| a.get_long() == Some(key))?;
        Some(argument.get_default_values().first()?.to_string_lossy().into_owned())
    };
    let mut changes = Vec::new();
    for (key, value) in config {
        let text = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Bool(true) => {
                changes.push((key.clone(), None));
                continue;
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let number = |text: &str| text.parse::<f64>().ok();
        let same = default(key)
            .is_some_and(|d| d == text || (number(&d).is_some() && number(&d) == number(&text)));
        if !same {
            changes.push((key.clone(), Some(text)));
        }
    }
    changes
}

/// The command line of a run, after `ictd`.
fn repeats(command: &str, seed: u64, config: &Map<String, Value>) -> String {
    let changes = changes(command, config);
    let root = crate::cli::command();
    let hidden = root.find_subcommand(command).is_some_and(|c| c.is_hide_set());
    // What has no command of its own is repeated by `reproduce`, at a scale.
    let scale = |key: &String| ["seeds", "mrps"].contains(&key.as_str());
    let scaled = changes.is_empty() || config.keys().all(scale);
    let mut words = Vec::new();
    if hidden && scaled {
        words.push("reproduce".into());
    }
    words.push(quoted(command));
    if seed != 0 {
        words.push(format!("--seed {seed}"));
    }
    words.extend(changes.into_iter().map(|(key, value)| match value {
        Some(value) => format!("--{} {}", quoted(&key), quoted(&value)),
        None => format!("--{}", quoted(&key)),
    }));
    words.join(" ")
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn damaged_results_are_refused_in_words_or_shown() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(RESULTS);
        let intact = json!({
            "command": "digest", "seed": 1, "config": {"seeds": 2, "quiet": true},
            "seeds": [{"seed": 1, "digest": "d", "iws": 0.5, "p": [1.0, null]}], "msve_mean": [1.0],
            "claims": [{"claim": "c", "paper": "p", "measured": "m", "verdict": "holds"}],
        });
        let bytes = intact.to_string().into_bytes();
        let run = RunFiles { name: "r".into(), path: directory.path().to_owned() };
        let mut refused = 0_usize;
        let mut check = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            match Run::read(&run) {
                Ok(run) => drop(crate::page::numbers::tables(&run.numbers)),
                Err(error) => {
                    assert!(error.one_line().contains("results.json: "), "{error}");
                    refused += 1;
                }
            }
        };
        for length in 0..bytes.len() {
            check(&bytes[..length]);
        }
        let mut damaged = bytes.clone();
        for byte in 0..bytes.len() {
            for bit in 0..8 {
                damaged[byte] ^= 1 << bit;
                check(&damaged);
                damaged[byte] ^= 1 << bit;
            }
        }
        assert!(refused > bytes.len(), "only {refused} of {} refused", 9 * bytes.len());
    }

    #[test]
    fn a_command_line_has_what_differs_from_the_defaults() {
        let config = |value: Value| value.as_object().cloned().unwrap_or_default();
        let of = |command, seed, value| repeats(command, seed, &config(value));
        assert_eq!(of("demo", 0, json!({"tasks": 300, "gamma": 0.9, "task": "mdp"})), "demo");
        assert_eq!(
            of("demo", 3, json!({"tasks": 20, "alpha": 0.2, "task": "loop"})),
            "demo --seed 3 --tasks 20 --task loop"
        );
        assert_eq!(
            of("figure-2", 0, json!({"seeds": 4, "mrps": 400})),
            "reproduce figure-2 --seeds 4 --mrps 400"
        );
        assert_eq!(of("figure-2", 0, json!({})), "reproduce figure-2");
        let set = |seeds: u64| json!({"seeds": seeds, "steps": 40, "alpha": 0.01});
        let defaults = serde_json::to_value(experiments::invariant_set::InvariantSet::default());
        assert_eq!(of("invariant-set", 0, defaults.unwrap()), "reproduce invariant-set");
        assert!(of("invariant-set", 0, set(7)).starts_with("invariant-set --seeds 7"));
        assert_eq!(
            of("evaluate", 0, json!({"data": "it's; $(x).csv", "quiet": false})),
            "evaluate --data 'it'\\''s; $(x).csv'"
        );
    }
}
