//! What every command shares: the seed, where to write, and the threads.

use crate::cli::Global;
use crate::error::Error;
use crate::progress;
use rayon::prelude::*;
use std::path::PathBuf;

/// Room for the largest fixed-capacity transformer on a thread's stack; reserved, not used, memory.
const STACK: usize = 64 << 20;

/// The global options, made ready for use.
pub struct Session {
    /// The first seed; everything random follows from it.
    pub seed: u64,
    /// The directory that holds one directory per run.
    pub out: PathBuf,
    /// A training run that stands where another one is to be written is removed, not renamed.
    pub overwrite: bool,
    /// No progress bars.
    pub quiet: bool,
    pool: rayon::ThreadPool,
}

impl Session {
    /// Starts the threads and catches Ctrl-C.
    ///
    /// # Errors
    /// [`Error::Option`] if the system refuses the threads.
    pub fn new(global: &Global) -> Result<Self, Error> {
        progress::catch_interrupts();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(global.threads.unwrap_or(0))
            .stack_size(STACK)
            .build()
            .map_err(|e| Error::Option { option: "--threads", reason: e.to_string() })?;
        Ok(Session {
            seed: global.seed,
            out: global.out.clone(),
            overwrite: global.overwrite,
            quiet: global.json,
            pool,
        })
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// `f` of every item, in order, with a progress bar. Threads take whole items, so the results
    /// do not depend on how many threads there are.
    ///
    /// # Errors
    /// The error of the first item that fails, [`Error::Interrupted`] after Ctrl-C.
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
