//! The loss of the universal model's parameters: errors on contexts of many tasks and signals, and their gradient.

use super::Family;
use super::dual::{COMBINATIONS, Dual, learned};
use super::judge::{self, BenchmarkCell, RIDGES};
use super::reference::REFERENCE;
use crate::estimator::TransitionSink;
use compute::capacity::STATES;
use ictd_core::context::{Context, TdSums};
use ictd_core::mask::TwoTraces;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::scalar::{Real, Scalar as _};
use ictd_core::signal::SignalFeatures;
use ictd_core::tasks::{Mrp, Task as _, random_signal};
use ictd_core::transition::Transition;
use ictd_core::universal::{ContextSummary, UniversalParameters};
use ictd_core::value_function::{ClippedValueFunction, ValueFunction};
use ictd_core::{Error, UniversalModel};
use nalgebra::SVector;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// True values, or the returns of signals.
    Value,
    /// The TD target r + gamma v(s') of later or fresh transitions; no gradient passes through v(s').
    TdError,
}

/// A state at which the values are scored.
struct ScoredState<const D: usize> {
    phi: SVector<f64, D>,
    /// The state's value, or the reward on leaving it.
    target: f64,
    /// The features of the next state, whose discounted value is added to the target.
    next: Option<SVector<f64, D>>,
    weight: f64,
}

/// A context, and the states at which its values are scored.
struct ScoredContext<const D: usize> {
    sums: Box<TdSums<f64, D>>,
    summary: ContextSummary<f64>,
    max_abs_reward: f64,
    judged: Arc<Vec<ScoredState<D>>>,
}

impl<const D: usize> ScoredContext<D> {
    fn new<W: ictd_core::context::Memory<f64>>(
        model: &UniversalModel<f64>,
        context: &Context<D, TwoTraces<f64>, W, f64>,
        judged: Arc<Vec<ScoredState<D>>>,
    ) -> Result<Self, Error> {
        let sums = Box::new(model.sums(context, model.gvf(0))?);
        let max_abs_reward = context.max_abs_reward(0);
        let summary = model.context_summary(context, model.gamma());
        Ok(ScoredContext { sums, summary, max_abs_reward, judged })
    }

    /// Returns the mean squared error of the value function with these weights.
    fn error<R: Real>(&self, weights: SVector<R, D>) -> R {
        let ContextSummary { effective_len, gamma, .. } = self.summary;
        let roots = self.sums.roots().map(R::from_f64);
        // (A little closer than the model's own bound, where a context forgets.)
        let [n, discount, most] = [effective_len, gamma, self.max_abs_reward].map(R::from_f64);
        let value = ValueFunction { weights };
        let value = ClippedValueFunction::new(value, roots, n, discount, most);
        let mut sum = R::ZERO;
        let at = |phi: &SVector<f64, D>| value.at(&phi.map(R::from_f64));
        for ScoredState { phi, target, next, weight } in self.judged.iter() {
            let next = next.as_ref().map_or(0.0, |next| gamma * at(next).to_f64());
            let error = at(phi) - R::from_f64(target + next);
            sum += R::from_f64(*weight) * error * error;
        }
        sum
    }

    /// Returns the error of the value function that the parameters compute.
    fn read(&self, parameters: &UniversalParameters<Dual<COMBINATIONS>>) -> LossGradient {
        let constant = |x: f64| Dual::constant(x);
        let solved = parameters.solve(&mut self.sums.map(constant), self.summary.map(constant));
        // A system without a solution counts as a large error.
        solved.map_or(Dual::constant(LARGE), |solved| self.error(solved.weights)).by_parameter()
    }
}

type LossGradient = Dual<{ UniversalParameters::COUNT }>;

/// What exceeds this error, twice that of predicting 0, counts four times, so that no solution explodes.
const SAFE: f64 = 2.0;
const BEYOND_SAFE: f64 = 3.0;
/// Errors above this count by their logarithm, so that a few contexts do not dominate.
const LARGE: f64 = 20.0;

fn counted<R: Real>(error: R) -> R {
    let [safe, more, large] = [SAFE, BEYOND_SAFE, LARGE].map(R::from_f64);
    let error = if error > large { large + large * (error / large).ln() } else { error };
    error + more * (error - safe).max(R::ZERO)
}

