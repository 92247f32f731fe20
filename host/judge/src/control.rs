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

pub struct ControlTask {
    pub name: &'static str,
    pub checkpoints: &'static [usize],
    pub shares: fn(&Critic, u64) -> Result<Vec<f64>, Error>,
}

impl ControlTask {
    pub const ALL: [Self; 3] =
        [Self::of::<RandomMdp>(), Self::of::<CartPole>(), Self::of::<MountainCar>()];

    const fn of<E: Environment>() -> Self {
        ControlTask { name: E::NAME, checkpoints: E::CHECKPOINTS, shares: shares::<E> }
    }
}

#[derive(Clone, Debug)]
pub struct Critic {
    pub name: &'static str,
    pub settings: Vec<(&'static str, f64)>,
    /// The estimator, with a step size in units of 1 / |x|^2, or `None` for the universal model.
    method: Option<Method>,
}

/// The retention per transition of the universal model's context, as the policy changes.
const RETENTION: f64 = 0.998;

/// Q-learning's name. It is online TD(0) with the greedy action's value as target, and tabular on random MDPs.
const Q_LEARNING: &str = "q";

impl Critic {
    pub fn universal() -> Self {
        Critic { name: "universal", settings: vec![("retention", RETENTION)], method: None }
    }

    /// Returns the universal model, and Q-learning, SARSA(lambda) with true online TD(lambda), and recursive LSTD(lambda) with
    /// every setting that is tried.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::universal()];
        for alpha in [0.03, 0.1, 0.3, 1.0] {
            for (name, lambda) in [(Q_LEARNING, 0.0), ("td", 0.0), ("td", 0.9)] {
                let settings = vec![("lambda", lambda), ("alpha", alpha)];
                let true_online = name != Q_LEARNING;
                let method = Some(Method::OnlineTd { lambda, alpha, true_online });
                all.push(Critic { name, settings, method });
            }
        }
        for lambda in [0.0, 0.9] {
            for (ridge, retention) in [(0.1, 0.998), (1.0, 0.998), (0.1, 0.9998), (1.0, 0.9998)] {
                let settings = vec![("lambda", lambda), ("ridge", ridge), ("retention", retention)];
                let method = Some(Method::RecursiveLstd { lambda, ridge, retention });
                all.push(Critic { name: "lstd", settings, method });
            }
        }
        all
    }
}

/// Returns the greedy action for weights w of Q(s, a), one block per action, at a state with features x; ties are broken at
/// random.
pub fn greedy(w: &[f64], x: &[f64], rng: &mut Rng) -> usize {
    let (mut best, mut largest, mut ties) = (0, f64::NEG_INFINITY, 0);
    for (a, block) in w.chunks_exact(x.len()).enumerate() {
        let value: f64 = block.iter().zip(x).map(|(w, x)| w * x).sum();
        ties = if value == largest { ties + 1 } else { 1 };
        if value > largest || value == largest && rng.below(ties) == 0 {
            (best, largest) = (a, value);
        }
    }
    best
}

/// Runs a critic's epsilon-greedy policy in a task, and returns the score of its greedy policy at each checkpoint: 0 for the
/// random policy, 1 for the best.
/// Returns the core's error for an MDP without a solution, and for a value that cannot be observed.
pub fn shares<E: Environment>(critic: &Critic, seed: u64) -> Result<Vec<f64>, Error> {
    let mut rng = Rng::new(seed);
    let mut environment = E::draw(&mut rng)?;
    let (m, d, gamma) = (E::FEATURES, E::FEATURES * E::ACTIONS, E::GAMMA);
    let (method, retention, interval) = match critic.method.clone() {
        // It is read every 20 steps, and at the end of each episode.
        None => (Method::Universal(Box::new(Universal::pretrained(gamma)?)), Some(RETENTION), 20),
        Some(mut method) => {
            if let Method::OnlineTd { alpha, .. } = &mut method {
                *alpha /= E::SQUARE;
            }
            (method, None, 1)
        }
    };
    let mut stream = Estimator { method, gamma, layers: 1 }.stream(d, retention)?;

    let mut w = vec![0.0; d];
    let act = |w: &[f64], x: &[f64], n: usize, rng: &mut Rng| {
        let (greedy, random_steps) = (greedy(w, x, rng), 10.0 * d as f64);
        let epsilon = f64::max(0.05, random_steps / (random_steps + n as f64));
        let explores = rng.uniform::<f64>() < epsilon;
        (greedy, if explores { rng.below(E::ACTIONS as u32) as usize } else { greedy })
    };
    let (mut x, mut next) = (vec![0.0; m], vec![0.0; m]);
    let (mut phi, mut phi_next) = (vec![0.0; d], vec![0.0; d]);
    let put = |phi: &mut [f64], x: &[f64], action: usize| {
        phi.fill(0.0);
        phi[action * m..][..m].copy_from_slice(x);
    };
    let (mut shares, mut steps, mut begins, mut action) = (Vec::new(), 0, true, 0);
    for n in 1..=E::CHECKPOINTS.last().copied().unwrap_or(0) {
        if begins {
            environment.reset(&mut rng);
            environment.observe(&mut x);
            (_, action) = act(&w, &x, n - 1, &mut rng);
            steps = 0;
        }
        let (reward, is_terminal) = environment.step(action, &mut rng);
        environment.observe(&mut next);
        let (greedy, taken) = act(&w, &next, n, &mut rng);
        put(&mut phi, &x, action);
        let target = if critic.name == Q_LEARNING { greedy } else { taken };
        put(&mut phi_next, &next, target);
        stream.observe(&phi, reward, Some(&phi_next[..]).filter(|_| !is_terminal), 1.0)?;
        steps += 1;
        begins = is_terminal || steps == E::LONGEST;
        if begins {
            stream.end_episode();
        }
        let is_judged = E::CHECKPOINTS.contains(&n);
        // Without weights (a system without a solution, weights that overflow) w does not change.
        if (begins || is_judged || n % interval == 0)
            && let Ok(Some(weights)) = stream.weights()
        {
            w = weights;
        }
        if is_judged {
            shares.push(environment.share(&w));
        }
        action = taken;
        std::mem::swap(&mut x, &mut next);
    }
    Ok(shares)
}
