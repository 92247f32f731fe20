//! A training run's directory, named after its recipe ([`folder_of`]). Its files, and those in the folder `seed_N/` of
//! each seed, are listed in [`guide::run_directory`](crate::guide::run_directory).
//!
//! Each process locks the folders of its seeds, and the whole directory only while it writes the files about all seeds. Every
//! file but `run.json` is a function of the recipe and the checkpoints, so a file that is not what they give is made again.

use super::options::{Recipe, Seeds, Train, folder_of, recipe_text};
use super::seed_files;
pub use super::seed_files::{final_parameters, seed_params};
use crate::error::{Error, InFile as _, ToFile as _};
use crate::files::{self, Kind};
use crate::formats::seed_run::seed_folder;
use crate::formats::tasks;
use crate::options;
use crate::run::lock::RunLock;
use crate::run::records::{write_all, write_atomic};
use crate::run::{RunDirectory, RunFiles, config, info, lock, progress, records};
use compute::checkpoint::Checkpoint;
use compute::log::SeedRun;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

pub const CONFIG: &str = "config.toml";
pub(super) const CHECKPOINT: &str = "checkpoint.bin";
/// The output of `--json`, written at the end of the run.
pub const RESULTS: &str = "results.json";

/// The longest time to wait for another process that writes the files about all seeds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the first seed and the options of a run, with its own tasks, if any.
pub fn read_run(path: &Path) -> Result<(u64, Train), Error> {
    let (config, text) = config::text_of(path)?;
    let (first, there) = Train::of_config(&config, &text)?;
    Ok((first, Train { recipe: tasks::load(there.recipe, Some(path))?, ..there }))
}

pub struct TrainDirectory {
    pub path: PathBuf,
    pub recipe: Recipe,
    pub name: String,
    /// The digests of the files of seeds that this process has made or compared.
    made: Mutex<BTreeMap<u64, Digests>>,
}

/// The digests of a seed's files, as its checkpoint gives them.
pub(super) type Digests = Vec<(String, Value)>;

impl TrainDirectory {
    /// Returns the directory of a recipe below `out`, prepared for these seeds.
    pub fn create(out: &Path, recipe: &Recipe, seeds: &BTreeSet<u64>) -> Result<Self, Error> {
        Self::open(records::place(out, &folder_of(recipe)?)?, recipe, seeds)
    }

    /// Returns a run's directory at any path, prepared for these seeds.
    pub fn open(path: PathBuf, recipe: &Recipe, seeds: &BTreeSet<u64>) -> Result<Self, Error> {
        Self::open_sharing(path, recipe, seeds, None)
    }

    fn open_sharing(
        path: PathBuf,
        recipe: &Recipe,
        seeds: &BTreeSet<u64>,
        out: Option<&Path>,
    ) -> Result<Self, Error> {
        let directory = Self::at(path, recipe)?;
        let claimed = directory.claim()?;
        let config = directory.config(&(seeds | &directory.planned()?))?;
        directory.put_tasks(out)?;
        if !directory.has(CONFIG, config.text.as_bytes()) {
            claimed.write([(CONFIG, config.text.as_bytes())])?;
        }
        Ok(directory)
    }

    /// Returns the directory of a recipe at any path, for reading.
    pub fn at(path: PathBuf, recipe: &Recipe) -> Result<Self, Error> {
        let name = recipe_text(recipe)?;
        Ok(TrainDirectory { path, recipe: recipe.clone(), name, made: Mutex::default() })
    }

    /// Returns the directory like [`TrainDirectory::create`], concurrently with any number of processes on any machines: the
    /// first one writes which seeds the run has, and the others need no lock.
    pub fn join(out: &Path, recipe: &Recipe, seeds: &BTreeSet<u64>) -> Result<Self, Error> {
        let path = records::place(out, &folder_of(recipe)?)?;
        patiently(Error::is_in_use, || {
            let directory = Self::at(path.clone(), recipe)?;
            let config = directory.config(&(seeds | &directory.planned()?))?;
            match directory.has(CONFIG, config.text.as_bytes()) {
                true => Ok(directory),
                false => Self::open_sharing(path.clone(), recipe, seeds, Some(out)),
            }
        })
    }

