//! Models that cost as much as their structure, layers that iterate TD and the universal model; classical algorithms and the
//! features of a signal; the predictor.

use super::DigestRun;
use crate::constructions;
use crate::context::{Context, Forgetting, Growing, Memory, Sliding};
use crate::error::Result;
use crate::mask::{MeanCentred, Td0, Td0Trace, TdLambda};
use crate::predictor::Predictor;
use crate::scalar::Scalar;
use crate::signal::{FeatureScaler, SignalFeatures};
use crate::td::{
    BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineTd, OnlineTdSettings,
    RecursiveLstd, RecursiveLstdSettings,
};
use crate::transformer::Transformer;
use crate::universal::UniversalModel;

const D: usize = 3;
const K: usize = 2 * D + 1;

/// Applies the constructions with C = alpha I, with any C, and of two heads to a context's statistic.
pub(super) fn theorem_1<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let (mut draws, gamma) = (run.draws(), S::splat(0.9));
    let alpha = constructions::scaled_identity::<S, D>(S::splat(0.125));
    let c = draws.matrix::<D, D>().map(|x| S::splat(0.125) * x);
    let mut traces = Context::<D, _, _, S>::with_memory(TdLambda::new(S::splat(0.75))?, Growing);
    let mut centred = Context::<D, _, _, S>::with_memory(MeanCentred, Growing);
    let mut plain = Context::<D, _, _, S>::with_memory(Td0, Growing);
    for t in 0..100 {
        let transition = draws.transition::<D>();
        traces.observe_transition(&transition)?;
        centred.observe_transition(&transition)?;
        plain.observe_transition(&transition)?;
        if t % 20 > 0 {
            continue;
        }
        let statistic = traces.statistic::<K>(gamma, 0)?;
        for layer in [
            constructions::td0(&alpha),
            constructions::td0(&c),
            constructions::residual_gradient(&alpha),
        ] {
            let transformer = Transformer::<_, 1>::autoregressive(layer, 15)?;
            run.numbers(&transformer.value_function::<D>(&statistic)?.weights);
        }
        let layer = constructions::average_reward::<S, D, { 2 * D + 2 }>(&alpha);
        let transformer = Transformer::<_, 1>::autoregressive(layer, 15)?;
        let heads = [centred.statistic(S::ONE, 0)?, plain.statistic(S::ONE, 0)?];
        run.numbers(&transformer.value_function::<D>(&heads)?.weights);
    }
    Ok(())
}

/// Computes the shipped model's values on each memory from the first transition on.
pub(super) fn universal<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    run.each(|rng, digest| {
        fn stream<Mem: Memory<f32>>(
            model: &UniversalModel,
            memory: Mem,
            mut number: impl FnMut() -> f32,
            mut show: impl FnMut(f32),
        ) -> Result<()> {
            let mut context = Context::<D, Td0Trace, Mem>::with_memory(*model.mask(), memory);
            for t in 0..60 {
                let phi = [number(), 256.0 * number(), 1.0];
                match t % 20 {
                    11 => context.observe_terminal(&phi, number())?,
                    _ => context.observe(&phi, number(), &[number(), 256.0 * number(), 1.0])?,
                }
                let estimate = model.estimate(&context, model.gvf(0))?;
                show(estimate.linearity);
                let value = estimate.value_function;
                show(value.level);
                value.weights.iter().for_each(|w| show(*w));
                show(value.at(&phi));
            }
            Ok(())
        }
        for gamma in [0.0, 0.5, 0.9, 0.99] {
            let model = UniversalModel::<f32>::new(gamma)?;
            stream(&model, Growing, || rng.normal(), |x| digest.number(x))?;
            stream(&model, Forgetting::new(0.95)?, || rng.normal(), |x| digest.number(x))?;
            stream(&model, Sliding::<9>, || rng.normal(), |x| digest.number(x))?;
        }
        Ok(())
    })
}

/// Predicts two random walks, one with a level, for three horizons: with a glitch, a gap, and a level that moves; from the
/// middle on with stored and restored predictors.
pub(super) fn predictor<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    run.each(|rng, digest| {
        let mut predictors = [Predictor::<3>::new([1.0, 10.0, 300.0])?; 2];
        let (mut x, mut y) = (0.0_f32, 0.0_f32);
        for t in 0..160 {
            x = 0.75 * x + rng.normal::<f32>();
            y = 0.5 * y + x;
            let level = if t < 100 { 100.0 } else { 900.0 };
            let samples = match t {
                40 => [Some(65535.0), None],
                _ => [Some(x), Some(level + y)],
            };
            for (predictor, sample) in predictors.iter_mut().zip(samples) {
                let seen = predictor.observe(sample);
                for p in seen.predictions {
                    [p.mean, p.low, p.high].into_iter().for_each(|x| digest.number(x));
                }
                [seen.depth, seen.surprise].into_iter().for_each(|x| digest.number(x));
                if t == 80 {
                    let mut bytes = [0; Predictor::<3>::SIZE];
                    *predictor = Predictor::from_bytes(predictor.write(&mut bytes)?)?;
                }
            }
        }
        Ok(())
    })
}

pub(super) fn classical<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let number = S::splat;
    let (gamma, lambda, mut draws) = (number(0.9), number(0.75), run.draws());
    let batch = BatchTd::new(
        BatchTdSettings::new(gamma).lambda(lambda).step_size(number(0.25)).iterations(10),
    )?;
    let mut context = batch.context::<D>();
    let td = [
        OnlineTd::new(OnlineTdSettings::new(gamma).lambda(lambda).step_size(number(0.125)))?,
        OnlineTd::true_online(
            OnlineTdSettings::new(gamma).lambda(lambda).step_size(number(0.125)),
        )?,
    ];
    let mut learners = td.map(Learner::<D, _, S>::new);
    let (mut signal, mut scale) =
        (SignalFeatures::<5, S>::new(), FeatureScaler::<5, S>::new(number(0.97))?);
    for t in 0..200 {
        let transition = draws.transition::<D>();
        context.observe_transition(&transition)?;
        for learner in &mut learners {
            learner.observe_transition(&transition)?;
            if t % 40 == 39 {
                learner.end_episode();
            }
            run.numbers(&learner.value_function()?.weights);
        }
        run.numbers(&batch.value_function(&context)?.weights);
        let (features, deviation) = signal.observe(draws.number())?;
        run.numbers(&scale.scaled(&features));
        run.numbers(&[signal.level().discounted_sum(gamma, deviation)]);
    }
    run.each(|rng, digest| {
        let recursive = RecursiveLstd::new(
            RecursiveLstdSettings::new(0.9).lambda(0.75).retention(0.97).ridge(0.5),
        )?;
        let mut learner = recursive.context::<D>();
        let lstd = Lstd::new(LstdSettings::new(0.9).lambda(0.75).ridge(0.5))?;
        let memory = Forgetting::new(0.97)?;
        let mut context = Context::<D, _, Forgetting>::with_memory(*lstd.mask(), memory);
        for t in 0..200 {
            let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
            let phi = [number(), number(), number()];
            if t % 40 == 39 {
                let reward = number();
                learner.observe_terminal(&phi, reward)?;
                context.observe_terminal(&phi, reward)?;
            } else {
                let (reward, next) = (number(), [number(), number(), number()]);
                learner.observe(&phi, reward, &next)?;
                context.observe(&phi, reward, &next)?;
            }
            let values = [learner.value_function()?, lstd.value_function(&context)?];
            values.iter().flat_map(|v| &v.weights).for_each(|w| digest.number(*w));
        }
        Ok(())
    })
}
