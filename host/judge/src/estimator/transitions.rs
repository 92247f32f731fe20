//! The values that an estimator computes from a complete set of transitions.

use super::{LinearValues, Stream};
use compute::transitions::{EpisodeEnd, Transitions};
use ictd_core::Result;
use std::ops::Range;

#[derive(Clone, Debug)]
pub struct EstimatedValues {
    /// `None` for softmax attention.
    pub linear: Option<LinearValues>,
    /// The values of the rows of [`Transitions::phi`].
    pub rows: Vec<f64>,
    pub queries: Vec<f64>,
    /// The root mean squared TD error over the transitions, with their importance weights.
    pub td_error: f64,
}

impl dyn Stream + '_ {
    /// Observes all transitions of a set, in their order.
    /// Returns the core's error for a transition that the stream rejects ([`Stream::observe`]).
    pub fn observe_all(&mut self, data: &Transitions) -> Result<()> {
        self.observe_rows(data, 0..data.len())
    }

    /// Observes some transitions of a set, with the errors of [`Stream::observe`].
    pub fn observe_rows(&mut self, data: &Transitions, rows: Range<usize>) -> Result<()> {
        rows.into_iter().try_for_each(|i| self.observe_row(data, i))
    }

    fn observe_row(&mut self, data: &Transitions, i: usize) -> Result<()> {
        let is_terminal = data.marks[i] == EpisodeEnd::Terminal;
        let next = (!is_terminal).then(|| &data.phi_next[i * data.d..][..data.d]);
        let phi = &data.phi[data.from[i] * data.d..][..data.d];
        self.observe(phi, data.reward[i], next, data.weight(i))?;
        if data.marks[i] == EpisodeEnd::End {
            self.end_episode();
        }
        Ok(())
    }
}

/// Returns the values of the rows and of queries, (m, d), from a stream that has observed the transitions.
/// Returns the core's error in the cases that [`Stream::linear`] lists.
pub fn values_of(
    stream: &dyn Stream,
    data: &Transitions,
    queries: &[f64],
    gamma: f64,
) -> Result<EstimatedValues> {
    let (rows, queries) = (stream.values(&data.phi)?, stream.values(queries)?);
    let next = stream.values(&data.phi_next)?;
    let mut sum = 0.0;
    for (i, ((from, next), reward)) in data.from.iter().zip(&next).zip(&data.reward).enumerate() {
        let next = if data.marks[i] == EpisodeEnd::Terminal { 0.0 } else { *next };
        let delta = reward + gamma * next - rows[*from];
        sum += data.weight(i) * delta * delta;
    }
    let td_error = (sum / data.len() as f64).sqrt();
    Ok(EstimatedValues { linear: stream.linear()?, rows, queries, td_error })
}
