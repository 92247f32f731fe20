//! A fixed suite of policy evaluation in context, which any value function can enter: equal seeds give equal contexts on every
//! machine. Each context has [`LEN`] transitions of one fresh task with [`DIM`] features, for the discount [`GAMMA`].

use crate::estimator::{Estimator, Method, on_large_stack};
use crate::parameters::Universal;
use crate::universal::Family;
use compute::capacity::{STATES, TILES};
use compute::transitions::{EpisodeEnd, Transitions};
use compute::words;
use ictd_core::linalg::zeros;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::scalar::Real;
use ictd_core::tasks::{CartPole, CartPoleDistribution, Mrp, Task, TaskDistribution as _};
use ictd_core::transition::Transition;
use ictd_core::{Error, Result};
use nalgebra::{SMatrix, SVector};
use serde::Serialize;

pub const DIM: usize = 4;
pub const GAMMA: f64 = 0.9;
pub const LEN: usize = 100;

/// The error that a context counts as at most, and as which divergence counts, relative to predicting 0.
pub const WORST: f64 = 10.0;

/// The states of a task with infinitely many whose values are asked, the steps between them, and the steps of a return, after
/// which a reward has a weight below 1e-4.
const ASKED: usize = 20;
const APART: usize = 5;
const HORIZON: usize = 90;
/// The number of returns of a state of CartPole whose mean is its value.
const ROLLOUTS: usize = 64;

/// The half width of a 90 % interval in standard errors.
const NINETY: f64 = 1.645;

/// A task of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchTask {
    /// Boyan's chain with random rewards (Algorithm 2).
    Boyan,
    /// Boyan's chain whose values the features represent (Algorithm 3).
    Representable,
    /// A random MDP of 10 states in which each of three actions leads to at most three, and a random policy.
    Garnet,
    /// A walk on 5 x 5 cells with two cells that reward and carry the walker elsewhere (Sutton and Barto, Example 3.5); the
    /// features are 1, x, y and x y.
    Gridworld,
    /// CartPole with random features (Algorithm 4); values are means of returns.
    CartPole,
    /// The random MDP, observed under another policy than the one that is evaluated: with importance ratios.
    OffPolicy,
    /// A log of a pendulum under a noisy controller; the features are cos, sin, the speed and 1, and values the returns that
    /// followed later in the log.
    Log,
}

words!(BenchTask {
    Boyan = "boyan",
    Representable = "representable",
    Garnet = "garnet",
    Gridworld = "gridworld",
    CartPole = "cartpole",
    OffPolicy = "off-policy",
    Log = "log",
});

/// A context in a fresh task, and the states whose values are asked.
#[derive(Clone, Debug)]
pub struct BenchContext {
    pub transitions: Transitions,
    /// phi of each state, (m, d).
    pub states: Vec<f64>,
    /// The weight of each state in the error, (m).
    pub weights: Vec<f64>,
    /// The true values, (m).
    pub values: Vec<f64>,
}

/// An error relative to that of predicting 0, with its 90 % interval over contexts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Score {
    /// Returns the mean over tasks, whose contexts are independent.
    pub fn over_tasks(scores: &[Score]) -> Self {
        let count = scores.len() as f64;
        let half = scores.iter().map(|of| (of.high - of.low) / 2.0);
        let half = half.map(|x| x * x).sum::<f64>().sqrt() / count;
        let mean = scores.iter().map(|of| of.mean).sum::<f64>() / count;
        Score { mean, low: mean - half, high: mean + half }
    }
}

type Process = Mrp<f64, DIM, STATES>;

impl BenchTask {
    /// Returns the seed of each of `count` contexts.
    pub fn seeds(self, count: usize, seed: u64) -> Vec<u64> {
        let rng = &mut Rng::stream(seed ^ (self as u64) << 32, RngStream::Evaluation);
        (0..count).map(|_| rng.next_u64()).collect()
    }

