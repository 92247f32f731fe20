//! Figure 1: how far the values of an estimator, or of an RNN, are from the true ones, on a fresh task, as its context
//! grows.

use crate::capacity::{FEW, RNN_DIM, STATES};
use crate::estimator::{Estimator, Stream};
use crate::recipe::RnnInput;
use crate::settings::WordList;
use crate::shapes::rnn_value;
use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::tasks::{FiniteTask, FiniteTasks, Mrp, Task as _, TaskDistribution as _};
use nalgebra::SVector;
use serde::{Deserialize, Serialize};

/// The actions of an MDP; the paper does not say how many.
const ACTIONS: usize = 3;

/// The distribution that tasks are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// A random MDP under a random policy (the paper's text)
    Mdp,
    /// The Loop MRP of the authors' code
    Loop,
    /// Boyan's chain with a representable value function (Algorithm 3)
    Boyan,
    /// Boyan's chain with random rewards (Algorithm 2)
    BoyanRandom,
}

impl TaskKind {
    /// The names of those that can be asked for.
    pub const WORDS: WordList = &["mdp", "loop", "boyan"];
}

/// The tasks, and the contexts in them.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The distribution.
    pub task: TaskKind,
    /// d, at most [`FEW`].
    pub dim: usize,
    /// The fewest and the most states, at most [`STATES`].
    pub states: [usize; 2],
    /// The discount.
    pub gamma: f64,
    /// The lengths of contexts, each of which is a trajectory of its own.
    pub lengths: Vec<usize>,
}

/// Mean squared value errors on a task.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// The evaluator's, after each length.
    pub at: Vec<f64>,
    /// Those of the discounted sum of the rewards seen, the latest first, for every state.
    pub rewards: Vec<f64>,
    /// The error of predicting 0.
    pub zero: f64,
}

/// A source of values after a context.
#[derive(Clone, Debug)]
pub enum Evaluator<'a> {
    /// An estimator of as many features as the tasks have.
    Estimator(Estimator),
    /// An RNN's parameters, for [`RNN_DIM`] features.
    Rnn(RnnInput, &'a [f32]),
}

/// The context that an evaluator has seen.
enum Seen<'a> {
    Stream(Box<dyn Stream>),
    Sequence(RnnInput, &'a [f32], Vec<SVector<f32, RNN_DIM>>, Vec<f32>),
}

fn single(phi: &[f64]) -> SVector<f32, RNN_DIM> {
    SVector::from_fn(|i, _| phi.get(i).map_or(0.0, |x| *x as f32))
}

impl Seen<'_> {
    fn clear(&mut self) {
        match self {
            Seen::Stream(stream) => stream.clear(),
            Seen::Sequence(_, _, features, rewards) => {
                features.clear();
                rewards.clear();
            }
        }
    }

    fn observe(&mut self, phi: &[f64], reward: f64, next: &[f64]) -> Result<(), Error> {
        match self {
            Seen::Stream(stream) => stream.observe(phi, reward, Some(next)),
            Seen::Sequence(_, _, features, rewards) => {
                if features.is_empty() {
                    features.push(single(phi));
                }
                features.push(single(next));
                rewards.push(reward as f32);
                Ok(())
            }
        }
    }

    /// Returns the values of states, whose features are given row by row.
    fn values(&self, states: &[f64], setting: &Setting) -> Result<Vec<f64>, Error> {
        let mut values = Vec::new();
        match self {
            Seen::Stream(stream) => stream.values(states, &mut values)?,
            Seen::Sequence(input, parameters, features, rewards) => {
                for phi in states.chunks_exact(setting.dim).map(single) {
                    let (input, gamma) = ((*input).into(), setting.gamma as f32);
                    let v = rnn_value(input, parameters, features, rewards, gamma, &phi)?;
                    values.push(v.into());
                }
            }
        }
        Ok(values)
    }
}

/// Returns the errors on the task of a seed.
///
/// # Errors
/// The core's: for a task that there is not, and for values that leave the range of `f64`.
pub fn errors(setting: &Setting, evaluator: &Evaluator, seed: u64) -> Result<Errors, Error> {
    let Setting { dim, gamma, states: [fewest, most], .. } = *setting;
    let mut rng = Rng::new(seed);
    let states = fewest + rng.below((most - fewest + 1) as u32) as usize;
    let kind = match setting.task {
        TaskKind::Mdp => FiniteTask::RandomMdp { actions: ACTIONS },
        TaskKind::Loop => FiniteTask::Loop { threshold: rng.uniform_in(0.1, 0.9) },
        TaskKind::Boyan => FiniteTask::BoyanChainRepresentable,
        TaskKind::BoyanRandom => FiniteTask::BoyanChain,
    };
    let task: Mrp<f64, FEW, STATES> = FiniteTasks { kind, states, dim }.draw(gamma, &mut rng)?;
    let (d, v) = (task.stationary_distribution()?, task.true_value(gamma)?);
    let features: Vec<f64> =
        task.feature_map()[..states].iter().flat_map(|phi| phi.iter().take(dim).copied()).collect();
    let mut seen = match evaluator {
        Evaluator::Estimator(estimator) => Seen::Stream(estimator.stream(dim, None)?),
        Evaluator::Rnn(input, parameters) => {
            Seen::Sequence(*input, parameters, Vec::new(), Vec::new())
        }
    };
    let error = |v_hat: SVector<f64, STATES>| task.msve(&d, &v_hat, &v);
    let mut errors = Errors { zero: error(SVector::zeros()), ..Default::default() };
    // A start that nobody uses: the random numbers stay those of earlier editions.
    task.initial_state(&mut rng);
    for n in &setting.lengths {
        // A trajectory of its own, as in the authors' code.
        seen.clear();
        let (mut state, mut sum) = (task.initial_state(&mut rng), 0.0);
        for _ in 0..*n {
            let t = task.transition(&mut state, &mut rng);
            let [phi, next] = [&t.phi, &t.phi_next].map(|phi| &phi.as_slice()[..dim]);
            seen.observe(phi, t.reward, next)?;
            sum = t.reward + gamma * sum;
        }
        let values = seen.values(&features, setting)?;
        errors.at.push(error(SVector::from_fn(|s, _| values.get(s).copied().unwrap_or(0.0))));
        errors.rewards.push(error(SVector::repeat(sum)));
    }
    Ok(errors)
}
