//! Evaluates trained one-head transformers on fresh tasks, in several draws that all seeds of a run share: their values'
//! distance from batch TD's with the converged learning rate, the share of |v|^2 that each formula explains, the share that is
//! lost by keeping ten parameters per layer, and what the function loses without each of them.

use crate::construction::Construction;
use crate::explained::{AlgorithmStep, Target};
use crate::formulas::{self, Formula};
use compute::capacity::LAYERS;
use compute::log::{LogPoint, Matrices, SeedRun};
use compute::recipe::{AttentionKind, LayerSharing, Loss, NetworkKind, Recipe};
use compute::tasks::RecipeTasks;
use ictd_core::Result;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::invariant_set::commuting_part;
use ictd_core::layer::{Layer, LayerParameters as _};
use ictd_core::linalg::linear_system;
use ictd_core::mask::TdLambda;
use ictd_core::metrics::comparison::cosine;
use ictd_core::metrics::{LayerBlocks, Pattern};
use ictd_core::model::Linear;
use ictd_core::prompt::Prompt;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::td::PreconditionedTd;
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use nalgebra::{SMatrix, SVector};
use std::ops::Range;

/// The largest number of transitions in a context together with the queries after it.
const LENGTH: usize = 300;
/// Queries after each context; fewer with softmax attention, where each takes a forward pass.
const QUERIES: usize = 16;
const SOFTMAX_QUERIES: usize = 6;
/// The number of draws of tasks, and of contexts in each. Results are means over draws, whose spread shows how much they depend
/// on the tasks; the numbers of formulas are fitted in another draw.
pub const DRAWS: usize = 5;
pub const JUDGED: usize = 800;
/// The number of contexts in which networks without one of their blocks are tested.
const WITHOUT: usize = 200;
/// A seed is stuck if no formula explains this much of it.
const STUCK_BELOW: f64 = 0.9;
/// The largest number of log points that are evaluated, and the number of contexts per draw for them.
const POINTS: usize = 20;
const OF_LOG: usize = 20;
/// The number of contexts that are probed for linearity, and of random queries in each; more with softmax attention, whose
/// functions are not linear.
const PROBED: usize = 2;
const PROBES: usize = 16;
const SOFTMAX_PROBED: usize = 5;
const SOFTMAX_PROBES: usize = 48;

#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    pub metric: String,
    /// The place on a figure's horizontal axis, such as a number of tasks; 0 without one.
    pub at: f64,
    /// The value; NaN if it is not defined for the seed.
    pub value: f64,
}

pub fn number(metric: impl Into<String>, value: f64) -> Measurement {
    Measurement { metric: metric.into(), at: 0.0, value }
}

/// The algorithms that a function is compared with, and their trace decays, by their names in records; the first is
/// batch TD(0).
pub const ALGORITHMS: [(&str, (Construction, f64)); 5] = [
    ("TD(0)", (Construction::TdLambda, 0.0)),
    ("TD(0.3)", (Construction::TdLambda, 0.3)),
    ("TD(0.6)", (Construction::TdLambda, 0.6)),
    ("TD(0.9)", (Construction::TdLambda, 0.9)),
    ("residual gradient", (Construction::ResidualGradient, 0.0)),
];

pub fn by_draw(metric: &str) -> String {
    format!("{metric} by draw")
}

/// Returns a metric's value in each draw, counted from 1, and its mean over draws.
fn of_draws(metric: &str, values: &[f64]) -> Vec<Measurement> {
    let place =
        |(draw, value)| Measurement { metric: by_draw(metric), at: draw as f64 + 1.0, value };
    let mut numbers: Vec<_> = values.iter().copied().enumerate().map(place).collect();
    numbers.push(number(metric, mean(values.iter().copied())));
    numbers
}

pub fn explained_by(candidate: &str) -> String {
    format!("explained by {candidate}")
}

