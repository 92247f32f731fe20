//! A chip that learns to act, in fixed memory: SARSA whose critic is the universal model, on a river against whose current it
//! must swim. The same program on the host prints the same lines without those about the chip.
//! Exit codes: 0; 1 if the digest is another than every platform's; 2 for an error; 3 over budget.
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[path = "../chip.rs"]
mod chip;
#[cfg(target_os = "none")]
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../log.rs"]
mod log;
#[cfg(target_os = "none")]
#[path = "../occupied.rs"]
mod occupied;

use ictd_core::UniversalModel;
use ictd_core::digest::Digest;
use ictd_core::rng::Rng;
use ictd_core::value_function::ClippedValueFunction;
use ictd_core::{Context, Error, context::Forgetting, mask::TwoTraces};
use log::{decimals, is_expected, log};

/// The digest of all action values that are read, on every platform.
const EXPECTED: u64 = 0x1cf3_8370_95f7_cbdc;

const GAMMA: f32 = 0.95;
const STATES: usize = 5;
const ACTIONS: usize = 2;
/// A feature for each state and action.
const D: usize = STATES * ACTIONS;
type Policy = [usize; STATES];
type Critic = Context<D, TwoTraces, Forgetting>;
type Values = ClippedValueFunction<f32, D>;

/// The number of steps, the steps between two readings of the values, and those between two lines of the log.
const STEPS: usize = 3_000;
const READ: usize = 10;
const SHOWN: usize = 500;

/// Returns the next states with their probabilities, and the reward: with action 0 it drifts down the river, with action 1 it
/// swims, and comes forward in three of five steps. Only swimming at the upper end is paid.
fn river(state: usize, action: usize) -> ([(usize, f32); 3], f32) {
    let (down, up) = (state.saturating_sub(1), (state + 1).min(STATES - 1));
    match action {
        0 => ([(down, 1.0), (state, 0.0), (up, 0.0)], 0.0),
        _ => ([(down, 0.1), (state, 0.3), (up, 0.6)], if up == state { 1.0 } else { 0.0 }),
    }
}

fn features(state: usize, action: usize) -> [f32; D] {
    core::array::from_fn(|i| if i == action * STATES + state { 1.0 } else { 0.0 })
}

/// Returns the better action in a state; a random one before a difference is known.
fn greedy(values: Option<&Values>, state: usize, rng: &mut Rng) -> usize {
    let q =
        |action| values.map_or(0.0, |values| values.value_function.at(&features(state, action)));
    if q(0) == q(1) { rng.below(ACTIONS as u32) as usize } else { usize::from(q(1) > q(0)) }
}

/// Returns the mean value over states of a policy, by iteration.
fn mean_value(policy: &Policy) -> f32 {
    let mut v = [0.0; STATES];
    for _ in 0..300 {
        v = core::array::from_fn(|s| {
            let (next, reward) = river(s, policy.get(s).copied().unwrap_or(0));
            let of = |(s, p): &(usize, f32)| p * v.get(*s).copied().unwrap_or(0.0);
            reward + GAMMA * next.iter().map(of).sum::<f32>()
        });
    }
    v.iter().sum::<f32>() / STATES as f32
}

/// What a step costs: to observe it, and to read the values.
#[cfg_attr(not(target_os = "none"), allow(dead_code))]
#[derive(Clone, Copy)]
enum Cost {
    Observe,
    Read,
}

/// Learns, and returns whether the digest of the action values is the expected one. `measure` runs the parts whose cost counts.
fn learn(mut measure: impl FnMut(Cost, &mut dyn FnMut())) -> Result<bool, Error> {
    let model = UniversalModel::<f32>::pretrained(GAMMA)?;
    let mut context: Critic = model.forgetting(0.998)?;
    let (mut rng, mut digest) = (Rng::new(1), Digest::EMPTY);
    let (mut values, mut rewards) = (None, 0.0);
    let (mut state, mut action) = (0, 0);
    for n in 1..=STEPS {
        let (next, reward) = river(state, action);
        let [down, stay, up] = next.map(|(_, p)| p);
        let following = next.get(rng.categorical([down, stay, up])).map_or(0, |(s, _)| *s);
        rewards += reward;
        let mut chosen = greedy(values.as_ref(), following, &mut rng);
        // Ten random actions per feature, and one in twenty at least.
        if rng.uniform::<f32>() < f32::max(0.05, (10 * D) as f32 / (10 * D + n) as f32) {
            chosen = rng.below(ACTIONS as u32) as usize;
        }
        let (phi, phi_next) = (features(state, action), features(following, chosen));
        let mut observed = Ok(());
        measure(Cost::Observe, &mut || observed = context.observe(&phi, reward, &phi_next));
        observed?;
        (state, action) = (following, chosen);
        if n % READ == 0 {
            let mut read = None;
            measure(Cost::Read, &mut || read = Some(model.value_function(&context)));
            let read = read.unwrap_or(Err(Error::Empty { parameter: "context" }))?;
            read.value_function.weights.iter().for_each(|w| digest.number(*w));
            values = Some(read);
        }
        if n % SHOWN == 0 {
            let policy: Policy =
                core::array::from_fn(|s| greedy(values.as_ref(), s, &mut Rng::new(1)));
            let [a, b, c, d, e] = policy.map(|action| if action == 1 { "swim" } else { "drift" });
            let (value, best) = (mean_value(&policy), mean_value(&[1; STATES]));
            let (share, mean) = (decimals(value / best), decimals(rewards / SHOWN as f32));
            log!("after {} steps: {} {} {} {} {}", n as u32, a, b, c, d, e);
            log!("  value over that of always swimming {}, mean reward {}", share, mean);
            rewards = 0.0;
        }
    }
    Ok(is_expected(digest, EXPECTED))
}

#[cfg(not(target_os = "none"))]
fn main() -> Result<std::process::ExitCode, Error> {
    Ok(std::process::ExitCode::from(u8::from(!learn(|_, run| run())?)))
}

/// The budgets, on the MPS2 board: instructions to observe and to read, bytes of flash and of stack.
#[cfg(target_os = "none")]
const BUDGETS: [u32; 4] = [4_600, 27_000, 37 * 1024, 9 * 1024];

#[cfg(target_os = "none")]
#[cortex_m_rt::entry]
fn main() -> ! {
    let mut most = [0; 2];
    let learned = chip::Counter::new().map(|mut counter| {
        learn(|cost, run| {
            let (_, ticks) = counter.measure(run);
            let most = &mut most[cost as usize];
            *most = ticks.max(*most);
        })
    });
    let Some(Ok(is_expected)) = learned else {
        defmt::error!("learning failed");
        chip::exit(2)
    };
    let [observe, read] = most;
    let found = [observe, read, occupied::flash(), chip::stack_used(None)];
    let [observe, read, flash, stack] = found;
    defmt::info!(
        "chip: at most {=u32} instructions to observe, {=u32} to read; context {=usize} bytes, flash {=u32}, stack {=u32}, static RAM {=u32}",
        observe,
        read,
        size_of::<Critic>(),
        flash,
        stack,
        occupied::static_ram()
    );
    let is_within = found.iter().zip(BUDGETS).all(|(found, most)| *found <= most);
    if chip::HAS_BUDGETS && !is_within {
        let [observe, read, flash, stack] = BUDGETS;
        defmt::error!(
            "chip: over budget: {=u32} and {=u32} instructions, {=u32} bytes of flash and {=u32} of stack are allowed",
            observe,
            read,
            flash,
            stack
        );
    }
    chip::finish(is_expected, is_within)
}
