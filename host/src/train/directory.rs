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
use crate::run::{RunDirectory, RunFiles, RunManifest, config, info, lock, progress, records};
use compute::checkpoint::Checkpoint;
use compute::log::SeedRun;
use compute::{Stopped, Trainer};
use serde_json::{Map, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub const CONFIG: &str = "config.toml";
const CHECKPOINT: &str = "checkpoint.bin";
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
}

impl TrainDirectory {
    /// Returns the directory of a recipe below `out`, prepared for these seeds.
    pub fn create(out: &Path, recipe: &Recipe, seeds: &BTreeSet<u64>) -> Result<Self, Error> {
        Self::open(records::place(out, &folder_of(recipe)?)?, recipe, seeds)
    }

    /// Returns a run's directory at any path, prepared for these seeds.
    pub fn open(path: PathBuf, recipe: &Recipe, seeds: &BTreeSet<u64>) -> Result<Self, Error> {
        let directory = Self::at(path, recipe)?;
        let claimed = directory.claim()?;
        let config = directory.config(&(seeds | &directory.planned()?))?;
        if let Some(own) = directory.recipe.task.own() {
            let path = directory.path.join(tasks::FILE_NAME);
            if files::kind(&path) != Kind::File {
                write_atomic(&path, &tasks::to_bytes(own.read()?).to_file(&path)?)?;
            }
        }
        if !directory.has(CONFIG, config.text.as_bytes()) {
            claimed.write([(CONFIG, config.text.as_bytes())])?;
        }
        Ok(directory)
    }

    /// Returns the directory of a recipe at any path, for reading.
    pub fn at(path: PathBuf, recipe: &Recipe) -> Result<Self, Error> {
        let name = recipe_text(recipe)?;
        Ok(TrainDirectory { path, recipe: recipe.clone(), name })
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
                false => Self::open(path.clone(), recipe, seeds),
            }
        })
    }

    /// Locks the whole directory, as soon as another process has written the files about all seeds.
    pub fn claim(&self) -> Result<RunDirectory, Error> {
        patiently(lock::is_held_here, || RunDirectory::claim(self.path.clone()))
    }

    /// Returns the seeds of the `config.toml` that a process has claimed; none without one. Returns an error if it has another
    /// recipe.
    fn planned(&self) -> Result<BTreeSet<u64>, Error> {
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

    fn config(&self, seeds: &BTreeSet<u64>) -> Result<Config, Error> {
        let (first, seeds) = Seeds::of(seeds);
        let options = Train { seeds, ..Train::from(self.recipe.clone()) };
        let text = config::to_text("train", first, &options)?;
        Ok(Config { first, options, text })
    }

    fn has(&self, name: &str, content: &[u8]) -> bool {
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
    fn damaged(&self, seed: u64, records: &RunFiles) -> Vec<String> {
        let name = |(name, content)| (format!("seed_{seed}/{name}"), content);
        let damaged = records.files().map(name).filter(|(name, content)| !self.has(name, content));
        damaged.map(|(name, _)| name).collect()
    }

    /// Writes the files of a seed that has just been trained.
    pub fn write(&self, run: &SeedRun) -> Result<(), Error> {
        let records = seed_files::records(&self.recipe, run)?;
        if !self.damaged(run.seed, &records).is_empty() {
            write_all(&seed_folder(&self.path, run.seed), records.files())?;
        }
        Ok(())
    }

    /// Makes the files of a seed that finished before again where they are not what its checkpoint gives, and names them.
    pub fn finish(&self, run: &SeedRun) -> Result<RunFiles, Error> {
        let records = seed_files::records(&self.recipe, run)?;
        let damaged = self.damaged(run.seed, &records);
        if !damaged.is_empty() {
            write_all(&seed_folder(&self.path, run.seed), records.files())?;
            self.note(&damaged);
        }
        Ok(records)
    }

    fn note(&self, damaged: &[String]) {
        let (path, names) = (self.path.display(), damaged.join(", "));
        progress::note(&format!("{path}: made again from the checkpoints: {names}"), false);
    }

    /// Returns the summary of all finished seeds, from any process; makes their files again where they are not what the
    /// checkpoints give.
    pub fn summary(&self) -> Result<Summary<'_>, Error> {
        self.read(Some(self.claim()?))
    }

    /// Returns the summary of all finished seeds. In a directory that is not claimed no file is changed.
    pub fn read(&self, claimed: Option<RunDirectory>) -> Result<Summary<'_>, Error> {
        let (mut runs, mut digests, mut differing) = (Vec::new(), Map::new(), Vec::new());
        let mut seeds = self.planned()?;
        for seed in self.seeds()? {
            let Some(found) = self.load(seed)?.filter(|found| self.has_ended(found)) else {
                continue;
            };
            let records = seed_files::records(&self.recipe, &found.run)?;
            let damaged = self.damaged(seed, &records);
            if claimed.is_some() && !damaged.is_empty() {
                // Skip a seed whose own process is about to write its files.
                let Ok(_claim) = self.claim_seed(seed) else { continue };
                self.finish(&found.run)?;
            }
            differing.extend(damaged);
            let checkpoint = found.to_bytes();
            for (name, content) in records.files().chain([(CHECKPOINT, checkpoint.as_slice())]) {
                digests.insert(format!("seed_{seed}/{name}"), json!(info::digest(content)));
            }
            runs.push(found.run);
        }
        seeds.extend(runs.iter().map(|run| run.seed));
        let Config { first: seed, options, text: config } = self.config(&seeds)?;
        let directory = self;
        Ok(Summary { directory, claimed, runs, differing, digests, seed, options, config })
    }

    /// Returns the names of the checkpoints that training does not give again.
    pub fn retrained(&self, runs: &[SeedRun], threads: usize) -> Result<Vec<String>, Error> {
        let mut trainer = Trainer::new(self.recipe.clone(), runs.iter().map(|run| run.seed))?;
        (trainer.threads, trainer.cancelled) = (threads, Some(&progress::INTERRUPTED));
        let again = trainer.run(&()).map_err(|stopped| match stopped {
            Stopped::Core { source, .. } => Error::Core { context: "training".into(), source },
            _ => Error::Interrupted,
        })?;
        let bytes = |run: &SeedRun| {
            let run = run.clone();
            Checkpoint { config: String::new(), tasks_done: 0, record: Vec::new(), run }.to_bytes()
        };
        let other = runs.iter().zip(&again).filter(|(run, again)| bytes(run) != bytes(again));
        Ok(other.map(|(run, _)| format!("seed_{}/{CHECKPOINT}", run.seed)).collect())
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
        Some(found) => directory.finish(&found.run).map(drop),
        None => Ok(()),
    }
}

