//! The settings that every command shares: the seed, where to write, and the threads.

use crate::error::Error;
use crate::files;
use crate::options;
use crate::run::progress;
use rayon::ThreadPool;
use rayon::prelude::*;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Stack size of a thread in bytes, enough for the largest fixed-capacity transformer; the memory is reserved, not used.
const STACK: usize = 64 << 20;
/// The memory that work may take in addition to its input: contexts, and the pixels of a figure.
const WORK: u64 = 64 << 20;

const THREADS: RangeInclusive<usize> = 1..=1024;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Session {
    /// The (first) random seed; equal seeds give equal bits on every machine
    #[arg(long, global = true, default_value = "0", value_parser = options::seed)]
    pub seed: u64,
    /// Output directory. Each command writes to a subdirectory of its own name; a training run, to
    /// one named after its recipe
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Number of threads; each computes whole seeds or tasks, so results do not depend on N
    /// [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = options::integer(THREADS))]
    pub threads: Option<usize>,
    /// Print one JSON object with all results on stdout, and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// The threads that have been started: no more than there was work for.
    #[arg(skip)]
    pub pool: Mutex<Option<Arc<ThreadPool>>>,
}

impl Session {
    pub fn seeds(&self, count: usize) -> Vec<u64> {
        (0..count as u64).map(|i| self.seed.wrapping_add(i)).collect()
    }

    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores)
    }

    /// Returns a thread for each piece of work, or fewer if the session or the system has fewer.
    fn pool(&self, pieces: usize) -> Result<Arc<ThreadPool>, Error> {
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut wanted = self.threads().min(pieces).max(1);
        if let Some(pool) = pool.as_ref().filter(|pool| pool.current_num_threads() >= wanted) {
            return Ok(pool.clone());
        }
        loop {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(wanted).stack_size(STACK);
            let started = builder.build().map_err(std::io::Error::other);
            match started.and_then(|pool| files::room(WORK).map(|()| pool)) {
                Ok(started) => return Ok(pool.insert(Arc::new(started)).clone()),
                Err(e) if wanted == 1 => return Err(Error::option("--threads", e)),
                Err(_) => wanted /= 2,
            }
        }
    }

    /// Returns `f` of every item, in order, with a progress bar, or the error of the first item that fails. Threads take whole
    /// items, so the results do not depend on the number of threads.
    pub fn map<T: Sync, R: Send>(
        &self,
        label: &str,
        items: &[T],
        f: impl Fn(&T) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let bar = progress::bar(label, items.len() as u64, self.json);
        let work = |item| {
            progress::check()?;
            let result = f(item);
            bar.inc(1);
            result
        };
        let run = || items.par_iter().map(work).collect::<Vec<_>>();
        let results = self.on_threads(items.len(), run)?;
        bar.finish_and_clear();
        results.into_iter().collect()
    }

    /// Runs `f`, which does `pieces` pieces of work, on the session's threads, whose stacks have room for large values.
    pub fn on_threads<R: Send>(
        &self,
        pieces: usize,
        f: impl FnOnce() -> R + Send,
    ) -> Result<R, Error> {
        Ok(self.pool(pieces)?.install(f))
    }
}