    /// Draws the context of a seed.
    /// Returns the core's error for a task that cannot be drawn.
    pub fn context(self, seed: u64) -> Result<BenchContext> {
        let rng = &mut Rng::new(seed);
        match self {
            BenchTask::Boyan => observed(&Family::Boyan.draw(DIM, GAMMA, rng)?, rng),
            BenchTask::Representable => {
                observed(&Family::BoyanRepresentable.draw(DIM, GAMMA, rng)?, rng)
            }
            BenchTask::Gridworld => observed(&gridworld(rng)?, rng),
            BenchTask::Garnet => garnet(false, rng),
            BenchTask::OffPolicy => garnet(true, rng),
            BenchTask::CartPole => cart_pole(rng),
            BenchTask::Log => Ok(pendulum(rng)),
        }
    }
}

fn push(to: &mut Transitions, t: &Transition<f64, DIM>, rho: Option<f64>) {
    to.d = DIM;
    to.from.push(to.reward.len());
    to.phi.extend(t.phi.iter());
    to.reward.push(t.reward);
    to.phi_next.extend(t.phi_next.iter());
    to.marks.push(EpisodeEnd::Continues);
    if let Some(rho) = rho {
        to.rho.get_or_insert_default().push(rho);
    }
}

/// Returns the context, with the values of `task` and the weights of the process that is observed.
fn known(transitions: Transitions, task: &Process, weights: &Process) -> Result<BenchContext> {
    let (m, values) = (task.states(), task.true_value(GAMMA)?);
    let weights = weights.stationary_distribution()?;
    Ok(BenchContext {
        transitions,
        states: task.feature_map()[..m].iter().flat_map(|phi| phi.iter().copied()).collect(),
        weights: weights.iter().take(m).map(|w| w.max(0.0)).collect(),
        values: values.iter().take(m).copied().collect(),
    })
}

fn observed(task: &Process, rng: &mut Rng) -> Result<BenchContext> {
    let (mut transitions, mut state) = (Transitions::default(), task.initial_state(rng));
    (0..LEN).for_each(|_| push(&mut transitions, &task.transition(&mut state, rng), None));
    known(transitions, task, task)
}

/// Returns n random probabilities.
fn distribution<const N: usize>(rng: &mut Rng) -> [f64; N] {
    let shares: [f64; N] = std::array::from_fn(|_| rng.uniform_in(0.05, 1.0));
    let sum: f64 = shares.iter().sum();
    shares.map(|share| share / sum)
}

fn uniform_over(states: usize) -> SVector<f64, STATES> {
    SVector::from_fn(|s, _| if s < states { 1.0 / states as f64 } else { 0.0 })
}

/// Draws a random MDP, and observes it under the policy that is evaluated, or under another one.
fn garnet(is_off_policy: bool, rng: &mut Rng) -> Result<BenchContext> {
    const M: usize = 10;
    const ACTIONS: usize = 3;
    const BRANCHES: usize = 3;
    // The next states of each state and action, with their probabilities.
    let mut leads = |_| std::array::from_fn(|_| (rng.below(M as u32) as usize, 0.0));
    let mut next: [[[(usize, f64); BRANCHES]; ACTIONS]; M] =
        std::array::from_fn(|_| std::array::from_fn(&mut leads));
    for branches in next.as_flattened_mut() {
        let shares = distribution::<BRANCHES>(rng);
        branches.iter_mut().zip(shares).for_each(|(branch, share)| branch.1 = share);
    }
    let mut policy = || -> [[f64; ACTIONS]; M] { std::array::from_fn(|_| distribution(rng)) };
    let target = policy();
    let behaviour = if is_off_policy { policy() } else { target };
    let reward = SVector::from_fn(|s, _| if s < M { rng.uniform_in(-1.0, 1.0) } else { 0.0 });
    let phi = SMatrix::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
    let process = |policy: &[[f64; ACTIONS]; M]| -> Result<Process> {
        let mut p = SMatrix::<f64, STATES, STATES>::zeros();
        for (s, (actions, chances)) in next.iter().zip(policy).enumerate() {
            for (branches, chance) in actions.iter().zip(chances) {
                branches.iter().for_each(|(to, share)| p[(s, *to)] += chance * share);
            }
        }
        Mrp::new(M, &uniform_over(M), &p, &reward, &phi)
    };
    let (task, acting) = (process(&target)?, process(&behaviour)?);
    let (mut transitions, mut s) = (Transitions::default(), rng.below(M as u32) as usize);
    for _ in 0..LEN {
        let action = rng.categorical(behaviour[s]);
        let branches = next[s][action];
        let to = branches[rng.categorical(branches.map(|(_, share)| share))].0;
        let [phi, phi_next] = [s, to].map(|s| task.feature_map()[s]);
        let t = Transition { phi, reward: reward[s], phi_next };
        let rho = target[s][action] / behaviour[s][action];
        push(&mut transitions, &t, is_off_policy.then_some(rho));
        s = to;
    }
    known(transitions, &task, &acting)
}

