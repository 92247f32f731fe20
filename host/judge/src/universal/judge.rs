//! Errors of the universal model on fresh tasks, compared with those of classical algorithms.

use super::Family;
use crate::estimator::TransitionSink;
use compute::capacity::STATES;
use compute::log::SeedRun;
use ictd_core::context::{Context, Growing};
use ictd_core::layer::Layer;
use ictd_core::linalg::{add_outer, linear_system};
use ictd_core::mask::Td0Trace;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task as _};
use ictd_core::transformer::Transformer;
use ictd_core::value_function::{ClippedValueFunction, ValueFunction};
use ictd_core::{Error, UniversalModel};
use nalgebra::{SMatrix, SVector};

/// The lengths of contexts that are scored. One task in five continues beyond 200, one in forty beyond 1,000, one
/// in two hundred beyond 5,000.
const LENGTHS: [u64; 14] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200, 1000, 5000, 100_000];
/// The number of lambdas of LSTD: 0, [`UniversalModel::LAMBDA`] and 1.
const LAMBDAS: usize = 3;
/// The names of these LSTDs in the record.
pub const OF_LAMBDA: [&str; LAMBDAS] = ["lstd_0", "lstd_0.92", "lstd_1"];
/// The ridges, in transitions, and step sizes that are tried.
const RIDGES: [f64; 6] = [0.1, 1.0, 3.0, 10.0, 30.0, 100.0];
const STEP_SIZES: [f64; 6] = [0.01, 0.03, 0.1, 0.2, 0.5, 1.0];
/// LSTDs with one setting for all tasks: LSTD(0.92) with a ridge of 10 transitions, LSTD(0) with one of 3.
const LSTD_ONE: [(&str, usize); 2] = [("lstd_one", RIDGES.len() + 3), ("lstd_0_one", 2)];
/// TD(0.92) with a step size of 0.1.
const TD_ONE: usize = 2;
/// The error that a divergent estimate counts as.
const DIVERGED: f64 = 1e3;

/// Tasks that are scored together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchmarkCell {
    pub family: Family,
    pub d: usize,
    pub gamma: f64,
}

/// The errors of one context, relative to predicting 0.
#[derive(Clone, Copy)]
struct ContextErrors {
    universal: f64,
    lstd: [f64; LAMBDAS * RIDGES.len()],
    td: [f64; STEP_SIZES.len()],
    /// The error of the paper's model, if it has this dimension.
    paper: Option<f64>,
}

/// The errors of one task, at the lengths that it reached.
pub struct Errors(Vec<ContextErrors>);

/// Seeds of the paper's model, to be compared with the universal one: TD(0)'s mask, d = 4.
pub struct Benchmark {
    papers: Vec<Option<Transformer<Layer<f64, 9>, 1>>>,
}

type Seen<const D: usize> = Context<D, Td0Trace<f64>, Growing, f64>;

/// A system A w = b of LSTD(lambda).
type System<const D: usize> = (SMatrix<f64, D, D>, SVector<f64, D>);

/// Returns the weights of LSTD(lambda) with a ridge in transitions, of features of unit mean square.
fn lstd<const D: usize>(
    second_moments: &[[f64; D]; D],
    (mut a, b): System<D>,
    len: f64,
    ridge: f64,
) -> SVector<f64, D> {
    for i in 0..D {
        let square = 0.5 * second_moments[i][i];
        a[(i, i)] += if square > 0.0 { ridge * square / len } else { 1.0 };
    }
    let solved = linear_system::solve(a, b, D, "LSTD");
    solved.unwrap_or_else(|_| SVector::zeros())
}

