//! Trains a plan: groups of seeds, each locked and trained from its checkpoint to its end.

use super::plan::{Plan, PlannedRun};
use super::shards::Group;
use crate::error::Error;
use crate::run::lock::{self, RunLock};
use crate::run::progress;
use crate::run::session::Session;
use crate::train::directory::TrainDirectory;
use crate::train::run::Files;
use compute::{Checkpoint, SeedRun};
use indicatif::ProgressBar;
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The polling interval while another process holds a seed.
const POLL: Duration = Duration::from_millis(500);

/// The outcomes of seeds.
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
        bar: progress::bar("sweep", tasks.sum(), session.quiet),
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
    /// The number of threads of each group.
    threads: usize,
    /// The time between two checkpoints.
    every: Duration,
    found: Mutex<Found>,
}

/// Seeds of a run, sorted by the process that trains them.
#[derive(Default)]
struct Sorted {
    /// The locks of `ours`, released when they are dropped.
    claims: Vec<RunLock>,
    ours: Vec<u64>,
    begun: Vec<Checkpoint>,
    /// Seeds that another process of this machine trains.
    held: Vec<u64>,
}

impl<'a> Worker<'a> {
    /// Trains groups, then those of their seeds that other processes of this machine held, until none remains.
    fn train_and_wait(&self, mut left: Vec<(&'a PlannedRun, Vec<u64>)>) -> Result<(), Error> {
        let (threads, mut is_told) = (left.len(), false);
        loop {
            let groups = || -> Result<Vec<_>, Error> {
                let groups = left.into_par_iter().with_max_len(1);
                groups.map(|(run, seeds)| Ok((run, self.train_group(run, &seeds)?))).collect()
            };
            left = self.session.on_threads(threads, groups)??;
            left.retain(|(_, seeds)| !seeds.is_empty());
            let Some((run, seeds)) = left.first() else { return Ok(()) };
            if !is_told {
                let text = format!(
                    "{}, seed {}: another process of this machine trains it; waiting for its end",
                    run.folder, seeds[0]
                );
                progress::note(&text, self.session.quiet);
                is_told = true;
            }
            thread::sleep(POLL);
        }
    }

    /// Trains seeds of a run in parallel and returns those that another process of this machine trains. Records a run that
    /// cannot be read.
    fn train_group(&self, run: &PlannedRun, seeds: &[u64]) -> Result<Vec<u64>, Error> {
        if progress::interrupted() {
            return Err(Error::Paused);
        }
        match self.try_group(run, seeds) {
            Err(e @ Error::File { .. }) => {
                self.found().failed.push(e.one_line());
                Ok(Vec::new())
            }
            held => held,
        }
    }

    fn try_group(&self, run: &PlannedRun, seeds: &[u64]) -> Result<Vec<u64>, Error> {
        let (first, options) = self.plan.train(run);
        let directory = TrainDirectory::join(&self.session.out, &options, first)?;
        let mut sorted = Sorted::default();
        for seed in seeds {
            self.sort(run, &directory, *seed, &mut sorted)?;
        }
        let Sorted { claims: _claims, ours, begun, held } = sorted;
        if !ours.is_empty() {
            let files = Files { directory: &directory, bar: &self.bar, every: self.every };
            let runs = files.train(&run.recipe, ours, begun, self.threads)?;
            runs.iter().for_each(|seed| self.finished(run, seed));
        }
        Ok(held)
    }

    /// Determines who trains a seed: nobody, if it has ended; this process, if it can lock the seed; or another one.
    fn sort(
        &self,
        run: &PlannedRun,
        directory: &TrainDirectory,
        seed: u64,
        sorted: &mut Sorted,
    ) -> Result<(), Error> {
        let has_ended = |checkpoint: &Checkpoint| directory.has_ended(checkpoint);
        let recorded = if directory.is_recorded(seed) { directory.load(seed)? } else { None };
        let checkpoint = if recorded.as_ref().is_some_and(has_ended) {
            recorded
        } else {
            match directory.claim_seed(seed) {
                Ok(claim) => sorted.claims.push(claim),
                Err(e) if lock::is_held_here(&e) => {
                    sorted.held.push(seed);
                    return Ok(());
                }
                Err(e) if e.is_in_use() => {
                    self.found().in_use.push(e.one_line());
                    self.bar.inc(run.recipe.tasks as u64);
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
            directory.load(seed)?
        };
        self.bar.inc(checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.tasks_done));
        match checkpoint {
            Some(checkpoint) if has_ended(&checkpoint) => {
                directory.finish(&checkpoint.run)?;
                self.finished(run, &checkpoint.run);
            }
            checkpoint => {
                sorted.begun.extend(checkpoint);
                sorted.ours.push(seed);
            }
        }
        Ok(())
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
