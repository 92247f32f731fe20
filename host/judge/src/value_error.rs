//! Figure 1: the value error of an estimator, or of an RNN, on a fresh task, as its context grows.

use crate::construction::Construction;
use crate::estimator::Estimator;
use crate::explained::AlgorithmStep;
use compute::capacity::{FEW, OWN, STATES};
use compute::mixture::{NamedTask, TaskMixture, draw_added};
use compute::recipe::RnnInput;
use compute::shapes::rnn_values;
use ictd_core::rng::Rng;
use ictd_core::tasks::{
    FiniteTaskDistribution, FiniteTaskKind, Mrp, Task as _, TaskDistribution as _,
};
use ictd_core::transition::Transition;
use ictd_core::{Error, Result};
use nalgebra::SVector;

/// The number of actions of an MDP, which the paper does not state.
const ACTIONS: usize = 3;

#[derive(Clone, Debug)]
pub struct ContextSweep {
    /// One finite distribution, or tasks given as data.
    pub task: TaskMixture,
    /// The number of features d, at most [`FEW`] for a named distribution.
    pub dim: usize,
    /// The fewest and the most states, at most [`STATES`].
    pub states: [usize; 2],
    pub gamma: f64,
    /// The context lengths; each context is a separate trajectory.
    pub lengths: Vec<usize>,
}

/// Mean squared value errors on a task.
#[derive(Clone, Debug, Default)]
pub struct ValueErrors {
    /// The predictor's error after each length.
    pub at: Vec<f64>,
    /// The errors of predicting the discounted sum of the rewards seen, the latest first, for every state.
    pub rewards: Vec<f64>,
    /// The error of predicting 0.
    pub zero: f64,
}

#[derive(Clone, Debug)]
pub enum ValuePredictor<'a> {
    /// An estimator for the tasks' number of features.
    Estimator(Estimator),
    /// An RNN's parameters.
    Rnn(RnnInput, &'a [f32]),
}

impl ValuePredictor<'_> {
    /// Returns the values of states, (m, d), after a trajectory of features, (n + 1, d), and rewards, (n).
    fn values(
        &self,
        sweep: &ContextSweep,
        features: &[f64],
        rewards: &[f64],
        states: &[f64],
    ) -> Result<Vec<f64>> {
        match self {
            ValuePredictor::Estimator(estimator) => {
                Ok(estimator.after(sweep.dim, features, rewards)?.raw(states)?.1)
            }
            ValuePredictor::Rnn(input, parameters) => {
                let single = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<_>>();
                let [features, rewards, states] = [features, rewards, states].map(single);
                let gamma = sweep.gamma as f32;
                let values = rnn_values(*input, parameters, &features, &rewards, gamma, &states)?;
                Ok(values.into_iter().map(f64::from).collect())
            }
        }
    }
}

/// Returns the errors on the task of a seed.
/// Returns the core's error for a task that cannot be drawn, and for values that leave the range of `f64`.
pub fn errors(sweep: &ContextSweep, predictor: &ValuePredictor, seed: u64) -> Result<ValueErrors> {
    let mut rng = Rng::new(seed);
    if let Some(own) = sweep.task.own() {
        let arrays = own.mrps().map_err(|_| Error::Empty { parameter: "task" })?;
        let one = rng.below(arrays.count() as u32) as usize;
        return errors_on::<OWN, OWN>(sweep, predictor, &arrays.task(one)?, &mut rng);
    }
    if let Some(NamedTask::Added(family)) = sweep.task.named().first() {
        let states = draw_states(sweep, &mut rng);
        let arrays = draw_added(*family, states, sweep.dim, sweep.gamma, &mut rng)?;
        return errors_on::<OWN, OWN>(sweep, predictor, &arrays.task(0)?, &mut rng);
    }
    errors_on(sweep, predictor, &draw(sweep, &mut rng)?, &mut rng)
}

fn draw_states(sweep: &ContextSweep, rng: &mut Rng) -> usize {
    let [fewest, most] = sweep.states;
    fewest + rng.below((most - fewest + 1) as u32) as usize
}

