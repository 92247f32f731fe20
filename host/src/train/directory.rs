//! A training run's directory: its `config.toml`, its `run.json` ([`info`]), its `results.json` and
//! figures at its end, and for each seed a folder `seed_N/` with
//!
//! | file | content |
//! |---|---|
//! | `checkpoint.bin` | the seed's whole state ([`Checkpoint`]), also after its end |
//! | `metrics.csv` | a row per log point: tasks and [`METRICS`] |
//! | `elements.csv` | a row per log point and stored layer: tasks, layer, the sign that P and Q were multiplied with, and [`ELEMENTS`] |
//! | `data.npz`, `params.json` | the log as the authors' code writes and reads it |
//! | `parameters.safetensors` | the final P and Q |
//! | `two_heads.npz` | of two heads, in the place of these three: the final P1, Q1, W1, P2, Q2, W2, float32 (l, 2d+2, 2d+2) |
//! | `events.out.tfevents.0.ictd` | the log for TensorBoard, if asked for ([`EventFiles`]) |
//!
//! `elements.csv`, `data.npz`, `params.json` and the parameters are written for transformers. One process at a time may work on a run.

use super::events::EventFiles;
use super::options::{Attention, Model, ParameterSet, Recipe, TaskKind, Train};
use crate::error::Error;
use crate::files::{self, Kind};
use crate::formats::parameters::{LayerParameters, Parameters};
use crate::formats::seed_run::{DATA_FILE, LogPoint, PARAMS_FILE, SeedLog};
use crate::formats::{Array, Data, npz, tensorboard};
use crate::options::typed;
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::progress;
use crate::run::records::{Records, RunDirectory, write_all, write_atomic};
use crate::run::session::Session;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use trainer::checkpoint::Checkpoint;
use trainer::log::{ELEMENTS, METRICS, Matrices, Point, SeedRun};

/// The options of the run, as `--config` takes them.
pub const CONFIG: &str = "config.toml";
const CHECKPOINT: &str = "checkpoint.bin";
const PARAMETERS: &str = "parameters.safetensors";
const TWO_HEADS: &str = "two_heads.npz";
/// What `--json` says, written at the end of the run.
pub const RESULTS: &str = "results.json";

/// What a run leaves in its directory beside `config.toml` and the seeds' folders.
const OF_THE_RUN: [&str; 7] =
    [info::FILE_NAME, RESULTS, "curves.csv", "matrices.csv", "seeds.csv", "train.svg", "train.png"];

/// What it leaves in a seed's folder: first its records, of an RNN the metrics alone. The checkpoint comes
/// last: a folder without it is no seed's.
const OF_A_SEED: [&str; 8] = [
    "metrics.csv",
    "elements.csv",
    DATA_FILE,
    PARAMS_FILE,
    PARAMETERS,
    TWO_HEADS,
    tensorboard::FILE_NAME,
    CHECKPOINT,
];

/// How far a run with the same config had come in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No seed has a checkpoint.
    Nothing,
    /// It goes on.
    Unfinished,
    /// Nothing is left to do, unless [`TrainDirectory::clear`] is called.
    Finished,
}

/// The directory of a run.
pub struct TrainDirectory {
    directory: RunDirectory,
    config: String,
    found: Found,
    events: Option<EventFiles>,
}