/// The content of a `config.toml`, and what it says.
struct Config {
    first: u64,
    options: Train,
    text: String,
}

/// Tries again for a while, as long as another process holds the directory.
fn patiently<T>(
    is_in_the_way: impl Fn(&Error) -> bool,
    attempt: impl Fn() -> Result<T, Error>,
) -> Result<T, Error> {
    let started = Instant::now();
    loop {
        let attempted = attempt();
        let is_over = started.elapsed() >= PATIENCE || progress::interrupted();
        if is_over || !attempted.as_ref().is_err_and(&is_in_the_way) {
            return attempted;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The summary of all finished seeds; while it lives, this process holds the directory, if it claimed it.
pub struct Summary<'a> {
    directory: &'a TrainDirectory,
    claimed: Option<RunDirectory>,
    /// The seeds that have finished, in ascending order.
    pub runs: Vec<SeedRun>,
    /// The names of the files that are not, or were not, what the checkpoints give.
    pub differing: Vec<String>,
    /// The digests of the seeds' files, as the checkpoints give them.
    digests: Map<String, serde_json::Value>,
    pub seed: u64,
    pub options: Train,
    pub config: String,
}

impl Summary<'_> {
    /// Writes the files about the whole run that are not what the checkpoints give, and marks the run as finished, with the
    /// digest of every file. A `run.json` that says the same stays. In a directory that is not claimed no file is changed.
    pub fn write(
        &mut self,
        mut info: RunManifest,
        records: &RunFiles,
    ) -> Result<Vec<PathBuf>, Error> {
        let path = &self.directory.path;
        let there = info::read(path);
        let of_seeds =
            self.runs.iter().map(|run| (run.seed.to_string(), run.digest.as_str().into()));
        info.seeds.extend(of_seeds);
        info.files.extend(self.digests.clone());
        if records.files().next().is_none() {
            // Those about all seeds, if any, stay as they are.
            let said = there["digests"]["files"].as_object().cloned().into_iter().flatten();
            info.files.extend(said.filter(|(name, _)| files::is_plain(name)));
        }
        let others = records.files().filter(|(name, _)| *name != CONFIG);
        let files: Vec<_> = others.chain([(CONFIG, self.config.as_bytes())]).collect();
        info.files(files.iter().copied());
        let is_other = |(name, content): &&(&str, &[u8])| !self.directory.has(name, content);
        let mut changed: Vec<_> = files.iter().filter(is_other).copied().collect();
        let was_finished = there["outcome"] == info::FINISHED;
        let text = info.to_text(Some(info::FINISHED));
        let names: Vec<_> = changed.iter().map(|(name, _)| (*name).to_owned()).collect();
        if !was_finished || there["digests"] != info.digests() {
            changed.push((info::FILE_NAME, text.as_bytes()));
        }
        self.differing.extend(changed.iter().map(|(name, _)| (*name).to_owned()));
        let Some(claimed) = &self.claimed else { return Ok(Vec::new()) };
        if was_finished && !names.is_empty() {
            self.directory.note(&names);
        }
        let written = claimed.write(changed);
        if written.is_err() {
            // If that cannot be written either, the file keeps `running`.
            let _ = info.write(path, Some(&info::outcome(&written)));
        }
        written?;
        let names = files.iter().map(|(name, _)| *name).chain([info::FILE_NAME]);
        Ok(names.map(|name| path.join(name)).collect())
    }
}
