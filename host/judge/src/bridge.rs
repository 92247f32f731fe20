//! Evaluates any value function on fresh contexts of a recipe's tasks.

use crate::estimator::{Estimator, Method, on_large_stack, padded};
use crate::explained::{AlgorithmStep, Target, explained, fitted, tuned};
use crate::judge::ALGORITHMS;
use compute::capacity::OWN;
use compute::recipe::Recipe;
use compute::tasks::{AnyTask, KnownValues, RecipeTasks};
use ictd_core::metrics::{EvaluationStates, ValueSample};
use ictd_core::rng::{Rng, RngStream};
use ictd_core::tasks::{Task as _, TaskDistribution as _};
use ictd_core::transition::Transition;
use ictd_core::value_function::ValueFunction;
use ictd_core::{Error, Result};
use nalgebra::SVector;

/// A context in a fresh task, with the task's true values.
#[derive(Clone, Debug)]
pub struct JudgedContext {
    /// phi_0 to phi_n, (n + 1, d).
    pub features: Vec<f64>,
    /// R_1 to R_n, (n).
    pub rewards: Vec<f64>,
    /// phi of each state, (m, d).
    pub states: Vec<f64>,
    /// The stationary distribution, (m).
    pub weights: Vec<f64>,
    /// The true values, (m).
    pub values: Vec<f64>,
}

/// The ridge of the LSTD(0) that value errors are compared with.
pub const LSTD_RIDGE: f64 = 0.3;

/// The metrics of a value function. All but the shares are measured on the second half of the contexts; the first half fits the
/// step sizes. An undefined metric is NaN.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// VD, IWS and SS compared with iterations of TD(0), one per layer, with the step sizes that explain most.
    pub vd: f64,
    pub iws: f64,
    /// NaN without gradients.
    pub ss: f64,
    /// The share of |v|^2 that each algorithm explains.
    pub explained: Vec<(&'static str, f64)>,
    /// Mean squared value errors: of the function, of predicting 0, of TD(0) with the best step sizes, and of LSTD(0).
    pub msve: [f64; 4],
}

/// Draws contexts in fresh tasks that no training uses; equal recipes and seeds give equal contexts. Returns
/// [`Error::OutOfRange`] for tasks whose true values are unknown, and other errors of the core.
pub fn contexts(recipe: &Recipe, count: usize, seed: u64) -> Result<Vec<JudgedContext>> {
    let (tasks, gamma) = (RecipeTasks(recipe.clone()), recipe.gamma as f32);
    let rng = &mut Rng::stream(seed, RngStream::Evaluation);
    let wide = |of: &[f32]| of.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    let of_state = |phi: &SVector<f32, OWN>| wide(&phi.as_slice()[..recipe.dim]);
    let context = |number| {
        let task: AnyTask<OWN> = tasks.draw_in_turn(seed, number, gamma, rng)?;
        let unknown = "a task whose true values are known";
        let unknown = Error::OutOfRange { parameter: "task", expected: unknown };
        let KnownValues { features: states, weights, values } =
            task.known_values(recipe.dim, gamma)?.ok_or(unknown)?;
        let mut state = task.initial_state(rng);
        let (mut features, mut rewards) = (of_state(&task.features(state)), Vec::new());
        for _ in 0..recipe.context_length {
            let transition = task.transition(&mut state, rng);
            rewards.push(transition.reward.into());
            features.extend(of_state(&transition.phi_next));
        }
        Ok(JudgedContext {
            features,
            rewards,
            states: wide(&states),
            weights: wide(&weights),
            values: wide(&values),
        })
    };
    (0..count as u64).map(context).collect()
}

/// Evaluates a value function by its answers, the values of the states, (m), after the first `len` transitions of each context.
/// `gradients` are its derivatives with respect to phi at each state, (m, d); without them SS is NaN. Returns the core's errors.
pub fn judge(
    recipe: &Recipe,
    contexts: &[JudgedContext],
    len: usize,
    answers: &[Vec<f64>],
    gradients: Option<&[Vec<f64>]>,
) -> Result<Verdict> {
    match recipe.dim {
        0..=8 => judge_with::<8>(recipe, contexts, len, answers, gradients),
        9..=16 => judge_with::<16>(recipe, contexts, len, answers, gradients),
        _ => judge_with::<OWN>(recipe, contexts, len, answers, gradients),
    }
}

