//! Fresh tasks, that no training saw: trained transformers on them, beside the classical algorithms.

use super::learning::{CurveRow, SeedRow, curve_row};
use super::statistics::{mean_and_stderr, nan_or_larger};
use crate::error::{Doing, Error};
use crate::run::session::Session;
use crate::train::log::{Matrices, Metric, Point, SeedRun};
use crate::train::options::{Attention, Mode, Model, Recipe};
use crate::train::tasks::AnyTasks;
use ictd_core::attention::SoftmaxAttention;
use ictd_core::constructions::learning_rate;
use ictd_core::layer::Layer;
use ictd_core::linalg::linear_system;
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::metrics::comparison::cosine;
use ictd_core::metrics::{Algorithm, Fitted, Iteration, Preconditioner, Target};
use ictd_core::prompt::Prompt;
use ictd_core::rng::{Rng, Stream};
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Task, TaskDistribution};
use ictd_core::transformer::Transformer;
use ictd_core::transition::Transition;
use nalgebra::{SMatrix, SVector};

/// Layers, and transitions of a context with the queries after it: at most.
pub const LAYERS: usize = 4;
const LENGTH: usize = 300;
/// States that are asked for after each context.
const QUERIES: usize = 16;
/// Contexts that algorithms are fitted in, as many that they are judged in, and those of the latter that whole
/// logs are judged in.
const FITTED: usize = 200;
const OF_LOG: usize = 20;
/// Log points that are judged again.
const POINTS: usize = 40;
/// Contexts in which it is asked how linear a function is, and features of random queries in each.
const LINEAR: usize = 5;
const RANDOM_QUERIES: usize = 48;

/// The algorithms that are fitted to a value function, and what records call them. A discount belongs to all.
pub const CANDIDATES: [(Algorithm, &str); 5] = [
    (Algorithm::Td0, "TD(0)"),
    (Algorithm::TdLambda(0.3), "TD(0.3)"),
    (Algorithm::TdLambda(0.6), "TD(0.6)"),
    (Algorithm::TdLambda(0.9), "TD(0.9)"),
    (Algorithm::ResidualGradient, "residual gradient"),
];

/// A context, and features of states that are asked for.
pub struct FreshContext<const D: usize, const K: usize> {
    pub transitions: Vec<Transition<f64, D>>,
    pub statistic: Statistic<f64, K>,
    pub queries: Vec<SVector<f64, D>>,
}

/// So many contexts, each of a task of its own, of the run's distribution and length.
///
/// # Errors
/// The core's.
pub fn contexts<const D: usize, const K: usize>(
    recipe: &Recipe,
    count: usize,
    rng: &mut Rng,
) -> Result<Vec<FreshContext<D, K>>, ictd_core::Error> {
    (0..count).map(|_| context(recipe, rng)).collect()
}

fn context<const D: usize, const K: usize>(
    recipe: &Recipe,
    rng: &mut Rng,
) -> Result<FreshContext<D, K>, ictd_core::Error> {
    let task = TaskDistribution::<f32, D>::draw(&AnyTasks::new(recipe), recipe.gamma as f32, rng)?;
    let mut transitions: Vec<_> = task
        .trajectory::<LENGTH>(recipe.context + QUERIES, rng)?
        .into_iter()
        .map(|t: Transition<f32, D>| Transition {
            phi: t.phi.map(f64::from),
            reward: f64::from(t.reward),
            phi_next: t.phi_next.map(f64::from),
        })
        .collect();
    let after = transitions.split_off(recipe.context.min(transitions.len()));
    let statistic = Statistic::of_prompt(&prompt::<D, K>(recipe, &transitions)?, &mask(recipe)?)?;
    Ok(FreshContext { transitions, statistic, queries: after.iter().map(|t| t.phi_next).collect() })
}

fn prompt<const D: usize, const K: usize>(
    recipe: &Recipe,
    context: &[Transition<f64, D>],
) -> Result<Prompt<f64, K, LENGTH>, ictd_core::Error> {
    Prompt::discounted(context, recipe.gamma, &SVector::zeros())
}

fn mask(recipe: &Recipe) -> Result<TdLambda<f64>, ictd_core::Error> {
    TdLambda::new(recipe.lambda)
}

/// The stored layers of a log point.
pub fn layers<const K: usize>(point: &Point) -> Vec<Layer<f64, K>> {
    let matrix =
        |m: &[f32]| SMatrix::<f64, K, K>::from_row_iterator(m.iter().map(|x| f64::from(*x)));
    point.layers.iter().map(|m: &Matrices| Layer { p: matrix(&m.p), q: matrix(&m.q) }).collect()
}

