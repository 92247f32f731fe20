//! The demo, the same on the chip and on the host.

use crate::log::{decimals, log};
use ictd_core::digest::Digest;
use ictd_core::error::Error;
use ictd_core::model::ConstructionSettings;
use ictd_core::rng::Rng;
use ictd_core::tasks::{FiniteTaskKind, Mrp, Task};
use ictd_core::{Context, Model};

pub(crate) const GAMMA: f32 = 0.9;

/// (a) Theorem 1's weights: 15 iterations of TD(0) with step size 0.2, as in Figure 1.
pub(crate) const CONSTRUCTED: Model<4> =
    match Model::<4>::td0(ConstructionSettings::new(GAMMA).step_size(0.2).depth(15)) {
        Ok(model) => model,
        Err(_) => panic!("the step size, depth or gamma is out of range"),
    };

/// (b) Weights that the host trained: L = 3, 4000 Boyan's chains (README.md says how).
pub(crate) static TRAINED: [u8; include_bytes!("trained.ictd").len()] =
    *include_bytes!("trained.ictd");

/// The digest of everything that the demo computes, on every platform.
pub(crate) const EXPECTED: u64 =
    match u64::from_str_radix(include_str!("digest.txt").trim_ascii(), 16) {
        Ok(digest) => digest,
        Err(_) => panic!("digest.txt has a number"),
    };

/// A random policy evaluation task of Figure 1: 5 states, 4 actions.
type RandomMdp = Mrp<f32, 4, 5>;

pub(crate) fn task(rng: &mut Rng) -> Result<RandomMdp, Error> {
    FiniteTaskKind::RandomMdp { actions: 4 }.draw(5, 4, GAMMA, rng)
}

/// Shows Figure 1, live: the agent meets an unknown task, sees one transition after the other, and
/// predicts the value of its state better and better, with fixed weights.
pub(crate) fn figure_1(name: &str, model: &Model<4>, digest: &mut Digest) -> Result<(), Error> {
    log!("figure 1, {} weights, {} layers:", name, model.transformer().depth());
    let mut rng = Rng::new(2);
    let task = task(&mut rng)?;
    let (v, d) = (task.true_value(GAMMA)?, task.stationary_distribution()?);
    let mut context = Context::<4>::new();
    let mut state = task.initial_state(&mut rng);
    for n in 1..=100u32 {
        let transition = task.transition(&mut state, &mut rng);
        context.observe(&transition.phi, transition.reward, &transition.phi_next)?;
        let value = model.value_function(&context)?;
        let predicted = value.at(&task.features(state));
        let msve = task.msve(&d, &task.values_of(&value.weights), &v);
        digest.number(predicted);
        digest.number(msve);
        if [1, 2, 3, 5, 10, 20, 50, 100].contains(&n) {
            log!(
                "  context {} state {} value {} true {} MSVE {}",
                n,
                state as u32,
                decimals(predicted),
                decimals(v[state]),
                decimals(msve)
            );
        }
    }
    Ok(())
}

/// Shows the curve of Figure 1: the mean MSVE over random tasks falls as the context grows.
pub(crate) fn mean_msve(name: &str, model: &Model<4>, digest: &mut Digest) -> Result<(), Error> {
    const TASKS: u32 = 20;
    const LENGTHS: [u32; 4] = [5, 20, 50, 100];
    let mut mean = [0.0; LENGTHS.len()];
    for seed in 0..TASKS {
        let mut rng = Rng::new(seed.into());
        let task = task(&mut rng)?;
        let (v, d) = (task.true_value(GAMMA)?, task.stationary_distribution()?);
        let mut context = Context::<4>::new();
        let mut state = task.initial_state(&mut rng);
        for (mean, length) in mean.iter_mut().zip(LENGTHS) {
            while context.len() < length.into() {
                context.observe_transition(&task.transition(&mut state, &mut rng))?;
            }
            let value = model.value_function(&context)?;
            *mean += task.msve(&d, &task.values_of(&value.weights), &v) / TASKS as f32;
        }
    }
    for (mean, length) in mean.iter().zip(LENGTHS) {
        log!("  {} tasks, {} weights, context {}: MSVE {}", TASKS, name, length, decimals(*mean));
        digest.number(*mean);
    }
    Ok(())
}

/// Damages the stored model in each way that changes one bit or all bits of one byte; true if the
/// reader rejects all of them.
#[inline(never)]
pub(crate) fn damage() -> bool {
    let mut bytes = TRAINED;
    let (mut rejected, mut tried) = (0u32, 0u32);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
            bytes[at] ^= flip;
            tried += 1;
            rejected += u32::from(Model::<4>::from_bytes(&bytes).is_err());
            bytes[at] ^= flip;
        }
    }
    let intact = Model::<4>::from_bytes(&bytes).is_ok();
    log!(
        "stored model of {} bytes: {} of {} flips of a bit or byte rejected, {}",
        bytes.len() as u32,
        rejected,
        tried,
        if intact { "the intact model accepted" } else { "the intact model REJECTED" }
    );
    rejected == tried && intact
}
