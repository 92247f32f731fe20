//! The judges of a step's predictions: the states of a task, or what followed in a signal.

use super::S;
use crate::error::Error;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::signal;
use crate::tasks::{Mrp, random_signal};
use crate::training::Loss;
use crate::training::trainer::sampled_return;
use crate::vector::Vector;

/// States that are judged, of which there may be less than M.
pub(super) struct Judged<const D: usize, const M: usize> {
    pub(super) len: usize,
    pub(super) features: [[S; D]; M],
    pub(super) value: [S; M],
    /// Those of a state's squared error in e.
    pub(super) weight: [S; M],
}

impl<const D: usize, const M: usize> Judged<D, M> {
    pub(super) const ZERO: Self = Judged {
        len: 0,
        features: [[<S as Scalar>::ZERO; D]; M],
        value: [<S as Scalar>::ZERO; M],
        weight: [<S as Scalar>::ZERO; M],
    };

    /// Returns all states of a task.
    pub(super) fn of_task(
        task: &Mrp<f32, D, M>,
        gamma: f32,
        loss: Loss,
        rng: &mut Rng,
    ) -> Result<Self, Error> {
        let (mut value, distribution) = (task.true_value(gamma)?, task.stationary_distribution()?);
        if let Loss::MonteCarlo { horizon } = loss {
            for s in 0..task.states() {
                value[s] = sampled_return(task, s, gamma, horizon, rng);
            }
        }
        let square = task.msve(&distribution, &Vector::ZERO, &value);
        if !(square > 0.0) {
            return Err(Error::Empty { parameter: "value" });
        }
        let mut judged = Judged { len: task.states(), ..Self::ZERO };
        for s in 0..judged.len {
            judged.features[s] = task.feature_map()[s].data.0[0].map(S::splat);
            judged.value[s] = S::splat(value[s]);
            judged.weight[s] = S::splat(distribution[s] / square);
        }
        Ok(judged)
    }
}

/// r(s) + gamma sum_s' p(s, s') v(s').
pub(super) fn td_targets<const D: usize, const M: usize>(
    task: &Mrp<f32, D, M>,
    gamma: f32,
    values: &[S; M],
) -> [S; M] {
    let mut targets = [S::ZERO; M];
    for s in 0..task.states() {
        let p = task.transition_from(s);
        let mut next = S::ZERO;
        for (p, value) in p.iter().zip(values) {
            next += S::splat(*p) * *value;
        }
        targets[s] = S::splat(task.reward()[s]) + S::splat(gamma) * next;
    }
    targets
}

/// Features of a signal in training.
pub(super) const SIGNAL_FEATURES: usize = 4;
/// Steps of a signal that are judged with each context.
pub(super) const JUDGED: usize = 12;
/// Rewards of a return, at most.
pub(super) const HORIZON: usize = 400;
/// Samples of a signal, at most.
pub(super) const LONGEST: usize = 700;
pub(super) const SAMPLES: usize = LONGEST + JUDGED + HORIZON + 2;

/// A random signal.
pub(super) struct Signal {
    /// Samples that may be observed.
    pub(super) len: usize,
    pub(super) features: [[f32; SIGNAL_FEATURES]; SAMPLES],
    pub(super) deviations: [f32; SAMPLES],
    pub(super) returns: [f32; SAMPLES],
    /// 1 / (12 mean squared return).
    pub(super) weight: f32,
}

impl Signal {
    pub(super) fn draw(gamma: f32, rng: &mut Rng) -> Result<Self, Error> {
        let len = rng.log_uniform(60.0, LONGEST as f32) as usize;
        let last = len + JUDGED + ((8.0 / (1.0 - gamma)) as usize).min(HORIZON) + 1;
        let mut values = [0.0; SAMPLES];
        random_signal(&mut values[..=last], rng);
        let features = [[0.0; SIGNAL_FEATURES]; SAMPLES];
        let (deviations, returns) = ([0.0; SAMPLES], [0.0; SAMPLES]);
        let mut signal = Signal { len, features, deviations, returns, weight: 0.0 };
        let mut seen = signal::Signal::new();
        for t in 0..=last {
            (signal.features[t], signal.deviations[t]) = seen.observe(values[t])?;
        }
        // As if the last value stayed.
        signal.returns[last] = seen.level().of_deviations(gamma, values[last] / (1.0 - gamma));
        for t in (0..last).rev() {
            signal.returns[t] = signal.deviations[t + 1] + gamma * signal.returns[t + 1];
        }
        let judged = &signal.returns[..len + JUDGED];
        let square = judged.iter().map(|x| x * x).sum::<f32>() / judged.len() as f32;
        // A constant signal has nothing to be learned.
        signal.weight = if square > 1e-20 { 1.0 / (JUDGED as f32 * square) } else { 0.0 };
        Ok(signal)
    }

    /// Returns what follows each of four times: 12 steps, and one that only the last one's TD target needs.
    pub(super) fn judged(&self, times: &[u64]) -> Judged<SIGNAL_FEATURES, { JUDGED + 1 }> {
        let mut judged = Judged { len: JUDGED + 1, ..Judged::ZERO };
        for (lane, time) in times.iter().enumerate() {
            for k in 0..=JUDGED {
                let t = *time as usize + k;
                for (to, from) in judged.features[k].iter_mut().zip(self.features[t]) {
                    to.set_lane(lane, from);
                }
                judged.value[k].set_lane(lane, self.returns[t]);
                judged.weight[k].set_lane(lane, if k < JUDGED { self.weight } else { 0.0 });
            }
        }
        judged
    }

    pub(super) fn td_targets(
        &self,
        times: &[u64],
        gamma: f32,
        values: &[S; JUDGED + 1],
    ) -> [S; JUDGED + 1] {
        let mut targets = *values;
        for k in 0..JUDGED {
            for (lane, time) in times.iter().enumerate() {
                targets[k].set_lane(lane, self.deviations[*time as usize + k + 1]);
            }
            targets[k] += S::splat(gamma) * values[k + 1];
        }
        targets
    }
}
