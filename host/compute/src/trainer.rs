//! A training run: groups of seeds on threads, watched, cancelled by a flag, taken up from checkpoints.

use crate::checkpoint::Checkpoint;
use crate::group::{SeedGroup, digest};
use crate::level::SimdLevel;
use crate::log::{LogPoint, SeedRun};
use crate::recipe::{InvalidSetting, Recipe};
use crate::shapes;
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Room for a trainer of the largest network on a thread's stack; reserved, not used, memory.
const STACK: usize = 64 << 20;

/// Watches a run. Its methods are called from all of the run's threads, for different seeds at once; an error of
/// one of them ends the run.
pub trait Observer: Sync {
    /// Why it ends the run.
    type Error: Send;

    /// Returns how often it wants checkpoints, and at the end of each seed; none: never.
    fn checkpoint_every(&self) -> Option<Duration> {
        None
    }

    /// Is called when this many seeds have trained on one more task.
    fn advanced(&self, _seeds: usize) {}

    /// A seed's log has a new point.
    fn logged(&self, _seed: u64, _point: &LogPoint) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A seed's state, from which [`Trainer::resume`] goes on.
    fn checkpoint(&self, _checkpoint: Checkpoint) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Is called when a seed has finished.
    fn finished(&self, _run: &SeedRun) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Nobody watches.
impl Observer for () {
    type Error = std::convert::Infallible;
}

/// Why a run came to no end.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Stopped<E> {
    /// Its flag was set.
    #[error("cancelled")]
    Cancelled,
    /// The core refused.
    #[error("training seeds {seeds:?}: {source}")]
    Core {
        /// The seeds that were trained.
        seeds: Vec<u64>,
        /// The core's reason, which names the parameter.
        source: ictd_core::Error,
    },
    /// The observer ended it.
    #[error("{0}")]
    Observer(E),
}

/// A recipe to be trained with some seeds.
#[derive(Clone, Debug)]
pub struct Trainer<'a> {
    recipe: Recipe,
    /// Each seed, and where it stands if it has begun.
    seeds: BTreeMap<u64, Option<Checkpoint>>,
    /// The run that its checkpoints are of ([`Checkpoint::config`]).
    pub name: String,
    /// The threads, each of which takes whole groups of seeds: no bit of any seed depends on it.
    pub threads: usize,
    /// It trains until this flag is set; then each seed stops after the task at hand, with a checkpoint.
    pub cancelled: Option<&'a AtomicBool>,
}

/// A seed, and where it stands if it has begun.
type Started<'a> = (u64, Option<&'a Checkpoint>);

