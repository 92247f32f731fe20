//! A training run's directory, named after its recipe ([`folder_of`]). Its files, and those in the folder `seed_N/` of
//! each seed, are listed in [`guide::run_directory`](crate::guide::run_directory).
//!
//! Each process locks the folders of its seeds, and the whole directory only while it writes the files about all seeds. These
//! depend only on which seeds have finished.

use super::options::{NetworkKind, Recipe, Seeds, Train, folder_of, recipe_text};
use super::seed_files::{self, PARAMETERS};
pub use super::seed_files::{final_parameters, seed_params};
use crate::error::{Error, InFile as _, ToFile as _};
use crate::files::{self, Kind};
use crate::formats::seed_run::{DATA_FILE, PARAMS_FILE};
use crate::formats::tasks;
use crate::model_file::seed_folder;
use crate::options;
use crate::run::lock::RunLock;
use crate::run::records::{write_all, write_atomic};
use crate::run::{RunDirectory, RunFiles, RunManifest, config, info, lock, progress, records};
use compute::checkpoint::Checkpoint;
use compute::log::SeedRun;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub const CONFIG: &str = "config.toml";
const CHECKPOINT: &str = "checkpoint.bin";
/// The output of `--json`, written at the end of the run.
pub const RESULTS: &str = "results.json";

/// The files of a finished seed: the records (only the metrics for an RNN), then the checkpoint.
const OF_A_SEED: [&str; 6] =
    ["metrics.csv", "elements.csv", DATA_FILE, PARAMS_FILE, PARAMETERS, CHECKPOINT];

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
        let seeds = seeds | &directory.planned()?;
        if let Some(own) = directory.recipe.task.own() {
            let path = directory.path.join(tasks::FILE_NAME);
            if files::kind(&path) != Kind::File {
                write_atomic(&path, &tasks::to_bytes(own.read()?).to_file(&path)?)?;
            }
        }
        directory.write_config(&claimed, &seeds)?;
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
            match directory.planned()?.is_superset(seeds) {
                true => Ok(directory),
                false => Self::open(path.clone(), recipe, seeds),
            }
        })
    }

    /// Locks the whole directory, as soon as another process has written the files about all seeds.
    pub fn claim(&self) -> Result<RunDirectory, Error> {
        patiently(lock::is_held_here, || RunDirectory::claim(self.path.clone()))
    }

    /// Returns the seeds of the `config.toml`; none without one. Returns an error if it has another recipe.
    pub fn planned(&self) -> Result<BTreeSet<u64>, Error> {
        let config = self.path.join(CONFIG);
        if !is_there(&config, Kind::File)? {
            return Ok(BTreeSet::new());
        }
        let (first, there) = read_run(&self.path)?;
        if there.recipe != self.recipe {
            let reason = "another recipe than that of this run; expected a directory of this one";
            return Err(Error::file(&config, reason));
        }
        Ok(there.seed_set(first))
    }

    fn write_config(
        &self,
        _claimed: &RunDirectory,
        seeds: &BTreeSet<u64>,
    ) -> Result<(u64, Train, String), Error> {
        let (first, seeds) = Seeds::of(seeds);
        let options = Train { seeds, ..Train::from(self.recipe.clone()) };
        let text = config::to_text("train", first, &options)?;
        let there = files::read_below(&self.path, CONFIG, files::TEXT).unwrap_or_default();
        if there != text.as_bytes() {
            write_atomic(&self.path.join(CONFIG), text.as_bytes())?;
        }
        Ok((first, options, text))
    }

    /// Locks a seed for this process, and removes the incomplete files of a killed one.
    pub fn claim_seed(&self, seed: u64) -> Result<RunLock, Error> {
        let folder = seed_folder(&self.path, seed);
        files::make_folder(&folder).to_file(&folder)?;
        let lock = RunLock::acquire(&folder)?;
        files::sweep(&folder).to_file(&folder)?;
        Ok(lock)
    }

    pub fn load(&self, seed: u64) -> Result<Option<Checkpoint>, Error> {
        let name = format!("seed_{seed}/{CHECKPOINT}");
        let path = self.path.join(&name);
        let found = files::read_below(&self.path, &name, files::RECORD);
        let Some(bytes) = files::if_there(found).in_file(&path)? else { return Ok(None) };
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
        files::make_folder(&folder).to_file(&folder)?;
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

    /// Returns true if a finished seed's records all exist: they appear one by one.
    pub fn is_recorded(&self, seed: u64) -> bool {
        let folder = seed_folder(&self.path, seed);
        let expected = match self.recipe.network {
            NetworkKind::Transformer => &OF_A_SEED[..5],
            NetworkKind::Rnn => &OF_A_SEED[..1],
        };
        expected.iter().all(|file| files::kind(&folder.join(file)) == Kind::File)
    }

    pub fn finish(&self, run: &SeedRun) -> Result<(), Error> {
        if self.is_recorded(run.seed) {
            return Ok(());
        }
        write_all(
            &seed_folder(&self.path, run.seed),
            seed_files::records(&self.recipe, run)?.files(),
        )
    }

    /// Returns the summary of all finished seeds, from any process.
    pub fn summary(&self) -> Result<Summary<'_>, Error> {
        let claimed = self.claim()?;
        let mut seeds = self.planned()?;
        let mut runs = Vec::new();
        for seed in self.seeds()? {
            // Skip a seed whose own process is about to write its records.
            let claimed = (!self.is_recorded(seed)).then(|| self.claim_seed(seed));
            if let Some(Err(_)) = claimed {
                continue;
            }
            if let Some(found) = self.load(seed)?.filter(|found| self.has_ended(found)) {
                self.finish(&found.run)?;
                runs.push(found.run);
            }
        }
        seeds.extend(runs.iter().map(|run| run.seed));
        let (seed, options, config) = self.write_config(&claimed, &seeds)?;
        Ok(Summary { directory: self, claimed, runs, seed, options, config })
    }

    /// Returns the seeds that have begun: those with a checkpoint.
    pub fn seeds(&self) -> Result<BTreeSet<u64>, Error> {
        let mut seeds = BTreeSet::new();
        for (name, _) in files::list(&self.path).in_file(&self.path)? {
            let number = name.to_str().and_then(|name| name.strip_prefix("seed_"));
            let Some(seed) = number.and_then(|number| options::seed(number).ok()) else { continue };
            let folder = self.path.join(name);
            if is_there(&folder, Kind::Folder)? && is_there(&folder.join(CHECKPOINT), Kind::File)? {
                seeds.insert(seed);
            }
        }
        Ok(seeds)
    }
}

