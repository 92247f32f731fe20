//! Transitions that are all there, and what an estimator says of them.

use super::Stream;
use ictd_core::Error;
use ictd_core::linalg::linear_system;
use nalgebra::{SMatrix, SVector};

use super::{MAX_FEATURES, SOFTMAX_CONTEXT};

/// The way an episode goes on after a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
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
    pub marks: Vec<Mark>,
}

/// The values that an estimator gives.
#[derive(Clone, Debug)]
pub struct Values {
    /// v(s) = <w, phi(s)>, exactly or (softmax) as the best fit on the rows; none if they determine no fit.
    pub weights: Option<Vec<f64>>,
    /// The values of the rows.
    pub rows: Vec<f64>,
    /// The values of the queries.
    pub queries: Vec<f64>,
    /// The root of the mean squared TD error over the transitions.
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
        let ended = self.marks.iter().filter(|mark| **mark != Mark::Continues).count();
        ended + usize::from(self.marks.last() == Some(&Mark::Continues))
    }

    /// Shows a stream all transitions.
    ///
    /// # Errors
    /// As [`Stream::observe`].
    pub fn observed_by(&self, stream: &mut dyn Stream) -> Result<(), Error> {
        let rows = self.from.iter().zip(self.phi_next.chunks_exact(self.d));
        for (((from, next), reward), mark) in rows.zip(&self.reward).zip(&self.marks) {
            let phi = &self.phi[from * self.d..][..self.d];
            stream.observe(phi, *reward, Some(next).filter(|_| *mark != Mark::Terminal))?;
            if *mark == Mark::End {
                stream.end_episode();
            }
        }
        Ok(())
    }

    fn mean_reward(&self) -> f64 {
        self.reward.iter().fold(0.0, |sum, r| sum + r) / self.len() as f64
    }
}

/// Returns the values of the rows and of queries, (m, d), by a stream that has read the transitions; of average reward
/// if there is no discount.
///
/// # Errors
/// As [`Stream::weights`].
pub fn values_of(
    stream: &dyn Stream,
    data: &Transitions,
    queries: &[f64],
    gamma: Option<f64>,
) -> Result<Values, Error> {
    let at = |states: &[f64]| {
        let mut values = Vec::with_capacity(states.len() / data.d);
        stream.values(states, &mut values).map(|()| values)
    };
    let (rows, queries, next) = (at(&data.phi)?, at(queries)?, at(&data.phi_next)?);
    let mean = if gamma.is_some() { 0.0 } else { data.mean_reward() };
    let mut sum = 0.0;
    for ((from, next), reward) in data.from.iter().zip(&next).zip(&data.reward) {
        let delta = reward - mean + gamma.unwrap_or(1.0) * next - rows[*from];
        sum += delta * delta;
    }
    let td_error = (sum / data.len() as f64).sqrt();
    let weights = stream.weights()?.or_else(|| fit(data, &rows));
    Ok(Values { weights, rows, queries, td_error })
}

/// Returns the linear function that fits the values of the first rows best.
fn fit(data: &Transitions, values: &[f64]) -> Option<Vec<f64>> {
    let n = data.len().min(SOFTMAX_CONTEXT);
    let mut a = Box::new(SMatrix::<f64, SOFTMAX_CONTEXT, MAX_FEATURES>::zeros());
    let mut b = SVector::<f64, SOFTMAX_CONTEXT>::zeros();
    for (row, (from, value)) in data.from.iter().zip(values).take(n).enumerate() {
        for i in 0..data.d {
            a[(row, i)] = data.phi[from * data.d + i];
        }
        b[row] = *value;
    }
    let w = linear_system::least_squares(*a, b, [n, data.d], "the implicit weights");
    w.ok().map(|w| w.as_slice()[..data.d].to_vec())
}
