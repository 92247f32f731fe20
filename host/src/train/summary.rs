//! The files about all seeds of a training run, and its `run.json`.

use super::directory::{CHECKPOINT, CONFIG, Config, TrainDirectory, digests};
use super::options::Train;
use super::seed_files;
use crate::error::Error;
use crate::files;
use crate::run::{RunDirectory, RunFiles, RunManifest, info, progress};
use compute::checkpoint::Checkpoint;
use compute::log::SeedRun;
use compute::{Stopped, Trainer};
use serde_json::{Map, Value};
use std::path::PathBuf;

impl TrainDirectory {
    /// Returns the summary of all finished seeds, from any process; makes their files again where they are not what the
    /// checkpoints give.
    pub fn summary(&self) -> Result<Summary<'_>, Error> {
        self.read(Some(self.claim()?))
    }

    /// Returns the summary of all finished seeds. In a directory that is not claimed no file is changed.
    pub fn read(&self, claimed: Option<RunDirectory>) -> Result<Summary<'_>, Error> {
        let (mut runs, mut all, mut differing) = (Vec::new(), Map::new(), Vec::new());
        let mut seeds = self.planned()?;
        for seed in self.seeds()? {
            let Some(found) = self.load(seed)?.filter(|found| self.has_ended(found)) else {
                continue;
            };
            let made = self.made().get(&seed).cloned();
            let made = match made {
                Some(made) => made,
                None => {
                    let records = seed_files::records(&self.recipe, &found.run)?;
                    let damaged = self.damaged(seed, &records);
                    if claimed.is_some() && !damaged.is_empty() {
                        // Skip a seed whose own process is about to write its files.
                        let Ok(_claim) = self.claim_seed(seed) else { continue };
                        self.finish(&found.run, false)?;
                    }
                    differing.extend(damaged);
                    digests(seed, records.files())
                }
            };
            all.extend(made);
            all.extend(digests(seed, [(CHECKPOINT, found.to_bytes().as_slice())]));
            runs.push(found.run);
        }
        seeds.extend(runs.iter().map(|run| run.seed));
        let Config { first: seed, options, text: config } = self.config(&seeds)?;
        let directory = self;
        Ok(Summary { directory, claimed, runs, differing, digests: all, seed, options, config })
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
    digests: Map<String, Value>,
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