impl Benchmark {
    /// Returns the benchmark with the seeds of a run with shared layers and d = 4.
    pub fn new(runs: &[SeedRun], depth: usize) -> Self {
        let matrix =
            |m: &[f32]| SMatrix::<f64, 9, 9>::from_row_iterator(m.iter().map(|x| f64::from(*x)));
        let paper = |run: &SeedRun| {
            let m = run.last()?.layers.first()?;
            // `None` for a seed that diverged.
            Transformer::autoregressive(Layer { p: matrix(&m.p), q: matrix(&m.q) }, depth).ok()
        };
        Benchmark { papers: runs.iter().map(paper).collect() }
    }

    /// Returns the errors on a task of at most 32 features; each task is assigned to one of the paper's seeds.
    /// Returns the core's error for a task that cannot be drawn.
    pub fn errors(&self, cell: BenchmarkCell, task: usize, seed: u64) -> Result<Errors, Error> {
        let paper = self.papers.get(task % self.papers.len().max(1)).and_then(Option::as_ref);
        match cell.d {
            // The universal model's mask has TD(0)'s statistic.
            4 => self.of_task::<4>(cell, (task, seed), &|context| {
                paper?.value_function(&context.statistic(cell.gamma, 0).ok()?).ok()
            }),
            0..=3 => self.of_task::<4>(cell, (task, seed), &|_| None),
            5..=16 => self.of_task::<16>(cell, (task, seed), &|_| None),
            _ => self.of_task::<32>(cell, (task, seed), &|_| None),
        }
    }

    /// Returns the errors on a task; `paper` returns the value function of the paper's model, if it is defined.
    fn of_task<const D: usize>(
        &self,
        cell: BenchmarkCell,
        (index, seed): (usize, u64),
        paper: &dyn Fn(&Seen<D>) -> Option<ValueFunction<f64, D>>,
    ) -> Result<Errors, Error> {
        let (mut rng, BenchmarkCell { family, d, gamma }) = (Rng::new(seed), cell);
        let model = UniversalModel::<f64>::new(gamma)?;
        let task: Mrp<f64, D, STATES> = family.draw(d, gamma, &mut rng)?;
        let (seen_as, noise) = (family.seen_as(&task, d, &mut rng)?, family.noise(&mut rng));
        let (v, d_p) = (task.true_value(gamma)?, seen_as.stationary_distribution()?);
        let of_zero = task.msve(&d_p, &SVector::zeros(), &v);
        let error = |value: &dyn Fn(&SVector<f64, D>) -> f64| {
            let v_hat = SVector::from_fn(|s, _| value(&task.feature_map()[s]));
            let error = task.msve(&d_p, &v_hat, &v) / of_zero;
            if error < DIVERGED { error } else { DIVERGED }
        };
        let mut context = model.context::<D>();
        let mut td = [SVector::<f64, D>::zeros(); STEP_SIZES.len()];
        let (mut trace, mut state) = (td[0], task.initial_state(&mut rng));
        // LSTD(1)'s trace and system, which the model does not read.
        let (mut trace_1, mut a_1, mut b_1) = (td[0], SMatrix::<f64, D, D>::zeros(), td[0]);
        let mut found = Vec::new();
        for n in LENGTHS {
            let skips = |least: u64, one_in: usize| n > least && index % one_in != 0;
            if skips(200, 5) || skips(1000, 40) || skips(5000, 200) {
                break;
            }
            while context.len() < n {
                let s = state;
                let mut t = seen_as.transition(&mut state, &mut rng);
                if noise > 0.0 {
                    t.reward += noise * rng.normal::<f64>();
                }
                let rho = task.transition_from(s)[state] / seen_as.transition_from(s)[state];
                TransitionSink::observe(&mut context, &t, rho, false)?;
                trace_1 = (trace_1 * gamma + t.phi) * rho;
                add_outer(&mut a_1, &trace_1, &(t.phi - t.phi_next * gamma));
                b_1 += trace_1 * t.reward;
                trace = (trace * (UniversalModel::<f64>::LAMBDA * gamma) + t.phi) * rho;
                for (w, alpha) in td.iter_mut().zip(STEP_SIZES) {
                    let delta = t.reward + gamma * w.dot(&t.phi_next) - w.dot(&t.phi);
                    *w += trace * (alpha * delta);
                }
            }
            let value = model.value_function(&context)?;
            let sums = model.sums(&context, model.gvf(0))?;
            let [of_td, traced] = sums.systems.map(|of| (of.a.into(), of.b.into()));
            let systems = [of_td, traced, (a_1, b_1)];
            // LSTD and TD get the model's own bounds on features and values.
            let bounded = |weights: SVector<f64, D>| {
                let most = value.value_clip.into_iter().map(f64::abs).fold(0.0, f64::max);
                let value_clip = [-most, most];
                let value = ClippedValueFunction { weights, level: 0.0, value_clip, ..value };
                error(&|phi| value.at(phi))
            };
            let lstd = std::array::from_fn(|at| {
                let system = systems[at / RIDGES.len()];
                bounded(lstd(&sums.second_moments, system, n as f64, RIDGES[at % RIDGES.len()]))
            });
            found.push(ContextErrors {
                universal: error(&|phi| value.at(phi)),
                lstd,
                td: td.map(bounded),
                paper: paper(&context).map(|value| error(&|phi| value.at(phi))),
            });
        }
        Ok(Errors(found))
    }
}

