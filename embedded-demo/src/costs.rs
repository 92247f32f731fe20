//! Measures the costs of the operations on this chip.

use crate::chip::{Counter, HAS_BUDGETS, stack};
use crate::demo::{self, GAMMA, TRAINED};
use crate::log::decimals;
use core::hint::black_box;
use ictd_core::Error;
use ictd_core::context::{Forgetting, Growing, Memory};
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::model::ConstructionSettings;
use ictd_core::nalgebra::SVector;
use ictd_core::prompt::Prompt;
use ictd_core::rng::Rng;
use ictd_core::tasks::Task as _;
use ictd_core::transition::Transition;
use ictd_core::value_function::Gvf;
use ictd_core::{Context, Model, Predictor, UniversalModel};

/// The budgets of the Cortex-M4F at d = 4, L = 3, dense weights, in instructions.
const OBSERVE: u32 = 260;
const DEAREST_OBSERVE: u32 = 460;
const OBSERVE_CUMULANTS: u32 = 220 + 45 * CUMULANTS as u32;
const VALUE_FUNCTION: u32 = 8_000;
const QUERY: u32 = 30;
const CONSTRUCTED: u32 = 1_000;
const UNIVERSAL: u32 = 4_900;

/// Rewards that are observed with each transition of [`other_contexts`].
const CUMULANTS: usize = 8;

/// The context of the literal form, which stores all its columns.
const LITERAL: usize = 30;

/// Logs the costs, and returns whether all are within their budgets.
#[inline(never)]
pub(crate) fn report(mut counter: Counter) -> Result<bool, Error> {
    let unit = if cfg!(feature = "rtt") { "cycles" } else { "instructions" };
    let (trained, reading) = counter.measure(|| Model::<4>::from_bytes(&TRAINED));
    let trained = trained?;
    let mut rng = Rng::new(1);
    let task = demo::task(&mut rng)?;
    let mut state = task.initial_state(&mut rng);
    let mut context = Context::<4>::new();
    let mut within = true;
    for length in [10u64, 1_000, 100_000] {
        while context.len() < length {
            context.observe_transition(&task.transition(&mut state, &mut rng))?;
        }
        // Measured on copies, so that the next length continues where this one ended.
        let mut observing = context;
        let t = black_box(task.transition(&mut state.clone(), &mut rng.clone()));
        let (result, observe) =
            counter.measure(|| observing.observe(&t.phi, t.reward, &t.phi_next));
        result?;
        let (value, value_function) = counter.measure(|| trained.value_function(&observing));
        let value = black_box(value?);
        // Inside, so that no part of it is computed after the counter is read.
        let (v, query) = counter.measure(|| black_box(black_box(&value).at(black_box(&t.phi))));
        black_box(v);
        defmt::info!(
            "chip: context {=u64}: observe {=u32}, value function {=u32}, query {=u32} {=str}",
            length,
            observe,
            value_function,
            query,
            unit
        );
        within &= observe <= OBSERVE && value_function <= VALUE_FUNCTION && query <= QUERY;
    }
    let mut dearest = 0;
    for _ in 0..600 {
        let t = task.transition(&mut state, &mut rng);
        let (result, observe) = counter.measure(|| context.observe(&t.phi, t.reward, &t.phi_next));
        result?;
        dearest = dearest.max(observe);
    }
    within &= dearest <= DEAREST_OBSERVE;
    defmt::info!("chip: observe, the dearest of 600 in a row: {=u32} {=str}", dearest, unit);
    defmt::info!("chip: reading the stored model: {=u32} {=str}", reading, unit);
    within &= other_contexts(&mut counter, unit)?;
    literal(&mut counter, &trained, unit)?;
    let (_, constructed) = counter.measure(|| demo::CONSTRUCTED.value_function(&context));
    within &= constructed <= CONSTRUCTED;
    defmt::info!("chip: value function, constructed, 15 layers: {=u32} {=str}", constructed, unit);
    within &= universal(&mut counter, unit)?;
    stored(&mut counter, unit)?;
    defmt::info!("chip: stack at most {=u32} bytes", stack::used(None));
    if HAS_BUDGETS && !within {
        defmt::error!(
            "chip: over budget: observe {=u32} (the dearest {=u32}, with {=usize} cumulants {=u32}), \
             value function {=u32}, query {=u32} are allowed",
            OBSERVE,
            DEAREST_OBSERVE,
            CUMULANTS,
            OBSERVE_CUMULANTS,
            VALUE_FUNCTION,
            QUERY
        );
    }
    Ok(within)
}

/// Returns the model that ships; false if its value function is over budget.
#[inline(never)]
fn universal(counter: &mut Counter, unit: &str) -> Result<bool, Error> {
    let mut rng = Rng::new(1);
    let task = demo::task(&mut rng)?;
    let mut state = task.initial_state(&mut rng);
    let model = UniversalModel::<f32>::new(GAMMA)?;
    let mut context = model.context::<4>();
    let mut observe = 0;
    for _ in 0..100 {
        let t = task.transition(&mut state, &mut rng);
        let (result, cost) = counter.measure(|| context.observe(&t.phi, t.reward, &t.phi_next));
        result?;
        observe = observe.max(cost);
    }
    let (value, value_function) = counter.measure(|| model.value_function(&context));
    let value = black_box(value?);
    let phi = black_box([0.5, -0.25, 1.0, 0.75]);
    let (v, query) = counter.measure(|| black_box(black_box(&value).at(black_box(&phi))));
    black_box(v);
    defmt::info!(
        "chip: universal: observe {=u32}, value function {=u32}, query {=u32} {=str}",
        observe,
        value_function,
        query,
        unit
    );
    Ok(value_function <= UNIVERSAL)
}

