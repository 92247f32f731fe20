//! The trainer at work for a command: with progress, checkpoints and interruption.

use super::directory::TrainDirectory;
use super::options::Train;
use super::terminal_view::TerminalView;
use crate::error::Error;
use crate::run::info::{self, Outcome, RunInfo};
use crate::run::progress;
use crate::run::session::Session;
use std::time::{Duration, Instant};
use trainer::{Checkpoint, Learner, Observer, Point, SeedRun, Stopped, Trainer};

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

/// Shows a run, and writes what it leaves.
struct Watch<'a> {
    options: &'a Train,
    directory: Option<&'a TrainDirectory>,
    view: TerminalView,
}

impl Observer for Watch<'_> {
    type Error = Error;

    fn checkpoint_every(&self) -> Option<Duration> {
        self.directory.map(|_| Duration::from_secs_f64(self.options.checkpoint_every))
    }

    fn advanced(&self, seeds: usize) {
        self.view.advance(seeds);
    }

    fn logged(&self, learner: &Learner<'_>, point: &Point) -> Result<(), Error> {
        self.view.show(learner.seed(), point);
        Ok(())
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> Result<(), Error> {
        self.directory.map_or(Ok(()), |d| d.save(&checkpoint))
    }

    fn finished(&self, run: &SeedRun) -> Result<(), Error> {
        self.directory.map_or(Ok(()), |d| d.finish(&self.options.recipe, run))
    }
}

/// Trains every seed, the first of them `seed` unless the options have their own. With a directory, seeds that
/// have finished there are not trained again, those that have begun go on, and all leave their files there as
/// they finish.
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
    let seeds = options.seed_list(seed);
    let mut found = Vec::new();
    for seed in &seeds {
        found.extend(directory.map_or(Ok(None), |d| d.load(*seed))?);
    }
    for ended in found.iter().filter(|found| found.tasks_done >= options.recipe.mrps as u64) {
        directory.map_or(Ok(()), |d| d.finish(&options.recipe, &ended.run))?;
    }
    let trainer = Trainer::new(options.recipe.clone(), seeds)?
        .named(directory.map_or("", |d| d.config()))
        .resume(found)
        .threads(session.threads())
        .cancelled_by(progress::flag());
    let left = trainer.tasks_left();
    let mut info = directory
        .filter(|d| left > 0 || !info::is_finished(d.path()))
        .map(|d| (RunInfo::continued(d.path(), "train", session), d.path()));
    if let Some((info, path)) = &info {
        info.write(path, None)?;
    }
    let view = TerminalView::new(label, options.recipe.dim, left, session.quiet);
    let watch = Watch { options, directory, view };
    let outcome = trainer.run(&watch).map_err(|stopped| match (stopped, directory) {
        (Stopped::Cancelled, Some(d)) => Error::Paused { resume: Some(d.path().to_owned()) },
        (Stopped::Cancelled, None) => Error::Interrupted,
        (Stopped::Observer(error), _) => error,
        (Stopped::Core { seeds, source }, _) => {
            Error::Core { doing: format!("training seeds {seeds:?}"), source }
        }
    });
    watch.view.finish();
    if let Some((info, path)) = &mut info {
        outcome.iter().flatten().for_each(|run| info.seed(run.seed, &run.digest));
        if outcome.is_err() {
            // On a full disk, what went wrong first is what the user should read.
            let _ = info.write(path, Some(&Outcome::of(&outcome)));
        }
    }
    Ok(Trained {
        runs: outcome?,
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: cpu.elapsed().as_secs_f64(),
        info: info.map(|(info, _)| info),
    })
}
