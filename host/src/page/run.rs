//! What a page shows of one run, read from its directory.

use super::Damaged;
use super::command_line::{changes, repeats};
use super::made::Made;
use super::picture::{Animation, animation, frames};
use super::svg::{Inline, inline};
use crate::error::Error;
use crate::experiments::Catalogue;
use crate::run::records::Records;
use crate::run::report::{Claim, Verdict};
use serde::Deserialize;
use serde_json::{Map, Value};
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

const RESULTS: &str = "results.json";

/// The moving picture of P and Q, and the records that it is drawn from.
pub(super) const EMERGENCE: &str = "emergence";
const MATRICES: &str = "matrices.csv";

/// The run of a directory, or the runs in it, by name. A training run that is not finished has no
/// results, and is none yet.
///
/// # Errors
/// [`Error::File`] if there is none, or the directory's own results are damaged.
pub(super) fn find(
    directory: &Path,
    damaged: Damaged,
    catalogue: &Catalogue,
) -> Result<Vec<RunFiles>, Error> {
    let entries = std::fs::read_dir(directory).map_err(|e| Error::file(directory, e))?;
    let is_run = |path: &Path| path.join(RESULTS).exists() || is_damaged(path, catalogue);
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
fn is_damaged(path: &Path, catalogue: &Catalogue) -> bool {
    let text = std::fs::read_to_string(path.join("config.toml")).unwrap_or_default();
    let Ok(config) = text.parse::<toml::Table>() else { return false };
    let command = config.get("command").and_then(toml::Value::as_str);
    command.is_some_and(|c| place(c, catalogue).is_some())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The experiment's place in the paper.
fn place(command: &str, catalogue: &Catalogue) -> Option<usize> {
    catalogue.experiments.iter().position(|e| e.id == command)
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
    pub fn read(files: &RunFiles, catalogue: &Catalogue) -> Result<Self, Error> {
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
        if figures.is_empty() && catalogue.entries().any(|e| e.id == command) {
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
        let entry = catalogue.others.iter().find(|e| e.id == command);
        let figure =
            figure.or(entry.map(|e| e.figure.to_owned())).map(|f| match f.strip_prefix("none: ") {
                Some(shows) => format!("{}: {shows}", files.name),
                None => f,
            });
        let repeats = repeats(&catalogue.command, &command, seed, &config);
        let changes = changes(&catalogue.command, &command, &config);
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
    pub fn order(&self, catalogue: &Catalogue) -> (usize, String) {
        (place(&self.command, catalogue).unwrap_or(usize::MAX), self.name.clone())
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

/// A name as an id.
fn anchor(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command::catalogue;
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
        let catalogue = catalogue();
        let run = RunFiles { name: "r".into(), path: directory.path().to_owned() };
        let mut refused = 0_usize;
        let mut check = |bytes: &[u8]| {
            std::fs::write(&file, bytes).unwrap();
            match Run::read(&run, &catalogue) {
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
}
