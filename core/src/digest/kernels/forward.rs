//! Forward passes.

use super::{Draws, append};
use crate::attention::{Attention, AverageReward, SoftmaxAttention, Td0, TdLambda};
use crate::constructions;
use crate::context::{AverageRewardContext, Growing};
use crate::digest::{LaneDigests, Run};
use crate::error::Error;
use crate::layer::Layer;
use crate::linalg::{scale, zeros};
use crate::prompt::Prompt;
use crate::rng::Rng;
use crate::scalar::Scalar;
use crate::statistic::Statistic;
use crate::td;
use crate::transformer::Transformer;
use crate::transition::Transition;
use nalgebra::{SMatrix, SVector};

const D: usize = 4;
const K: usize = 2 * D + 1;
/// Context length.
const N: usize = 12;

/// Dense layers on a dense prompt: Z_1 to Z_3 in full, and the streaming form beside it.
pub(super) fn linear<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let mut draws = run.draws();
    let layers = [draws.layer(), draws.layer(), draws.layer()];
    let transformer = Transformer::<_, 3>::sequential(&layers)?;
    let prompt = dense_prompt(&mut draws)?;
    for mask in [TdLambda::new(S::ZERO)?, TdLambda::new(S::splat(0.5))?] {
        forward(&transformer, &prompt, &mask, run.digests)?;
    }
    let statistic = Statistic::of_prompt(&prompt, &Td0)?;
    transformer.values_by_layer(&statistic, prompt.query(), |y| run.digests.number(y));
    run.digests.numbers(&transformer.readout(&statistic));
    let shared = Transformer::<_, 1>::autoregressive(layers[0], 5)?;
    run.digests.numbers(&shared.readout(&statistic));
    Ok(())
}

/// The same in f64, one seed after the other.
pub(super) fn linear_f64<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    fn matrix<const R: usize, const C: usize>(rng: &mut Rng) -> SMatrix<f64, R, C> {
        SMatrix::from_fn(|_, _| rng.uniform_in(-1.0, 1.0))
    }
    run.each(|rng, digest| {
        let layer = Layer { p: matrix(rng), q: matrix(rng) };
        let transformer = Transformer::<_, 1>::autoregressive(layer, 4)?;
        let columns: [SVector<f64, K>; N] = core::array::from_fn(|_| matrix(rng));
        let mut prompt = Prompt::<f64, K, N>::from_columns(&columns, matrix(rng))?;
        let statistic = Statistic::of_prompt(&prompt, &Td0)?;
        append(digest, &transformer.readout(&statistic));
        transformer.forward(&mut prompt, &Td0, |z| {
            append(digest, &z.to_matrix());
        })?;
        let mut prompt = Prompt::<f64, K, N>::from_columns(&columns, matrix(rng))?;
        transformer.forward(&mut prompt, &SoftmaxAttention, |z| {
            append(digest, &z.to_matrix());
        })
    })
}

/// Softmax attention on a dense prompt.
pub(super) fn softmax<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let mut draws = run.draws();
    let transformer = Transformer::<_, 2>::sequential(&[draws.layer(), draws.layer()])?;
    forward(&transformer, &dense_prompt(&mut draws)?, &SoftmaxAttention, run.digests)
}

/// The constructions of Theorem 1 and its corollaries, and the algorithms that they are.
pub(super) fn constructions<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    let mut draws = run.draws();
    let (gamma, lambda) = (S::splat(0.9), S::splat(0.75));
    let c = scale(S::splat(0.25), &draws.matrix::<D, D>());
    let transitions: [Transition<S, D>; N] = core::array::from_fn(|_| draws.transition());
    let query = draws.matrix::<D, 1>();
    let prompt = Prompt::<S, K, N>::discounted(&transitions, gamma, &query)?;
    let (td0, trace) = (TdLambda::new(S::ZERO)?, TdLambda::new(lambda)?);
    for (layer, mask) in [
        (constructions::td0(&c), td0),
        (constructions::one_layer(&c), td0),
        (constructions::residual_gradient(&c), td0),
        (constructions::td_lambda(&c), trace),
    ] {
        let transformer = Transformer::<_, 1>::autoregressive(layer, 3)?;
        forward(&transformer, &prompt, &mask, run.digests)?;
        run.digests.numbers(&transformer.readout(&Statistic::of_prompt(&prompt, &mask)?));
    }
    let mut w = zeros();
    for _ in 0..3 {
        w = td::td0::update(&w, &c, &transitions, gamma)?;
        run.digests.numbers(&w);
        w = td::residual_gradient::update(&w, &c, &transitions, gamma)?;
        run.digests.numbers(&w);
        w = td::td_lambda::update(&w, &c, &transitions, gamma, lambda)?;
        run.digests.numbers(&w);
    }
    Ok(())
}

/// The average-reward construction, literal and streaming, and its algorithm.
pub(super) fn average_reward<S: Scalar<Element = f32>>(run: &mut Run<S>) -> Result<(), Error> {
    const K: usize = 2 * D + 2;
    let mut draws = run.draws();
    let c = scale(S::splat(0.25), &draws.matrix::<D, D>());
    let transitions: [Transition<S, D>; N] = core::array::from_fn(|_| draws.transition());
    let query = draws.matrix::<D, 1>();
    let layer = constructions::average_reward(&c);
    let transformer = Transformer::<_, 1>::autoregressive(layer, 3)?;
    let mut prompt = Prompt::<S, K, N>::average_reward(&transitions, &query)?;
    transformer.forward(&mut prompt, &AverageReward, |z| run.digests.numbers(&z.to_matrix()))?;
    let mut context = AverageRewardContext::<D, Growing, S>::new();
    for t in &transitions {
        context.observe(&t.phi, t.reward, &t.phi_next)?;
    }
    run.digests.numbers(&transformer.value_function::<D>(&context.statistics::<K>()?)?.weights);
    let mut w = zeros();
    for _ in 0..3 {
        w = td::average_reward::update(&w, &c, &transitions)?;
        run.digests.numbers(&w);
    }
    Ok(())
}

fn dense_prompt<S: Scalar<Element = f32>>(draws: &mut Draws<S>) -> Result<Prompt<S, K, N>, Error> {
    let columns: [SVector<S, K>; N] = core::array::from_fn(|_| draws.matrix());
    Prompt::from_columns(&columns, draws.matrix())
}

/// Appends Z_1 to Z_L with their query columns.
fn forward<S: Scalar<Element = f32>, const C: usize>(
    transformer: &Transformer<Layer<S, K>, C>,
    prompt: &Prompt<S, K, N>,
    attention: &impl Attention<S, K, Layer = Layer<S, K>>,
    digests: &mut LaneDigests,
) -> Result<(), Error> {
    let mut prompt = prompt.clone();
    transformer.forward(&mut prompt, attention, |z| {
        digests.numbers(&z.to_matrix());
        digests.numbers(z.query());
    })
}
