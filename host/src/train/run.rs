//! Trains for a command: with progress, checkpoints and interruption.

use super::directory::TrainDirectory;
use super::options::Train;
use crate::error::Error;
use crate::files;
use crate::run::{RunManifest, Session, info, progress};
use compute::{Checkpoint, Observer, SeedRun, Stopped, Trainer};
use indicatif::ProgressBar;
use std::time::Duration;

/// Writes the files of seeds to their run's directory, and moves a bar.
pub struct Files<'a> {
    pub directory: &'a TrainDirectory,
    pub bar: &'a ProgressBar,
    pub every: Duration,
}

impl Observer for Files<'_> {
    type Error = Error;

    fn checkpoint_every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn advanced(&self, seeds: usize) {
        self.bar.inc(seeds as u64);
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> Result<(), Error> {
        self.directory.save(&checkpoint)
    }

    fn finished(&self, run: &SeedRun) -> Result<(), Error> {
        self.directory.finish(run, true)
    }
}

impl Files<'_> {
    pub fn train(
        &self,
        seeds: Vec<u64>,
        begun: Vec<Checkpoint>,
        threads: usize,
    ) -> Result<Vec<SeedRun>, Error> {
        let mut trainer = Trainer::new(self.directory.recipe.clone(), seeds)?;
        trainer.name = self.directory.name.clone();
        (trainer.threads, trainer.cancelled) = (threads, Some(&progress::INTERRUPTED));
        trainer.resume(begun).run(self).map_err(|stopped| match stopped {
            Stopped::Cancelled => Error::Paused,
            Stopped::Observer(error) => error,
            Stopped::Core { seeds, source } => {
                let folder = files::name_of(&self.directory.path);
                Error::Core { context: format!("training {folder}, seeds {seeds:?}"), source }
            }
        })
    }
}

/// The largest number of seeds that are locked at once: each keeps a file open.
const SEEDS_AT_ONCE: usize = 512;

/// Trains the seeds that have not finished in the directory, from their checkpoints if any, and writes each one's files there.
/// Returns them, and what [`Summary::write`](super::Summary::write) completes.
pub fn train(
    options: &Train,
    seed: u64,
    session: &Session,
    label: &str,
    directory: &TrainDirectory,
) -> Result<(Vec<SeedRun>, RunManifest), Error> {
    options.check(seed)?;
    let seeds: Vec<u64> = options.seed_set(seed).into_iter().collect();
    let tasks = (seeds.len() * options.recipe.tasks) as u64;
    let bar = progress::bar(label, tasks, session.json);
    let every = Duration::from_secs_f64(options.watch.checkpoint_every);
    let files = Files { directory, bar: &bar, every };
    let (mut runs, mut info) = (Vec::new(), None);
    let outcome = seeds.chunks(SEEDS_AT_ONCE).try_for_each(|seeds| {
        runs.extend(train_claimed(&files, options, seeds, session, &mut info)?);
        Ok(())
    });
    bar.finish_and_clear();
    let path = &directory.path;
    if let (Some(info), Err(_)) = (&info, &outcome) {
        // On a full disk, the first error is the one to report.
        let _ =
            directory.claim().and_then(|_claimed| info.write(path, Some(&info::outcome(&outcome))));
    }
    outcome?;
    Ok((runs, info.unwrap_or_else(|| RunManifest::new("train", session))))
}

fn train_claimed(
    files: &Files,
    options: &Train,
    seeds: &[u64],
    session: &Session,
    info: &mut Option<RunManifest>,
) -> Result<Vec<SeedRun>, Error> {
    let directory = files.directory;
    let (mut claims, mut found) = (Vec::new(), Vec::new());
    for seed in seeds {
        claims.push(directory.claim_seed(*seed)?);
        found.extend(directory.load(*seed)?);
    }
    let last = options.recipe.tasks as u64;
    let mut ended = found.iter().filter(|found| directory.has_ended(found));
    ended.try_for_each(|ended| directory.finish(&ended.run, false))?;
    let goes_on = !found.is_empty() && !info::is_finished(&directory.path);
    let done: u64 = found.iter().map(|found| found.tasks_done.min(last)).sum();
    files.bar.set_length(files.bar.length().unwrap_or_default().saturating_sub(done));
    if info.is_none() {
        if goes_on && options.watch.resume.is_none() {
            let path = directory.path.display();
            let text = format!("{path}: an unfinished run with the same options goes on");
            progress::note(&text, session.json);
        }
        if done < seeds.len() as u64 * last {
            let _claimed = directory.claim()?;
            let begun = info.insert(RunManifest::new("train", session));
            begun.write(&directory.path, None)?;
        }
    }
    files.train(seeds.to_vec(), found, session.threads())
}