/// The measurements of each trained seed on fresh tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EvaluationPlan {
    /// Whether to measure the distance from batch TD at the converged learning rate, `alpha_converged`: during training
    /// `vd_converged` and `iws_converged`; at the end, in every draw, `vd_judged`, `vtd_squared` (the mean of v_TD^2, which is
    /// VD for v_TF = 0), `vd_relative` (their ratio), `iws_judged` and `one_step` (the cosine between one step of batch TD and
    /// all of its steps), and `nonlinear` (the share of |v|^2, of literal forward values at random features, that the best
    /// linear function leaves unexplained; the largest of a few contexts).
    pub batch_td_distance: bool,
    /// Whether to compare the function with formulas. Records, in every draw, the share `explained by` each of them (see
    /// [`formulas`]), and of all draws together the share `pooled by` it; the fitted numbers of preconditioned TD;
    /// `share`, that of the algorithm that mask and loss define, with one step size; `lead`, its difference from the best
    /// share of the other [`ALGORITHMS`]; `expected`, the share if it leads, else 0; `preconditioned_lead`, how much more
    /// preconditioned TD explains than that algorithm with a step size for each layer; `exploding`, the share of contexts
    /// where v_TF is beyond 1 / (1 - gamma), as no value of rewards in (-1, 1) is; and `stuck`: 1 if no formula explains 0.9.
    pub formulas: bool,
    /// Whether to measure, in every draw, the share of |v|^2 `lost` by keeping ten parameters per layer; the shares of |P|^2
    /// and |Q|^2 outside these (`outside_p`, `outside_q`); `form_distance`, the largest distance, over the matrices of the stored
    /// layers, from the form of the algorithm that mask and loss define; and the share explained by the ten numbers, in every
    /// draw, and by what is left `without` one of them, or with fewer.
    pub lost: bool,
}

impl EvaluationPlan {
    pub const NOTHING: Self =
        EvaluationPlan { batch_td_distance: false, formulas: false, lost: false };
    /// Measures all.
    pub const FUNCTION: Self =
        EvaluationPlan { batch_td_distance: true, formulas: true, lost: true };
}

pub type SeedEvaluator = Box<dyn Fn(&SeedRun) -> Result<Vec<Measurement>> + Send + Sync>;

/// Draws the contexts for the seeds of a recipe, and returns their evaluator; or the reason why its networks are not judged.
/// Returns the core's error for a task that cannot be drawn.
pub fn judge(
    recipe: &Recipe,
    evaluation: EvaluationPlan,
    seed: u64,
) -> Result<std::result::Result<SeedEvaluator, String>> {
    let queries = queries(recipe);
    let longest = LENGTH - queries;
    let evaluator = match (recipe.network, recipe.dim) {
        (NetworkKind::Rnn, _) => return Ok(Err("an RNN has no layers of attention".into())),
        _ if recipe.context_length > longest => {
            let n = recipe.context_length;
            return Ok(Err(format!("contexts of {n} transitions; up to {longest} are judged")));
        }
        (_, 4) => Evaluation::<4, 9>::new(recipe, evaluation, seed)?.judge(),
        (_, 8) => Evaluation::<8, 17>::new(recipe, evaluation, seed)?.judge(),
        (_, d) => return Ok(Err(format!("{d} features; 4 and 8 are judged"))),
    };
    Ok(Ok(evaluator))
}

fn queries(recipe: &Recipe) -> usize {
    match recipe.attention {
        AttentionKind::Softmax => SOFTMAX_QUERIES,
        _ => QUERIES,
    }
}

struct Context<const D: usize, const K: usize> {
    /// Empty unless the literal forward pass needs them.
    transitions: Vec<Transition<f64, D>>,
    statistic: Statistic<f64, K>,
    queries: Vec<SVector<f64, D>>,
}

/// A value function in a context: its values at the queries, and its weights if it is linear.
struct Function<const D: usize> {
    values: Vec<f64>,
    weights: Option<SVector<f64, D>>,
}

/// The functions of a seed at its end, one in each context; `None` if it has diverged.
type AtEnd<'a, const D: usize> = Option<&'a [Function<D>]>;

struct Evaluation<const D: usize, const K: usize> {
    recipe: Recipe,
    evaluation: EvaluationPlan,
    /// One context per task, of the run's distribution and length, draw after draw.
    contexts: Vec<Context<D, K>>,
    /// The iteration of each algorithm, in each context.
    iterations: Vec<Vec<AlgorithmStep<D>>>,
    /// The means of preconditioned TD with the recipe's mask, in each context.
    means: Vec<PreconditionedTd<f64, D>>,
}

