//! Training runs on fresh tasks, that no training saw: the metrics on the way, and the functions at their ends.

use super::function::{
    CANDIDATES, CONTEXTS, FreshContext, Heads, Judge, Judged, QUERIES, layers, literal,
};
use super::learning::{CurveRow, SeedRow, curve_row};
use super::statistics::{mean_and_stderr, nan_or_larger};
use crate::error::{Doing, Error};
use crate::run::session::Session;
use crate::train::log::{Metric, SeedRun};
use crate::train::options::{Model, Recipe};
use ictd_core::constructions::learning_rate;
use ictd_core::layer::Layer;
use ictd_core::linalg::linear_system;
use ictd_core::metrics::Iteration;
use ictd_core::metrics::comparison::cosine;
use ictd_core::rng::{Rng, Stream};
use nalgebra::{SMatrix, SVector};

/// Log points that are judged again, at most, and contexts that they are judged in.
const POINTS: usize = 40;
const OF_LOG: usize = 20;
/// Contexts in which it is asked how linear a function is, and features of random queries in each.
const LINEAR: usize = 5;
const RANDOM_QUERIES: usize = 48;

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
    pub explained: Vec<f64>,
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
            for (candidate, explained) in CANDIDATES.iter().zip(&f.explained) {
                put(&explained_by(candidate.name), *explained);
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
    let judge = Judge::<Layer<f64, K>, D>::new(recipe, CANDIDATES, CONTEXTS, session.seed);
    let judge = judge.doing(format!("{name}, fresh tasks"))?;
    session.map(name, seeds, |run| {
        of_seed(&judge, recipe, run).doing(format!("{name}, seed {}", run.seed))
    })
}

fn of_seed<const D: usize, const K: usize>(
    judge: &Judge<Layer<f64, K>, D>,
    recipe: &Recipe,
    run: &SeedRun,
) -> Judged<Fresh> {
    let tenth = run.points.len().div_ceil(10);
    let (alpha, _) = mean_and_stderr(run.points.iter().rev().take(tenth).map(|p| p.alpha));
    let mut fresh = Fresh {
        alpha,
        log: Vec::new(),
        td_energy: f64::NAN,
        one_step: f64::NAN,
        nonlinear: f64::NAN,
        explained: vec![f64::NAN; CANDIDATES.len()],
    };
    let (Some(end), None) = (run.last(), run.diverged()) else { return Ok(fresh) };
    // Those that the algorithms are judged in, too.
    let judged = CONTEXTS / 2..CONTEXTS / 2 + OF_LOG;
    let td = judge.iterations[0][judged.clone()].iter();
    let step_sizes = vec![learning_rate(alpha); recipe.layers];
    let of_context = |(context, td)| OfContext::new(context, td, &step_sizes);
    let contexts: Vec<_> = judge.contexts[judged].iter().zip(td).map(of_context).collect();
    let step = (run.points.len() - 1).div_ceil(POINTS).max(1);
    let of_log = |at: &usize| (run.points.len() - 1 - at).is_multiple_of(step);
    for point in (0..run.points.len()).filter(of_log).map(|at| &run.points[at]) {
        let transformer = judge.transformer(&layers(point))?;
        let (mut vd, mut iws) = (Vec::new(), Vec::new());
        for OfContext { context, v_td, .. } in &contexts {
            let values = Layer::values(recipe, &transformer, context)?;
            let difference = |(phi, v): (&SVector<f64, D>, &f64)| v - v_td.dot(phi);
            let squares = context.queries.iter().zip(&values).map(difference).map(|x| x * x);
            vd.push(squares.sum::<f64>() / values.len() as f64);
            // Chains may visit too few states to tell the weights.
            if let Ok(w) = best_weights::<D, QUERIES>(&context.queries, &values) {
                iws.push(cosine(&w, v_td));
            }
        }
        let mean = |values: Vec<f64>| mean_and_stderr(values.into_iter()).0;
        fresh.log.push(FreshPoint { tasks: point.tasks, vd: mean(vd), iws: mean(iws) });
    }
    let queries = contexts.iter().flat_map(|c| c.context.queries.iter().map(|phi| c.v_td.dot(phi)));
    (fresh.td_energy, _) = mean_and_stderr(queries.map(|v| v * v));
    (fresh.one_step, _) = mean_and_stderr(contexts.iter().map(|c| c.one_step));
    fresh.nonlinear = nonlinear(judge, recipe, &layers(end), run.seed)?;
    fresh.explained = judge.explained(&layers(end))?;
    Ok(fresh)
}

/// A context with the weights of batch TD in it.
struct OfContext<'a, const D: usize, const K: usize> {
    context: &'a FreshContext<Layer<f64, K>, D>,
    v_td: SVector<f64, D>,
    /// The cosine of its first step with its last.
    one_step: f64,
}

impl<'a, const D: usize, const K: usize> OfContext<'a, D, K> {
    fn new(
        context: &'a FreshContext<Layer<f64, K>, D>,
        td: &Iteration<D>,
        step_sizes: &[SMatrix<f64, D, D>],
    ) -> Self {
        let v_td = td.weights(step_sizes);
        OfContext { context, v_td, one_step: cosine(&td.b, &v_td) }
    }
}

/// Of literal values at random features the share that their best linear function leaves over.
fn nonlinear<const D: usize, const K: usize>(
    judge: &Judge<Layer<f64, K>, D>,
    recipe: &Recipe,
    layers: &[Layer<f64, K>],
    seed: u64,
) -> Judged<f64> {
    let transformer = judge.transformer(layers)?;
    let mut rng = Rng::stream(seed, Stream::Evaluation);
    let mut largest = 0.0;
    for context in &judge.contexts[..LINEAR] {
        let feature = |_| SVector::from_fn(|_, _| rng.uniform_in(-1.0, 1.0));
        let queries: Vec<SVector<f64, D>> = (0..RANDOM_QUERIES).map(feature).collect();
        let values = literal(recipe, &transformer, &context.transitions, &queries)?;
        let w = best_weights::<D, RANDOM_QUERIES>(&queries, &values)?;
        largest = nan_or_larger(largest, share_left(&queries, &values, &w));
    }
    Ok(largest)
}

/// argmin_w sum (v - <w, phi>)^2; M is how many values there are, at most.
///
/// # Errors
/// As [`linear_system::least_squares`].
pub fn best_weights<const D: usize, const M: usize>(
    queries: &[SVector<f64, D>],
    values: &[f64],
) -> Judged<SVector<f64, D>> {
    let a = SMatrix::<f64, M, D>::from_fn(|i, j| queries.get(i).map_or(0.0, |phi| phi[j]));
    let b = SVector::<f64, M>::from_fn(|i, _| values.get(i).copied().unwrap_or(0.0));
    linear_system::least_squares(a, b, queries.len(), "the best linear function")
}

/// The share of the values' energy that a linear function leaves over.
pub fn share_left<const D: usize>(
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
