//! `run.json`: how a run went.
//!
//! Everything else in a run directory has the same bytes for the same `config.toml` on any machine; what differs between runs
//! is in this file, and in the `report.html` that shows it.
//!
//! | entry | content |
//! |---|---|
//! | `format` | 2, the version of this table |
//! | `command` | the command of `config.toml` |
//! | `versions` | `ictd` and `rustc`, and the optimisation level that it was compiled at |
//! | `platform` | `target`, `instructions` (the best set of vector instructions found: baseline, avx2), `threads`, `cores` |
//! | `started`, `seconds`, `cpu_seconds` | when the last process began (UTC), and the time it took (null until it ends) |
//! | `outcome` | how it ended |
//! | `digests.seeds` | of a training run: the digest of each seed's final parameters |
//! | `digests.files` | the digest of each file that the run wrote, FNV-1a with 64 bits of its bytes |
//! | `verdicts` | the tested claims: `claim`, `paper`, `measured`, `verdict` |
//!
//! The `outcome` is `finished`, `interrupted` (Ctrl-C, SIGTERM), `failed: ` with the error, or
//! `running`: a process that holds no lock on the directory and is `running` was killed.

use crate::error::{Error, InFile as _, ToFile as _};
use crate::files;
use crate::run::report::Claim;
use crate::run::session::Session;
use compute::level::SimdLevel;
use ictd_core::digest::Digest;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

pub const FILE_NAME: &str = "run.json";

pub const FINISHED: &str = "finished";

/// Returns how a process ended, from its result: `finished`, `interrupted` (the run can continue), or an error in one line.
pub fn outcome<T>(result: &Result<T, Error>) -> String {
    match result {
        Ok(_) => FINISHED.into(),
        Err(Error::Interrupted | Error::Paused) => "interrupted".into(),
        Err(e) => format!("failed: {}", e.one_line()),
    }
}

pub struct RunManifest {
    command: String,
    threads: usize,
    started: SystemTime,
    clock: Instant,
    cpu: cpu_time::ProcessTime,
    pub seeds: Map<String, Value>,
    pub files: Map<String, Value>,
    pub verdicts: Vec<Claim>,
}

impl RunManifest {
    pub fn new(command: &str, session: &Session) -> Self {
        RunManifest {
            command: command.to_owned(),
            threads: session.threads(),
            started: SystemTime::now(),
            clock: Instant::now(),
            cpu: cpu_time::ProcessTime::now(),
            seeds: Map::new(),
            files: Map::new(),
            verdicts: Vec::new(),
        }
    }

    pub fn files<'a>(&mut self, files: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
        for (name, content) in files {
            self.files.insert(name.to_owned(), json!(digest(content)));
        }
    }

    pub fn digests(&self) -> Value {
        json!({ "seeds": self.seeds, "files": self.files })
    }

    /// Returns the content of the file; without an outcome, that of a process that still runs.
    pub fn to_text(&self, outcome: Option<&str>) -> String {
        let ended = |seconds: f64| outcome.map(|_| (seconds * 1000.0).round() / 1000.0);
        // A clock may run backwards, for example in a virtual machine that moves.
        let now = cpu_time::ProcessTime::now().as_duration();
        let cpu = now.saturating_sub(self.cpu.as_duration());
        let value = json!({
            "format": 2,
            "command": self.command,
            "versions": {
                "ictd": env!("CARGO_PKG_VERSION"),
                "rustc": env!("ICTD_RUSTC"),
                "opt_level": env!("ICTD_OPT_LEVEL"),
            },
            "platform": {
                "target": env!("ICTD_TARGET"),
                "instructions": SimdLevel::for_seeds(usize::MAX).name(),
                "threads": self.threads,
                "cores": std::thread::available_parallelism().map_or(1, usize::from),
            },
            "started": time_of_day(self.started),
            "seconds": ended(self.clock.elapsed().as_secs_f64()),
            "cpu_seconds": ended(cpu.as_secs_f64()),
            "outcome": outcome.unwrap_or("running"),
            "digests": self.digests(),
            "verdicts": self.verdicts,
        });
        format!("{value:#}\n")
    }

    pub fn write(&self, directory: &Path, outcome: Option<&str>) -> Result<PathBuf, Error> {
        let path = directory.join(FILE_NAME);
        let text = self.to_text(outcome);
        files::replace(&path, text.as_bytes()).to_file(&path)?;
        Ok(path)
    }
}

/// Returns a time as text; a time before 1970 or after 9999 is clamped.
pub fn time_of_day(time: SystemTime) -> String {
    let latest = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799);
    humantime::format_rfc3339_seconds(time.clamp(SystemTime::UNIX_EPOCH, latest)).to_string()
}

pub fn digest(content: &[u8]) -> String {
    let mut digest = Digest::EMPTY;
    digest.bytes(content);
    digest.to_string()
}

/// Returns the names of the files that the run in this directory wrote, `run.json` among them.
pub fn files(directory: &Path) -> Result<Vec<String>, Error> {
    let path = directory.join(FILE_NAME);
    let found = files::if_there(files::read(&path, files::TEXT)).in_file(&path)?;
    Ok(found.map_or(Vec::new(), |content| names(&content)))
}

pub fn names(content: &[u8]) -> Vec<String> {
    let value = serde_json::from_slice::<Value>(content).unwrap_or_default();
    let files = value["digests"]["files"].as_object();
    let names = files.into_iter().flat_map(|files| files.keys().cloned());
    names.chain([FILE_NAME.to_owned()]).collect()
}

pub fn is_finished(directory: &Path) -> bool {
    read(directory)["outcome"] == FINISHED
}

/// Returns the object in the file; null if there is none.
pub fn read(directory: &Path) -> Value {
    let content = files::read(&directory.join(FILE_NAME), files::TEXT).unwrap_or_default();
    serde_json::from_slice(&content).unwrap_or_default()
}
