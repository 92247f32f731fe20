//! A training run: groups of seeds on threads, with progress, checkpoints and interruption.

use super::checkpoint::Checkpoint;
use super::directory::TrainDirectory;
use super::group::{Group, digest};
use super::log::{Point, SeedRun};
use super::options::Train;
use super::terminal_view::TerminalView;
use super::{schedule, shapes};
use crate::error::{Doing, Error};
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::progress;
use crate::run::session::Session;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a run found.
pub struct Trained {
    /// Every seed, in ascending order.
    pub runs: Vec<SeedRun>,
    /// Wall-clock seconds of this process; what an earlier one did is not in them.
    pub seconds: f64,
    /// CPU seconds of all threads of this process.
    pub cpu_seconds: f64,
    /// For [`TrainDirectory::complete`], unless the run was finished before.
    pub info: Option<RunInfo>,
}

/// A seed, and where it stands if it has begun.
type Started = (u64, Option<Checkpoint>);

/// Trains every seed, the first of them `seed` unless the options have their own. With a directory, seeds that have finished there are not trained again, those
/// that have begun go on, and all leave their files there as they finish.
///
/// # Errors
/// As [`Train::check`]; [`Error::Interrupted`] or [`Error::Paused`] after Ctrl-C; errors of the
/// files and of the core.
pub fn train(
    options: &Train,
    seed: u64,
    session: &Session,
    label: &str,
    directory: Option<&TrainDirectory>,
) -> Result<Trained, Error> {
    options.check(seed)?;
    let (started, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let mut runs = Vec::new();
    // Lanes advance together, so seeds share a group only if they have come equally far.
    let mut by_progress = BTreeMap::<u64, Vec<Started>>::new();
    for seed in options.seed_list(seed) {
        match directory.map_or(Ok(None), |d| d.load(seed))? {
            Some(found) if found.tasks_done >= options.mrps as u64 => {
                directory.map_or(Ok(()), |d| d.finish(options, &found.run))?;
                runs.push(found.run);
            }
            Some(found) => {
                by_progress.entry(found.tasks_done).or_default().push((seed, Some(found)));
            }
            None => by_progress.entry(0).or_default().push((seed, None)),
        }
    }
    let mut jobs = Vec::new();
    for seeds in by_progress.into_values() {
        let mut seeds = seeds.into_iter();
        for (width, taken) in schedule::groups(seeds.len(), session.threads(), &shapes::widths()) {
            jobs.push((width, seeds.by_ref().take(taken).collect::<Vec<_>>()));
        }
    }
    let mut info = directory
        .filter(|d| !jobs.is_empty() || !info::is_finished(d.path()))
        .map(|d| (RunInfo::continued(d.path(), "train", session), d.path()));
    if let Some((info, path)) = &info {
        info.write(path, None)?;
    }
    let view = TerminalView::new(label, options, &jobs, session.quiet);
    let work = |(width, seeds): (usize, Vec<Started>)| {
        train_group(options, width, seeds, directory, &view)
    };
    let finished: Vec<_> =
        session.on_thread(|| jobs.into_par_iter().with_max_len(1).map(work).collect());
    view.finish();
    let mut outcome = Ok(());
    for group in finished {
        match group {
            Ok(group) => runs.extend(group),
            Err(e) => outcome = outcome.and(Err(e)),
        }
    }
    runs.sort_by_key(|r| r.seed);
    if let Some((info, path)) = &mut info {
        runs.iter().for_each(|run| info.seed(run.seed, &run.digest));
        if outcome.is_err() {
            // On a full disk, what went wrong first is what the user should read.
            let _ = info.write(path, Some(&Outcome::of(&outcome)));
        }
    }
    outcome.map_err(|e| match (e, directory) {
        (Error::Interrupted, Some(d)) => Error::Paused { resume: Some(d.path().to_owned()) },
        (e, _) => e,
    })?;
    Ok(Trained {
        runs,
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: cpu.elapsed().as_secs_f64(),
        info: info.map(|(info, _)| info),
    })
}

/// The seeds of one group, from where they stand to the end.
fn train_group(
    options: &Train,
    width: usize,
    seeds: Vec<Started>,
    directory: Option<&TrainDirectory>,
    view: &TerminalView,
) -> Result<Vec<SeedRun>, Error> {
    let numbers: Vec<u64> = seeds.iter().map(|s| s.0).collect();
    let doing = || format!("training seeds {numbers:?}");
    let mut group = shapes::group(options, width, &numbers).doing(doing())?;
    let mut logs: Vec<Vec<Point>> = vec![Vec::new(); numbers.len()];
    let found: Option<Vec<_>> = seeds.into_iter().map(|(_, found)| found).collect();
    if let Some(found) = found {
        let records: Vec<_> = found.iter().map(|f| f.record.clone()).collect();
        group.restore(&records).doing(doing())?;
        logs = found.into_iter().map(|f| f.run.points).collect();
    }
    let state = |group: &dyn Group, lane: usize, points: &[Point]| {
        let parameters = group.parameters(lane);
        SeedRun {
            seed: numbers[lane],
            digest: digest(&parameters).to_string(),
            token_size: 2 * options.dim + 1,
            parameters,
            points: points.to_vec(),
        }
    };
    let save = |group: &dyn Group, logs: &[Vec<Point>]| -> Result<(), Error> {
        let Some(directory) = directory else { return Ok(()) };
        for (lane, points) in logs.iter().enumerate() {
            directory.save(group.tasks_done(), group.save(lane), state(group, lane, points))?;
        }
        Ok(())
    };
    let every = Duration::from_secs_f64(options.checkpoint_every);
    let mut saved = Instant::now();
    while group.tasks_done() < options.mrps as u64 {
        if progress::interrupted() {
            save(&*group, &logs)?;
            return Err(Error::Interrupted);
        }
        group.train_task().doing(doing())?;
        let done = group.tasks_done();
        if done % options.log_every as u64 == 0 || done == options.mrps as u64 {
            for (lane, log) in logs.iter_mut().enumerate() {
                log.push(group.measure(lane));
            }
            view.show(&numbers, &logs);
        }
        view.advance(numbers.len());
        if saved.elapsed() >= every && done < options.mrps as u64 {
            save(&*group, &logs)?;
            saved = Instant::now();
        }
    }
    save(&*group, &logs)?;
    let runs: Vec<_> =
        logs.iter().enumerate().map(|(lane, log)| state(&*group, lane, log)).collect();
    if let Some(directory) = directory {
        for run in &runs {
            directory.finish(options, run)?;
        }
    }
    Ok(runs)
}