/// Evaluates an estimator after whole contexts. Returns the errors of [`judge`] and of the estimator.
pub fn judge_estimator(
    recipe: &Recipe,
    contexts: &[JudgedContext],
    estimator: &Estimator,
) -> Result<Verdict> {
    let (len, mut answers, mut gradients) = (recipe.context_length, Vec::new(), Vec::new());
    // One stack for all contexts.
    on_large_stack(|| {
        for context in contexts {
            let stream = estimator.after(recipe.dim, &context.features, &context.rewards)?;
            let (linear, values) = stream.raw(&context.states)?;
            answers.push(values);
            let weights = linear.map(|values| values.weights).unwrap_or_default();
            gradients.push(weights.repeat(context.weights.len()));
        }
        judge(recipe, contexts, len, &answers, Some(&gradients))
    })?
}

fn judge_with<const D: usize>(
    recipe: &Recipe,
    contexts: &[JudgedContext],
    len: usize,
    answers: &[Vec<f64>],
    gradients: Option<&[Vec<f64>]>,
) -> Result<Verdict> {
    let Recipe { dim: d, gamma, layers, context_length, .. } = *recipe;
    let len = len.min(context_length);
    let transitions = |c: &JudgedContext| -> Vec<Transition<f64, D>> {
        let phi = |k: usize| padded(&c.features[k * d..][..d]);
        let at = |k| Transition { phi: phi(k), reward: c.rewards[k], phi_next: phi(k + 1) };
        (0..len).map(at).collect()
    };
    let read: Vec<_> = contexts.iter().map(transitions).collect();
    let target = |(c, values): (&JudgedContext, &Vec<f64>)| {
        let states = c.states.chunks_exact(d).zip(values).zip(&c.weights);
        Target::<D>::over(states.map(|((phi, v), weight)| (padded(phi), *v, *weight)))
    };
    let asked: Vec<_> = contexts.iter().zip(answers).map(target).collect();
    let truth: Vec<_> = contexts.iter().map(|c| target((c, &c.values))).collect();
    let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
    let iterations = |algorithm| -> Result<Vec<_>, _> {
        read.iter().map(|t| AlgorithmStep::new(algorithm, t, gamma)).collect()
    };
    let (mut shares, td0) = (Vec::new(), iterations(ALGORITHMS[0].1)?);
    for (name, algorithm) in ALGORITHMS {
        let in_half = contexts.len().div_ceil(2);
        shares.push((name, mean(explained(&iterations(algorithm)?, &asked, layers, in_half))));
    }
    let (as_asked, as_true) = (fitted(&td0, &asked, layers), tuned(&td0, &truth, layers));
    let half = contexts.len() / 2;
    let lstd =
        Estimator { method: Method::Lstd { lambda: 0.0, ridge: LSTD_RIDGE }, gamma, layers: 0 };
    let (mut vd, mut iws, mut ss, mut msve) = (vec![], vec![], vec![], [0.0; 4]);
    for at in half..contexts.len() {
        let (c, m) = (&contexts[at], contexts[at].weights.len());
        let vector = |of: &[f64]| padded::<OWN>(of);
        let phi = std::array::from_fn(|s| {
            if s < m { padded(&c.states[s * d..][..d]) } else { SVector::zeros() }
        });
        let states =
            EvaluationStates::<f64, D, OWN>::new(m, &vector(&c.weights), &phi)?.with_dim(d);
        let gradient = |s: usize| {
            gradients.map_or(&[][..], |all| all[at].get(s * d..(s + 1) * d).unwrap_or(&[]))
        };
        let v = ValueSample {
            values: vector(&answers[at]),
            sensitivities: std::array::from_fn(|s| padded(gradient(s))),
        };
        let v_td = ValueFunction { weights: td0[at].weights(&as_asked) };
        vd.push(states.squared_difference(&v.values, &states.sample_linear(&v_td).values));
        // If the states do not span the features, the implicit weights are undefined.
        if let Ok(weights) = states.implicit_weights(&v.values) {
            let comparison = states.compare(&v, &weights, &v_td);
            iws.push(comparison.iws);
            ss.push(if gradients.is_some() { comparison.ss } else { f64::NAN });
        }
        let error = |values: &[f64]| states.squared_difference(&vector(values), &vector(&c.values));
        let of_lstd = lstd.after(d, &c.features, &c.rewards[..len])?.values(&c.states)?;
        let errors = [
            error(&answers[at]),
            error(&[]),
            truth[at].residual(&td0[at].weights(&as_true)),
            error(&of_lstd),
        ];
        let n = (contexts.len() - half) as f64;
        msve.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error / n);
    }
    Ok(Verdict { vd: mean(vd), iws: mean(iws), ss: mean(ss), explained: shares, msve })
}
