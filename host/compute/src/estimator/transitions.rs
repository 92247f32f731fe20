//! Transitions that are all there, and what an estimator says of them.

use super::Stream;
use ictd_core::Error;

/// The way an episode goes on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeEnd {
    /// With the next row.
    Continues,
    /// Not at all: nothing follows (`terminal`).
    Terminal,
    /// It is cut here, though it could go on (`end`).
    End,
}

/// Transitions in the order in which they were observed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    /// d.
    pub d: usize,
    /// Features of states, (rows, d).
    pub phi: Vec<f64>,
    /// The row of `phi` that each transition leaves, (n).
    pub from: Vec<usize>,
    /// The rewards, (n).
    pub reward: Vec<f64>,
    /// The next features, (n, d): 0 for a terminal state.
    pub phi_next: Vec<f64>,
    /// The way the episode goes on after each, (n).
    pub marks: Vec<EpisodeEnd>,
    /// Importance weights, (n): pi(A|S) / b(A|S) of the evaluated policy and the one that acted; none for 1.
    pub rho: Option<Vec<f64>>,
}

/// The values that an estimator gives.
#[derive(Clone, Debug)]
pub struct EstimatedValues {
    /// w of v(s) = <w, phi(s)>; none of softmax attention.
    pub weights: Option<Vec<f64>>,
    /// The values of the rows.
    pub rows: Vec<f64>,
    /// The values of the queries.
    pub queries: Vec<f64>,
    /// The root of the mean squared TD error over the transitions, with their weights.
    pub td_error: f64,
}

impl Transitions {
    /// Returns n.
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    /// Returns true without transitions.
    pub fn is_empty(&self) -> bool {
        self.reward.is_empty()
    }

    /// Returns how many episodes there are.
    pub fn episodes(&self) -> usize {
        let ended = self.marks.iter().filter(|mark| **mark != EpisodeEnd::Continues).count();
        ended + usize::from(self.marks.last() == Some(&EpisodeEnd::Continues))
    }

    /// Returns the weight of transition i.
    pub fn weight(&self, i: usize) -> f64 {
        self.rho.as_ref().map_or(1.0, |rho| rho[i])
    }

    /// Shows a stream all transitions.
    ///
    /// # Errors
    /// As [`Stream::observe`].
    pub fn observed_by(&self, stream: &mut dyn Stream) -> Result<(), Error> {
        let rows = self.from.iter().zip(self.phi_next.chunks_exact(self.d));
        for (i, (((from, next), reward), mark)) in
            rows.zip(&self.reward).zip(&self.marks).enumerate()
        {
            let phi = &self.phi[from * self.d..][..self.d];
            let next = Some(next).filter(|_| *mark != EpisodeEnd::Terminal);
            stream.observe_weighted(phi, *reward, next, self.weight(i))?;
            if *mark == EpisodeEnd::End {
                stream.end_episode();
            }
        }
        Ok(())
    }
}

/// Returns the values of the rows and of queries, (m, d), by a stream that has read the transitions.
///
/// # Errors
/// As [`Stream::weights`].
pub fn values_of(
    stream: &dyn Stream,
    data: &Transitions,
    queries: &[f64],
    gamma: f64,
) -> Result<EstimatedValues, Error> {
    let at = |states: &[f64]| {
        let mut values = Vec::with_capacity(states.len() / data.d);
        stream.values(states, &mut values).map(|()| values)
    };
    let (rows, queries, next) = (at(&data.phi)?, at(queries)?, at(&data.phi_next)?);
    let mut sum = 0.0;
    for (i, ((from, next), reward)) in data.from.iter().zip(&next).zip(&data.reward).enumerate() {
        let delta = reward + gamma * next - rows[*from];
        sum += data.weight(i) * delta * delta;
    }
    let td_error = (sum / data.len() as f64).sqrt();
    Ok(EstimatedValues { weights: stream.weights()?, rows, queries, td_error })
}