/// The run's transformer with these stored layers.
///
/// # Errors
/// As [`Transformer::autoregressive`].
pub fn transformer<const K: usize>(
    recipe: &Recipe,
    layers: &[Layer<f64, K>],
) -> Result<Transformer<Layer<f64, K>, LAYERS>, ictd_core::Error> {
    match recipe.mode {
        Mode::Autoregressive => {
            let first = layers
                .first()
                .copied()
                .unwrap_or(Layer { p: SMatrix::zeros(), q: SMatrix::zeros() });
            Transformer::autoregressive(first, recipe.layers)
        }
        Mode::Sequential => Transformer::sequential(layers),
    }
}

/// A finished run, and what its seeds do on fresh tasks.
pub struct JudgedRun {
    /// Its name in the records.
    pub name: &'static str,
    /// How it was trained.
    pub recipe: Recipe,
    /// Its seeds.
    pub seeds: Vec<SeedRun>,
    /// Each seed on fresh tasks; empty if it has no P and Q.
    pub fresh: Vec<Fresh>,
}

/// A trained seed on fresh tasks. Means over contexts; NaN where it has no finite function.
#[derive(Clone, Debug, PartialEq)]
pub struct Fresh {
    /// The learning rate of the batch-TD reference at its end: the mean of the last tenth of the log.
    pub alpha: f64,
    /// On the way, with that learning rate.
    pub log: Vec<FreshPoint>,
    /// The mean square of v_TD.
    pub td_energy: f64,
    /// The cosine of a single step of batch TD with all of them: what IWS is if layers beyond one do nothing.
    pub one_step: f64,
    /// The share of |v|^2, of literal forward values, that the best linear function leaves over; the largest of
    /// the contexts.
    pub nonlinear: f64,
    /// The share of v_TF that each of [`CANDIDATES`] explains.
    pub explained: [f64; CANDIDATES.len()],
}

/// VD and IWS with the converged learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreshPoint {
    pub tasks: u64,
    pub vd: f64,
    pub iws: f64,
}

/// VD and IWS with the converged learning rate, in the records.
pub const CONVERGED: [Metric<FreshPoint>; 2] = [
    Metric { name: "vd_converged", label: "converged α", of: |p| p.vd },
    Metric { name: "iws_converged", label: "IWS, converged α", of: |p| p.iws },
];

/// The records of runs on fresh tasks: rows of `curves.csv` and of `seeds.csv`.
pub fn rows(runs: &[JudgedRun]) -> (Vec<CurveRow>, Vec<SeedRow>) {
    let (mut curves, mut seeds) = (Vec::new(), Vec::new());
    for JudgedRun { name, seeds: of_run, fresh, .. } in runs {
        let points = fresh.iter().map(|f| f.log.len()).max().unwrap_or(0);
        for Metric { name: metric, of, .. } in CONVERGED {
            for at in 0..points {
                let here: Vec<&FreshPoint> = fresh.iter().filter_map(|f| f.log.get(at)).collect();
                let values: Vec<f64> =
                    here.iter().map(|p| of(p)).filter(|x| x.is_finite()).collect();
                if let (Some(first), false) = (here.first(), values.is_empty()) {
                    curves.push(curve_row(name, metric, first.tasks, values));
                }
            }
        }
        for (seed, f) in of_run.iter().zip(fresh) {
            let mut put = |metric: &str, value: f64| {
                let (run, metric) = (name.to_string(), metric.to_owned());
                seeds.push(SeedRow { run, seed: seed.seed, metric, value });
            };
            put("alpha_converged", f.alpha);
            put("td_energy", f.td_energy);
            put("one_step", f.one_step);
            put("nonlinear", f.nonlinear);
            for ((_, candidate), explained) in CANDIDATES.iter().zip(f.explained) {
                put(&explained_by(candidate), explained);
            }
        }
    }
    (curves, seeds)
}

/// What records call the share that a candidate explains.
pub fn explained_by(candidate: &str) -> String {
    format!("explained by {candidate}")
}

/// The seeds of a run on fresh tasks, the same for all; none for what has no P and Q of 4 or 8 features.
///
/// # Errors
/// The core's.
pub fn measure(
    name: &str,
    recipe: &Recipe,
    seeds: &[SeedRun],
    session: &Session,
) -> Result<Vec<Fresh>, Error> {
    match (recipe.model, recipe.dim) {
        (Model::Transformer, 4) => of_seeds::<4, 9>(name, recipe, seeds, session),
        (Model::Transformer, 8) => of_seeds::<8, 17>(name, recipe, seeds, session),
        _ => Ok(Vec::new()),
    }
}

