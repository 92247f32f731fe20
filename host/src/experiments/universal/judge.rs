//! Errors on fresh tasks: of the model, of the classical algorithms, and of the paper's own trained model.

use super::super::function::Heads;
use super::super::statistics::mean_and_stderr;
use super::tasks::{Family, STATES, states};
use crate::train::log::SeedRun;
use ictd_core::UniversalModel;
use ictd_core::context::{Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::linalg::linear_system;
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task as _};
use ictd_core::transformer::Transformer;
use nalgebra::{SMatrix, SVector};
use serde::{Deserialize, Serialize};

/// The trace decay of LSTD(lambda) and TD(lambda) beside the model.
const LAMBDA: f64 = 0.9;
/// The contexts that are judged.
const LENGTHS: [u64; 11] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200];
/// The step sizes and ridges that are tried for the classical algorithms.
const GRID: [f64; 12] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.16, 10.0, 30.0];
/// Steps of batch TD.
const BATCH_STEPS: usize = 15;
/// What diverged counts as so much.
const DIVERGED: f64 = 1e3;

/// One row of `errors.csv`: errors over that of predicting 0, means over tasks unless they say otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorRow {
    /// Its name ([`Family::name`]).
    pub family: String,
    /// Features.
    pub dimension: usize,
    /// The context's length.
    pub transitions: u64,
    /// Of the universal model.
    pub universal: f64,
    /// The standard error of that.
    pub stderr: f64,
    /// The median over tasks of the same.
    pub median: f64,
    /// The error that one task in a thousand exceeds.
    pub percentile_99_9: f64,
    /// LSTD(0.9) with the best ridge for each length.
    pub lstd_hindsight: f64,
    /// LSTD(0.9) with the one ridge that is best over all lengths.
    pub lstd_one_ridge: f64,
    /// Online TD(0.9) with the best step size for each length.
    pub td_hindsight: f64,
    /// Batch TD(0) with the best step size for each length.
    pub batch_td_hindsight: f64,
    /// The paper's own trained model, where it has this dimension.
    pub paper: Option<f64>,
    /// Its median over tasks.
    pub paper_median: Option<f64>,
}

/// An error at each length, for each of the grid.
type OfGrid = [[f64; GRID.len()]; LENGTHS.len()];

/// The errors of one task.
pub(super) struct Judged {
    universal: [f64; LENGTHS.len()],
    lstd: OfGrid,
    td: OfGrid,
    batch_td: OfGrid,
    paper: [Option<f64>; LENGTHS.len()],
}

/// The paper's own trained model: TD(0)'s mask, d = 4.
pub(super) type Paper = Transformer<Layer<f64, 9>, 1>;

/// The layers of each seed of a run with shared layers; none of a seed that diverged.
pub(super) fn papers(runs: &[SeedRun], depth: usize) -> Vec<Option<Paper>> {
    let of = |run: &SeedRun| Transformer::autoregressive(*Layer::at_end(run).first()?, depth).ok();
    runs.iter().map(of).collect()
}

/// The errors of a task with 4 features, the paper's model included.
pub(super) fn judge_with_paper(
    model: &UniversalModel<f64>,
    paper: Option<&Paper>,
    family: Family,
    seed: u64,
) -> Result<Judged, ictd_core::Error> {
    judge::<4>(model, family, seed, |context, gamma| {
        let value = paper?.value_function(&context.statistic(gamma, 0).ok()?).ok()?;
        Some(value.weights)
    })
}

