//! Control in context: SARSA whose critic is an [`Estimator`] of the transitions so far.
//!
//! The features of a state and an action are the state's in the action's block, phi(s, a) = e_a x(s). A transition is
//! (phi(S, A), R, phi(S', A')), so that the estimated value function is Q(s, a) = <w, phi(s, a)>: SARSA. With the greedy action
//! in place of A', online TD(0) is Q-learning.

mod environments;

pub use environments::{CartPole, Environment, MountainCar, RandomMdp};

use crate::estimator::{Estimator, Method};
use crate::parameters::Universal;
use ictd_core::Error;
use ictd_core::rng::Rng;

/// A task of control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlTask {
    /// A random MDP for each seed, tabular.
    RandomMdp,
    /// CartPole-v1 with Fourier features.
    CartPole,
    /// MountainCar-v0 with Fourier features.
    MountainCar,
}

impl ControlTask {
    /// All tasks.
    pub const ALL: [Self; 3] = [Self::RandomMdp, Self::CartPole, Self::MountainCar];

    /// Returns the task's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RandomMdp => "random MDPs",
            Self::CartPole => "CartPole",
            Self::MountainCar => "MountainCar",
        }
    }

    fn gamma(self) -> f64 {
        if self == Self::RandomMdp { 0.9 } else { 0.99 }
    }

    /// Returns the numbers of steps after which a policy is evaluated.
    pub fn checkpoints(self) -> &'static [usize] {
        match self {
            Self::RandomMdp => &[50, 100, 200, 500, 1000, 2000],
            _ => &[500, 1000, 2000, 5000],
        }
    }

    fn environment(self, rng: &mut Rng) -> Result<Box<dyn Environment>, Error> {
        Ok(match self {
            Self::RandomMdp => Box::new(RandomMdp::draw(self.gamma(), rng)?),
            Self::CartPole => Box::new(CartPole::default()),
            Self::MountainCar => Box::new(MountainCar::default()),
        })
    }
}

/// A critic with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Critic {
    /// The universal model on a forgetting context.
    Universal,
    /// True online TD(lambda): SARSA(lambda). The step size is in units of 1 / |x|^2.
    OnlineTd { lambda: f64, alpha: f64 },
    /// Recursive LSTD(lambda).
    RecursiveLstd { lambda: f64, ridge: f64, retention: f64 },
    /// Q-learning, with a step size in units of 1 / |x|^2; tabular on random MDPs.
    QLearning { alpha: f64 },
}

/// The retention per transition of the universal model's context, as the policy changes.
const RETENTION: f64 = 0.998;

/// Steps between reads of the universal model, which is also read at the end of each episode.
const INTERVAL: usize = 20;

/// The smallest exploration rate epsilon.
const EPSILON: f64 = 0.05;

/// With n transitions and d features, epsilon is 10 d / (10 d + n), at least [`EPSILON`].
const RANDOM: f64 = 10.0;

impl Critic {
    /// Returns the universal model, and the other critics with every setting that is tried.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Critic::Universal];
        for alpha in [0.03, 0.1, 0.3, 1.0] {
            all.push(Critic::QLearning { alpha });
            all.extend([0.0, 0.9].map(|lambda| Critic::OnlineTd { lambda, alpha }));
        }
        for lambda in [0.0, 0.9] {
            for (ridge, retention) in [(0.1, 0.998), (1.0, 0.998), (0.1, 0.9998), (1.0, 0.9998)] {
                all.push(Critic::RecursiveLstd { lambda, ridge, retention });
            }
        }
        all
    }

    /// Returns the critic's name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Critic::Universal => "universal",
            Critic::OnlineTd { .. } => "td",
            Critic::RecursiveLstd { .. } => "lstd",
            Critic::QLearning { .. } => "q",
        }
    }

    /// Returns the critic's settings by name.
    pub fn settings(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Critic::Universal => vec![("retention", RETENTION)],
            Critic::OnlineTd { lambda, alpha } => vec![("lambda", lambda), ("alpha", alpha)],
            Critic::RecursiveLstd { lambda, ridge, retention } => {
                vec![("lambda", lambda), ("ridge", ridge), ("retention", retention)]
            }
            Critic::QLearning { alpha } => vec![("alpha", alpha)],
        }
    }

    fn method(&self, gamma: f64, square: f64) -> Result<Method, Error> {
        Ok(match *self {
            Critic::Universal => Method::Universal(Box::new(Universal::pretrained(gamma)?)),
            Critic::OnlineTd { lambda, alpha } => {
                Method::OnlineTd { lambda, alpha: alpha / square, true_online: true }
            }
            Critic::RecursiveLstd { lambda, ridge, retention } => {
                Method::RecursiveLstd { lambda, retention, ridge }
            }
            Critic::QLearning { alpha } => {
                Method::OnlineTd { lambda: 0.0, alpha: alpha / square, true_online: false }
            }
        })
    }
}