fn is_there(path: &Path, wanted: Kind) -> Result<bool, Error> {
    files::is_there(path, wanted).in_file(path)
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

/// The summary of all finished seeds; while it lives, this process holds the directory.
pub struct Summary<'a> {
    directory: &'a TrainDirectory,
    claimed: RunDirectory,
    /// The seeds that have finished, in ascending order.
    pub runs: Vec<SeedRun>,
    pub seed: u64,
    pub options: Train,
    pub config: String,
}

impl Summary<'_> {
    /// Writes the files about the whole run and marks it as finished, with the digest of every file written; without `info` it
    /// was marked before.
    pub fn write(
        &self,
        info: Option<RunManifest>,
        records: &RunFiles,
    ) -> Result<Vec<PathBuf>, Error> {
        let path = &self.directory.path;
        let Some(mut info) = info else { return self.claimed.write(records.files()) };
        let complete = |info: &mut RunManifest| {
            let digests =
                self.runs.iter().map(|run| (run.seed.to_string(), run.digest.as_str().into()));
            info.seeds.extend(digests);
            info.files([(CONFIG, self.config.as_bytes())]);
            info.files(records.files());
            for run in &self.runs {
                for name in OF_A_SEED.iter().map(|name| format!("seed_{}/{name}", run.seed)) {
                    let found = files::read_below(path, &name, files::RECORD);
                    let found = files::if_there(found).in_file(&path.join(&name))?;
                    info.files(found.iter().map(|content| (name.as_str(), content.as_slice())));
                }
            }
            let text = info.to_text(Some(info::FINISHED));
            self.claimed.write(records.files().chain([(info::FILE_NAME, text.as_bytes())]))
        };
        let written = complete(&mut info);
        if written.is_err() {
            // If that cannot be written either, the file keeps `running`.
            let _ = info.write(path, Some(&info::outcome(&written)));
        }
        written
    }
}
