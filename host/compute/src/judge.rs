//! The judge of trained layers, of one head: fresh tasks that no training saw, the same for all seeds of
//! a run. It says how near the values come to batch TD's with the converged learning rate, which share of |v|^2
//! the classical algorithms explain, and what is lost by keeping ten numbers a layer.

use crate::construction::Construction;
use crate::explained::{AlgorithmStep, LAYERS, Target, explained};
use crate::log::{Matrices, Point, SeedRun};
use crate::recipe::{AttentionKind, LayerSharing, LossKind, NetworkKind, Recipe};
use crate::tasks::RecipeTasks;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::invariant_set::commuting_part;
use ictd_core::layer::{Layer, LayerParameters as _};
use ictd_core::linalg::linear_system;
use ictd_core::mask::TdLambda;
use ictd_core::metrics::comparison::cosine;
use ictd_core::metrics::{Blocks, LayerBlocks, Pattern};
use ictd_core::prompt::Prompt;
use ictd_core::rng::{Rng, RngStream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::transformer::Transformer;
use ictd_core::transition::{Transition, query_token};
use nalgebra::{SMatrix, SVector};

/// The most transitions of a context together with the queries after it.
const LENGTH: usize = 300;
/// States that are asked for after each context.
const QUERIES: usize = 16;
/// Contexts of a judge: the first half fits the algorithms, the other judges them.
pub const CONTEXTS: usize = 400;
/// The most log points that are judged again, and the contexts that they are judged in.
const POINTS: usize = 40;
const OF_LOG: usize = 20;
/// Contexts in which it is asked how linear a function is, and features of random queries in each.
const LINEAR: usize = 5;
const RANDOM_QUERIES: usize = 48;

/// A result of the core.
pub type Judged<T> = Result<T, ictd_core::Error>;

/// A number of a seed: what it measures, where (a number of tasks, or 0), and the number.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The name of the metric.
    pub metric: String,
    /// The place on a figure's horizontal axis.
    pub at: f64,
    /// The number; NaN where a seed has none.
    pub value: f64,
}

/// Returns a number that has no place of its own.
pub fn number(metric: impl Into<String>, value: f64) -> Number {
    Number { metric: metric.into(), at: 0.0, value }
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

/// Returns the name of the metric that says which share an algorithm explains.
pub fn explained_by(candidate: &str) -> String {
    format!("explained by {candidate}")
}

/// The questions to each trained seed on fresh tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EvaluationPlan {
    /// Its distance from batch TD whose learning rate is the converged one: `alpha_converged`; on the way
    /// `vd_converged` and `iws_converged`; at the end `vd_part` (the larger of VD over its first value and of VD
    /// over the mean square of v_TD), `vd_relative` (the latter), `one_step` (the cosine of a single step of
    /// batch TD with all of them) and `nonlinear` (the share of |v|^2, of literal forward values at random
    /// features, that the best linear function leaves over; the largest of a few contexts).
    pub batch_td_distance: bool,
    /// The number of candidate algorithms to fit, with L step sizes fitted on other contexts: it records the share of
    /// |v|^2 that each explains, and `expected`, the share of the algorithm that mask and loss stand for, NaN if
    /// another explains more.
    pub candidates: usize,
    /// The number of contexts in which it is asked which share of |v|^2 is `lost` by keeping ten numbers a layer; and
    /// what is outside of these (`outside_p`, `outside_q`: shares of the energy of P and of Q), and `form`: the least
    /// share, of the matrices of each stored layer, of energy in the form of the algorithm that mask and loss stand for.
    pub lost: usize,
}

impl EvaluationPlan {
    /// Nothing.
    pub const NOTHING: Self = EvaluationPlan { batch_td_distance: false, candidates: 0, lost: 0 };
    /// Its distance from batch TD, and the share that every candidate explains.
    pub const FUNCTION: Self =
        EvaluationPlan { batch_td_distance: true, candidates: usize::MAX, lost: 0 };
}

/// Answers the questions about a seed.
pub type SeedEvaluator = Box<dyn Fn(&SeedRun) -> Judged<Vec<Number>> + Send + Sync>;

/// Draws the contexts for the seeds of a recipe. There is no judge where nothing is asked, nor of networks without one
/// head's P and Q of 4 or 8 features, in up to 4 layers.
pub fn judge(
    recipe: &Recipe,
    evaluation: EvaluationPlan,
    seed: u64,
) -> Judged<Option<SeedEvaluator>> {
    Ok(Some(match (recipe.network, recipe.layers, recipe.dim) {
        _ if evaluation == EvaluationPlan::NOTHING => return Ok(None),
        (NetworkKind::Transformer, 1..=LAYERS, 4) => {
            Evaluation::<4, 9>::new(recipe, evaluation, seed)?.judge()
        }
        (NetworkKind::Transformer, 1..=LAYERS, 8) => {
            Evaluation::<8, 17>::new(recipe, evaluation, seed)?.judge()
        }
        _ => return Ok(None),
    }))
}

