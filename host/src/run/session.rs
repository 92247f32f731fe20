//! The settings that every command shares: the seed, where to write, and the threads.

use crate::error::Error;
use crate::options;
use crate::run::progress;
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Room for the largest fixed-capacity transformer on a thread's stack; reserved, not used, memory.
const STACK: usize = 64 << 20;

/// How many threads may be asked for.
pub const THREADS: RangeInclusive<usize> = 1..=1024;

/// Starts the threads of commands that have no session, unless they have been started.
/// Errors: [`Error::Option`] if the system has no threads.
pub fn start_threads() -> Result<(), Error> {
    let started = rayon::ThreadPoolBuilder::new().stack_size(STACK).build_global();
    match started {
        Err(e) if std::error::Error::source(&e).is_some() => Err(Error::option("--threads", e)),
        _ => Ok(()),
    }
}

/// The options of every command.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub struct SessionOptions {
    /// The (first) random seed; equal seeds give equal bits on every machine
    #[arg(long, global = true, default_value = "0", value_parser = options::seed)]
    pub seed: u64,
    /// Where to write: each command into the directory of its name, training runs into those of their recipes [env:
    /// ICTD_OUT]
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Let `train` begin anew: remove the recipe's seeds, instead of keeping those that have finished and going on
    /// with the others
    #[arg(long, global = true)]
    pub overwrite: bool,
    /// Threads, each taking whole seeds or tasks, so that results do not depend on it [default: all cores] [env: ICTD_THREADS]
    #[arg(long, global = true, value_name = "N", value_parser = options::integer(THREADS))]
    pub threads: Option<usize>,
    /// Print one JSON object with all results on stdout, and nothing else
    #[arg(long, global = true)]
    pub json: bool,
}

/// The options of every command, made ready for use.
pub struct Session {
    /// The first seed; everything random follows from it.
    pub seed: u64,
    /// The directory that holds one directory per run.
    pub out: PathBuf,
    /// A training run begins anew.
    pub overwrite: bool,
    /// No progress bars.
    pub quiet: bool,
    pool: rayon::ThreadPool,
}

impl Session {
    /// Starts the threads.
    /// Errors: [`Error::Option`] if the system refuses the threads.
    pub fn new(options: &SessionOptions) -> Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads.unwrap_or(0))
            .stack_size(STACK)
            .build()
            .map_err(|e| Error::option("--threads", e))?;
        Ok(Session {
            seed: options.seed,
            out: options.out.clone(),
            overwrite: options.overwrite,
            quiet: options.json,
            pool,
        })
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// `f` of every item, in order, with a progress bar. Threads take whole items, so the results
    /// do not depend on how many threads there are.
    /// Errors: the error of the first item that fails, [`Error::Interrupted`] after Ctrl-C.
    pub fn map<T: Sync, R: Send>(
        &self,
        label: &str,
        items: &[T],
        f: impl Fn(&T) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let bar = progress::bar(label, items.len() as u64, self.quiet);
        let work = |item| {
            if progress::interrupted() {
                return Err(Error::Interrupted);
            }
            let result = f(item);
            bar.inc(1);
            result
        };
        let results: Vec<_> = self.pool.install(|| items.par_iter().map(work).collect());
        bar.finish_and_clear();
        results.into_iter().collect()
    }

    /// Runs `f` on one of the session's threads, where a stack for large values is reserved.
    pub fn on_thread<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool.install(f)
    }
}