/// Contexts of one number of features.
trait Cases: Send + Sync {
    /// Returns the sum of what the contexts' errors count as.
    fn error(&self, parameters: &UniversalParameters<Dual<COMBINATIONS>>) -> LossGradient;
}

impl<const D: usize> Cases for Vec<ScoredContext<D>> {
    fn error(&self, parameters: &UniversalParameters<Dual<COMBINATIONS>>) -> LossGradient {
        let mut sum = Dual::constant(0.0);
        for case in self {
            sum += counted(case.read(parameters));
        }
        sum
    }
}

/// Contexts whose mean error is one term: those of a family, dimension, discount and length, or of one signal.
struct ContextGroup {
    cases: Box<dyn Cases>,
    /// The factor from the sum of the cases' errors to the group's.
    factor: f64,
    weight: f64,
    /// The smallest error of predicting 0 and of LSTD with some lambdas and ridges, the same for all cases.
    lstd: f64,
    /// ln(error / lstd) above this is penalised.
    margin: f64,
    /// The error of the parameters [`REFERENCE`].
    reference: f64,
    /// The weight of the penalty on a larger one.
    guard: f64,
}

impl ContextGroup {
    fn new<const D: usize>(
        cases: Vec<ScoredContext<D>>,
        factor: f64,
        weight: f64,
        margin: f64,
        lstds: Range<usize>,
    ) -> Self {
        let sum = |of: &dyn Fn(&ScoredContext<D>) -> f64| -> f64 {
            cases.iter().map(|case| factor * counted(of(case))).sum()
        };
        let of_lstd = |at: usize| {
            let (l, ridge) = (at / RIDGES.len(), RIDGES[at % RIDGES.len()]);
            sum(&|case| case.error(judge::lstd(&case.sums, &case.summary, l, ridge)))
        };
        let of_zero = sum(&|case| case.error(SVector::<f64, D>::zeros()));
        let lstd = lstds.map(of_lstd).fold(of_zero, f64::min).max(LEAST);
        let parameters = REFERENCE.map(f64::from);
        let reference = sum(&|case| {
            let solved = parameters.solve(&mut case.sums.map(|x| x), case.summary);
            solved.map_or(LARGE, |solved| case.error(solved.weights))
        });
        let (cases, reference) = (Box::new(cases), reference.max(LEAST));
        ContextGroup { cases, factor, weight, lstd, margin, reference, guard: 0.0 }
    }

    /// Returns the logarithm of the group's relative error, plus a penalty if it exceeds the margin, and another if it
    /// exceeds that of the reference parameters.
    fn loss(&self, parameters: &UniversalParameters<Dual<COMBINATIONS>>) -> LossGradient {
        let error = self.cases.error(parameters) * Dual::constant(self.factor);
        let ratio = (error / Dual::constant(self.lstd)).ln();
        let worse = (error / Dual::constant(self.reference)).ln();
        let penalty = Dual::constant(PENALTY) * penalty(ratio, self.margin, KNEE);
        Dual::constant(self.weight) * (ratio + penalty)
            + Dual::constant(self.guard) * self::penalty(worse, WORSE, WORSE_KNEE)
    }
}

/// Returns the square of what exceeds the margin, continued linearly beyond the knee, so that no group dominates.
fn penalty(ratio: LossGradient, margin: f64, knee: f64) -> LossGradient {
    let above = (ratio - Dual::constant(margin)).max(Dual::constant(0.0));
    let square = if above.value < knee { above } else { Dual::constant(knee) };
    (above + above - square) * square
}

/// The margin for representable values in short contexts, where the gates cannot detect them yet.
const UNSURE: f64 = 0.1;
const PENALTY: f64 = 2.5;
const KNEE: f64 = 0.2;
/// ln(error / error of the reference parameters) above the first number is penalised; GUARD is the weight of all cells.
const WORSE: f64 = 0.01;
const WORSE_KNEE: f64 = 0.05;
const GUARD: f64 = 200.0;
/// The LSTDs that a group is compared with: any lambda and ridge or, if each state has a feature, lambda 0 and a ridge of 3
/// transitions. (The best ridge in hindsight depends on whether a cycle is deterministic.)
const ALL_LSTDS: Range<usize> = 0..3 * RIDGES.len();
const LSTD_0_ONE: Range<usize> = 2..3;
/// The smallest error to compare with; smaller ones are rounding.
const LEAST: f64 = 1e-5;