impl TrainDirectory {
    /// Makes the directory ready for a run with this `config.toml`. A run with the same config stays
    /// as it is; another one is kept under another name (`NAME-1`), or removed if the session says
    /// `--overwrite`.
    /// Errors: [`Error::File`], [`Error::Write`]; [`Error::Format`] if another process works on it.
    pub fn create(path: PathBuf, config: String, session: &Session) -> Result<Self, Error> {
        let mut directory = RunDirectory::claim(path.clone())?;
        let there = match files::read_below(&path, CONFIG, files::TEXT) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            found => found.map_err(|e| Error::file(&path.join(CONFIG), e))?,
        };
        let same = there == config.as_bytes();
        let mut stands = holds_run(&path).map_err(|e| Error::file(&path, e))?;
        if stands && !same && !session.overwrite {
            // The claim goes with the directory: nobody works on what is renamed.
            let aside = set_aside(&path).map_err(|e| Error::write(&path, e))?;
            let which = difference(&String::from_utf8_lossy(&there), &config);
            let text =
                format!("{}: another run{which} is kept as {}", path.display(), aside.display());
            progress::note(&text, session.quiet);
            directory = RunDirectory::claim(path.clone())?;
            stands = false;
        }
        if !same {
            let how_it_went = &[info::FILE_NAME];
            let removed = if stands { remove_run(&path) } else { remove_files(&path, how_it_went) };
            removed.map_err(|e| Error::write(&path, e))?;
            write_atomic(&path.join(CONFIG), config.as_bytes())?;
        }
        let found = match (stands && same, info::is_finished(&path)) {
            (false, _) => Found::Nothing,
            (true, false) => Found::Unfinished,
            (true, true) => Found::Finished,
        };
        Ok(TrainDirectory { directory, config, found, events: None })
    }

    /// How far the run had come when the directory was made ready.
    pub fn found(&self) -> Found {
        self.found
    }

    /// Says so if an earlier process' run goes on.
    pub fn note_unfinished(&self, session: &Session) {
        if self.found == Found::Unfinished {
            let path = self.path().display();
            let text = format!("{path}: an unfinished run with the same options goes on");
            progress::note(&text, session.quiet);
        }
    }

    /// Forgets what was found, so that every seed is trained again.
    /// Errors: [`Error::Write`].
    pub fn clear(&mut self) -> Result<(), Error> {
        self.found = Found::Nothing;
        remove_run(self.path()).map_err(|e| Error::write(self.path(), e))
    }

    /// The run's `config.toml`.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// With event files, if the options ask for them.
    pub fn with_events(self, options: &Train) -> Self {
        TrainDirectory {
            events: options.tensorboard.then(|| EventFiles::new(&options.recipe)),
            ..self
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    fn seed_path(&self, seed: u64) -> PathBuf {
        self.path().join(format!("seed_{seed}"))
    }

    /// Where a seed stands, if it has begun. What a killed process left half-written in its folder is
    /// removed.
    /// Errors: [`Error::File`] for a damaged checkpoint, or one of another run.
    pub fn load(&self, seed: u64) -> Result<Option<Checkpoint>, Error> {
        let folder = self.seed_path(seed);
        match files::kind(&folder) {
            Kind::Folder => files::sweep(&folder).map_err(|e| Error::write(&folder, e))?,
            Kind::Nothing => return Ok(None),
            _ => return Err(Error::file(&folder, "a link or a file; accepted is a folder")),
        }
        let path = folder.join(CHECKPOINT);
        let bytes = match files::read_below(&folder, CHECKPOINT, files::RECORD) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::file(&path, e)),
        };
        let checkpoint = Checkpoint::from_bytes(&bytes).map_err(|e| Error::file(&path, e))?;
        if checkpoint.config != self.config || checkpoint.run.seed != seed {
            let reason = "belongs to another run; accepted is a checkpoint of this config.toml";
            return Err(Error::file(&path, reason));
        }
        Ok(Some(checkpoint))
    }

    /// Writes where a seed stands.
    /// Errors: [`Error::Write`].
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let path = self.seed_path(checkpoint.run.seed);
        files::make_folder(&path).map_err(|e| Error::write(&path, e))?;
        if let Some(events) = &self.events {
            events.write(&path, &checkpoint.run)?;
        }
        write_atomic(&path.join(CHECKPOINT), &checkpoint.to_bytes())
    }

    /// Writes a finished seed's records, unless they are there.
    /// Errors: [`Error::Write`].
    pub fn finish(&self, recipe: &Recipe, run: &SeedRun) -> Result<(), Error> {
        let path = self.seed_path(run.seed);
        if let Some(events) = &self.events {
            events.write(&path, run)?;
        }
        // Each appears after all were written, so that one of them might be missing.
        let two_heads = recipe.heads == 2;
        let expected = match recipe.model {
            Model::Transformer if two_heads => &[OF_A_SEED[0], TWO_HEADS],
            Model::Transformer => &OF_A_SEED[..5],
            Model::Rnn => &OF_A_SEED[..1],
        };
        if expected.iter().all(|file| files::kind(&path.join(file)) == Kind::File) {
            return Ok(());
        }
        let mut records = Records::new();
        let row = |p: &Point| (p.tasks, METRICS.map(|m| (m.of)(p)));
        let rows: Vec<_> = run.points.iter().map(row).collect();
        records.put_table(
            "metrics.csv",
            &[&["tasks"][..], &METRICS.map(|m| m.name)].concat(),
            &rows,
        )?;
        let rows = run.points.iter().flat_map(|p| {
            let row = |(layer, m): (usize, &Matrices)| {
                (p.tasks, layer, m.element.sign, ELEMENTS.map(|e| (e.of)(&m.element)))
            };
            p.layers.iter().enumerate().map(row).collect::<Vec<_>>()
        });
        let rows: Vec<_> = rows.collect();
        if !rows.is_empty() {
            let head = [&["tasks", "layer", "sign"][..], &ELEMENTS.map(|e| e.name)].concat();
            records.put_table("elements.csv", &head, &rows)?;
        }
        if two_heads {
            let parameters = two_heads_npz(2 * recipe.dim + 2, &run.parameters);
            let parameters = parameters.map_err(|e| Error::write(&path.join(TWO_HEADS), e))?;
            records.put(TWO_HEADS, parameters);
        } else if recipe.model == Model::Transformer {
            put_interchange(recipe, run, &mut records)?;
        }
        write_all(&path, records.files())
    }

    /// Writes files of the whole run, of which it then says that it is finished, with the digest of every
    /// file that it wrote; without `info` that was said before.
    /// Errors: [`Error::File`], [`Error::Write`].
    pub fn complete(
        &self,
        info: Option<RunInfo>,
        records: &Records,
    ) -> Result<Vec<PathBuf>, Error> {
        let Some(mut info) = info else { return self.directory.write(records.files()) };
        let complete = |info: &mut RunInfo| {
            info.files([(CONFIG, self.config.as_bytes())]);
            info.files(records.files());
            for folder in seed_folders(self.path()).map_err(|e| Error::file(self.path(), e))? {
                let seed = files::name_of(&folder);
                for name in OF_A_SEED.iter().map(|name| format!("{seed}/{name}")) {
                    match files::read_below(self.path(), &name, files::RECORD) {
                        Ok(content) => info.files([(name.as_str(), content.as_slice())]),
                        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                        Err(e) => return Err(Error::file(&self.path().join(name), e)),
                    }
                }
            }
            let text = info.to_text(Some(&Outcome::Finished));
            self.directory.write(records.files().chain([(info::FILE_NAME, text.as_bytes())]))
        };
        complete(&mut info).inspect_err(|error| {
            // If that cannot be written either, the file says `running`.
            let _ = info.write(self.path(), Some(&Outcome::Failed(error.one_line())));
        })
    }
}

