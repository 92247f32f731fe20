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
    /// For [`Summary::write`](super::directory::Summary::write), unless the run was finished before.
    pub info: Option<RunInfo>,
}

/// Shows a run, and writes what it leaves.
struct Watch<'a> {
    options: &'a Train,
    directory: &'a TrainDirectory,
    view: TerminalView,
}

impl Observer for Watch<'_> {
    type Error = Error;

    fn checkpoint_every(&self) -> Option<Duration> {
        Some(Duration::from_secs_f64(self.options.checkpoint_every))
    }

    fn advanced(&self, seeds: usize) {
        self.view.advance(seeds);
    }

    fn logged(&self, learner: &Learner<'_>, point: &Point) -> Result<(), Error> {
        self.view.show(learner.seed(), point);
        Ok(())
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> Result<(), Error> {
        self.directory.save(&checkpoint)
    }

    fn finished(&self, run: &SeedRun) -> Result<(), Error> {
        self.directory.finish(run)
    }
}

/// Seeds that are claimed, hence files that are open, at once.
const SEEDS_AT_ONCE: usize = 512;

/// Trains every seed, the first of them `seed` unless the options have their own. Seeds that have finished in the
/// directory are not trained again, those that have begun go on, and all leave their files there as they finish.
///
/// # Errors
/// As [`Train::check`]; [`Error::Paused`] after Ctrl-C; [`Error::Format`] if another process trains one of the
/// seeds; errors of the files and of the core.
pub fn train(
    options: &Train,
    seed: u64,
    session: &Session,
    label: &str,
    directory: &TrainDirectory,
) -> Result<Trained, Error> {
    options.check(seed)?;
    let (started, cpu) = (Instant::now(), cpu_time::ProcessTime::now());
    let seeds: Vec<u64> = options.seed_set(seed).into_iter().collect();
    let tasks = (seeds.len() * options.recipe.mrps) as u64;
    let view = TerminalView::new(label, options.recipe.dim, tasks, session.quiet);
    let watch = Watch { options, directory, view };
    let (mut runs, mut info) = (Vec::new(), None);
    let outcome = seeds.chunks(SEEDS_AT_ONCE).try_for_each(|seeds| {
        runs.extend(watch.train(seeds, session, &mut info)?);
        Ok(())
    });
    watch.view.finish();
    let path = directory.path();
    if let (Some(info), Err(_)) = (&mut info, &outcome) {
        // On a full disk, what went wrong first is what the user should read.
        let _ = directory.claim().and_then(|_claimed| {
            info.refresh(path);
            info.write(path, Some(&Outcome::of(&outcome)))
        });
    }
    outcome?;
    if info.is_none() && !info::is_finished(path) {
        info = Some(RunInfo::continued(path, "train", session));
    }
    Ok(Trained {
        runs,
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: cpu.elapsed().as_secs_f64(),
        info,
    })
}

impl Watch<'_> {
    /// Trains seeds that are claimed meanwhile, from where they stand.
    fn train(
        &self,
        seeds: &[u64],
        session: &Session,
        info: &mut Option<RunInfo>,
    ) -> Result<Vec<SeedRun>, Error> {
        let directory = self.directory;
        let (mut claims, mut found) = (Vec::new(), Vec::new());
        for seed in seeds {
            claims.push(directory.claim_seed(*seed)?);
            found.extend(directory.load(*seed)?);
        }
        let last = self.options.recipe.mrps as u64;
        let mut ended = found.iter().filter(|found| found.tasks_done >= last);
        ended.try_for_each(|ended| directory.finish(&ended.run))?;
        let goes_on = !found.is_empty() && !info::is_finished(directory.path());
        let trainer = Trainer::new(self.options.recipe.clone(), seeds.iter().copied())?
            .named(directory.name())
            .resume(found)
            .threads(session.threads())
            .cancelled_by(progress::flag());
        let left = trainer.tasks_left();
        self.view.skip(seeds.len() as u64 * last - left);
        if info.is_none() {
            if goes_on && self.options.resume.is_none() {
                let path = directory.path().display();
                let text = format!("{path}: an unfinished run with the same options goes on");
                progress::note(&text, session.quiet);
            }
            if left > 0 {
                let _claimed = directory.claim()?;
                let begun = info.insert(RunInfo::continued(directory.path(), "train", session));
                begun.write(directory.path(), None)?;
            }
        }
        trainer.run(self).map_err(|stopped| match stopped {
            Stopped::Cancelled => Error::Paused { resume: Some(directory.path().to_owned()) },
            Stopped::Observer(error) => error,
            Stopped::Core { seeds, source } => {
                Error::Core { doing: format!("training seeds {seeds:?}"), source }
            }
        })
    }
}