fn gridworld(rng: &mut Rng) -> Result<Process> {
    const SIDE: usize = 5;
    const CELLS: usize = SIDE * SIDE;
    /// What a step against the wall, and the two cells, give.
    const WALL: f64 = -0.1;
    const CELL: [f64; 2] = [1.0, 0.5];
    let directions: [f64; 4] = distribution(rng);
    let mut cell = || rng.below(CELLS as u32) as usize;
    let from = CELL.map(|_| cell());
    // Each leads to an ordinary cell, so that no part of the world is closed. The first one counts if both are one.
    let mut ordinary = || loop {
        let to = cell();
        if !from.contains(&to) {
            return to;
        }
    };
    let special = [0, 1].map(|i| (from[i], ordinary(), CELL[i]));
    let (mut p, mut reward) = (SMatrix::<f64, STATES, STATES>::zeros(), zeros::<f64, STATES, 1>());
    for s in 0..CELLS {
        if let Some((_, to, gain)) = special.iter().find(|(from, ..)| *from == s) {
            (p[(s, *to)], reward[s]) = (1.0, *gain);
            continue;
        }
        let (x, y) = (s % SIDE, s / SIDE);
        let steps = [(x + 1, y), (x.wrapping_sub(1), y), (x, y + 1), (x, y.wrapping_sub(1))];
        for ((x, y), chance) in steps.into_iter().zip(directions) {
            let is_inside = x < SIDE && y < SIDE;
            p[(s, if is_inside { y * SIDE + x } else { s })] += chance;
            reward[s] += if is_inside { 0.0 } else { WALL * chance };
        }
    }
    let at = |along: usize| 2.0 * along as f64 / (SIDE - 1) as f64 - 1.0;
    let phi = SMatrix::from_fn(|i, s| {
        let (x, y) = (at(s % SIDE), at(s / SIDE % SIDE));
        [1.0, x, y, x * y][i]
    });
    Mrp::new(CELLS, &uniform_over(CELLS), &p, &reward, &phi)
}

/// Returns the context with states of equal weights.
fn asked(transitions: Transitions, states: Vec<f64>, values: Vec<f64>) -> BenchContext {
    let weights = vec![1.0 / values.len() as f64; values.len()];
    BenchContext { transitions, states, weights, values }
}

fn cart_pole(rng: &mut Rng) -> Result<BenchContext> {
    let tasks =
        CartPoleDistribution::<TILES> { tilings: 4, tiles: 2, authors_variant: false, dim: DIM };
    let task: CartPole<f64, DIM, TILES> = tasks.draw(GAMMA, rng)?;
    let (mut transitions, mut state) = (Transitions::default(), task.initial_state(rng));
    (0..LEN).for_each(|_| push(&mut transitions, &task.transition(&mut state, rng), None));
    let (mut states, mut values) = (Vec::new(), Vec::new());
    for _ in 0..ASKED {
        (0..APART).for_each(|_| state = task.step(state, rng).1);
        states.extend(task.features(state).iter());
        let rollout = |_| {
            let (mut sum, mut weight, mut state) = (0.0, 1.0, state);
            for _ in 0..HORIZON {
                let (reward, next) = task.step(state, rng);
                sum += weight * reward;
                (weight, state) = (weight * GAMMA, next);
            }
            sum
        };
        values.push((0..ROLLOUTS).map(rollout).sum::<f64>() / ROLLOUTS as f64);
    }
    Ok(asked(transitions, states, values))
}

