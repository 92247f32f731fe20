//! The versions and the platform that made a run, from its `run.json`.

use crate::error::Error;
use crate::files::{self, Kind, STREAM, limits::of_record};
use crate::run::{RunFiles, info};
use ictd_core::digest::Digest;
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::ErrorKind::{self, FileTooLarge, InvalidInput, NotADirectory, NotFound};
use std::path::Path;

pub const RESULTS: &str = "results.json";
/// Why a training run has none.
pub const NO_RESULTS: &str = "it has not finished, or is a sweep's (`sweep --collect` draws these)";

/// The errors of opening a file that is missing, or of another kind.
const ELSE: [ErrorKind; 4] = [NotFound, NotADirectory, InvalidInput, FileTooLarge];

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    versions: BTreeMap<String, String>,
    #[serde(default)]
    platform: BTreeMap<String, Value>,
    #[serde(default)]
    digests: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Clone, Debug)]
pub struct Provenance {
    pub by: String,
    pub changed: Vec<String>,
    pub results_stand: bool,
}

impl Provenance {
    /// Reads the run's run.json; returns `None` in a directory without one.
    pub fn read(directory: &Path) -> Result<Option<Self>, Error> {
        if files::kind(&directory.join(info::FILE_NAME)) == Kind::Nothing {
            return Ok(None);
        }
        let info: Info = RunFiles::open(directory)?.json(info::FILE_NAME)?;
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
                // A sparse file is all NUL, which no table contains: the rest of up to a TiB need not be read.
                let is_table = most < STREAM || !piece.contains(&0);
                if is_table { Ok(()) } else { Err(InvalidInput.into()) }
            };
            let is_as_written = match files::pieces(&directory.join(&name), most, take) {
                Ok(()) => found.to_string() == digest,
                // The file is missing, or of another kind.
                Err(e) if ELSE.contains(&e.kind()) => false,
                Err(e) => return Err(Error::file(&directory.join(name), e)),
            };
            Ok((!is_as_written).then_some(name))
        };
        let listed = info.digests.get("files").cloned().unwrap_or_default();
        let is_listed = listed.contains_key(RESULTS);
        // There may be many files: use all cores, and keep their order.
        let files: Vec<_> = listed.into_iter().collect();
        let changed = files.into_par_iter().map(changed).collect::<Result<Vec<_>, _>>()?;
        let changed: Vec<_> = changed.into_iter().flatten().collect();
        let results_stand = is_listed && !changed.iter().any(|name| name == RESULTS);
        Ok(Some(Provenance { by, changed, results_stand }))
    }
}