impl<const D: usize, const K: usize> Evaluation<D, K> {
    fn new(recipe: &Recipe, evaluation: EvaluationPlan, seed: u64) -> Result<Self> {
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let mut iterations: Vec<Vec<_>> = ALGORITHMS.iter().map(|_| Vec::new()).collect();
        let (mut contexts, mut means) = (Vec::new(), Vec::new());
        // The last draw is the one that numbers are fitted in.
        for at in 0..(DRAWS + 1) * JUDGED {
            let mut context = Self::context(recipe, &mut rng)?;
            for (of, (_, algorithm)) in iterations.iter_mut().zip(ALGORITHMS) {
                of.push(AlgorithmStep::new(algorithm, &context.transitions, recipe.gamma)?);
            }
            means.push(PreconditionedTd::from_statistic(&context.statistic));
            if recipe.attention == AttentionKind::Linear && at >= PROBED {
                context.transitions = Vec::new();
            }
            contexts.push(context);
        }
        Ok(Evaluation { recipe: recipe.clone(), evaluation, iterations, means, contexts })
    }

    fn judge(self) -> SeedEvaluator
    where
        Self: 'static,
    {
        Box::new(move |run| {
            let layers = at_end(run);
            // A seed that has diverged has no function.
            let end = match run.diverged() {
                None => Some(self.functions(&layers)?),
                Some(_) => None,
            };
            let mut numbers = Vec::new();
            if self.evaluation.formulas {
                numbers.extend(self.explained(end.as_deref()));
            }
            if self.evaluation.batch_td_distance {
                numbers.extend(self.batch_td_distance(run, end.as_deref())?);
            }
            if self.evaluation.lost {
                numbers.extend(self.lost(&layers, end.as_deref())?);
            }
            Ok(numbers)
        })
    }

    fn draws() -> impl Iterator<Item = Range<usize>> {
        (0..DRAWS).map(|draw| draw * JUDGED..(draw + 1) * JUDGED)
    }

    fn context(recipe: &Recipe, rng: &mut Rng) -> Result<Context<D, K>> {
        let (tasks, gamma) = (RecipeTasks(recipe.clone()), recipe.gamma as f32);
        let queries = queries(recipe);
        let task = TaskDistribution::<f32, D>::draw(&tasks, gamma, rng)?;
        let trajectory = task.trajectory::<LENGTH>(recipe.context_length + queries, rng)?;
        // The conversion to double precision is exact.
        let wide = |t: &Transition<f32, D>| Transition {
            phi: t.phi.map(f64::from),
            reward: f64::from(t.reward),
            phi_next: t.phi_next.map(f64::from),
        };
        let mut transitions: Vec<_> = trajectory.iter().map(wide).collect();
        let after = transitions.split_off(recipe.context_length.min(transitions.len()));
        let prompt = prompt::<D, K>(recipe, &transitions)?;
        let statistic = Statistic::from_prompt(&prompt, &TdLambda::new(recipe.trace_decay)?)?;
        let queries = after.iter().map(|t| t.phi_next).collect();
        Ok(Context { transitions, statistic, queries })
    }

    fn transformer(&self, layers: &[Layer<f64, K>]) -> Result<TrainedTransformer<K>> {
        match self.recipe.layer_sharing {
            LayerSharing::Autoregressive => {
                let first = layers.first().copied().unwrap_or(Layer::ZERO);
                Transformer::autoregressive(first, self.recipe.layers)
            }
            LayerSharing::Sequential => Transformer::sequential(layers),
        }
    }

    /// Returns v_TF after a context; its values are not finite if the layers diverge.
    fn function(
        &self,
        transformer: &TrainedTransformer<K>,
        context: &Context<D, K>,
    ) -> Result<Function<D>> {
        if self.recipe.attention == AttentionKind::Softmax {
            let values = self.literal(transformer, context, &context.queries)?;
            return Ok(Function { values, weights: None });
        }
        let weights = -transformer.readout(&context.statistic).fixed_rows::<D>(0);
        let values = context.queries.iter().map(|phi| weights.dot(phi)).collect();
        Ok(Function { values, weights: Some(weights) })
    }

