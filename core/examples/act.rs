//! An agent learns to act in memory that does not grow: SARSA, whose critic is the universal model, on a river against whose
//! current it must swim.
//!
//! ```sh
//! cargo run -p ictd-core --example act --features research
//! ```

use ictd_core::context::Forgetting;
use ictd_core::mask::Td0Trace;
use ictd_core::rng::Rng;
use ictd_core::{Context, Error, UniversalModel};

const STATES: usize = 5;
const ACTIONS: usize = 2;
const D: usize = STATES * ACTIONS;

/// Returns the probabilities of drifting down, staying and coming forward, and the reward: action 0 drifts down the river,
/// action 1 swims. Only swimming at the upper end is paid.
fn river(state: usize, action: usize) -> ([f32; 3], f32) {
    match action {
        0 => ([1.0, 0.0, 0.0], 0.0),
        _ => ([0.1, 0.3, 0.6], if state == STATES - 1 { 1.0 } else { 0.0 }),
    }
}

/// Returns a feature for each state and action.
fn features(state: usize, action: usize) -> [f32; D] {
    std::array::from_fn(|i| if i == action * STATES + state { 1.0 } else { 0.0 })
}

/// Returns the greedy action for weights w of Q(s, a) = m + <w, phi(s, a)>, whose level m is that of all actions; a random one
/// for equal values.
fn greedy(w: &[f32; D], state: usize, rng: &mut Rng) -> usize {
    let (drift, swim) = (w[state], w[STATES + state]);
    if drift == swim { rng.below(ACTIONS as u32) as usize } else { usize::from(swim > drift) }
}

fn main() -> Result<(), Error> {
    let model = UniversalModel::<f32>::new(0.95)?;
    let mut context: Context<D, Td0Trace, Forgetting> = model.forgetting(0.998)?;
    println!("context: {} bytes, whatever its length", size_of_val(&context));
    let (mut rng, mut w, mut rewards) = (Rng::new(1), [0.0; D], 0.0);
    let (mut state, mut action) = (0, 0);
    for n in 1..=3_000 {
        let (probabilities, reward) = river(state, action);
        let places = [state.saturating_sub(1), state, (state + 1).min(STATES - 1)];
        let next = places[rng.categorical(probabilities)];
        rewards += reward;
        // About ten random actions for each feature, and one in twenty at least.
        let epsilon = f32::max(0.05, (10 * D) as f32 / (10 * D + n) as f32);
        let explores = rng.uniform::<f32>() < epsilon;
        let next_action =
            if explores { rng.below(ACTIONS as u32) as usize } else { greedy(&w, next, &mut rng) };
        context.observe(&features(state, action), reward, &features(next, next_action))?;
        (state, action) = (next, next_action);
        if n % 10 == 0 {
            w = model.value_function(&context)?.weights.into();
        }
        if n % 500 == 0 {
            let policy: [usize; STATES] = std::array::from_fn(|s| greedy(&w, s, &mut rng));
            let words = policy.map(|action| ["drift", "swim"][action]).join(" ");
            println!("after {n} steps: {words}; mean reward {:.2}", rewards / 500.0);
            rewards = 0.0;
        }
    }
    Ok(())
}