struct Context<const D: usize, const K: usize> {
    transitions: Vec<Transition<f64, D>>,
    statistic: Statistic<f64, K>,
    queries: Vec<SVector<f64, D>>,
}

struct Evaluation<const D: usize, const K: usize> {
    recipe: Recipe,
    evaluation: EvaluationPlan,
    /// Each is of a task of its own, of the run's distribution and length.
    contexts: Vec<Context<D, K>>,
    /// The iteration of each candidate, in each context.
    iterations: Vec<Vec<AlgorithmStep<D>>>,
}

impl<const D: usize, const K: usize> Evaluation<D, K> {
    fn new(recipe: &Recipe, evaluation: EvaluationPlan, seed: u64) -> Judged<Self> {
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let contexts = (0..CONTEXTS).map(|_| Self::context(recipe, &mut rng));
        let contexts = contexts.collect::<Judged<Vec<_>>>()?;
        let of = |(_, candidate): &(_, _)| {
            let iteration =
                |c: &Context<D, K>| AlgorithmStep::new(*candidate, &c.transitions, recipe.gamma);
            contexts.iter().map(iteration).collect()
        };
        let iterations =
            ALGORITHMS.iter().take(evaluation.candidates).map(of).collect::<Judged<_>>()?;
        Ok(Evaluation { recipe: recipe.clone(), evaluation, iterations, contexts })
    }

    fn judge(self) -> SeedEvaluator
    where
        Self: 'static,
    {
        Box::new(move |run| {
            let mut numbers = self.explained(run)?;
            if self.evaluation.batch_td_distance {
                numbers.extend(self.batch_td_distance(run)?);
            }
            if self.evaluation.lost > 0 {
                numbers.extend(self.lost(run)?);
            }
            Ok(numbers)
        })
    }