/// Logs the costs of contexts of several cumulants and of TD(lambda); false if the former are over budget.
#[inline(never)]
fn other_contexts(counter: &mut Counter, unit: &str) -> Result<bool, Error> {
    let mut rng = Rng::new(1);
    let task = demo::task(&mut rng)?;
    let mut state = task.initial_state(&mut rng);
    let mut context = Context::<4, Td0, Growing, f32, CUMULANTS>::new();
    let mut traces = Context::<4, TdLambda>::with_memory(TdLambda::new(0.9)?, Growing);
    let (mut observe, mut terminal, mut trace) = (0, 0, 0);
    for _ in 0..100 {
        let Transition { phi, reward, phi_next } = task.transition(&mut state, &mut rng);
        let rewards = core::array::from_fn::<f32, CUMULANTS, _>(|m| reward + m as f32);
        let (result, cost) = counter.measure(|| context.observe(&phi, rewards, &phi_next));
        result?;
        observe = observe.max(cost);
        let (result, cost) = counter.measure(|| traces.observe(&phi, reward, &phi_next));
        result?;
        trace = trace.max(cost);
        let (result, cost) = counter.measure(|| traces.observe_terminal(&phi, reward));
        result?;
        terminal = terminal.max(cost);
    }
    let model = Model::<4>::td0(ConstructionSettings::new(GAMMA).step_size(0.2).depth(3))?;
    let (value, value_function) = counter.measure(|| {
        model.value_function_for(&context, Gvf { cumulant: CUMULANTS - 1, gamma: 0.5 })
    });
    black_box(value?);
    defmt::info!(
        "chip: observe {=usize} cumulants {=u32}, value function of one for another discount \
         {=u32} {=str}",
        CUMULANTS,
        observe,
        value_function,
        unit
    );
    defmt::info!(
        "chip: TD(lambda): observe {=u32}, terminal transition {=u32} {=str}",
        trace,
        terminal,
        unit
    );
    Ok(observe <= OBSERVE_CUMULANTS)
}

/// Logs what it costs to store a state for a deep sleep, and to read it back.
#[inline(never)]
fn stored(counter: &mut Counter, unit: &str) -> Result<(), Error> {
    let show = |name: &str, bytes: usize, write: u32, read: u32| {
        defmt::info!(
            "chip: stored {=str}: {=usize} bytes, write {=u32}, read {=u32} {=str}",
            name,
            bytes,
            write,
            read,
            unit
        );
    };
    let (bytes, write, read) = stored_context(counter, Growing)?;
    show("context", bytes, write, read);
    let (bytes, write, read) = stored_context(counter, Forgetting::new(0.99)?)?;
    show("forgetting context", bytes, write, read);
    let mut predictor = Predictor::<1>::new([10.0])?;
    let mut page = [0; Predictor::<1>::SIZE];
    let (result, write) = counter.measure(|| predictor.write(&mut page).map(|_| ()));
    result?;
    let (result, read) = counter.measure(|| predictor.read(&page));
    result?;
    show("predictor of one horizon", page.len(), write, read);
    Ok(())
}

/// Returns the bytes of a context, and what it costs to write and to read them.
fn stored_context(
    counter: &mut Counter,
    memory: impl Memory<f32>,
) -> Result<(usize, u32, u32), Error> {
    let mut rng = Rng::new(1);
    let task = demo::task(&mut rng)?;
    let mut state = task.initial_state(&mut rng);
    let mut context = Context::<4, _, _>::with_memory(Td0, memory);
    for _ in 0..100 {
        context.observe_transition(&task.transition(&mut state, &mut rng))?;
    }
    let mut page = [0; 2048];
    let (bytes, write) = counter.measure(|| context.write(&mut page).map(<[u8]>::len));
    let bytes = bytes?;
    let (result, read) = counter.measure(|| context.read(&page[..bytes]));
    result?;
    Ok((bytes, write, read))
}

/// Logs the cost of the literal equation on all columns, for one query: what the streaming form saves.
#[inline(never)]
fn literal(counter: &mut Counter, model: &Model<4>, unit: &str) -> Result<(), Error> {
    let mut rng = Rng::new(1);
    let task = demo::task(&mut rng)?;
    let transitions = task.trajectory::<LITERAL>(LITERAL, &mut rng)?;
    let query = SVector::from([0.5, -0.25, 1.0, 0.75]);
    let mut context = Context::<4>::new();
    for Transition { phi, reward, phi_next } in &transitions {
        context.observe(phi, *reward, phi_next)?;
    }
    let prompt = Prompt::<f32, 9, LITERAL>::discounted(&transitions, GAMMA, &query)?;
    let (all_columns, cost) =
        counter.measure(|| model.transformer().value(&prompt, model.attention()));
    let streaming = model.value_function(&context)?.at(&query);
    defmt::info!(
        "chip: all columns, context {=usize}, one query: {=u32} {=str} (value {}, streaming {})",
        LITERAL,
        cost,
        unit,
        decimals(all_columns?),
        decimals(streaming)
    );
    Ok(())
}