/// Lengths of training contexts.
const LENGTHS: [u64; 14] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 500, 1000, 10_000];
/// Discounts of training tasks, from the shortest horizon to the longest, each with its weight.
const DISCOUNTS: [(f64, f64); 5] = [(0.0, 0.2), (0.5, 0.4), (0.9, 1.0), (0.98, 1.0), (0.995, 0.4)];
/// Numbers of features, tasks in a group, and the square of the group's weight; fewer of the longest contexts.
type GroupSizes = [(usize, usize, f64); 6];
const TASKS: GroupSizes =
    [(1, 10, 10.0), (2, 240, 60.0), (4, 240, 60.0), (8, 60, 30.0), (16, 40, 10.0), (32, 2, 2.0)];
/// Representable MDPs: their errors have the heaviest tails.
const MDP_TASKS: GroupSizes =
    [(1, 60, 10.0), (2, 1440, 60.0), (4, 1440, 60.0), (8, 360, 30.0), (16, 40, 10.0), (32, 2, 2.0)];
/// Tasks whose states each have a feature.
const TABULAR_TASKS: GroupSizes =
    [(2, 40, 20.0), (3, 60, 30.0), (4, 60, 30.0), (7, 60, 30.0), (10, 60, 15.0), (16, 48, 8.0)];
/// The families of the search, each with its weight.
const SHARES: [(Family, f64); 8] = [
    (Family::Boyan, 4.0),
    (Family::BoyanRepresentable, 1.5),
    (Family::Mdp, 3.0),
    (Family::MdpRepresentable, 1.7),
    (Family::Walk, 2.5),
    (Family::Cycle, 0.2),
    (Family::Rare, 1.3),
    (Family::Binary, 1.5),
];
/// The weight of all signals in the loss.
const OF_SIGNALS: f64 = 0.4;
/// The number of random signals, and of samples in each.
const SIGNALS: (usize, usize) = (96, 2500);

/// The loss of parameters: the groups of contexts, each with a weight.
pub struct Loss {
    groups: Vec<ContextGroup>,
}

impl Loss {
    /// Draws tasks and signals: `share` times the numbers `TASKS` and `SIGNALS`, rounded up.
    /// Returns the core's error for a task that cannot be drawn.
    pub fn new(target: Target, share: f64, seed: u64) -> Result<Self, Error> {
        let times = |count: usize| (count as f64 * share).ceil() as usize;
        let mut rng = Rng::stream(seed, RngStream::Tasks);
        let mut loss = Loss { groups: Vec::new() };
        for (gamma, of_gamma) in DISCOUNTS {
            for (family, of_family) in SHARES {
                let sizes = match family {
                    Family::MdpRepresentable => MDP_TASKS,
                    _ if family.is_tabular() => TABULAR_TASKS,
                    _ => TASKS,
                };
                for (d, tasks, of_d) in sizes {
                    let add = match d {
                        1..=4 => Loss::add_tasks::<4>,
                        5..=8 => Loss::add_tasks::<8>,
                        9..=16 => Loss::add_tasks::<16>,
                        // The most expensive one: a single discount is enough.
                        _ if gamma == 0.9 => Loss::add_tasks::<32>,
                        _ => continue,
                    };
                    let (cell, tasks) = (BenchmarkCell { family, d, gamma }, times(tasks));
                    add(&mut loss, cell, tasks, of_family * of_gamma, of_d, target, &mut rng)?;
                }
            }
        }
        let weights = loss.groups.iter().map(|group| group.weight).sum::<f64>();
        let guards = loss.groups.iter().map(|group| group.guard).sum::<f64>();
        // (Parameters that saw values do not guide a search that sees none.)
        let of_guards = if target == Target::Value { GUARD } else { 0.0 };
        for group in &mut loss.groups {
            group.weight *= (1.0 - OF_SIGNALS) / weights;
            group.guard *= of_guards / guards;
        }
        let (signals, samples) = (times(SIGNALS.0), SIGNALS.1);
        for _ in 0..signals {
            let mut signal = vec![0.0; samples];
            random_signal(&mut signal, &mut rng);
            let retention = 1.0 - f64::from(rng.log_uniform(0.002, 0.02));
            let gamma = 1.0 - f64::from(rng.log_uniform(0.01, 0.4));
            let weight = OF_SIGNALS / (2 * signals) as f64;
            loss.add_signal::<4>(&signal, gamma, retention, 12, weight, target)?;
            loss.add_signal::<16>(&signal, gamma, retention, 8, weight, target)?;
        }
        Ok(loss)
    }

    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns a group's part of the loss and of its gradient at parameters. The thread's stack must have room for numbers with
    /// derivatives of 32 features.
    pub fn of_group(&self, group: usize, parameters: &[f64]) -> (f64, Vec<f64>) {
        let mut all = [0.0; UniversalParameters::COUNT];
        for (to, from) in all.iter_mut().zip(parameters) {
            *to = *from;
        }
        let loss = self.groups[group].loss(&learned(&all));
        (loss.value, loss.derivatives.to_vec())
    }