    /// Draws a task of the recipe's distribution and a context of the recipe's length in it.
    fn context(recipe: &Recipe, rng: &mut Rng) -> Judged<Context<D, K>> {
        let (tasks, gamma) = (RecipeTasks(recipe.clone()), recipe.gamma as f32);
        let task = TaskDistribution::<f32, D>::draw(&tasks, gamma, rng)?;
        let trajectory = task.trajectory::<LENGTH>(recipe.context_length + QUERIES, rng)?;
        // In double precision nothing is rounded any more.
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

    fn transformer(&self, layers: &[Layer<f64, K>]) -> Judged<TrainedTransformer<K>> {
        match self.recipe.layer_sharing {
            LayerSharing::Autoregressive => {
                let first = layers.first().copied().unwrap_or(Layer::ZERO);
                Transformer::autoregressive(first, self.recipe.layers)
            }
            LayerSharing::Sequential => Transformer::sequential(layers),
        }
    }

    /// Returns v_TF at the queries after a context; it is not finite where the layers blow up.
    fn values_after(
        &self,
        transformer: &TrainedTransformer<K>,
        context: &Context<D, K>,
    ) -> Judged<Vec<f64>> {
        if self.recipe.attention == AttentionKind::Softmax {
            return self.literal(transformer, context, &context.queries);
        }
        let u = transformer.readout(&context.statistic);
        Ok(context.queries.iter().map(|phi| -u.fixed_rows::<D>(0).dot(phi)).collect())
    }

    /// Returns v_TF at any features after a context, by the literal forward pass.
    fn literal(
        &self,
        transformer: &TrainedTransformer<K>,
        context: &Context<D, K>,
        queries: &[SVector<f64, D>],
    ) -> Judged<Vec<f64>> {
        let mut prompt = prompt::<D, K>(&self.recipe, &context.transitions)?;
        let mask = TdLambda::new(self.recipe.trace_decay)?;
        let value = |phi: &SVector<f64, D>| {
            prompt.set_query(query_token(phi));
            match self.recipe.attention {
                AttentionKind::Softmax => transformer.value(&prompt, &SoftmaxAttention),
                _ => transformer.value(&prompt, &mask),
            }
        };
        queries.iter().map(value).collect()
    }

    fn values(
        &self,
        layers: &[Layer<f64, K>],
        contexts: &[Context<D, K>],
    ) -> Judged<Vec<Vec<f64>>> {
        let transformer = self.transformer(layers)?;
        contexts.iter().map(|context| self.values_after(&transformer, context)).collect()
    }

    fn targets(&self, layers: &[Layer<f64, K>]) -> Judged<Vec<Target<D>>> {
        let target = |(context, values): (&Context<D, K>, Vec<f64>)| {
            let mut target = Target::empty();
            for (phi, v) in context.queries.iter().zip(values) {
                target.add(phi, v, 1.0 / QUERIES as f64);
            }
            target
        };
        let values = self.values(layers, &self.contexts)?;
        Ok(self.contexts.iter().zip(values).map(target).collect())
    }

    /// Returns VD and IWS of a log point in some contexts, beside batch TD's weights there.
    fn distance(
        &self,
        point: &Point,
        places: &[(&Context<D, K>, SVector<f64, D>)],
    ) -> Judged<[f64; 2]> {
        let transformer = self.transformer(&layers(point))?;
        let (mut vd, mut iws) = (Vec::new(), Vec::new());
        for (context, v_td) in places {
            let values = self.values_after(&transformer, context)?;
            let squares = context.queries.iter().zip(&values).map(|(phi, v)| v - v_td.dot(phi));
            vd.push(squares.map(|x| x * x).sum::<f64>() / values.len() as f64);
            // Chains may visit too few states to tell the weights.
            if let Ok(w) = best_weights::<D, QUERIES>(&context.queries, &values) {
                iws.push(cosine(&w, v_td));
            }
        }
        Ok([mean(vd.into_iter()), mean(iws.into_iter())])
    }

    /// Returns the shares of P's and Q's energy in the form of the algorithm that mask and loss stand for; negative if
    /// they point the other way. One layer starts from weights 0: it learns of Q only what the rewards see.
    fn form(&self, Layer { p, q }: &Layer<f64, K>) -> [f64; 2] {
        let residual = self.recipe.loss == LossKind::ResidualGradient;
        let of_q = match (residual, self.recipe.layers) {
            (false, 1) => Pattern::ONE_LAYER_TD,
            (false, _) => Pattern::TD,
            (true, 1) => Pattern::from_blocks([[-1.0, 0.0], [1.0, 0.0]]),
            (true, _) => Pattern::RESIDUAL_GRADIENT,
        };
        let [p, q] = [p, q].map(|m| Blocks::from_entries(D, K, |i, j| m[(i, j)]));
        LayerBlocks::new(p, q).shares(&of_q)
    }

    fn nonlinear(&self, layers: &[Layer<f64, K>], seed: u64) -> Judged<f64> {
        let transformer = self.transformer(layers)?;
        let mut rng = Rng::stream(seed, RngStream::Evaluation);
        let mut largest = 0.0;
        for context in &self.contexts[..LINEAR] {
            let feature = |_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
            let queries: Vec<SVector<f64, D>> = (0..RANDOM_QUERIES).map(feature).collect();
            let values = self.literal(&transformer, context, &queries)?;
            // NaN, once met, stays.
            largest = nan_or_larger(largest, left_by_linear(&queries, &values)?);
        }
        Ok(largest)
    }

    fn batch_td_distance(&self, run: &SeedRun) -> Judged<Vec<Number>> {
        let tenth = run.points.len().div_ceil(10);
        let alpha = mean(run.points.iter().rev().take(tenth).map(|p| p.alpha));
        let mut numbers = vec![number("alpha_converged", alpha)];
        let mut ends = [f64::NAN; 4];
        if let (Some(end), None) = (run.last(), run.diverged()) {
            // The algorithms are judged in these contexts, too.
            let judged = CONTEXTS / 2..CONTEXTS / 2 + OF_LOG;
            let step_sizes = vec![alpha; self.recipe.layers];
            let td = &self.iterations[0][judged.clone()];
            let weights: Vec<_> = td.iter().map(|td| td.weights(&step_sizes)).collect();
            let places: Vec<_> =
                self.contexts[judged].iter().zip(weights.iter().copied()).collect();
            let values = places.iter().flat_map(|(c, w)| c.queries.iter().map(|phi| w.dot(phi)));
            let energy = mean(values.map(|v| v * v));
            let one_step = td.iter().zip(&weights).map(|(td, w)| cosine(&td.b, w));
            let every = (run.points.len() - 1).div_ceil(POINTS).max(1);
            let mut vd_of_log = Vec::new();
            for (at, point) in run.points.iter().enumerate() {
                if (run.points.len() - 1 - at).is_multiple_of(every) {
                    let [vd, iws] = self.distance(point, &places)?;
                    for (metric, value) in [("vd_converged", vd), ("iws_converged", iws)] {
                        numbers.push(Number { at: point.tasks as f64, ..number(metric, value) });
                    }
                    vd_of_log.push(vd);
                }
            }
            if let [first, .., last] | [first @ last] = vd_of_log[..] {
                ends[..2]
                    .copy_from_slice(&[nan_or_larger(last / first, last / energy), last / energy]);
            }
            ends[2] = mean(one_step);
            ends[3] = self.nonlinear(&layers(end), run.seed)?;
        }
        let names = ["vd_part", "vd_relative", "one_step", "nonlinear"];
        numbers.extend(names.into_iter().zip(ends).map(|(metric, value)| number(metric, value)));
        Ok(numbers)
    }

    fn explained(&self, run: &SeedRun) -> Judged<Vec<Number>> {
        let mut shares = vec![f64::NAN; self.iterations.len()];
        if run.diverged().is_none() {
            let targets = self.targets(&at_end(run))?;
            for (share, of) in shares.iter_mut().zip(&self.iterations) {
                *share = explained(of, &targets, self.recipe.layers);
            }
        }
        let expected = match self.recipe.loss {
            LossKind::ResidualGradient => (Construction::ResidualGradient, 0.0),
            _ => (Construction::TdLambda, self.recipe.trace_decay),
        };
        let mut numbers = Vec::new();
        for ((name, candidate), share) in ALGORITHMS.into_iter().zip(&shares) {
            if candidate == expected {
                let best = shares.iter().all(|other| other <= share);
                numbers.push(number("expected", if best { *share } else { f64::NAN }));
            }
            numbers.push(number(explained_by(name), *share));
        }
        Ok(numbers)
    }

    fn lost(&self, run: &SeedRun) -> Judged<Vec<Number>> {
        let layers = at_end::<K>(run);
        let forms = layers.iter().flat_map(|layer| self.form(layer));
        let form = number("form", forms.reduce(f64::min).unwrap_or(f64::NAN));
        let names = ["outside_p", "outside_q", "lost"];
        // A seed that has diverged has no function.
        let mut found = [f64::NAN; 3];
        if run.diverged().is_none() {
            let kept: Vec<_> = layers.iter().map(commuting_part::<D, _>).collect();
            let outside = |of: fn(&Layer<f64, K>) -> &SMatrix<f64, K, K>| {
                let pairs = layers.iter().zip(&kept);
                let energy = layers.iter().map(|layer| of(layer).norm_squared()).sum::<f64>();
                pairs.map(|(all, kept)| (of(all) - of(kept)).norm_squared()).sum::<f64>() / energy
            };
            let contexts = &self.contexts[..self.evaluation.lost.min(CONTEXTS)];
            let (mut lost, mut all) = (0.0, 0.0);
            for (v, kept) in
                self.values(&layers, contexts)?.iter().zip(self.values(&kept, contexts)?)
            {
                lost += v.iter().zip(kept).map(|(v, kept)| (v - kept) * (v - kept)).sum::<f64>();
                all += v.iter().map(|v| v * v).sum::<f64>();
            }
            found = [outside(|layer| &layer.p), outside(|layer| &layer.q), lost / all];
        }
        let found = names.into_iter().zip(found).map(|(metric, value)| number(metric, value));
        Ok(std::iter::once(form).chain(found).collect())
    }
}

type TrainedTransformer<const K: usize> = Transformer<Layer<f64, K>, LAYERS>;

fn prompt<const D: usize, const K: usize>(
    recipe: &Recipe,
    context: &[Transition<f64, D>],
) -> Judged<Prompt<f64, K, LENGTH>> {
    Prompt::discounted(context, recipe.gamma, &SVector::zeros())
}

fn layers<const K: usize>(point: &Point) -> Vec<Layer<f64, K>> {
    point.layers.iter().map(Matrices::to_layer).collect()
}

fn at_end<const K: usize>(run: &SeedRun) -> Vec<Layer<f64, K>> {
    run.last().map_or(Vec::new(), layers)
}

/// Returns the share of the energy of values that their best linear function leaves over.
pub fn left_by_linear<const D: usize>(queries: &[SVector<f64, D>], values: &[f64]) -> Judged<f64> {
    let w = best_weights::<D, RANDOM_QUERIES>(queries, values)?;
    let (mut left, mut all) = (0.0, 0.0);
    for (phi, v) in queries.iter().zip(values) {
        left += (v - w.dot(phi)) * (v - w.dot(phi));
        all += v * v;
    }
    Ok(left / all)
}

/// Returns argmin_w sum (v - <w, phi>)^2 of at most M values.
fn best_weights<const D: usize, const M: usize>(
    queries: &[SVector<f64, D>],
    values: &[f64],
) -> Judged<SVector<f64, D>> {
    let a = SMatrix::<f64, M, D>::from_fn(|i, j| queries.get(i).map_or(0.0, |phi| phi[j]));
    let b = SVector::<f64, M>::from_fn(|i, _| values.get(i).copied().unwrap_or(0.0));
    linear_system::least_squares(a, b, [queries.len(), D], "the best linear function")
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut sum) = (0.0, 0.0);
    values.for_each(|x| (count, sum) = (count + 1.0, sum + x));
    sum / count
}

fn nan_or_larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}