/// P, Q and W of both heads of each stored layer, (k, k) each, row by row.
fn two_heads_npz(k: usize, parameters: &[f32]) -> std::io::Result<Vec<u8>> {
    let names = ["P1", "Q1", "W1", "P2", "Q2", "W2"];
    let stored = parameters.len() / (names.len() * k * k);
    let matrix = |m: usize| {
        let of_layer = |l: usize| {
            let at = (l * names.len() + m) * k * k;
            // The core's columns as rows.
            (0..k * k).map(move |i| parameters[at + i % k * k + i / k])
        };
        Array {
            shape: vec![stored, k, k],
            data: Data::F32((0..stored).flat_map(of_layer).collect()),
        }
    };
    let matrices: Vec<_> = (0..names.len()).map(matrix).collect();
    npz::to_bytes(&names.into_iter().zip(&matrices).collect::<Vec<_>>())
}

/// The files that other tools read.
fn put_interchange(recipe: &Recipe, run: &SeedRun, records: &mut Records) -> Result<(), Error> {
    let points = run.points.iter().map(|p| LogPoint {
        mrps: p.tasks,
        alpha: p.alpha,
        value_difference: p.vd,
        implicit_weight_similarity: p.iws,
        sensitivity_similarity: p.ss,
        layers: layers(p),
    });
    let log = SeedLog { token_size: run.token_size, mode: recipe.mode, points: points.collect() };
    let data = log.to_npz().map_err(|e| Error::file(Path::new(DATA_FILE), e))?;
    records.put(DATA_FILE, data);
    records.put(PARAMS_FILE, seed_params(recipe, run.seed).to_string());
    if let Some(parameters) = final_parameters(recipe, run) {
        records.put(PARAMETERS, parameters.to_safetensors());
    }
    Ok(())
}

fn layers(point: &Point) -> Vec<LayerParameters> {
    point.layers.iter().map(|m| LayerParameters { p: m.p.clone(), q: m.q.clone() }).collect()
}

/// The transformer that a seed ended with; none of an empty log.
pub fn final_parameters(recipe: &Recipe, run: &SeedRun) -> Option<Parameters> {
    Some(Parameters {
        token_size: run.token_size,
        layers: layers(run.last()?),
        mode: recipe.mode,
        depth: Some(recipe.layers),
        attention: Some(recipe.attention),
        gamma: Some(recipe.gamma),
        context_length: Some(recipe.context),
        lambda: recipe.lambda,
        set: recipe.parameters,
        prior_count: recipe.prior_count(),
    })
}