    /// Adds the contexts of a number of tasks, a group for each length. `weight` is that of the family and the discount, `of_d`
    /// the square of that of the number of features.
    fn add_tasks<const D: usize>(
        &mut self,
        BenchmarkCell { family, d, gamma }: BenchmarkCell,
        tasks: usize,
        weight: f64,
        of_d: f64,
        target: Target,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        let model = UniversalModel::<f64>::pretrained(gamma)?;
        let mut cases = LENGTHS.map(|_| Vec::new());
        for index in 0..tasks {
            let task: Mrp<f64, D, STATES> = family.draw(d, gamma, rng)?;
            let judged = Arc::new(judged_states(&task, gamma, target, rng)?);
            let (mut context, mut state) = (model.context::<D>(), task.initial_state(rng));
            for (cases, n) in cases.iter_mut().zip(LENGTHS) {
                // The longest contexts cost most and differ least.
                if n > 1000 && (index >= 4 || d > 8) {
                    continue;
                }
                while context.len() < n {
                    TransitionSink::observe(&mut context, &task.transition(&mut state, rng), 1.0)?;
                }
                cases.push(ScoredContext::new(&model, &context, judged.clone())?);
            }
        }
        for (n, cases) in LENGTHS.into_iter().zip(cases).filter(|(_, cases)| !cases.is_empty()) {
            let factor = 1.0 / cases.len() as f64;
            // The shortest and the longest contexts are few.
            let of_length = if matches!(n, 1..=3 | 500..) { 1.5 } else { 1.0 };
            let weight = weight * of_length * of_d.sqrt();
            let unsure = family.is_representable() && !family.is_tabular() && n <= 100;
            let margin = if unsure { UNSURE } else { 0.0 };
            let lstds = if family.is_tabular() { LSTD_0_ONE } else { ALL_LSTDS };
            // A mean over more tasks says more.
            let guard = (cases.len() as f64).sqrt();
            let group = ContextGroup::new(cases, factor, weight, margin, lstds);
            self.groups.push(ContextGroup { guard, ..group });
        }
        Ok(())
    }