/// The weights w of Q(s, a), one block per action.
#[derive(Clone, Debug)]
pub struct ActionValues(pub Vec<f64>);

impl ActionValues {
    /// Returns the greedy action at a state with features x; ties are broken at random.
    pub fn greedy(&self, x: &[f64], rng: &mut Rng) -> usize {
        let (mut best, mut largest, mut ties) = (0, f64::NEG_INFINITY, 0);
        for (a, block) in self.0.chunks_exact(x.len()).enumerate() {
            let value: f64 = block.iter().zip(x).map(|(w, x)| w * x).sum();
            ties = if value == largest { ties + 1 } else { 1 };
            if value > largest || value == largest && rng.below(ties) == 0 {
                (best, largest) = (a, value);
            }
        }
        best
    }
}

/// Runs a critic's epsilon-greedy policy in a task, and returns the score of its greedy policy at each checkpoint: 0 for the
/// random policy, 1 for the best.
///
/// # Errors
/// Returns the core's error for an MDP without a solution, and for a value that cannot be observed.
pub fn shares(task: ControlTask, critic: Critic, seed: u64) -> Result<Vec<f64>, Error> {
    let mut rng = Rng::new(seed);
    let mut environment = task.environment(&mut rng)?;
    let (m, actions, gamma) = (environment.features(), environment.actions(), task.gamma());
    let d = m * actions;
    let method = critic.method(gamma, environment.square())?;
    let estimator = Estimator { method, gamma, layers: 1 };
    let retention = (critic == Critic::Universal).then_some(RETENTION);
    let interval = if retention.is_some() { INTERVAL } else { 1 };
    let mut stream = estimator.stream(d, retention)?;

    let mut values = ActionValues(vec![0.0; d]);
    let act = |values: &ActionValues, x: &[f64], n: usize, rng: &mut Rng| {
        let greedy = values.greedy(x, rng);
        let epsilon = f64::max(EPSILON, RANDOM * d as f64 / (RANDOM * d as f64 + n as f64));
        let explores = rng.uniform::<f64>() < epsilon;
        (greedy, if explores { rng.below(actions as u32) as usize } else { greedy })
    };
    let (mut x, mut next) = (vec![0.0; m], vec![0.0; m]);
    let (mut phi, mut phi_next) = (vec![0.0; d], vec![0.0; d]);
    let put = |phi: &mut [f64], x: &[f64], action: usize| {
        phi.fill(0.0);
        phi[action * m..][..m].copy_from_slice(x);
    };
    let (mut shares, mut steps, mut begins, mut action) = (Vec::new(), 0, true, 0);
    let checkpoints = task.checkpoints();
    for n in 1..=checkpoints.last().copied().unwrap_or(0) {
        if begins {
            environment.reset(&mut rng);
            environment.observe(&mut x);
            (_, action) = act(&values, &x, n - 1, &mut rng);
            steps = 0;
        }
        let (reward, is_terminal) = environment.step(action, &mut rng);
        environment.observe(&mut next);
        let (greedy, taken) = act(&values, &next, n, &mut rng);
        put(&mut phi, &x, action);
        let target = if matches!(critic, Critic::QLearning { .. }) { greedy } else { taken };
        put(&mut phi_next, &next, target);
        stream.observe(&phi, reward, Some(phi_next.as_slice()).filter(|_| !is_terminal))?;
        steps += 1;
        begins = is_terminal || steps == environment.longest();
        if begins {
            stream.end_episode();
        }
        let is_judged = checkpoints.contains(&n);
        // Without weights (a system without a solution, weights that overflow) the values do not change.
        if (begins || is_judged || n % interval == 0)
            && let Ok(Some(weights)) = stream.weights()
        {
            values.0 = weights;
        }
        if is_judged {
            shares.push(environment.share(&values));
        }
        action = taken;
        std::mem::swap(&mut x, &mut next);
    }
    Ok(shares)
}