    /// Returns v_TF at any features after a context, by the literal forward pass.
    fn literal(
        &self,
        transformer: &TrainedTransformer<K>,
        context: &Context<D, K>,
        queries: &[SVector<f64, D>],
    ) -> Result<Vec<f64>> {
        let mut prompt = prompt::<D, K>(&self.recipe, &context.transitions)?;
        let mask = TdLambda::new(self.recipe.trace_decay)?;
        let value = |phi: &SVector<f64, D>| {
            prompt.query = query_token(phi);
            match self.recipe.attention {
                AttentionKind::Softmax => transformer.value(&prompt, &SoftmaxAttention),
                _ => transformer.value(&prompt, &Linear(mask)),
            }
        };
        queries.iter().map(value).collect()
    }

    fn functions(&self, layers: &[Layer<f64, K>]) -> Result<Vec<Function<D>>> {
        let transformer = self.transformer(layers)?;
        self.contexts.iter().map(|context| self.function(&transformer, context)).collect()
    }

    /// Returns VD and IWS of functions in some contexts, compared with batch TD's weights there.
    fn distance<'a>(
        of: impl Iterator<Item = (&'a Context<D, K>, &'a Function<D>, SVector<f64, D>)>,
    ) -> [f64; 2] {
        let (mut vd, mut iws) = (Vec::new(), Vec::new());
        for (context, Function { values, weights }, v_td) in of {
            let squares = context.queries.iter().zip(values).map(|(phi, v)| v - v_td.dot(phi));
            vd.push(mean(squares.map(|x| x * x)));
            // A nonlinear function has no weights, and a few queries do not determine implicit ones.
            iws.extend(weights.map(|w| cosine(&w, &v_td)));
        }
        [vd, iws].map(|of| mean(of.into_iter()))
    }

    /// Returns the distances of P and Q from the form of the algorithm that mask and loss define. A single layer starts from w = 0, so only the part of Q that multiplies rewards is trained.
    fn form_distances(&self, Layer { p, q }: &Layer<f64, K>) -> [f64; 2] {
        let residual = self.recipe.loss == Loss::ResidualGradient;
        let of_q = match (residual, self.recipe.layers) {
            (false, 1) => Pattern::ONE_LAYER_TD,
            (false, _) => Pattern::TD,
            (true, 1) => Pattern::from_blocks([[-1.0, 0.0], [1.0, 0.0]]),
            (true, _) => Pattern::RESIDUAL_GRADIENT,
        };
        LayerBlocks::from_entries(D, K, [p, q].map(|m| move |i, j| m[(i, j)])).distances(&of_q)
    }

    fn nonlinear(&self, layers: &[Layer<f64, K>], seed: u64) -> Result<f64> {
        let transformer = self.transformer(layers)?;
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let mut largest = 0.0_f64;
        let (probed, probes) = match self.recipe.attention {
            AttentionKind::Softmax => (SOFTMAX_PROBED, SOFTMAX_PROBES),
            _ => (PROBED, PROBES),
        };
        for context in &self.contexts[..probed] {
            let feature = |_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
            let queries: Vec<SVector<f64, D>> = (0..probes).map(feature).collect();
            let values = self.literal(&transformer, context, &queries)?;
            let left = left_by_linear(&queries, &values)?;
            // NaN propagates.
            largest = if largest.is_nan() || left <= largest { largest } else { left };
        }
        Ok(largest)
    }

    fn batch_td_distance(&self, run: &SeedRun, end: AtEnd<D>) -> Result<Vec<Measurement>> {
        let tenth = run.points.len().div_ceil(10);
        let alpha = mean(run.points.iter().rev().take(tenth).map(|p| p.alpha));
        let mut numbers = vec![number("alpha_converged", alpha)];
        let (mut nonlinear, mut of_draw) = (f64::NAN, [[f64::NAN; DRAWS]; 5]);
        if let Some(end) = end {
            let step_sizes = vec![alpha; self.recipe.layers];
            let td = &self.iterations[0];
            let weights: Vec<_> = td.iter().map(|td| td.weights(&step_sizes)).collect();
            let all = || self.contexts.iter().zip(end).zip(&weights).map(|((c, f), w)| (c, f, *w));
            for (draw, places) in Self::draws().enumerate() {
                let within = || all().skip(places.start).take(JUDGED);
                let [vd, iws] = Self::distance(within());
                let squared =
                    within().flat_map(|(c, _, w)| c.queries.iter().map(move |phi| w.dot(phi)));
                let squared = mean(squared.map(|v| v * v));
                let one_step = mean(places.map(|at| cosine(&td[at].b, &weights[at])));
                let found = [vd, squared, vd / squared, iws, one_step];
                found.into_iter().zip(&mut of_draw).for_each(|(x, metric)| metric[draw] = x);
            }
            let some: Vec<_> = Self::draws().flat_map(|of| of.take(OF_LOG)).collect();
            let every = (run.points.len() - 1).div_ceil(POINTS).max(1);
            // Skip the first points, so that the last one is taken.
            let skipped = (run.points.len() - 1) % every;
            for point in run.points.iter().skip(skipped).step_by(every) {
                let transformer = self.transformer(&layers(point))?;
                let functions =
                    some.iter().map(|i| self.function(&transformer, &self.contexts[*i]));
                let functions = functions.collect::<Result<Vec<_>>>()?;
                let places = some.iter().zip(&functions);
                let [vd, iws] =
                    Self::distance(places.map(|(i, f)| (&self.contexts[*i], f, weights[*i])));
                for (metric, value) in [("vd_converged", vd), ("iws_converged", iws)] {
                    numbers.push(Measurement { at: point.tasks as f64, ..number(metric, value) });
                }
            }
            nonlinear = self.nonlinear(&at_end(run), run.seed)?;
        }
        let names = ["vd_judged", "vtd_squared", "vd_relative", "iws_judged", "one_step"];
        numbers.extend(names.iter().zip(&of_draw).flat_map(|(name, of)| of_draws(name, of)));
        numbers.push(number("nonlinear", nonlinear));
        Ok(numbers)
    }

    fn targets(&self, functions: &[Function<D>]) -> Vec<Target<D>> {
        let target = |(context, function): (&Context<D, K>, &Function<D>)| {
            let weight = 1.0 / context.queries.len() as f64;
            let queries = context.queries.iter().zip(&function.values);
            Target::over(queries.map(|(phi, v)| (*phi, *v, weight)))
        };
        self.contexts.iter().zip(functions).map(target).collect()
    }

    /// Returns the position in [`ALGORITHMS`] of the one that mask and loss define.
    fn own_algorithm(&self) -> Option<usize> {
        let expected = match self.recipe.loss {
            Loss::ResidualGradient => (Construction::ResidualGradient, 0.0),
            _ => (Construction::TdLambda, self.recipe.trace_decay),
        };
        ALGORITHMS.iter().position(|(_, algorithm)| *algorithm == expected)
    }

    /// Returns the formulas: first [`ALGORITHMS`] with one step size each, then those with more numbers.
    fn formulas(&self) -> Vec<Formula<'_, D>> {
        let layers = self.recipe.layers;
        let named = ALGORITHMS.iter().zip(&self.iterations);
        let mut all: Vec<_> =
            named.map(|((name, _), steps)| formulas::one_step_size(name, steps, layers)).collect();
        all.extend(
            self.own_algorithm().map(|own| formulas::step_sizes(&self.iterations[own], layers)),
        );
        all.push(formulas::preconditioned(&self.means, layers));
        all.push(formulas::own_discount(&self.means, layers));
        all
    }

    fn explained(&self, end: AtEnd<D>) -> Vec<Measurement> {
        let formulas = self.formulas();
        let mut shares = vec![vec![f64::NAN; DRAWS]; formulas.len()];
        let (mut numbers, mut exploding) = (Vec::new(), f64::NAN);
        let targets = end.map(|end| self.targets(end));
        for (share, formula) in shares.iter_mut().zip(&formulas) {
            let mut pooled = f64::NAN;
            if let Some(targets) = &targets {
                let found = formula.fitted(targets, DRAWS * JUDGED..targets.len());
                let weights = |at: usize| (formula.weights)(at, &found);
                for (share, places) in share.iter_mut().zip(Self::draws()) {
                    *share =
                        1.0 - median(places.map(|at| targets[at].relative_error(&weights(at))));
                }
                let tested = || targets[..DRAWS * JUDGED].iter().enumerate();
                let left: f64 = tested().map(|(at, of)| of.residual(&weights(at))).sum();
                pooled = 1.0 - left / tested().map(|(_, of)| of.energy).sum::<f64>();
                if formula.name == formulas::OWN_DISCOUNT {
                    numbers.push(number("own discount", found[2]));
                } else if formula.name == formulas::PRECONDITIONED {
                    numbers.extend([
                        number("fitted alpha", found[0]),
                        number("fitted beta", found[1]),
                    ]);
                }
            }
            numbers.extend(of_draws(&explained_by(&formula.name), share));
            numbers.push(number(format!("pooled by {}", formula.name), pooled));
        }
        if let Some(targets) = &targets {
            let largest = 1.0 / (1.0 - self.recipe.gamma);
            let tested = targets[..DRAWS * JUDGED].iter();
            let explodes = |energy: f64| energy.is_nan() || energy > largest * largest;
            exploding = mean(tested.map(|of| f64::from(explodes(of.energy))));
        }
        let means: Vec<_> = shares.iter().map(|of| mean(of.iter().copied())).collect();
        let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        numbers.push(number("exploding", exploding));
        numbers.push(number("stuck", f64::from(most < STUCK_BELOW)));
        let Some(own) = self.own_algorithm() else { return numbers };
        let of = |name: &str| formulas.iter().position(|of| of.name == name);
        let difference =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
        if let [Some(two), Some(several)] = [formulas::PRECONDITIONED, formulas::STEP_SIZES].map(of)
        {
            let lead = difference(&shares[two], &shares[several]);
            numbers.extend(of_draws("preconditioned_lead", &lead));
        }
        let best = |draw: usize| {
            let others = (0..ALGORITHMS.len()).filter(|at| *at != own);
            others.map(|at| shares[at][draw]).fold(f64::NEG_INFINITY, f64::max)
        };
        let lead = difference(&shares[own], &(0..DRAWS).map(best).collect::<Vec<_>>());
        // If the lead is NaN, so is the share.
        let leads = mean(lead.iter().copied());
        numbers.push(number("expected", if leads < 0.0 { 0.0 } else { means[own] }));
        numbers.extend(of_draws("share", &shares[own]));
        numbers.extend(of_draws("lead", &lead));
        numbers
    }

    /// Returns the median over contexts of the share of the functions `all` that other functions explain.
    fn share<'a>(pairs: impl Iterator<Item = (&'a Function<D>, &'a Function<D>)>) -> f64 {
        let error = |(all, part): (&Function<D>, &Function<D>)| {
            let pairs = all.values.iter().zip(&part.values);
            let left = pairs.map(|(v, part)| (v - part) * (v - part)).sum::<f64>();
            left / all.values.iter().map(|v| v * v).sum::<f64>()
        };
        1.0 - median(pairs.map(error))
    }

    /// Returns the share that each part of the ten numbers explains: all but one of them, P's with Theorem 1's two of Q (six),
    /// and Theorem 1's alone.
    fn parts(&self, kept: &[Layer<f64, K>], end: AtEnd<D>) -> Result<Vec<Measurement>> {
        type Number = (char, usize, usize);
        let blocks = |m| (0..2).flat_map(move |i| (0..2).map(move |j| (m, i, j)));
        let all: Vec<Number> = blocks('p').chain(blocks('q')).collect();
        let name = |(m, i, j): &Number| format!("without {m}_{i}{j}");
        let mut parts: Vec<(String, Vec<Number>)> =
            all.iter().map(|left_out| (name(left_out), vec![*left_out])).collect();
        parts.push(("six numbers".into(), vec![('q', 1, 0), ('q', 1, 1)]));
        parts.push(("Theorem 1's entries".into(), [&all[..4], &all[6..]].concat()));
        let mut numbers = Vec::new();
        for (name, left_out) in parts {
            let mut share = f64::NAN;
            if let Some(end) = end {
                let mut layers = kept.to_vec();
                for Layer { p, q } in &mut layers {
                    for (m, i, j) in &left_out {
                        let matrix = if *m == 'p' { &mut *p } else { &mut *q };
                        matrix.view_mut((i * D, j * D), (D, D)).fill(0.0);
                    }
                }
                let transformer = self.transformer(&layers)?;
                let some = self.contexts[..WITHOUT].iter();
                let functions: Vec<_> = some
                    .map(|context| self.function(&transformer, context))
                    .collect::<Result<_>>()?;
                share = Self::share(end.iter().zip(&functions));
            }
            numbers.push(number(explained_by(&name), share));
        }
        Ok(numbers)
    }

    fn lost(&self, layers: &[Layer<f64, K>], end: AtEnd<D>) -> Result<Vec<Measurement>> {
        let distances = layers.iter().flat_map(|layer| self.form_distances(layer));
        let largest = distances.reduce(f64::max).unwrap_or(f64::NAN);
        let mut numbers = vec![number("form_distance", largest)];
        let (mut outside, mut lost) = ([f64::NAN; 2], vec![f64::NAN; DRAWS]);
        let mut explained = vec![f64::NAN; DRAWS];
        let kept: Vec<_> = layers.iter().map(commuting_part::<D, _>).collect();
        numbers.extend(self.parts(&kept, end)?);
        if let Some(end) = end {
            let share = |of: fn(&Layer<f64, K>) -> &SMatrix<f64, K, K>| {
                let pairs = layers.iter().zip(&kept);
                let energy = layers.iter().map(|layer| of(layer).norm_squared()).sum::<f64>();
                pairs.map(|(all, kept)| (of(all) - of(kept)).norm_squared()).sum::<f64>() / energy
            };
            outside = [share(|layer| &layer.p), share(|layer| &layer.q)];
            let kept = self.functions(&kept)?;
            let share = |places: Range<usize>| {
                let functions = end[places.clone()].iter().zip(&kept[places]);
                let pairs = functions.flat_map(|(all, kept)| all.values.iter().zip(&kept.values));
                let add = |(left, all), (v, kept)| (left + (v - kept) * (v - kept), all + v * v);
                let (left, all) = pairs.fold((0.0, 0.0), add);
                left / all
            };
            explained = Self::draws()
                .map(|places| Self::share(end[places.clone()].iter().zip(&kept[places])))
                .collect();
            lost = Self::draws().map(share).collect();
        }
        numbers.extend(of_draws(&explained_by("ten numbers"), &explained));
        let names = ["outside_p", "outside_q"];
        numbers.extend(names.iter().zip(outside).map(|(metric, value)| number(*metric, value)));
        numbers.extend(of_draws("lost", &lost));
        Ok(numbers)
    }
}

