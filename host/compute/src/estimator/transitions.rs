//! A complete set of transitions, and the values that an estimator computes from it.

use super::Stream;
use ictd_core::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EpisodeEnd {
    /// The next row continues it.
    Continues,
    /// The next state is terminal (`terminal`).
    Terminal,
    /// The episode is truncated here (`end`).
    End,
}

impl EpisodeEnd {
    pub fn from_marks(terminal: bool, end: bool) -> Self {
        let open = if end { EpisodeEnd::End } else { EpisodeEnd::Continues };
        if terminal { EpisodeEnd::Terminal } else { open }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    pub d: usize,
    /// Features of states, (rows, d).
    pub phi: Vec<f64>,
    /// The row of `phi` that each transition leaves, (n).
    pub from: Vec<usize>,
    /// The rewards, (n).
    pub reward: Vec<f64>,
    /// The next features, (n, d): 0 for a terminal state.
    pub phi_next: Vec<f64>,
    /// How the episode continues after each transition, (n).
    pub marks: Vec<EpisodeEnd>,
    /// Importance ratios pi(A|S) / b(A|S) of the target and the behaviour policy, (n); `None` if all are 1.
    pub rho: Option<Vec<f64>>,
}

#[derive(Clone, Debug)]
pub struct EstimatedValues {
    /// w of v(s) = <w, phi(s)>, (d); `None` for softmax attention.
    pub weights: Option<Vec<f64>>,
    /// The values of the rows of [`Transitions::phi`].
    pub rows: Vec<f64>,
    pub queries: Vec<f64>,
    /// The root mean squared TD error over the transitions, with their importance weights.
    pub td_error: f64,
}

impl Transitions {
    pub fn len(&self) -> usize {
        self.reward.len()
    }

    pub fn is_empty(&self) -> bool {
        self.reward.is_empty()
    }

    pub fn episodes(&self) -> usize {
        let ended = self.marks.iter().filter(|mark| **mark != EpisodeEnd::Continues).count();
        ended + usize::from(self.marks.last() == Some(&EpisodeEnd::Continues))
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.rho.as_ref().map_or(1.0, |rho| rho[i])
    }

    /// Feeds all transitions to a stream.
    /// Returns the core's error for a transition that the stream rejects ([`Stream::observe`]).
    pub fn observed_by(&self, stream: &mut dyn Stream) -> Result<()> {
        let rows = self.from.iter().zip(self.phi_next.chunks_exact(self.d));
        for (i, (((from, next), reward), mark)) in
            rows.zip(&self.reward).zip(&self.marks).enumerate()
        {
            let phi = &self.phi[from * self.d..][..self.d];
            let next = Some(next).filter(|_| *mark != EpisodeEnd::Terminal);
            stream.observe(phi, *reward, next, self.weight(i))?;
            if *mark == EpisodeEnd::End {
                stream.end_episode();
            }
        }
        Ok(())
    }
}

/// Returns the values of the rows and of queries, (m, d), from a stream that has observed the transitions.
/// Returns the core's error in the cases that [`Stream::weights`] lists.
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
        let delta = reward + gamma * next - rows[*from];
        sum += data.weight(i) * delta * delta;
    }
    let td_error = (sum / data.len() as f64).sqrt();
    Ok(EstimatedValues { weights: stream.weights()?, rows, queries, td_error })
}
