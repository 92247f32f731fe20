//! What the device does from one loss of power to the next: it goes on training where its flash says, and at the end compares
//! what it has trained, on tasks that it has not seen, with weights that nobody trained.

use crate::console::line;
use core::ops::Range;
use ictd_core::digest::Digest;
use ictd_core::mask::{Mask, Td0};
use ictd_core::model::{ConstructionSettings, Linear};
use ictd_core::nalgebra::SVector;
use ictd_core::rng::Rng;
use ictd_core::tasks::{FiniteTaskDistribution, FiniteTaskKind, Mrp, Task, TaskDistribution};
use ictd_core::training::{
    BatchTdReference, LinearNetwork, LinearShape, MultiTaskTd, TrainerSettings,
};
use ictd_core::{Context, Error, Model, StoredError, UniversalModel};

const GAMMA: f32 = 0.9;
const DEPTH: u16 = 3;
const SHAPE: LinearShape<f32> = LinearShape::new(2, 1, DEPTH as usize);
const CONTEXT: usize = 8;

/// Boyan's chains of 5 states with 2 features.
type Chain = Mrp<f32, 2, 5>;
const CHAINS: FiniteTaskDistribution<5> =
    FiniteTaskDistribution { kind: FiniteTaskKind::BoyanChain, states: 5, dim: 2 };

/// What the network computes in, borrowed so that little is moved when it is made.
pub(crate) type Work = [f32; SHAPE.work_len()];
pub(crate) const NO_WORK: Work = [0.0; SHAPE.work_len()];
type Network<'a> = LinearNetwork<f32, [f32; SHAPE.parameter_len()], &'a mut Work>;

/// The trainer of the crate's README.
pub(crate) type Trainer<'a> = MultiTaskTd<f32, Network<'a>, FiniteTaskDistribution<5>, 2, 18>;

/// The RAM for training.
pub(crate) const BYTES: usize = size_of::<Trainer>() + size_of::<Work>();
const _: () = assert!(BYTES <= 5200, "over the budget");

/// A trainer after [`STORED_TASKS`] tasks, which `learner FILE` has trained.
const STORED: &[u8] = include_bytes!("trained.ictr");
pub(crate) const STORED_TASKS: u64 = 4000;

/// The tasks that it trains on in addition, and after how many it stores itself.
const TASKS: u64 = 12;
const TASKS_STORED: u64 = 4;

/// Bytes of a page of flash: more than a stored trainer has.
pub(crate) const PAGE: usize = 1024;

/// Two pages of flash. They keep what they have when the power is lost.
pub(crate) trait Flash {
    fn page(&self, page: usize) -> &[u8; PAGE];
    /// Erases a page: all its bits are 1.
    fn erase(&mut self, page: usize);
    /// Writes a word of a page that was erased.
    fn write(&mut self, page: usize, at: usize, word: u32);
}

/// How a time with power ends.
pub(crate) enum End {
    /// The power is lost while a trainer is written: the page has half of it.
    PowerLoss,
    Digest(u64),
}

/// Returns a trainer before its first task.
#[inline(never)]
pub(crate) fn trainer(work: &mut Work) -> Result<Trainer<'_>, Error> {
    let network = Network::new(SHAPE, [0.0; SHAPE.parameter_len()], work)?;
    let settings = TrainerSettings::default().context_len(CONTEXT).batch_size(8);
    Trainer::new(settings, CHAINS, network, BatchTdReference::new(SHAPE.depth, 0.0)?, &[1])
}

/// Runs the device from power on. `call` makes each call of the trainer, so that it can be measured.
pub(crate) fn run(
    flash: &mut impl Flash,
    mut call: impl FnMut(&mut Trainer) -> Result<bool, Error>,
) -> Result<End, Error> {
    let mut work = NO_WORK;
    let mut trainer = trainer(&mut work)?;
    let before = model(&trainer)?;
    let newest = newest(flash, &mut trainer);
    match newest {
        Some(page) => trainer.read(flash.page(page))?,
        None => trainer.read(STORED)?,
    }
    line!("on: goes on after ", trainer.tasks_done as u32, " tasks");
    let mut page = newest.unwrap_or(1);
    while trainer.tasks_done < STORED_TASKS + TASKS {
        // A call is one batch: a device has time for a few between two samples of a sensor.
        let task_is_done = call(&mut trainer)?;
        if task_is_done && trainer.tasks_done.is_multiple_of(TASKS_STORED) {
            page = 1 - page;
            // The power is lost in the middle of the second checkpoint, once.
            let is_lost = newest.is_none() && trainer.tasks_done == STORED_TASKS + 2 * TASKS_STORED;
            store(&trainer, flash, page, is_lost)?;
            if is_lost {
                return Ok(End::PowerLoss);
            }
        }
    }
    let mut digest = Digest::EMPTY;
    digest.bytes(flash.page(page));
    let after = model(&trainer)?;
    trainer.read(STORED)?;
    compare([&before, &model(&trainer)?, &after], &mut digest)?;
    stream(&after, &mut digest)?;
    Ok(End::Digest(digest.value()))
}

/// Returns the page with the trainer that has done most tasks.
#[inline(never)]
fn newest(flash: &impl Flash, trainer: &mut Trainer) -> Option<usize> {
    let mut newest = None;
    for page in 0..2 {
        match trainer.read(flash.page(page)) {
            Ok(()) => {
                line!(
                    "page ",
                    page as u32,
                    ": a trainer after ",
                    trainer.tasks_done as u32,
                    " tasks"
                );
                if newest.is_none_or(|(_, tasks)| tasks < trainer.tasks_done) {
                    newest = Some((page, trainer.tasks_done));
                }
            }
            Err(Error::Stored(StoredError::Checksum { .. })) => {
                line!("page ", page as u32, ": refused, for its checksum is wrong");
            }
            Err(_) => line!("page ", page as u32, ": no trainer"),
        }
    }
    newest.map(|(page, _)| page)
}

