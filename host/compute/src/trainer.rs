//! Trains groups of seeds on threads, reports to an observer, stops on a flag, and resumes from checkpoints.

use crate::checkpoint::Checkpoint;
use crate::group::SeedGroup;
use crate::level::SimdLevel;
use crate::log::{LogPoint, SeedRun};
use crate::recipe::{InvalidSetting, Recipe};
use crate::shapes;
use ictd_core::digest::Digest;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Watches a run. Its methods are called from all of the run's threads, concurrently for different seeds. If one of them
/// returns an error, the run ends.
pub trait Observer: Sync {
    type Error: Send;

    /// Returns the time between checkpoints (the end of a seed adds one); `None` for no checkpoints.
    fn checkpoint_every(&self) -> Option<Duration> {
        None
    }

    /// Is called when this many seeds have trained on one more task.
    fn advanced(&self, _seeds: usize) {}

    fn logged(&self, _seed: u64, _point: &LogPoint) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Is called with a seed's state, from which [`Trainer::resume`] continues.
    fn checkpoint(&self, _checkpoint: Checkpoint) -> Result<(), Self::Error> {
        Ok(())
    }

    fn finished(&self, _run: &SeedRun) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Observer for () {
    type Error = std::convert::Infallible;
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Stopped<E> {
    #[error("cancelled")]
    Cancelled,
    #[error("training seeds {seeds:?}: {source}")]
    Core { seeds: Vec<u64>, source: ictd_core::Error },
    #[error("{0}")]
    Observer(E),
}

#[derive(Clone, Debug)]
pub struct Trainer<'a> {
    recipe: Recipe,
    /// Each seed, with its checkpoint if its training has begun.
    seeds: BTreeMap<u64, Option<Checkpoint>>,
    /// The run's name, which its checkpoints store ([`Checkpoint::config`]).
    pub name: String,
    /// The number of threads; each trains whole groups of seeds, so results do not depend on it.
    pub threads: usize,
    /// A flag that cancels the training: each seed then stops after its current task, with a checkpoint.
    pub cancelled: Option<&'a AtomicBool>,
}

type Started<'a> = (u64, Option<&'a Checkpoint>);

impl Trainer<'_> {
    /// Returns a trainer of these seeds on one thread. Returns [`InvalidSetting`] if [`Recipe::check`] rejects the recipe.
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

    /// Resumes seeds from their checkpoints; seeds that the trainer does not have yet are added.
    #[must_use]
    pub fn resume(mut self, checkpoints: impl IntoIterator<Item = Checkpoint>) -> Self {
        self.seeds.extend(checkpoints.into_iter().map(|c| (c.run.seed, Some(c))));
        self
    }

    /// Trains all seeds and returns them in ascending order. Seeds whose checkpoint is complete are returned unchanged, without
    /// calling the observer. If training stops early, returns the first reason in the order of the groups; the other groups
    /// still finish, unless the run was cancelled.
    pub fn run<O: Observer>(self, observer: &O) -> Result<Vec<SeedRun>, Stopped<O::Error>> {
        let (mut runs, groups) = self.groups();
        let train = |group| self.train_group(group, observer);
        let threads = self.threads.clamp(1, groups.len().max(1));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(shapes::stack(&self.recipe))
            .build();
        let trained: Vec<_> = match pool {
            Ok(pool) => {
                pool.install(|| groups.into_par_iter().with_max_len(1).map(train).collect())
            }
            // The system starts no threads.
            Err(_) => groups.into_iter().map(train).collect(),
        };
        for group in trained {
            runs.extend(group?);
        }
        runs.sort_by_key(|run| run.seed);
        Ok(runs)
    }

    /// Returns the finished seeds, and groups of the others. Lanes advance together, so seeds share a group only if they have
    /// trained on the same number of tasks, and few seeds have a group each ([`shapes::most_alone`]).
    fn groups(&self) -> (Vec<SeedRun>, Vec<Vec<Started<'_>>>) {
        let (mut ended, mut by_progress) = (Vec::new(), BTreeMap::<u64, Vec<Started<'_>>>::new());
        for (seed, found) in &self.seeds {
            let done = found.as_ref().map_or(0, |found| found.tasks_done);
            match found {
                Some(found) if done >= self.recipe.tasks as u64 => ended.push(found.run.clone()),
                found => by_progress.entry(done).or_default().push((*seed, found.as_ref())),
            }
        }
        let (mut groups, most_alone) = (Vec::new(), shapes::most_alone(&self.recipe));
        for seeds in by_progress.into_values() {
            // Give every thread a group before making groups larger.
            let of_thread = seeds.len().div_ceil(self.threads.max(1));
            let lanes = shapes::level(&self.recipe, of_thread).lanes();
            for group in seeds.chunks(lanes) {
                let len = if group.len() > most_alone { lanes } else { 1 };
                groups.extend(group.chunks(len).map(<[_]>::to_vec));
            }
        }
        (ended, groups)
    }

    fn train_group<O: Observer>(
        &self,
        seeds: Vec<Started<'_>>,
        observer: &O,
    ) -> Result<Vec<SeedRun>, Stopped<O::Error>> {
        let recipe = &self.recipe;
        let numbers: Vec<u64> = seeds.iter().map(|s| s.0).collect();
        let refuse = |source| Stopped::Core { seeds: numbers.clone(), source };
        let alone = numbers.len() == 1 && shapes::most_alone(recipe) > 0;
        let level = if alone { SimdLevel::OneSeed } else { shapes::level(recipe, numbers.len()) };
        let mut group = shapes::group(level, recipe, &numbers).map_err(refuse)?;
        let mut logs: Vec<Vec<LogPoint>> = vec![Vec::new(); numbers.len()];
        if let Some(found) = seeds.into_iter().map(|s| s.1).collect::<Option<Vec<_>>>() {
            let records: Vec<_> = found.iter().map(|f| f.record.clone()).collect();
            group.restore(&records).map_err(refuse)?;
            logs = found.into_iter().map(|f| f.run.points.clone()).collect();
        }
        let state = |group: &dyn SeedGroup, lane: usize, points: &[LogPoint]| {
            let (parameters, mut digest) = (group.parameters(lane), Digest::EMPTY);
            parameters.iter().for_each(|x| digest.number(*x));
            SeedRun {
                seed: numbers[lane],
                digest: digest.to_string(),
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
