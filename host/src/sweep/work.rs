//! Trains a plan: groups of seeds, each locked and trained from its checkpoint to its end.

use super::plan::{Group, Plan, PlannedRun};
use crate::error::Error;
use crate::run::{Session, lock, progress};
use crate::train::directory::TrainDirectory;
use crate::train::run::Files;
use compute::{Checkpoint, SeedRun};
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

const POLL: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub struct Found {
    /// The number of finished seeds, from now or before.
    pub finished: usize,
    /// The seeds whose parameters are not finite: the run's folder, the seed, and the tasks trained by then.
    pub diverged: Vec<(String, u64, u64)>,
    /// Seeds that are locked on other machines, with the holders of the locks.
    pub in_use: Vec<String>,
    /// Groups that could not be trained, with the reasons.
    pub failed: Vec<String>,
}

/// Trains groups, one per thread at a time; finished seeds are kept, begun ones are resumed. A run that cannot be read does not
/// stop the others.
///
/// Seeds that another process of this machine trains come last: this process waits for it, so that they finish whether it does
/// or not (an engine may retry a shard while a child of the killed worker still lives). Seeds locked on another machine are
/// skipped, since their state is unknown here.
pub fn train<'a>(
    plan: &'a Plan,
    groups: &[Group<'a>],
    checkpoint_every: f64,
    session: &Session,
) -> Result<Found, Error> {
    let tasks = groups.iter().map(|group| (group.seeds.len() * group.run.recipe.tasks) as u64);
    let worker = Worker {
        plan,
        session,
        bar: progress::bar("sweep", tasks.sum(), session.json),
        threads: session.threads() / groups.len().clamp(1, session.threads()),
        every: Duration::from_secs_f64(checkpoint_every),
        found: Mutex::default(),
    };
    let groups = groups.iter().map(|group| (group.run, group.seeds.to_vec())).collect();
    let ended = worker.train_and_wait(groups);
    worker.bar.finish_and_clear();
    ended?;
    let mut found = worker.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Groups end in any order.
    found.diverged.sort();
    found.in_use.sort();
    found.failed.sort();
    Ok(found)
}

struct Worker<'a> {
    plan: &'a Plan,
    session: &'a Session,
    bar: ProgressBar,
    threads: usize,
    every: Duration,
    found: Mutex<Found>,
}

impl<'a> Worker<'a> {
    /// Trains groups, then those of their seeds that other processes of this machine held, until none remains.
    fn train_and_wait(&self, mut left: Vec<(&'a PlannedRun, Vec<u64>)>) -> Result<(), Error> {
        let (threads, mut is_told) = (left.len(), false);
        loop {
            let train =
                |(run, seeds): (&'a PlannedRun, Vec<u64>)| match self.train_group(run, &seeds) {
                    // A run that cannot be read does not stop the others.
                    Err(e @ Error::File { .. }) => {
                        self.found().failed.push(e.one_line());
                        Ok((run, Vec::new()))
                    }
                    held => Ok((run, held?)),
                };
            let groups = || {
                left.into_par_iter().with_max_len(1).map(train).collect::<Result<Vec<_>, Error>>()
            };
            left = self.session.on_threads(threads, groups)??;
            left.retain(|(_, seeds)| !seeds.is_empty());
            let Some((run, seeds)) = left.first() else { return Ok(()) };
            if !is_told {
                let text = format!(
                    "{}, seed {}: another process of this machine trains it; waiting for its end",
                    run.folder, seeds[0]
                );
                progress::note(&text, self.session.json);
                is_told = true;
            }
            thread::sleep(POLL);
        }
    }

    /// Trains seeds of a run in parallel and returns those that another process of this machine trains.
    fn train_group(&self, run: &PlannedRun, seeds: &[u64]) -> Result<Vec<u64>, Error> {
        if progress::interrupted() {
            return Err(Error::Paused);
        }
        let planned = self.plan.seeds.iter().copied().collect();
        let directory = TrainDirectory::join(&self.session.out, &run.recipe, &planned)?;
        let has_ended = |checkpoint: &Checkpoint| directory.has_ended(checkpoint);
        let (mut claims, mut ours, mut begun, mut held) = (vec![], vec![], vec![], vec![]);
        for &seed in seeds {
            let checkpoint = match directory.recorded(seed)? {
                Some(ended) => Some(ended),
                None => match directory.claim_seed(seed) {
                    Ok(claim) => {
                        claims.push(claim);
                        directory.load(seed)?
                    }
                    Err(e) if lock::is_held_here(&e) => {
                        held.push(seed);
                        continue;
                    }
                    Err(e) if e.is_in_use() => {
                        self.found().in_use.push(e.one_line());
                        self.bar.inc(run.recipe.tasks as u64);
                        continue;
                    }
                    Err(e) => return Err(e),
                },
            };
            self.bar.inc(checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.tasks_done));
            match checkpoint {
                Some(checkpoint) if has_ended(&checkpoint) => {
                    directory.finish(&checkpoint.run, false)?;
                    self.finished(run, &checkpoint.run);
                }
                checkpoint => {
                    begun.extend(checkpoint);
                    ours.push(seed);
                }
            }
        }
        if !ours.is_empty() {
            let files = Files { directory: &directory, bar: &self.bar, every: self.every };
            let runs = files.train(ours, begun, self.threads)?;
            runs.iter().for_each(|seed| self.finished(run, seed));
        }
        Ok(held)
    }

    fn finished(&self, run: &PlannedRun, seed: &SeedRun) {
        let diverged = seed.diverged().map(|tasks| (run.folder.clone(), seed.seed, tasks));
        let mut found = self.found();
        found.finished += 1;
        found.diverged.extend(diverged);
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