type TrainedTransformer<const K: usize> = Transformer<Layer<f64, K>, LAYERS>;

fn prompt<const D: usize, const K: usize>(
    recipe: &Recipe,
    context: &[Transition<f64, D>],
) -> Result<Prompt<f64, K, LENGTH>> {
    Prompt::discounted(context, recipe.gamma, &SVector::zeros())
}

fn layers<const K: usize>(point: &LogPoint) -> Vec<Layer<f64, K>> {
    point.layers.iter().map(Matrices::to_layer).collect()
}

fn at_end<const K: usize>(run: &SeedRun) -> Vec<Layer<f64, K>> {
    run.last().map_or(Vec::new(), layers)
}

/// Returns the share of sum v^2 that the best linear function leaves unexplained.
pub fn left_by_linear<const D: usize>(queries: &[SVector<f64, D>], values: &[f64]) -> Result<f64> {
    let w = best_weights(queries, values)?;
    let left = queries.iter().zip(values).map(|(phi, v)| (v - w.dot(phi)) * (v - w.dot(phi)));
    Ok(left.sum::<f64>() / values.iter().map(|v| v * v).sum::<f64>())
}

/// Returns argmin_w sum (v - <w, phi>)^2 over at most `SOFTMAX_PROBES` values.
fn best_weights<const D: usize>(
    queries: &[SVector<f64, D>],
    values: &[f64],
) -> Result<SVector<f64, D>> {
    const M: usize = SOFTMAX_PROBES;
    let a = SMatrix::<f64, M, D>::from_fn(|i, j| queries.get(i).map_or(0.0, |phi| phi[j]));
    let b = SVector::<f64, M>::from_fn(|i, _| values.get(i).copied().unwrap_or(0.0));
    linear_system::least_squares(a, b, [queries.len(), D], "the best linear function")
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), x| (count + 1.0, sum + x));
    sum / count
}

/// Returns the median; numbers that are not finite count as the largest.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> =
        values.map(|x| if x.is_finite() { x } else { f64::INFINITY }).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => f64::NAN,
        0 => 0.5 * (values[middle - 1] + values[middle]),
        _ => values[middle],
    }
}