/// The errors of a task; `paper` has the weights that the paper's model reads out of a context, if it does.
pub(super) fn judge<const D: usize>(
    model: &UniversalModel<f64>,
    family: Family,
    seed: u64,
    paper: impl Fn(&Context<D, Td0, Growing, f64>, f64) -> Option<SVector<f64, D>>,
) -> Result<Judged, ictd_core::Error> {
    let (mut rng, gamma) = (Rng::new(seed), model.gamma());
    let task: Mrp<f64, D, STATES> = family.draw(states(D), gamma, &mut rng)?;
    let (v, d_p) = (task.true_value(gamma)?, task.stationary_distribution()?);
    let of_zero = task.msve(&d_p, &SVector::zeros(), &v);
    let error = |value: &dyn Fn(&SVector<f64, D>) -> f64| {
        let v_hat = SVector::from_fn(|s, _| value(&task.feature_map()[s]));
        let error = task.msve(&d_p, &v_hat, &v) / of_zero;
        if error < DIVERGED { error } else { DIVERGED }
    };
    let of_weights = |w: &SVector<f64, D>| error(&|phi| w.dot(phi));
    let mut context = Context::<D, _, Growing, f64>::with(*model.mask(), Growing);
    let mut of_paper = Context::<D, Td0, Growing, f64>::with(Td0, Growing);
    let (mut a, mut b) = (SMatrix::<f64, D, D>::zeros(), SVector::<f64, D>::zeros());
    let (mut a_0, mut b_0, mut trace) = (a, b, b);
    let mut td = [SVector::<f64, D>::zeros(); GRID.len()];
    let mut state = task.initial_state(&mut rng);
    let nothing = [[0.0; GRID.len()]; LENGTHS.len()];
    let mut judged = Judged {
        universal: [0.0; LENGTHS.len()],
        lstd: nothing,
        td: nothing,
        batch_td: nothing,
        paper: [None; LENGTHS.len()],
    };
    for (at, n) in LENGTHS.into_iter().enumerate() {
        while context.len() < n {
            let t = task.transition(&mut state, &mut rng);
            context.observe_transition(&t)?;
            of_paper.observe_transition(&t)?;
            trace = trace * (LAMBDA * gamma) + t.phi;
            let difference = t.phi - t.phi_next * gamma;
            a += trace * difference.transpose();
            b += trace * t.reward;
            a_0 += t.phi * difference.transpose();
            b_0 += t.phi * t.reward;
            for (w, alpha) in td.iter_mut().zip(GRID) {
                let delta = t.reward - w.dot(&difference);
                *w += trace * (alpha * delta);
            }
        }
        let value = model.value_function(&context)?;
        judged.universal[at] = error(&|phi| value.at(phi));
        judged.paper[at] = paper(&of_paper, gamma).map(|w| of_weights(&w));
        for (i, x) in GRID.into_iter().enumerate() {
            let mut regularised = a;
            for j in 0..D {
                regularised[(j, j)] += x;
            }
            let w = linear_system::solve(regularised, b, D, "LSTD")
                .unwrap_or_else(|_| SVector::zeros());
            judged.lstd[at][i] = of_weights(&w);
            judged.td[at][i] = of_weights(&td[i]);
            let mut w = SVector::zeros();
            for _ in 0..BATCH_STEPS {
                w += (b_0 - a_0 * w) * (x / n as f64);
            }
            judged.batch_td[at][i] = of_weights(&w);
        }
    }
    Ok(judged)
}

/// Of numbers the least that so large a share of them does not exceed.
fn quantile(of: impl Iterator<Item = f64>, share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = of.collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[(last as f64 * share).ceil() as usize])
}

/// The rows of a family and dimension.
pub(super) fn rows(family: Family, d: usize, judged: &[Judged]) -> Vec<ErrorRow> {
    let mean = |of: &dyn Fn(&Judged) -> f64| mean_and_stderr(judged.iter().map(of)).0;
    let least = |of: &dyn Fn(usize) -> f64| (0..GRID.len()).map(of).fold(f64::INFINITY, f64::min);
    let lstd = |at: usize, i: usize| mean(&|j| j.lstd[at][i]);
    // One ridge for all lengths: the one with the least sum of errors.
    let sum = |i: usize| (0..LENGTHS.len()).map(|at| lstd(at, i)).sum::<f64>();
    let one = (0..GRID.len()).min_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(0);
    let of_length = |(at, n): (usize, u64)| {
        let universal = || judged.iter().map(|j| j.universal[at]);
        let (mean_of_universal, stderr) = mean_and_stderr(universal());
        let paper = || judged.iter().filter_map(|j| j.paper[at]);
        let paper_median = quantile(paper(), 0.5);
        ErrorRow {
            family: family.name().into(),
            dimension: d,
            transitions: n,
            universal: mean_of_universal,
            stderr,
            median: quantile(universal(), 0.5).unwrap_or(f64::NAN),
            percentile_99_9: quantile(universal(), 0.999).unwrap_or(f64::NAN),
            lstd_hindsight: least(&|i| lstd(at, i)),
            lstd_one_ridge: lstd(at, one),
            td_hindsight: least(&|i| mean(&|j| j.td[at][i])),
            batch_td_hindsight: least(&|i| mean(&|j| j.batch_td[at][i])),
            paper: paper_median.map(|_| mean_and_stderr(paper()).0),
            paper_median,
        }
    };
    LENGTHS.into_iter().enumerate().map(of_length).collect()
}
