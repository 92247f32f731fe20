//! The trainer at work on a plan: groups of seeds, each claimed, from where they stand to their end.

use super::plan::{Plan, Run};
use super::shards::Group;
use crate::error::Error;
use crate::run::lock;
use crate::run::progress;
use crate::run::session::Session;
use crate::train::directory::TrainDirectory;
use crate::train::run::Files;
use compute::{Checkpoint, SeedRun};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The polling interval while another process holds a seed.
const POLL: Duration = Duration::from_millis(500);

/// The ends that seeds came to.
#[derive(Debug, Default)]
pub struct Found {
    /// How many have finished, now or before.
    pub finished: usize,
    /// The seeds whose parameters are not finite: the run's folder, the seed, and the task by which they diverged.
    pub diverged: Vec<(String, u64, u64)>,
    /// Those that are claimed on other machines, with what is known of the claims.
    pub in_use: Vec<String>,
    /// Groups that could not be trained, and why.
    pub failed: Vec<String>,
}

/// Trains groups, as many at once as there are threads; what has finished is kept, what has begun goes on. A run that
/// cannot be read does not stop the others.
///
/// Seeds that another process of this machine trains come last: it is waited for, so that they have finished in the
/// end whatever becomes of it (an engine tries a shard again while a child of the worker that it killed may live).
/// Seeds claimed on another machine are left, since nobody here can know.
///
/// # Errors
/// [`Error::Paused`] after Ctrl-C; [`Error::Write`] for what cannot be written; [`Error::Core`].
pub fn train<'a>(
    plan: &'a Plan,
    groups: &[Group<'a>],
    checkpoint_every: f64,
    session: &Session,
) -> Result<Found, Error> {
    let tasks = groups.iter().map(|group| (group.seeds.len() * group.run.recipe.tasks) as u64);
    let bar = progress::bar("sweep", tasks.sum(), session.quiet);
    let threads = session.threads() / groups.len().clamp(1, session.threads());
    let found = Mutex::new(Found::default());
    let note =
        |note: &dyn Fn(&mut Found)| note(&mut found.lock().unwrap_or_else(PoisonError::into_inner));
    let finished = |run: &Run, seed: &SeedRun| {
        note(&|found| {
            let diverged = seed.diverged().map(|tasks| (run.folder.clone(), seed.seed, tasks));
            found.finished += 1;
            found.diverged.extend(diverged);
        });
    };
    // Trains seeds side by side; those that another process of this machine trains are left, and returned.
    let group = |run: &Run, seeds: &[u64]| -> Result<Vec<u64>, Error> {
        let (first, options) = plan.train(run);
        let directory = TrainDirectory::join(&session.out, &options, first)?;
        let (mut claims, mut begun) = (Vec::new(), Vec::new());
        let (mut ours, mut held) = (Vec::new(), Vec::new());
        for seed in seeds {
            let ended = |there: &Checkpoint| directory.has_ended(there);
            let mut there =
                if directory.is_recorded(*seed) { directory.load(*seed)? } else { None };
            if !there.as_ref().is_some_and(ended) {
                match directory.claim_seed(*seed) {
                    Ok(claim) => claims.push(claim),
                    Err(e) if lock::is_held_here(&e) => {
                        held.push(*seed);
                        continue;
                    }
                    Err(e) if e.is_in_use() => {
                        note(&|found| found.in_use.push(e.one_line()));
                        bar.inc(run.recipe.tasks as u64);
                        continue;
                    }
                    Err(e) => return Err(e),
                }
                there = directory.load(*seed)?;
            }
            bar.inc(there.as_ref().map_or(0, |there| there.tasks_done));
            match there {
                Some(there) if ended(&there) => {
                    directory.finish(&there.run)?;
                    finished(run, &there.run);
                }
                there => {
                    begun.extend(there);
                    ours.push(*seed);
                }
            }
        }
        if !ours.is_empty() {
            let every = Duration::from_secs_f64(checkpoint_every);
            let files = Files { directory: &directory, bar: &bar, every };
            let runs = files.train(&run.recipe, ours, begun, threads)?;
            runs.iter().for_each(|seed| finished(run, seed));
        }
        Ok(held)
    };
    let work = |(run, seeds): (&'a Run, Vec<u64>)| {
        if progress::interrupted() {
            return Err(Error::Paused);
        }
        match group(run, &seeds) {
            Ok(held) => Ok((run, held)),
            Err(e @ Error::File { .. }) => {
                note(&|found| found.failed.push(e.one_line()));
                Ok((run, Vec::new()))
            }
            Err(e) => Err(e),
        }
    };
    let mut left: Vec<_> = groups.iter().map(|group| (group.run, group.seeds.to_vec())).collect();
    let mut is_told = false;
    let ended = loop {
        let pass = || left.into_par_iter().with_max_len(1).map(work).collect();
        match session.on_threads(groups.len(), pass)? {
            Ok(held) => left = held,
            Err(e) => break Err(e),
        }
        left.retain(|(_, seeds)| !seeds.is_empty());
        let Some((run, seeds)) = left.first() else { break Ok(()) };
        if !is_told {
            let text = format!(
                "{}, seed {}: another process of this machine trains it; waiting for its end",
                run.folder, seeds[0]
            );
            progress::note(&text, session.quiet);
            is_told = true;
        }
        thread::sleep(POLL);
    };
    bar.finish_and_clear();
    ended?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Groups end in any order.
    found.diverged.sort();
    found.in_use.sort();
    found.failed.sort();
    Ok(found)
}