/// The content of `params.json`, with the names of the authors' code in their order.
pub fn seed_params(recipe: &Recipe, seed: u64) -> Value {
    let linear = recipe.attention == Attention::Linear;
    // Theirs know one class; of several the first.
    let (mrp_class, representable) = match recipe.task.0[..].first().unwrap_or(&TaskKind::Boyan) {
        TaskKind::Boyan => ("boyan", false),
        TaskKind::BoyanRepresentable => ("boyan", true),
        TaskKind::Mdp => ("mdp", true),
        TaskKind::Loop => ("loop", true),
        TaskKind::Cartpole | TaskKind::CartpoleAuthors | TaskKind::CartpoleUniform => {
            ("cartpole", false)
        }
    };
    let mut params = json!({
        "d": recipe.dim,
        "s": recipe.states,
        "n": recipe.context,
        "l": recipe.layers,
        "gamma": recipe.gamma,
        "activation": if linear { "identity" } else { "softmax" },
        "sample_weight": representable,
        "mode": typed(&recipe.mode),
        "n_mrps": recipe.mrps,
        "mini_batch_size": recipe.batch_size,
        "n_batch_per_mrp": recipe.batches,
        "lr": recipe.lr,
        "weight_decay": recipe.weight_decay,
        "log_interval": recipe.log_every,
        "random_seed": seed,
        "linear": linear,
        "mrp_class": mrp_class,
    });
    if recipe.lambda != 0.0 {
        params["lambda"] = json!(recipe.lambda);
    }
    if recipe.parameters != ParameterSet::Full {
        params["parameters"] = json!(typed(&recipe.parameters));
    }
    if let Some(prior_count) = recipe.prior_count() {
        params["prior_count"] = json!(prior_count);
    }
    params
}

/// The folders of seeds that have begun.
fn seed_folders(directory: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut folders = Vec::new();
    for (name, kind) in files::list(directory)? {
        let number = name.to_str().and_then(|n| n.strip_prefix("seed_")?.parse::<u64>().ok());
        let folder = directory.join(&name);
        let has_begun = || files::kind(&folder.join(CHECKPOINT)) == Kind::File;
        if number.is_some() && kind == Kind::Folder && has_begun() {
            folders.push(folder);
        }
    }
    Ok(folders)
}

/// True if there is something of a run that could be lost.
fn holds_run(directory: &Path) -> Result<bool, std::io::Error> {
    Ok(files::kind(&directory.join(RESULTS)) != Kind::Nothing
        || !seed_folders(directory)?.is_empty())
}

/// Renames a run's directory to the first free NAME-1, NAME-2, ... beside it, and says which.
fn set_aside(directory: &Path) -> Result<PathBuf, std::io::Error> {
    let mut name = directory.as_os_str().to_owned();
    name.push("-");
    for number in 1_u32.. {
        let mut numbered = name.clone();
        numbered.push(number.to_string());
        let aside = PathBuf::from(numbered);
        if files::kind(&aside) != Kind::Nothing {
            continue;
        }
        match files::rename(directory, &aside) {
            Ok(()) => return Ok(aside),
            // Another process was faster.
            Err(e) if e.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
            Err(e) => return Err(e),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

/// The first option that two configs differ in, in brackets; nothing if they cannot be compared.
fn difference(there: &str, here: &str) -> String {
    let [there, here] = [there, here].map(|text| text.parse::<toml::Table>().unwrap_or_default());
    let shown = |value: Option<&toml::Value>| match value {
        None => "not given".to_owned(),
        Some(toml::Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let names = here.keys().chain(there.keys());
    let mut differing = names.filter(|name| there.get(*name) != here.get(*name));
    match differing.next() {
        Some(name) if !there.is_empty() => {
            let [there, here] = [&there, &here].map(|table| shown(table.get(name)));
            format!(" (--{name}: {there} there, {here} here)")
        }
        _ => String::new(),
    }
}

/// Removes an earlier run, and nothing that the program does not write: a seed's folder goes if it is
/// empty then.
fn remove_run(directory: &Path) -> Result<(), std::io::Error> {
    remove_files(directory, &OF_THE_RUN)?;
    for folder in seed_folders(directory)? {
        files::sweep(&folder)?;
        remove_files(&folder, &OF_A_SEED)?;
        files::remove_empty_folder(&folder)?;
    }
    files::sync_folder(directory)
}

/// Removes those of the files that are there.
fn remove_files(directory: &Path, names: &[&str]) -> Result<(), std::io::Error> {
    names.iter().try_for_each(|name| files::remove(&directory.join(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::seed_run::PartialParams;

    #[test]
    fn params_have_the_names_of_the_authors_code_in_their_order() {
        let json = seed_params(&Recipe::default(), 1).to_string();
        assert!(json.starts_with(r#"{"d":4,"s":10,"n":30,"l":3,"gamma":0.9,"activation":"#));
        let read = PartialParams::from_json(Path::new(PARAMS_FILE), json.as_bytes()).unwrap();
        assert_eq!((read.l, read.mode.as_deref()), (Some(3), Some("auto")));
    }
}