/// Writes a trainer to a page, or the first half of it.
#[inline(never)]
fn store(trainer: &Trainer, flash: &mut impl Flash, page: usize, half: bool) -> Result<(), Error> {
    let mut bytes = [0; PAGE];
    let words = trainer.write(&mut bytes)?.len().div_ceil(4);
    flash.erase(page);
    let (content, _) = bytes.as_chunks::<4>();
    for (at, word) in content.iter().enumerate().take(if half { words / 2 } else { words }) {
        flash.write(page, at, u32::from_le_bytes(*word));
    }
    let what = if half { ": the power is lost in the middle of " } else { ": " };
    line!("page ", page as u32, what, "a checkpoint after ", trainer.tasks_done as u32, " tasks");
    Ok(())
}

/// Returns the model that a trainer has trained so far.
pub(crate) fn model(trainer: &Trainer) -> Result<Model<2>, Error> {
    Model::<2>::new(trainer.network().transformer(0)?, Linear(Td0), GAMMA)
}

/// The weights that need no training: Theorem 1's, those of preconditioned TD, and the model that ships. The numbers of the first
/// two are the best for 400 other tasks (`learner FILE` finds them).
const THEOREM_1: Result<Model<2>, Error> =
    Model::<2>::td0(ConstructionSettings::new(GAMMA).step_size(2.6).depth(DEPTH));
const PRECONDITIONED: Result<Model<2>, Error> = Model::<2>::preconditioned_td(
    ConstructionSettings::new(GAMMA).step_size(7.0).depth(DEPTH),
    1.1,
);
const UNIVERSAL: Result<UniversalModel, Error> = UniversalModel::<f32>::new(GAMMA);

/// The tasks on which weights are compared, by their seeds; training has others. And the transitions of each.
const HELD_OUT: Range<u64> = 1_000_000..1_000_100;
const LENGTH: usize = 30;

/// Prints the value error on tasks that were not trained on.
#[inline(never)]
fn compare([before, stored, after]: [&Model<2>; 3], digest: &mut Digest) -> Result<(), Error> {
    let mut say = |error: f32, name| {
        line!("  ", error, name);
        digest.number(error);
    };
    line!("value error over that of predicting 0, on unseen tasks:");
    for (name, model) in [
        (", random weights", before),
        (", trained on 4,000 tasks", stored),
        (", trained here", after),
        (", Theorem 1's weights", &THEOREM_1?),
        (", weights of preconditioned TD", &PRECONDITIONED?),
    ] {
        say(error_of(model, HELD_OUT)?, name);
    }
    let universal = UNIVERSAL?;
    let value_function = |context: &_| {
        let value = universal.value_function(context)?;
        Ok(move |phi: &_| value.at(phi))
    };
    say(error(HELD_OUT, || universal.context::<2>(), value_function)?, ", the universal model");
    Ok(())
}

/// Shows how the trained weights read a stream: the process of a device whose sensor has two features.
#[inline(never)]
fn stream(model: &Model<2>, digest: &mut Digest) -> Result<(), Error> {
    let mut rng = Rng::new(HELD_OUT.end);
    let chain: Chain = CHAINS.draw(GAMMA, &mut rng)?;
    let truth = chain.true_value(GAMMA)?;
    let mut state = chain.initial_state(&mut rng);
    let mut context = model.context();
    line!("a stream, read with the weights trained here:");
    for n in 1..=100u32 {
        context.observe_transition(&chain.transition(&mut state, &mut rng))?;
        let value = model.value_function(&context)?.at(&chain.features(state));
        digest.number(value);
        if [1, 3, 10, 30, 100].contains(&n) {
            let v = truth.get(state).copied().unwrap_or_default();
            line!("  transition ", n, ": the state's value ", value, ", true ", v);
        }
    }
    Ok(())
}

/// Returns the error of a model on the tasks of these seeds.
pub(crate) fn error_of(model: &Model<2>, seeds: Range<u64>) -> Result<f32, Error> {
    let value_function = |context: &_| {
        let value = model.value_function(context)?;
        Ok(move |phi: &_| value.at(phi))
    };
    error(seeds, || model.context(), value_function)
}

/// Returns the mean squared value error over tasks, over that of predicting 0.
#[inline(never)]
fn error<M: Mask<f32>, F: Fn(&SVector<f32, 2>) -> f32>(
    seeds: Range<u64>,
    empty: impl Fn() -> Context<2, M>,
    value_function: impl Fn(&Context<2, M>) -> Result<F, Error>,
) -> Result<f32, Error> {
    let (mut squares, mut of_zero) = (0.0, 0.0);
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let chain: Chain = CHAINS.draw(GAMMA, &mut rng)?;
        let mut context = empty();
        let mut state = chain.initial_state(&mut rng);
        for _ in 0..LENGTH {
            context.observe_transition(&chain.transition(&mut state, &mut rng))?;
        }
        let value = value_function(&context)?;
        let (truth, often) = (chain.true_value(GAMMA)?, chain.stationary_distribution()?);
        for ((phi, v), d) in chain.feature_map().iter().zip(&truth).zip(&often) {
            let missed = value(phi) - v;
            squares += d * (missed * missed);
            of_zero += d * (v * v);
        }
    }
    Ok(squares / of_zero)
}