impl Trainer<'_> {
    /// Trains each of the seeds once, on one thread.
    /// Errors: as [`Recipe::check`].
    pub fn new(
        recipe: Recipe,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<Self, InvalidSetting> {
        recipe.check()?;
        Ok(Trainer {
            recipe,
            seeds: seeds.into_iter().map(|seed| (seed, None)).collect(),
            name: String::new(),
            threads: 1,
            cancelled: None,
        })
    }

    /// Goes on from where seeds stood; other seeds than the trainer's are added.
    #[must_use]
    pub fn resume(mut self, checkpoints: impl IntoIterator<Item = Checkpoint>) -> Self {
        self.seeds.extend(checkpoints.into_iter().map(|c| (c.run.seed, Some(c))));
        self
    }

    /// Trains, and returns every seed in ascending order; seeds whose checkpoint is complete are returned unchanged,
    /// without calling the observer. Errors: why it stopped early: the first reason, in the order of the groups. The
    /// other groups have come to their end, unless the run was cancelled.
    pub fn run<O: Observer>(self, observer: &O) -> Result<Vec<SeedRun>, Stopped<O::Error>> {
        let (mut runs, groups) = self.groups();
        let count = groups.len();
        let groups = Mutex::new(groups.into_iter().enumerate());
        let next = || groups.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Vec<_> {
            let train = |(number, group)| (number, self.train_group(group, observer));
            std::iter::from_fn(next).map(train).collect()
        };
        let mut results = thread::scope(|scope| {
            let thread = || thread::Builder::new().stack_size(STACK);
            // A system that has no more threads gives fewer; this one does what they leave.
            let threads: Vec<_> = (0..self.threads.min(count))
                .map_while(|_| thread().spawn_scoped(scope, work).ok())
                .collect();
            let results = threads.into_iter().map(|thread| thread.join());
            let results: Vec<_> = results
                .flat_map(|found| found.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect();
            results.into_iter().chain(work()).collect::<Vec<_>>()
        });
        results.sort_by_key(|(number, _)| *number);
        for (_, group) in results {
            runs.extend(group?);
        }
        runs.sort_by_key(|run| run.seed);
        Ok(runs)
    }

    /// Returns the seeds that have come to their end, and groups of the others. Lanes advance together, so seeds
    /// share a group only if they have come equally far.
    fn groups(&self) -> (Vec<SeedRun>, Vec<Vec<Started<'_>>>) {
        let (mut ended, mut by_progress) = (Vec::new(), BTreeMap::<u64, Vec<Started<'_>>>::new());
        for (seed, found) in &self.seeds {
            match found {
                Some(found) if found.tasks_done >= self.recipe.tasks as u64 => {
                    ended.push(found.run.clone());
                }
                found => {
                    let done = found.as_ref().map_or(0, |found| found.tasks_done);
                    by_progress.entry(done).or_default().push((*seed, found.as_ref()));
                }
            }
        }
        let mut groups = Vec::new();
        for seeds in by_progress.into_values() {
            // Every thread has a group before groups grow.
            let lanes = SimdLevel::for_seeds(seeds.len().div_ceil(self.threads.max(1))).lanes();
            groups.extend(seeds.chunks(lanes).map(<[_]>::to_vec));
        }
        (ended, groups)
    }

    /// Returns the seeds of one group, from where they stand to the end.
    fn train_group<O: Observer>(
        &self,
        seeds: Vec<Started<'_>>,
        observer: &O,
    ) -> Result<Vec<SeedRun>, Stopped<O::Error>> {
        let recipe = &self.recipe;
        let numbers: Vec<u64> = seeds.iter().map(|s| s.0).collect();
        let refuse = |source| Stopped::Core { seeds: numbers.clone(), source };
        let mut group =
            shapes::group(SimdLevel::for_seeds(numbers.len()), recipe, &numbers).map_err(refuse)?;
        let mut logs: Vec<Vec<LogPoint>> = vec![Vec::new(); numbers.len()];
        if let Some(found) = seeds.into_iter().map(|s| s.1).collect::<Option<Vec<_>>>() {
            let records: Vec<_> = found.iter().map(|f| f.record.clone()).collect();
            group.restore(&records).map_err(refuse)?;
            logs = found.into_iter().map(|f| f.run.points.clone()).collect();
        }
        let state = |group: &dyn SeedGroup, lane: usize, points: &[LogPoint]| {
            let parameters = group.parameters(lane);
            SeedRun {
                seed: numbers[lane],
                digest: digest(&parameters).to_string(),
                token_size: 2 * recipe.dim + 1,
                parameters,
                points: points.to_vec(),
            }
        };
        let every = observer.checkpoint_every();
        let save = |group: &dyn SeedGroup, logs: &[Vec<LogPoint>]| {
            let wanted = if every.is_some() { logs } else { &[] };
            wanted.iter().enumerate().try_for_each(|(lane, points)| {
                observer.checkpoint(Checkpoint {
                    config: self.name.clone(),
                    tasks_done: group.tasks_done(),
                    record: group.save(lane),
                    run: state(group, lane, points),
                })
            })
        };
        let mut saved = Instant::now();
        let last = recipe.tasks as u64;
        while group.tasks_done() < last {
            if self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                save(&*group, &logs).map_err(Stopped::Observer)?;
                return Err(Stopped::Cancelled);
            }
            group.train_task().map_err(refuse)?;
            let done = group.tasks_done();
            if done % recipe.log_every as u64 == 0 || done == last {
                for (lane, log) in logs.iter_mut().enumerate() {
                    let point = group.measure(lane);
                    observer.logged(numbers[lane], &point).map_err(Stopped::Observer)?;
                    log.push(point);
                }
            }
            observer.advanced(numbers.len());
            if done < last && every.is_some_and(|every| saved.elapsed() >= every) {
                save(&*group, &logs).map_err(Stopped::Observer)?;
                saved = Instant::now();
            }
        }
        save(&*group, &logs).map_err(Stopped::Observer)?;
        let runs: Vec<_> =
            logs.iter().enumerate().map(|(lane, log)| state(&*group, lane, log)).collect();
        runs.iter().try_for_each(|run| observer.finished(run)).map_err(Stopped::Observer)?;
        Ok(runs)
    }
}