fn errors_on<const D: usize, const M: usize>(
    sweep: &ContextSweep,
    predictor: &ValuePredictor,
    task: &Mrp<f64, D, M>,
    rng: &mut Rng,
) -> Result<ValueErrors> {
    let (dim, gamma, states) = (sweep.dim, sweep.gamma, task.states());
    let (d, v) = (task.stationary_distribution()?, task.true_value(gamma)?);
    let phi = |phi: &SVector<f64, D>| phi.as_slice()[..dim].to_vec();
    let of_states: Vec<f64> = task.feature_map()[..states].iter().flat_map(phi).collect();
    let error = |v_hat: SVector<f64, M>| task.msve(&d, &v_hat, &v);
    let mut errors = ValueErrors { zero: error(SVector::zeros()), ..Default::default() };
    // An unused start, which keeps the order of the random numbers.
    task.initial_state(rng);
    for n in &sweep.lengths {
        let trajectory = trajectory(task, *n, rng);
        let mut features = trajectory.first().map_or(Vec::new(), |t| phi(&t.phi));
        features.extend(trajectory.iter().flat_map(|t| phi(&t.phi_next)));
        let rewards: Vec<f64> = trajectory.iter().map(|t| t.reward).collect();
        let values = predictor.values(sweep, &features, &rewards, &of_states)?;
        errors.at.push(error(SVector::from_fn(|s, _| values.get(s).copied().unwrap_or(0.0))));
        let sum = trajectory.iter().fold(0.0, |sum, t| t.reward + gamma * sum);
        errors.rewards.push(error(SVector::repeat(sum)));
    }
    Ok(errors)
}

/// Draws a new trajectory of n transitions, as in the authors' code.
fn trajectory<const D: usize, const M: usize>(
    task: &Mrp<f64, D, M>,
    n: usize,
    rng: &mut Rng,
) -> Vec<Transition<f64, D>> {
    let mut state = task.initial_state(rng);
    (0..n).map(|_| task.transition(&mut state, rng)).collect()
}

fn draw(sweep: &ContextSweep, rng: &mut Rng) -> Result<Mrp<f64, FEW, STATES>> {
    let ContextSweep { dim, gamma, .. } = *sweep;
    let states = draw_states(sweep, rng);
    let spec = sweep.task.named().first().and_then(NamedTask::spec);
    let kind = match spec.and_then(|spec| spec.finite(ACTIONS)) {
        // As in the authors' code.
        Some(FiniteTaskKind::Loop { .. }) => {
            FiniteTaskKind::Loop { threshold: rng.uniform_in(0.1, 0.9) }
        }
        Some(kind) => kind,
        None => return Err(Error::OutOfRange { parameter: "task", expected: "a finite task" }),
    };
    FiniteTaskDistribution { kind, states, dim }.draw(gamma, rng)
}

/// The largest error relative to that of predicting 0; larger ones count as divergence.
pub const DIVERGED: f64 = 1e6;

/// Returns the error on the task of a seed divided by that of predicting 0, after the longest context; at most [`DIVERGED`].
/// Returns the core's error for a task that cannot be drawn.
pub fn over_zero(sweep: &ContextSweep, predictor: &ValuePredictor, seed: u64) -> Result<f64> {
    match errors(sweep, predictor, seed) {
        Ok(ValueErrors { at, zero, .. }) => {
            Ok(at.last().map_or(f64::NAN, |error| (error / zero).min(DIVERGED)))
        }
        Err(Error::NonFinite { .. }) => Ok(DIVERGED),
        Err(error) => Err(error),
    }
}

/// Returns, for each context length in the task of a seed, the asymptotic factor between the steps of w of successive layers of
/// Theorem 1 with C = alpha I: the spectral radius of I - alpha A on the subspace that b excites. The layers converge, to A w =
/// b, if and only if it is below 1.
/// Returns the core's error for a task that cannot be drawn.
pub fn step_growth(sweep: &ContextSweep, alpha: f64, seed: u64) -> Result<Vec<f64>> {
    /// The number of steps, and of the last steps whose mean growth is the largest eigenvalue's modulus.
    const STEPS: usize = 5000;
    const LAST: usize = 1 << ROOTS;
    const ROOTS: usize = 10;
    let mut rng = Rng::new(seed);
    let task = draw(sweep, &mut rng)?;
    task.initial_state(&mut rng);
    let growth = |n: &usize| {
        let context = trajectory(&task, *n, &mut rng);
        let td = AlgorithmStep::new((Construction::TdLambda, 0.0), &context, sweep.gamma)?;
        // Outside the span of the features I - alpha A has the eigenvalue 1: project, so that rounding does not bring it in.
        let mut basis: Vec<SVector<f64, FEW>> = Vec::new();
        for t in &context {
            let rest = basis.iter().fold(t.phi, |rest, q| rest - q * q.dot(&rest));
            if rest.norm() > 1e-9 * t.phi.norm() {
                basis.push(rest / rest.norm());
            }
        }
        let mut step = td.b / td.b.norm();
        let mut product = 1.0;
        for k in 0..STEPS {
            step -= td.a * step * alpha;
            step = basis.iter().fold(SVector::zeros(), |kept, q| kept + q * q.dot(&step));
            let size = step.norm();
            step /= size;
            product *= if k + LAST >= STEPS { size } else { 1.0 };
        }
        Ok((0..ROOTS).fold(product, |x, _| x.sqrt()))
    };
    sweep.lengths.iter().map(growth).collect()
}