    /// Stores the run's own tasks, if it has any. The runs of a sweep share one file below `out`, named by the tasks' digest, of
    /// which theirs is a second name; where the file system has no such names, each has a copy.
    fn put_tasks(&self, out: Option<&Path>) -> Result<(), Error> {
        let Some(own) = self.recipe.task.own() else { return Ok(()) };
        let path = self.path.join(tasks::FILE_NAME);
        if files::kind(&path) == Kind::File {
            return Ok(());
        }
        let content = tasks::to_bytes(own.read()?).to_file(&path)?;
        if let Some(out) = out {
            let shared = out.join(own.name()).with_extension("npz");
            patiently(is_written_by_another, || match files::has(&shared, &content) {
                true => Ok(()),
                false => write_atomic(&shared, &content),
            })?;
            if files::link(&shared, &path).is_ok() {
                return Ok(());
            }
        }
        write_atomic(&path, &content)
    }

    /// Locks the whole directory, as soon as another process has written the files about all seeds.
    pub fn claim(&self) -> Result<RunDirectory, Error> {
        patiently(lock::is_held_here, || RunDirectory::claim(self.path.clone()))
    }

    /// Returns the seeds of the `config.toml` that a process has claimed; none without one. Returns an error if it has another
    /// recipe.
    pub(super) fn planned(&self) -> Result<BTreeSet<u64>, Error> {
        let config = self.path.join(CONFIG);
        if files::kind(&config) == Kind::Nothing {
            return Ok(BTreeSet::new());
        }
        let (first, there) = read_run(&self.path)?;
        if there.recipe != self.recipe {
            let reason = "another recipe than that of this run; expected a directory of this one";
            return Err(Error::file(&config, reason));
        }
        let mut seeds = there.seed_set(first);
        seeds.retain(|seed| files::is_folder(&seed_folder(&self.path, *seed)));
        Ok(seeds)
    }

    pub(super) fn config(&self, seeds: &BTreeSet<u64>) -> Result<Config, Error> {
        let (first, seeds) = Seeds::of(seeds);
        let options = Train { seeds, ..Train::from(self.recipe.clone()) };
        let text = config::to_text("train", first, &options)?;
        Ok(Config { first, options, text })
    }

    pub(super) fn has(&self, name: &str, content: &[u8]) -> bool {
        files::has(&self.path.join(name), content)
    }

    /// Locks a seed for this process, and removes the incomplete files of a killed one.
    pub fn claim_seed(&self, seed: u64) -> Result<RunLock, Error> {
        let folder = seed_folder(&self.path, seed);
        files::make_folders(&folder).to_file(&folder)?;
        let lock = RunLock::acquire(&folder)?;
        files::sweep(&folder).to_file(&folder)?;
        Ok(lock)
    }

    pub fn load(&self, seed: u64) -> Result<Option<Checkpoint>, Error> {
        let path = seed_folder(&self.path, seed).join(CHECKPOINT);
        let Some(bytes) = files::if_there(files::read(&path, files::RECORD)).in_file(&path)? else {
            return Ok(None);
        };
        let checkpoint = Checkpoint::from_bytes(&bytes).map_err(|e| Error::file(&path, e))?;
        if checkpoint.config != self.name || checkpoint.run.seed != seed {
            let reason = "belongs to another run; expected a checkpoint of this recipe and seed";
            return Err(Error::file(&path, reason));
        }
        Ok(Some(checkpoint))
    }

