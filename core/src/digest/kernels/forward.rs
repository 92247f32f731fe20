//! Forward passes.

use super::{DigestRun, LaneRngs};
use crate::attention::{Attention, SoftmaxAttention, Td0, TdLambda};
use crate::error::Result;
use crate::layer::Layer;
use crate::prompt::Prompt;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::transformer::Transformer;
use nalgebra::SVector;

const D: usize = 4;
const K: usize = 2 * D + 1;
const N: usize = 12;

/// Computes Z_1 to Z_3 of dense layers on a dense prompt, in full and in the streaming form.
pub(super) fn linear<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let mut draws = run.draws();
    let layers = [draws.layer(), draws.layer(), draws.layer()];
    let transformer = Transformer::<_, 3>::sequential(&layers)?;
    let prompt = dense_prompt(&mut draws)?;
    for mask in [TdLambda::new(S::ZERO)?, TdLambda::new(S::splat(0.5))?] {
        forward(&transformer, &prompt, &mask, run)?;
    }
    let statistic = Statistic::from_prompt(&prompt, &Td0)?;
    transformer.values_by_layer(&statistic, prompt.query(), |y| run.number(y));
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

fn dense_prompt<S: Scalar<Element = f32>>(draws: &mut LaneRngs<S>) -> Result<Prompt<S, K, N>> {
    let columns: [SVector<S, K>; N] = core::array::from_fn(|_| draws.matrix());
    Prompt::from_columns(&columns, draws.matrix())
}

fn forward<S: Scalar<Element = f32>, const C: usize>(
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
    attention: &impl Attention<S, K, Layer = Layer<S, K>>,
    run: &mut DigestRun<S>,
) -> Result<()> {
    let mut prompt = prompt.clone();
    transformer.forward(&mut prompt, attention, |z| {
        run.numbers(z.context().iter().flatten().chain(z.query()));
    })
}