fn of_seeds<const D: usize, const K: usize>(
    name: &str,
    recipe: &Recipe,
    seeds: &[SeedRun],
    session: &Session,
) -> Result<Vec<Fresh>, Error> {
    let mut rng = Rng::stream(session.seed, Stream::Evaluation);
    let doing = || format!("{name}, fresh tasks");
    let contexts = contexts::<D, K>(recipe, 2 * FITTED, &mut rng).doing(doing())?;
    let of = |algorithm: Algorithm| {
        contexts.iter().map(|c| algorithm.iteration(&c.transitions, recipe.gamma)).collect()
    };
    let iterations: Result<Vec<Vec<Iteration<D>>>, _> =
        CANDIDATES.map(|c| of(c.0)).into_iter().collect();
    let judge = Judge::<D, K> { recipe, contexts, iterations: iterations.doing(doing())? };
    session.map(name, seeds, |run| judge.seed(run).doing(format!("{name}, seed {}", run.seed)))
}

struct Judge<'a, const D: usize, const K: usize> {
    recipe: &'a Recipe,
    contexts: Vec<FreshContext<D, K>>,
    /// Of each candidate, in each context.
    iterations: Vec<Vec<Iteration<D>>>,
}

type Judged<T> = Result<T, ictd_core::Error>;

impl<const D: usize, const K: usize> Judge<'_, D, K> {
    fn seed(&self, run: &SeedRun) -> Judged<Fresh> {
        let tenth = run.points.len().div_ceil(10);
        let last = run.points.iter().rev().take(tenth).map(|p| p.alpha);
        let (alpha, _) = mean_and_stderr(last);
        let mut fresh = Fresh {
            alpha,
            log: Vec::new(),
            td_energy: f64::NAN,
            one_step: f64::NAN,
            nonlinear: f64::NAN,
            explained: [f64::NAN; CANDIDATES.len()],
        };
        let (Some(end), None) = (run.last(), run.diverged()) else { return Ok(fresh) };
        let step = (run.points.len() - 1).div_ceil(POINTS).max(1);
        let of_log = |at: &usize| (run.points.len() - 1 - at).is_multiple_of(step);
        let judged = FITTED..FITTED + OF_LOG;
        for point in (0..run.points.len()).filter(of_log).map(|at| &run.points[at]) {
            let transformer = transformer(self.recipe, &layers::<K>(point))?;
            let (mut vd, mut iws) = (Vec::new(), Vec::new());
            for (context, td) in
                self.contexts[judged.clone()].iter().zip(&self.iterations[0][judged.clone()])
            {
                let values = self.values(&transformer, context, &context.queries)?;
                let v_td = td.weights(&vec![learning_rate(alpha); self.recipe.layers]);
                let difference = |(phi, v): (&SVector<f64, D>, &f64)| v - v_td.dot(phi);
                let squares = context.queries.iter().zip(&values).map(difference).map(|x| x * x);
                vd.push(squares.sum::<f64>() / values.len() as f64);
                // Chains may visit too few states to tell the weights.
                if let Ok(w) = best_weights::<D, QUERIES>(&context.queries, &values) {
                    iws.push(cosine(&w, &v_td));
                }
            }
            let mean = |values: Vec<f64>| mean_and_stderr(values.into_iter()).0;
            fresh.log.push(FreshPoint { tasks: point.tasks, vd: mean(vd), iws: mean(iws) });
        }
        let transformer = transformer(self.recipe, &layers::<K>(end))?;
        (fresh.td_energy, fresh.one_step) = self.references(alpha);
        fresh.nonlinear = self.nonlinear(&transformer, run.seed)?;
        fresh.explained = self.explained(&transformer)?;
        Ok(fresh)
    }

    /// The mean square of v_TD, and the cosine of its first step with its last.
    fn references(&self, alpha: f64) -> (f64, f64) {
        let judged = FITTED..FITTED + OF_LOG;
        let (mut squares, mut cosines) = (Vec::new(), Vec::new());
        for (context, td) in self.contexts[judged.clone()].iter().zip(&self.iterations[0][judged]) {
            let v_td = td.weights(&vec![learning_rate(alpha); self.recipe.layers]);
            squares.extend(context.queries.iter().map(|phi| v_td.dot(phi)).map(|v| v * v));
            cosines.push(cosine(&td.b, &v_td));
        }
        (mean_and_stderr(squares.into_iter()).0, mean_and_stderr(cosines.into_iter()).0)
    }

    /// v_TF: of linear attention by its weights, else by the literal forward pass.
    fn values(
        &self,
        transformer: &Transformer<Layer<f64, K>, LAYERS>,
        context: &FreshContext<D, K>,
        queries: &[SVector<f64, D>],
    ) -> Judged<Vec<f64>> {
        if self.recipe.attention == Attention::Softmax {
            return self.literal(transformer, context, queries);
        }
        let u = transformer.readout(&context.statistic);
        Ok(queries.iter().map(|phi| -u.fixed_rows::<D>(0).dot(phi)).collect())
    }

    /// v_TF by the literal forward pass.
    fn literal(
        &self,
        transformer: &Transformer<Layer<f64, K>, LAYERS>,
        context: &FreshContext<D, K>,
        queries: &[SVector<f64, D>],
    ) -> Judged<Vec<f64>> {
        let mut prompt = prompt::<D, K>(self.recipe, &context.transitions)?;
        let mask = mask(self.recipe)?;
        let value = |phi: &SVector<f64, D>| {
            prompt.set_query(ictd_core::transition::query_token(phi));
            match self.recipe.attention {
                Attention::Softmax => transformer.value(&prompt, &SoftmaxAttention),
                _ if self.recipe.lambda == 0.0 => transformer.value(&prompt, &Td0),
                _ => transformer.value(&prompt, &mask),
            }
        };
        queries.iter().map(value).collect()
    }

    /// Of literal values at random features the share that their best linear function leaves over.
    fn nonlinear(
        &self,
        transformer: &Transformer<Layer<f64, K>, LAYERS>,
        seed: u64,
    ) -> Judged<f64> {
        let mut rng = Rng::stream(seed, Stream::Evaluation);
        let mut largest = 0.0;
        for context in &self.contexts[..LINEAR] {
            let feature = |_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
            let queries: Vec<SVector<f64, D>> = (0..RANDOM_QUERIES).map(feature).collect();
            let values = self.literal(transformer, context, &queries)?;
            let w = best_weights::<D, RANDOM_QUERIES>(&queries, &values)?;
            largest = nan_or_larger(largest, share_left(&queries, &values, &w));
        }
        Ok(largest)
    }

    /// What each candidate explains of v_TF in the second half of the contexts, fitted in the first.
    fn explained(
        &self,
        transformer: &Transformer<Layer<f64, K>, LAYERS>,
    ) -> Judged<[f64; CANDIDATES.len()]> {
        let mut targets = Vec::new();
        for context in &self.contexts {
            let values = self.values(transformer, context, &context.queries)?;
            let mut target = Target::<D>::default();
            for (phi, v) in context.queries.iter().zip(values) {
                target.add(phi, v, 1.0 / QUERIES as f64);
            }
            targets.push(target);
        }
        let (fitted, judged) = targets.split_at(FITTED);
        let mut explained = [f64::NAN; CANDIDATES.len()];
        for (explained, iterations) in explained.iter_mut().zip(&self.iterations) {
            // A step size for each layer: a whole matrix fits these tasks better, and others worse than 0.
            let what = Preconditioner::StepSizes;
            let fit =
                Fitted::<D, LAYERS>::new(&iterations[..FITTED], fitted, self.recipe.layers, what)?;
            *explained = fit.explained(&iterations[FITTED..], judged);
        }
        Ok(explained)
    }
}