/// Draws a log of Gymnasium's pendulum under a noisy proportional controller, with rewards in [-1, 0].
fn pendulum(rng: &mut Rng) -> BenchContext {
    use std::f64::consts::PI;
    const RATE: f64 = 0.05;
    let gains = [rng.uniform_in(-4.0, 4.0), rng.uniform_in(-1.0, 1.0)];
    let (mut angle, mut speed) = (rng.uniform_in(-PI, PI), rng.uniform_in(-1.0, 1.0));
    let mut step = || {
        let (sin, cos) = (Real::sin(angle), Real::cos(angle));
        let torque = gains[0] * sin + gains[1] * speed + rng.uniform_in(-1.0, 1.0);
        let torque = torque.clamp(-2.0, 2.0);
        let cost = angle * angle + 0.1 * speed * speed + 0.001 * torque * torque;
        let phi = SVector::from([cos, sin, speed / 8.0, 1.0]);
        speed = (speed + RATE * (15.0 * sin + 3.0 * torque)).clamp(-8.0, 8.0);
        angle += RATE * speed;
        angle -= if angle > PI { 2.0 * PI } else { 0.0 };
        angle += if angle < -PI { 2.0 * PI } else { 0.0 };
        (phi, -cost / 16.3)
    };
    let rows: Vec<_> = (0..LEN + ASKED * APART + HORIZON).map(|_| step()).collect();
    let mut transitions = Transitions::default();
    for (row, next) in rows.iter().zip(&rows[1..]).take(LEN) {
        let t = Transition { phi: row.0, reward: row.1, phi_next: next.0 };
        push(&mut transitions, &t, None);
    }
    let later = || rows[LEN..].windows(HORIZON).step_by(APART).take(ASKED);
    let value = |of: &[(SVector<f64, DIM>, f64)]| {
        of.iter().rev().fold(0.0, |sum, (_, reward)| reward + GAMMA * sum)
    };
    let states = later().flat_map(|of| of[0].0.iter().copied()).collect();
    asked(transitions, states, later().map(value).collect())
}

/// The classical algorithms with one setting, and the universal model.
/// Returns the core's error for a model that cannot be made.
pub fn references() -> Result<Vec<(&'static str, Estimator)>> {
    let of = |method, layers| Estimator { method, gamma: GAMMA, layers };
    let universal = Universal::new(GAMMA)?;
    Ok(vec![
        ("TD(0)", of(Method::BatchTd { lambda: 0.0, alpha: 0.2 }, 15)),
        ("LSTD(0.9)", of(Method::Lstd { lambda: 0.9, ridge: 0.3 }, 0)),
        ("preconditioned TD", of(Method::PreconditionedTd { alpha: 2.4, beta: 0.44 }, 3)),
        ("universal", of(Method::Universal(Box::new(universal)), 1)),
    ])
}

/// Returns the values that an estimator predicts after a context; none if it diverges, or if its sums overflow.
/// Returns the core's other errors.
pub fn predicted(estimator: &Estimator, context: &BenchContext) -> Result<Vec<f64>> {
    let read = || {
        let mut stream = estimator.stream(DIM, None)?;
        stream.observe_all(&context.transitions)?;
        stream.values(&context.states)
    };
    match on_large_stack(read)? {
        Err(Error::Diverges | Error::NonFinite { .. }) => Ok(Vec::new()),
        found => found,
    }
}

/// Returns the weighted squared error of values, and that of predicting 0, at most [`WORST`] times as large; that is the error
/// of no values, too.
pub fn errors(context: &BenchContext, values: &[f64]) -> [f64; 2] {
    let of = context.values.iter().zip(&context.weights);
    let zero: f64 = of.clone().map(|(v, weight)| weight * v * v).sum();
    let error =
        of.zip(values).map(|((v, weight), own)| weight * (own - v) * (own - v)).sum::<f64>();
    let is_in_range = values.len() == context.values.len() && error < WORST * zero;
    [if is_in_range { error } else { WORST * zero }, zero]
}

/// Returns the sum of errors over that of predicting 0; its interval is that of a ratio of means.
pub fn score(errors: &[[f64; 2]]) -> Score {
    let count = errors.len() as f64;
    let [error, zero] = [0, 1].map(|at| errors.iter().map(|of| of[at]).sum::<f64>());
    let mean = error / zero;
    let rest = errors.iter().map(|[error, zero]| error - mean * zero);
    let squares = rest.map(|x| x * x).sum::<f64>();
    let half = NINETY * (squares * count / (count - 1.0)).sqrt() / zero;
    Score { mean, low: mean - half, high: mean + half }
}