/// Returns (metric, context length, value) of the errors over tasks, relative to predicting 0. Metrics: `universal` (the mean),
/// `stderr` (its standard error), `percentile_99_9` and `tasks` (their number); `lstd_hindsight` (LSTD with the best lambda and
/// ridge for this cell and length), each of [`OF_LAMBDA`] (with the best ridge), `lstd_one` and `lstd_0_one` (lambda 0.92 and
/// 0, each with one ridge for all); `td_hindsight` and `td_one` likewise for online TD; and `paper`, if the paper's model has
/// this dimension.
pub fn summary(errors: &[Errors]) -> Vec<(&'static str, u64, f64)> {
    let mut found = Vec::new();
    for (at, n) in LENGTHS.into_iter().enumerate() {
        let of: Vec<&ContextErrors> = errors.iter().filter_map(|e| e.0.get(at)).collect();
        if of.is_empty() {
            continue;
        }
        let count = of.len() as f64;
        let mean = |f: &dyn Fn(&ContextErrors) -> f64| of.iter().map(|e| f(e)).sum::<f64>() / count;
        let mut put = |metric, value| found.push((metric, n, value));
        let all = mean(&|e| e.universal);
        let variance = mean(&|e| (e.universal - all) * (e.universal - all));
        put("universal", all);
        put("stderr", f64::sqrt(variance / count));
        let mut sorted: Vec<f64> = of.iter().map(|e| e.universal).collect();
        sorted.sort_by(f64::total_cmp);
        put("percentile_99_9", sorted[((count - 1.0) * 0.999).ceil() as usize]);
        put("tasks", count);
        let lstd: [f64; LAMBDAS * RIDGES.len()] = std::array::from_fn(|i| mean(&|e| e.lstd[i]));
        let td: [f64; STEP_SIZES.len()] = std::array::from_fn(|i| mean(&|e| e.td[i]));
        for (name, of) in OF_LAMBDA.into_iter().zip(lstd.chunks(RIDGES.len())) {
            put(name, of.iter().copied().fold(f64::INFINITY, f64::min));
        }
        put("lstd_hindsight", lstd.into_iter().fold(f64::INFINITY, f64::min));
        for (name, at) in LSTD_ONE {
            put(name, lstd[at]);
        }
        put("td_hindsight", td.into_iter().fold(f64::INFINITY, f64::min));
        put("td_one", td[TD_ONE]);
        let of_paper: Vec<f64> = of.iter().filter_map(|e| e.paper).collect();
        if !of_paper.is_empty() {
            put("paper", of_paper.iter().sum::<f64>() / of_paper.len() as f64);
        }
    }
    found
}
