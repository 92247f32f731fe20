//! The classical algorithms on a stream, and the features of a signal.

use super::DigestRun;
use crate::context::{Context, Forgetting};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::signal::{FeatureScaler, SignalFeatures};
use crate::td::{
    BatchTd, BatchTdSettings, Learner, Lstd, LstdSettings, OnlineTd, OnlineTdSettings,
    RecursiveLstd, RecursiveLstdSettings,
};

const D: usize = 3;

pub(super) fn classical<S: Scalar<Element = f32>>(run: &mut DigestRun<S>) -> Result<()> {
    let number = S::splat;
    let (gamma, lambda, mut draws) = (number(0.9), number(0.75), run.draws());
    let batch =
        BatchTd::new(BatchTdSettings { gamma, lambda, alpha: number(0.25), iterations: 10 })?;
    let mut context = batch.context::<D>();
    let td = [
        OnlineTd::new(OnlineTdSettings { gamma, lambda, alpha: number(0.125) })?,
        OnlineTd::true_online(OnlineTdSettings { gamma, lambda, alpha: number(0.125) })?,
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
        let recursive = RecursiveLstd::new(RecursiveLstdSettings {
            gamma: 0.9,
            lambda: 0.75,
            retention: 0.97,
            ridge: 0.5,
        })?;
        let mut learner = recursive.context::<D>();
        let lstd = Lstd::new(LstdSettings { gamma: 0.9, lambda: 0.75, ridge: 0.5 })?;
        let window = Forgetting::new(0.97)?;
        let mut context = Context::<D, _, Forgetting>::with_memory(*lstd.mask(), window);
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