    pub fn has_ended(&self, found: &Checkpoint) -> bool {
        found.tasks_done >= self.recipe.tasks as u64
    }

    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), Error> {
        let folder = seed_folder(&self.path, checkpoint.run.seed);
        files::make_folders(&folder).to_file(&folder)?;
        write_atomic(&folder.join(CHECKPOINT), &checkpoint.to_bytes())
    }

    /// Copies the checkpoints of a shorter run of the same recipe that are later than those here.
    pub fn take_from(&self, shorter: &TrainDirectory) -> Result<(), Error> {
        for seed in shorter.seeds()? {
            let (Some(mut found), _claim) = (shorter.load(seed)?, self.claim_seed(seed)?) else {
                continue;
            };
            // The end of a run is logged even between two log points.
            let (last, every) = (found.tasks_done, self.recipe.log_every as u64);
            if last >= shorter.recipe.tasks as u64 && !last.is_multiple_of(every) {
                found.run.points.pop();
            }
            if self.load(seed)?.is_none_or(|there| there.tasks_done < last) {
                self.save(&Checkpoint { config: self.name.clone(), ..found })?;
            }
        }
        Ok(())
    }

    /// Returns the checkpoint of a finished seed, if its files are what the checkpoint gives.
    pub fn recorded(&self, seed: u64) -> Result<Option<Checkpoint>, Error> {
        let Some(found) = self.load(seed)?.filter(|found| self.has_ended(found)) else {
            return Ok(None);
        };
        let records = seed_files::records(&self.recipe, &found.run)?;
        Ok(self.damaged(seed, &records).is_empty().then_some(found))
    }

    /// Returns the names of a seed's files that are missing, or have another content than these.
    pub(super) fn damaged(&self, seed: u64, records: &RunFiles) -> Vec<String> {
        let name = |(name, content)| (format!("seed_{seed}/{name}"), content);
        let damaged = records.files().map(name).filter(|(name, content)| !self.has(name, content));
        damaged.map(|(name, _)| name).collect()
    }

    /// Makes the files of a finished seed where they are not what its run gives; names them, unless it has just been trained.
    pub fn finish(&self, run: &SeedRun, is_new: bool) -> Result<(), Error> {
        let records = seed_files::records(&self.recipe, run)?;
        let damaged = self.damaged(run.seed, &records);
        if !damaged.is_empty() {
            write_all(&seed_folder(&self.path, run.seed), records.files())?;
            if !is_new {
                self.note(&damaged);
            }
        }
        self.made().insert(run.seed, digests(run.seed, records.files()));
        Ok(())
    }

    pub(super) fn made(&self) -> MutexGuard<'_, BTreeMap<u64, Digests>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, damaged: &[String]) {
        let (path, names) = (self.path.display(), damaged.join(", "));
        progress::note(&format!("{path}: made again from the checkpoints: {names}"), false);
    }

    /// Returns the seeds that have begun: those with a checkpoint.
    pub fn seeds(&self) -> Result<BTreeSet<u64>, Error> {
        let mut seeds = BTreeSet::new();
        for (name, _) in files::list(&self.path).in_file(&self.path)? {
            let number = name.to_str().and_then(|name| name.strip_prefix("seed_"));
            let Some(seed) = number.and_then(|number| options::seed(number).ok()) else { continue };
            if files::kind(&self.path.join(name).join(CHECKPOINT)) != Kind::Nothing {
                seeds.insert(seed);
            }
        }
        Ok(seeds)
    }
}

/// Makes the files of a finished seed again, in its folder in a training run, where they are not what its checkpoint gives.
pub fn restore(folder: &Path) -> Result<(), Error> {
    let name = files::name_of(folder);
    let seed = name.strip_prefix("seed_").and_then(|seed| options::seed(seed).ok());
    let run = files::above(folder);
    let is_of_run = files::kind(&run.join(CONFIG)) != Kind::Nothing;
    let Some(seed) = seed.filter(|_| is_of_run) else { return Ok(()) };
    let (_, options) = read_run(&run)?;
    let directory = TrainDirectory::at(run, &options.recipe)?;
    match directory.load(seed)?.filter(|found| directory.has_ended(found)) {
        Some(found) => directory.finish(&found.run, false),
        None => Ok(()),
    }
}

pub(super) fn digests<'a>(
    seed: u64,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Digests {
    let digest = |(name, content)| (format!("seed_{seed}/{name}"), json!(info::digest(content)));
    files.into_iter().map(digest).collect()
}

/// The content of a `config.toml`, and what it says.
pub(super) struct Config {
    pub(super) first: u64,
    pub(super) options: Train,
    pub(super) text: String,
}

/// Returns true for the error of a file that another process, or another run of this one, is writing.
fn is_written_by_another(error: &Error) -> bool {
    matches!(error, Error::Write { source, .. } if source.kind() == io::ErrorKind::ResourceBusy)
}

/// Tries again for a while, as long as another process holds the directory.
fn patiently<T>(
    is_in_the_way: impl Fn(&Error) -> bool,
    attempt: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    let started = Instant::now();
    loop {
        let attempted = attempt();
        if started.elapsed() >= PATIENCE || !attempted.as_ref().is_err_and(&is_in_the_way) {
            return attempted;
        }
        progress::check()?;
        thread::sleep(Duration::from_millis(50));
    }
}