    /// Adds the contexts of a signal with D features, each scored by the returns until the next one; adds nothing for a constant
    /// signal. `retention` is that of a context per sample, `weight` that of the group in the loss.
    fn add_signal<const D: usize>(
        &mut self,
        samples: &[f32],
        gamma: f64,
        retention: f64,
        contexts: usize,
        weight: f64,
        target: Target,
    ) -> Result<(), Error> {
        let (returns, end, variance) = returns(samples, gamma);
        if variance.is_nan() || variance <= 1e-9 {
            return Ok(());
        }
        let n = (end - BEGIN) as f64;
        let model = UniversalModel::<f64>::pretrained(gamma)?;
        let mut signal = SignalFeatures::<D, f64>::new();
        let mut seen = Vec::new();
        for x in samples {
            let (features, deviation) = signal.observe((*x).into())?;
            seen.push((SVector::from(features), deviation, *signal.level()));
        }
        let level = &seen[0].2;
        let scale = level.discounted_sum(gamma, 1.0) - level.discounted_sum(gamma, 0.0);
        let (mut context, mut cases) = (model.forgetting::<D>(retention)?, Vec::new());
        let mut t = 0;
        for index in 0..contexts {
            let place = |index: usize| BEGIN + index * (end - BEGIN) / contexts;
            while t < place(index) {
                let of =
                    Transition { phi: seen[t].0, reward: seen[t + 1].1, phi_next: seen[t + 1].0 };
                TransitionSink::observe(&mut context, &of, 1.0)?;
                t += 1;
            }
            let following = place(index)..place(index + 1);
            let judged = match target {
                Target::Value => Vec::from_iter(following.map(|at| {
                    let (phi, _, level) = &seen[at];
                    let weight = scale * scale / (variance * n);
                    let target = level.deviation_sum(gamma, returns[at]);
                    ScoredState { phi: *phi, target, next: None, weight }
                })),
                Target::TdError => {
                    let mut of = of_transitions(
                        following.map(|at| (seen[at].0, seen[at + 1].1, seen[at + 1].0)),
                    );
                    of.iter_mut().for_each(|of| of.weight /= contexts as f64);
                    of
                }
            };
            cases.push(ScoredContext::new(&model, &context, Arc::new(judged))?);
        }
        self.groups.push(ContextGroup::new(cases, 1.0, weight, 0.0, ALL_LSTDS));
        Ok(())
    }
}

/// Returns the states at which a task's values are scored: all with their true values, or fresh transitions.
fn judged_states<const D: usize>(
    task: &Mrp<f64, D, STATES>,
    gamma: f64,
    target: Target,
    rng: &mut Rng,
) -> Result<Vec<ScoredState<D>>, Error> {
    let (value, distribution) = (task.true_value(gamma)?, task.stationary_distribution()?);
    let square = task.msve(&distribution, &SVector::zeros(), &value);
    Ok(match target {
        Target::Value => Vec::from_iter((0..task.states()).map(|s| ScoredState {
            phi: task.feature_map()[s],
            target: value[s],
            next: None,
            weight: distribution[s] / square,
        })),
        Target::TdError => {
            let mut rng = Rng::new(rng.next_u64());
            let mut state = task.initial_state(&mut rng);
            of_transitions((0..TRANSITIONS).map(|_| {
                let of = task.transition(&mut state, &mut rng);
                (of.phi, of.reward, of.phi_next)
            }))
        }
    })
}

/// The number of fresh transitions of a task that is scored by TD errors.
const TRANSITIONS: usize = 100;

/// Returns transitions (phi, r, phi') scored by their squared TD errors, relative to the squared rewards.
fn of_transitions<const D: usize>(
    transitions: impl Iterator<Item = (SVector<f64, D>, f64, SVector<f64, D>)>,
) -> Vec<ScoredState<D>> {
    let of = |(phi, target, next)| ScoredState { phi, target, next: Some(next), weight: 1.0 };
    let mut judged = Vec::from_iter(transitions.map(of));
    let squares: f64 = judged.iter().map(|of| of.target * of.target).sum();
    for of in &mut judged {
        of.weight = if squares > 0.0 { 1.0 / squares } else { 0.0 };
    }
    judged
}

/// The first sample that is scored.
const BEGIN: usize = 50;

/// Returns the returns of a signal's samples, the end of the samples whose returns are known, and the variance of the returns
/// from [`BEGIN`] to that end.
fn returns(samples: &[f32], gamma: f64) -> (Vec<f64>, usize, f64) {
    let mut returns = vec![0.0; samples.len()];
    for t in (0..samples.len() - 1).rev() {
        returns[t] = f64::from(samples[t + 1]) + gamma * returns[t + 1];
    }
    // Drop the returns that the end of the signal truncates.
    let horizon = (6.9 / (1.0 - gamma)).min(samples.len() as f64 / 2.0) as usize;
    let end = samples.len() - horizon;
    let n = (end - BEGIN) as f64;
    let mean = returns[BEGIN..end].iter().sum::<f64>() / n;
    let variance = returns[BEGIN..end].iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
    (returns, end, variance)
}