/// argmin_w sum (v - <w, phi>)^2; M is how many values there are, at most.
fn best_weights<const D: usize, const M: usize>(
    queries: &[SVector<f64, D>],
    values: &[f64],
) -> Judged<SVector<f64, D>> {
    let a = SMatrix::<f64, M, D>::from_fn(|i, j| queries.get(i).map_or(0.0, |phi| phi[j]));
    let b = SVector::<f64, M>::from_fn(|i, _| values.get(i).copied().unwrap_or(0.0));
    linear_system::least_squares(a, b, queries.len(), "the best linear function")
}

/// The share of the values' energy that a linear function leaves over.
fn share_left<const D: usize>(
    queries: &[SVector<f64, D>],
    values: &[f64],
    w: &SVector<f64, D>,
) -> f64 {
    let (mut left, mut all) = (0.0, 0.0);
    for (phi, v) in queries.iter().zip(values) {
        left += (v - w.dot(phi)) * (v - w.dot(phi));
        all += v * v;
    }
    left / all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_linear_function_leaves_over_is_found() {
        let mut rng = Rng::new(1);
        let queries: Vec<SVector<f64, 4>> = (0..RANDOM_QUERIES)
            .map(|_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0)))
            .collect();
        let left = |v: fn(&SVector<f64, 4>) -> f64| {
            let values: Vec<f64> = queries.iter().map(v).collect();
            let w = best_weights::<4, RANDOM_QUERIES>(&queries, &values).unwrap();
            share_left(&queries, &values, &w)
        };
        assert!(left(|phi| 2.0 * phi[0] - phi[3]) < 1e-28);
        assert!(left(|phi| 2.0 * phi[0] - phi[3] + 0.2 * phi[1] * phi[2]) > 1e-4);
    }
}
