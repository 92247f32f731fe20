//! Forward passes and streaming contexts.

use super::{Digest, DigestRun, LaneRngs, append};
use crate::attention::{Attention, Linear, SoftmaxAttention};
use crate::context::{Context, Forgetting, Growing, Memory, Sliding};
use crate::error::Result;
use crate::layer::Layer;
use crate::mask::{Mask, MeanCentred, Td0, TdLambda};
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use nalgebra::SVector;

const D: usize = 2;
const K: usize = 2 * D + 1;
const N: usize = 12;

/// Computes Z_1 to Z_3 of dense layers on a dense prompt, in full and in the streaming form.
pub(super) fn linear<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let mut draws = run.draws();
    let layers = [draws.layer(), draws.layer(), draws.layer()];
    let transformer = Transformer::<_, 3>::sequential(&layers)?;
    let prompt = dense_prompt(&mut draws)?;
    for mask in [TdLambda::new(S::ZERO)?, TdLambda::new(S::splat(0.5))?] {
        forward(&transformer, &prompt, &Linear(mask), run)?;
    }
    let statistic = Statistic::from_prompt(&prompt, &Td0)?;
    transformer.values_by_layer(&statistic, &prompt.query, |y| run.number(y));
    run.numbers(&transformer.readout(&statistic));
    let shared = Transformer::<_, 1>::autoregressive(layers[0], 5)?;
    run.numbers(&shared.readout(&statistic));
    Ok(())
}

pub(super) fn softmax<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let mut draws = run.draws();
    let transformer = Transformer::<_, 2>::sequential(&[draws.layer(), draws.layer()])?;
    forward(&transformer, &dense_prompt(&mut draws)?, &SoftmaxAttention, run)
}

fn dense_prompt<S: Scalar<Element = f32>>(draws: &mut LaneRngs<S>) -> Result<Prompt<S, 9, N>> {
    let columns: [SVector<S, 9>; N] = core::array::from_fn(|_| draws.matrix());
    Prompt::from_columns(&columns, draws.matrix())
}

fn forward<S: Scalar<Element = f32>, const C: usize>(
    transformer: &Transformer<Layer<S, 9>, C>,
    prompt: &Prompt<S, 9, N>,
    attention: &impl Attention<S, 9, Layer = Layer<S, 9>>,
    run: &mut DigestRun<S>,
) -> Result<()> {
    let mut prompt = prompt.clone();
    transformer.forward(&mut prompt, attention, |z| {
        run.numbers(z.context().iter().flatten().chain(&z.query));
    })
}

/// Runs each memory with each mask, over more transitions than a block of the growing sum or several windows
/// contain.
pub(super) fn contexts<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    memories(run, Td0)?;
    memories(run, TdLambda::new(S::splat(0.5))?)?;
    memories(run, MeanCentred)
}

fn memories<S: Scalar<Element = f32>>(run: &mut DigestRun<S>, mask: impl Mask<S>) -> Result<()> {
    stream(run, Context::<D, _, _, S>::with_memory(mask, Growing))?;
    stream(run, Context::<D, _, _, S>::with_memory(mask, Forgetting::new(S::splat(0.97))?))?;
    stream(run, Context::<D, _, _, S>::with_memory(mask, Sliding::<20>))
}

fn stream<S: Scalar<Element = f32>, M: Mask<S>, Mem: Memory<S>>(
    run: &mut DigestRun<S>,
    mut context: Context<D, M, Mem, S>,
) -> Result<()> {
    let mut draws = run.draws();
    for t in 0..600 {
        context.observe_transition(&draws.transition())?;
        if t % 75 == 0 {
            let statistic = context.statistic::<K>(S::splat(0.9), 0)?;
            run.numbers(&statistic.g);
            run.number(statistic.inverse_len);
        }
    }
    Ok(())
}

/// Episodes and three cumulants, read for several discounts, and the context as it is stored.
pub(super) fn episodes<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    fn stream<M: Mask<f32>, Mem: Memory<f32>>(
        mut context: Context<D, M, Mem, f32, 3>,
        mut number: impl FnMut() -> f32,
        digest: &mut Digest,
    ) -> Result<()> {
        for t in 0..300 {
            let (phi, rewards) = ([number(), number()], [number(), number(), number()]);
            match t % 25 {
                9 => context.observe_terminal(&phi, rewards)?,
                _ => context.observe(&phi, rewards, &[number(), number()])?,
            }
            if t % 25 == 19 {
                context.end_episode();
            }
        }
        for (cumulant, gamma) in [(0, 0.0), (1, 0.5), (2, 0.9)] {
            append(digest, &context.statistic::<K>(gamma, cumulant)?.g);
        }
        let mut buffer = [0; 2048];
        digest.bytes(context.write(&mut buffer)?);
        Ok(())
    }
    run.each(|rng, digest| {
        let mask = TdLambda::new(0.75)?;
        stream(Context::with_memory(Td0, Growing), || rng.normal(), digest)?;
        stream(Context::with_memory(mask, Growing), || rng.normal(), digest)?;
        stream(Context::with_memory(mask, Forgetting::new(0.97)?), || rng.normal(), digest)?;
        stream(Context::with_memory(mask, Sliding::<20>), || rng.normal(), digest)
    })
}

/// Does what a device does: observe, compute the value function, ask it for values.
pub(super) fn device<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    const D: usize = 4;
    let mut draws = run.draws();
    let shared = Transformer::<_, 1>::autoregressive(draws.layer(), 3)?;
    let mut context = Context::<D, Td0, Growing, S>::new();
    for t in 0..300 {
        let transition = draws.transition::<D>();
        context.observe(&transition.phi, transition.reward, &transition.phi_next)?;
        if t % 30 == 0 {
            let statistic = context.statistic::<9>(S::splat(0.9), 0)?;
            let value = shared.value_function::<D>(&statistic)?;
            run.numbers(&value.weights);
            run.number(value.at(&transition.phi));
        }
    }
    Ok(())
}
