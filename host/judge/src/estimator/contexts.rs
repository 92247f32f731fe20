//! The values of states in each of many contexts.

use super::{Estimator, spawn_large};
use compute::transitions::Transitions;
use ictd_core::{Error, Result};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// Contexts of equally many transitions, and the states whose values are asked for.
#[derive(Clone, Debug)]
pub struct Contexts {
    /// The transitions of all contexts, one context behind the other.
    pub transitions: Transitions,
    /// The number of transitions of a context.
    pub len: usize,
    /// Features of states, (m, d), for each context behind each other, or for all contexts at once.
    pub queries: Vec<f64>,
    /// m.
    pub query_count: usize,
    /// Whether each context has queries of its own.
    pub has_own_queries: bool,
}

impl Contexts {
    /// Returns the queries of a context.
    pub fn queries(&self, context: usize) -> &[f64] {
        let len = self.query_count * self.transitions.d;
        &self.queries[if self.has_own_queries { context * len } else { 0 }..][..len]
    }

    /// Returns the transitions of a context.
    pub fn rows(&self, context: usize) -> Range<usize> {
        context * self.len..(context + 1) * self.len
    }
}

impl Estimator {
    /// Returns the values of the queries in some contexts, one context behind the other, bit for bit those of a stream for each.
    /// Each thread, one for each processor, makes one stream, and clears it for its next context.
    /// Returns the context, and the error of [`Estimator::stream`], [`Stream::observe`] or [`Stream::values`].
    ///
    /// [`Stream::observe`]: super::Stream::observe
    /// [`Stream::values`]: super::Stream::values
    pub fn values_in_contexts(
        &self,
        data: &Contexts,
        contexts: Range<usize>,
    ) -> Result<Vec<f64>, (usize, Error)> {
        let threads = available_parallelism().map_or(1, usize::from).min(contexts.len());
        let each = contexts.len().div_ceil(threads.max(1));
        let parts = contexts.clone().step_by(each.max(1));
        let parts = parts.map(|start| start..contexts.end.min(start + each));
        let refused = Error::OutOfRange { parameter: "thread", expected: "memory for its stack" };
        scope(|scope| {
            let spawn = |part: Range<usize>| {
                let start = part.start;
                let thread = spawn_large(scope, move || self.values_in_part(data, part));
                thread.map_err(|_| (start, refused))
            };
            let mut values = Vec::with_capacity(contexts.len() * data.query_count);
            for thread in parts.map(spawn).collect::<Vec<_>>() {
                values.extend(thread?.join().unwrap_or_else(|e| resume_unwind(e))?);
            }
            Ok(values)
        })
    }

    fn values_in_part(
        &self,
        data: &Contexts,
        contexts: Range<usize>,
    ) -> Result<Vec<f64>, (usize, Error)> {
        let mut values = Vec::with_capacity(contexts.len() * data.query_count);
        let mut stream = self.stream(data.transitions.d, None).map_err(|e| (contexts.start, e))?;
        for context in contexts {
            stream.clear();
            let observed = stream.observe_rows(&data.transitions, data.rows(context));
            let read = observed.and_then(|()| stream.values(data.queries(context)));
            values.extend(read.map_err(|e| (context, e))?);
        }
        Ok(values)
    }
}
