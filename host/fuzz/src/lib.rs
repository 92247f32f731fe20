//! Fuzz targets: every reader of a file, on bytes that libFuzzer invents from real files.
//!
//! `host/fuzz/run.sh SECONDS [TARGET...]` builds them with the stable compiler, writes the real files
//! that they start from ([`seeds`]), and runs each for so long. None may panic, overflow, leak
//! or take more memory or time than its input is worth ([`bounds`]); what is accepted must hold what its type promises.
//!
//! | target | reader |
//! |---|---|
//! | `toml` | options: `--config FILE.toml`, the `config.toml` of a run that is resumed, a plan |
//! | `stored_model` | stored models, of any dimension and of one |
//! | `predictor` | samples and horizons; a stored predictor |
//! | `checkpoint` | a seed's checkpoint, and the trainer's record in it |
//! | `npz` | archives of arrays: training logs, transitions; an array in an intact archive |
//! | `safetensors` | parameters |
//! | `csv` | transitions, queries, signals with times and series, and the records that figures are drawn from |
//! | `c_storage` | a stored predictor or context in C; a storage whose first bytes were overwritten |
//! | `json` | `params.json`, `run.json`, a recipe as Python gives it; the line that names a lock's holder |
//! | `run_directory` | a directory of a run: what `report`, `plot`, `train --resume` and the next run read of it |
//! | `report` | the records and results of every command, as the page shows them |
//!
//! The tests `mutated_files` do the same with every truncation and every bit of a real file.

pub mod bounds;
mod c_storage;
pub mod seeds;
mod targets;

pub use c_storage::c_storage;
pub use targets::*;

use std::path::Path;
use std::sync::LazyLock;

/// Runs the target that `ICTD_FUZZ_TARGET` names.
pub fn run(bytes: &[u8]) {
    static TARGET: LazyLock<Target> = LazyLock::new(|| {
        let name = std::env::var("ICTD_FUZZ_TARGET").unwrap_or_default();
        TARGETS.iter().find(|target| target.0 == name).expect("ICTD_FUZZ_TARGET is a target").1
    });
    bounds::bounded(*TARGET, bytes);
}

/// With `ICTD_FUZZ_SEEDS=DIR` the program writes the real files of all targets, and ends.
pub fn initialize() {
    if let Some(directory) = std::env::var_os("ICTD_FUZZ_SEEDS") {
        let written = seeds::write(Path::new(&directory));
        written.expect("the seeds are written");
        std::process::exit(0);
    }
}

pub const TARGETS: [(&str, Target); 11] = [
    ("toml", toml),
    ("stored_model", stored_model),
    ("predictor", predictor),
    ("checkpoint", checkpoint),
    ("npz", npz),
    ("safetensors", safetensors),
    ("csv", csv),
    ("c_storage", c_storage),
    ("json", json),
    ("run_directory", run_directory),
    ("report", report),
];
