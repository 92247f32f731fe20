//! The versions and the platform that made a run, from its `run.json`.

use crate::error::Error;
use crate::files::{self, Kind, STREAM, limits::of_record};
use crate::run::info;
use crate::run::records::RunFiles;
use ictd_core::digest::Digest;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind::{self, FileTooLarge, InvalidInput, NotADirectory, NotFound};
use std::path::Path;

/// The file of a run's claims and numbers.
pub(super) const RESULTS: &str = "results.json";

/// How it fails to open a file that is not there, or something else.
const ELSE: [ErrorKind; 4] = [NotFound, NotADirectory, InvalidInput, FileTooLarge];

/// The part of a run.json that is shown.
#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    versions: BTreeMap<String, String>,
    #[serde(default)]
    platform: BTreeMap<String, Value>,
    #[serde(default)]
    digests: BTreeMap<String, BTreeMap<String, String>>,
}

/// The versions and the platform that made a run, and whether its files are still those that it wrote.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// In words.
    pub by: String,
    /// Files that are not what the run wrote any more.
    pub changed: Vec<String>,
    /// The results are what the run wrote.
    pub results_stand: bool,
}

impl Provenance {
    /// Reads the run's run.json; returns `None` in a directory without one.
    pub fn read(directory: &Path) -> Result<Option<Self>, Error> {
        if files::kind(&directory.join(info::FILE_NAME)) == Kind::Nothing {
            return Ok(None);
        }
        let content = RunFiles::open(directory)?.get(info::FILE_NAME)?;
        let info: Info = serde_json::from_slice(&content).map_err(|e| {
            let reason = format!("{e}; expected what a run wrote");
            Error::file(&directory.join(info::FILE_NAME), reason)
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
        let changed = |(name, digest): (String, String)| {
            let (mut found, most) = (Digest::EMPTY, of_record(&name));
            let take = |piece: &[u8]| {
                found.bytes(piece);
                // A sparse file is all NUL, which no table has: the rest of what may be a TiB says nothing more.
                let is_table = most < STREAM || !piece.contains(&0);
                if is_table { Ok(()) } else { Err(InvalidInput.into()) }
            };
            let is_as_written = match files::pieces_below(directory, &name, most, take) {
                Ok(()) => found.to_string() == digest,
                // Gone, or something else.
                Err(e) if ELSE.contains(&e.kind()) => false,
                Err(e) => return Err(Error::file(&directory.join(name), e)),
            };
            Ok((!is_as_written).then_some(name))
        };
        let listed = info.digests.get("files").cloned().unwrap_or_default();
        let is_listed = listed.contains_key(RESULTS);
        // Many files, on all cores; in order.
        let files: Vec<_> = listed.into_iter().collect();
        let changed = files.into_par_iter().map(changed).collect::<Result<Vec<_>, _>>()?;
        let changed: Vec<_> = changed.into_iter().flatten().collect();
        let results_stand = is_listed && !changed.iter().any(|name| name == RESULTS);
        Ok(Some(Provenance { by, changed, results_stand }))
    }
}
