//! Control in context: SARSA whose critic is an [`Estimator`] of the transitions so far.
//!
//! The features of a state and an action are the state's in the action's block, phi(s, a) = e_a x(s). A transition is
//! (phi(S, A), R, phi(S', A')), so that the estimated value function is Q(s, a) = <w, phi(s, a)>: SARSA. With the greedy action
//! in place of A', online TD(0) is Q-learning.

mod random_mdp;

pub use random_mdp::RandomMdp;

use crate::estimator::{Estimator, Method};
use crate::parameters::Universal;
use ictd_core::Error;
use ictd_core::rng::Rng;
use random_mdp::{ACTIONS, GAMMA, STATES};

/// The numbers of steps after which a policy is scored.
pub const CHECKPOINTS: [usize; 6] = [50, 100, 200, 500, 1000, 2000];

/// The number of features of a state and an action.
const FEATURES: usize = STATES * ACTIONS;

#[derive(Clone, Debug)]
pub struct Critic {
    pub name: &'static str,
    pub settings: Vec<(&'static str, f64)>,
    /// The estimator, or `None` for the universal model.
    method: Option<Method>,
}

/// The retention per transition of the universal model's context, as the policy changes.
const RETENTION: f64 = 0.998;

/// Q-learning's name. It is online TD(0) with the greedy action's value as target.
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

/// Returns the greedy action in a state for weights w of Q(s, a), one block per action; ties are broken at random.
fn greedy(w: &[f64], state: usize, rng: &mut Rng) -> usize {
    let (mut best, mut largest, mut ties) = (0, f64::NEG_INFINITY, 0);
    for (action, block) in w.chunks_exact(STATES).enumerate() {
        ties = if block[state] == largest { ties + 1 } else { 1 };
        if block[state] > largest || block[state] == largest && rng.below(ties) == 0 {
            (best, largest) = (action, block[state]);
        }
    }
    best
}

/// Runs a critic's epsilon-greedy policy in a random MDP, and returns the score of its greedy policy at each checkpoint: 0 for
/// the random policy, 1 for the best.
/// Returns the core's error for an MDP without a solution, and for a value that cannot be observed.
pub fn shares(critic: &Critic, seed: u64) -> Result<Vec<f64>, Error> {
    let mut rng = Rng::new(seed);
    let mdp = RandomMdp::draw(&mut rng)?;
    let (method, retention, interval) = match critic.method.clone() {
        // It is read every 20 steps.
        None => (Method::Universal(Box::new(Universal::new(GAMMA)?)), Some(RETENTION), 20),
        Some(method) => (method, None, 1),
    };
    let mut stream = Estimator { method, gamma: GAMMA, layers: 1 }.stream(FEATURES, retention)?;

    let mut w = vec![0.0; FEATURES];
    let act = |w: &[f64], state: usize, n: usize, rng: &mut Rng| {
        let (greedy, random_steps) = (greedy(w, state, rng), 10.0 * FEATURES as f64);
        let epsilon = f64::max(0.05, random_steps / (random_steps + n as f64));
        let explores = rng.uniform::<f64>() < epsilon;
        (greedy, if explores { rng.below(ACTIONS as u32) as usize } else { greedy })
    };
    let phi = |state: usize, action: usize| {
        std::array::from_fn::<_, FEATURES, _>(|i| f64::from(i == action * STATES + state))
    };
    let mut state = rng.below(STATES as u32) as usize;
    let (_, mut action) = act(&w, state, 0, &mut rng);
    let mut shares = Vec::new();
    for n in 1..=CHECKPOINTS.last().copied().unwrap_or(0) {
        let (reward, next) = mdp.step(state, action, &mut rng);
        let (greedy, taken) = act(&w, next, n, &mut rng);
        let target = if critic.name == Q_LEARNING { greedy } else { taken };
        stream.observe(&phi(state, action), reward, Some(&phi(next, target)), 1.0)?;
        let is_scored = CHECKPOINTS.contains(&n);
        // Without weights (a system without a solution, weights that overflow) w does not change.
        if (is_scored || n % interval == 0)
            && let Ok(Some(values)) = stream.linear()
        {
            // (The level is that of all actions.)
            w = values.weights;
        }
        if is_scored {
            shares.push(mdp.share(&w));
        }
        (state, action) = (next, taken);
    }
    Ok(shares)
}
