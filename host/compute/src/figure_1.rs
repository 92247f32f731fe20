//! Figure 1: how far the values of an estimator, or of an RNN, are from the true ones, on a fresh task, as its context
//! grows.

use crate::capacity::{FEW, STATES};
use crate::estimator::Estimator;
use crate::recipe::RnnInput;
use crate::settings::WordList;
use crate::shapes::rnn_value;
use ictd_core::Error;
use ictd_core::rng::Rng;
use ictd_core::tasks::{FiniteTask, FiniteTasks, Mrp, Task as _, TaskDistribution as _};
use ictd_core::transition::Transition;
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
    /// An RNN's parameters, for [`RNN_DIM`](crate::capacity::RNN_DIM) features.
    Rnn(RnnInput, &'a [f32]),
}

impl Evaluator<'_> {
    /// Returns the values of states, whose features are given row by row, after a trajectory.
    fn values(
        &self,
        setting: &Setting,
        trajectory: &[Transition<f64, FEW>],
        states: &[f64],
    ) -> Result<Vec<f64>, Error> {
        let Setting { dim, gamma, .. } = *setting;
        match self {
            Evaluator::Estimator(estimator) => {
                let mut stream = estimator.stream(dim, None)?;
                for t in trajectory {
                    let [phi, next] = [&t.phi, &t.phi_next].map(|phi| &phi.as_slice()[..dim]);
                    stream.observe(phi, t.reward, Some(next))?;
                }
                let mut values = Vec::new();
                stream.values(states, &mut values)?;
                Ok(values)
            }
            Evaluator::Rnn(input, parameters) => {
                let first = trajectory.first().map(|t| &t.phi);
                let features = first.into_iter().chain(trajectory.iter().map(|t| &t.phi_next));
                let single = |phi: &[f64]| phi.iter().map(|x| *x as f32).collect::<Vec<_>>();
                let features: Vec<_> =
                    features.flat_map(|phi| single(&phi.as_slice()[..dim])).collect();
                let rewards: Vec<_> = trajectory.iter().map(|t| t.reward as f32).collect();
                let (input, gamma) = (*input, gamma as f32);
                let value = |phi: &[f64]| {
                    rnn_value(input, parameters, &features, &rewards, gamma, &single(phi))
                };
                states.chunks_exact(dim).map(|phi| value(phi).map(f64::from)).collect()
            }
        }
    }
}

/// Returns the errors on the task of a seed.
/// Errors: the core's, for a task that there is not, and for values that leave the range of `f64`.
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
    let error = |v_hat: SVector<f64, STATES>| task.msve(&d, &v_hat, &v);
    let mut errors = Errors { zero: error(SVector::zeros()), ..Default::default() };
    // A start that nobody uses: the random numbers stay those of earlier editions.
    task.initial_state(&mut rng);
    for n in &setting.lengths {
        // A trajectory of its own, as in the authors' code.
        let mut state = task.initial_state(&mut rng);
        let trajectory: Vec<_> = (0..*n).map(|_| task.transition(&mut state, &mut rng)).collect();
        let values = evaluator.values(setting, &trajectory, &features)?;
        errors.at.push(error(SVector::from_fn(|s, _| values.get(s).copied().unwrap_or(0.0))));
        let sum = trajectory.iter().fold(0.0, |sum, t| t.reward + gamma * sum);
        errors.rewards.push(error(SVector::repeat(sum)));
    }
    Ok(errors)
}
