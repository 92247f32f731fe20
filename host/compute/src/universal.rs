//! The model that ships: how it is trained, and its errors on fresh tasks beside those of the classical algorithms and of
//! the paper's own trained model.

use crate::capacity::STATES;
use crate::log::SeedRun;
use ictd_core::context::{Context, Growing};
use ictd_core::layer::{Layer, UniversalLayer};
use ictd_core::linalg::linear_system;
use ictd_core::mask::{Td0, TdLambda};
use ictd_core::rng::{Rng, Stream};
use ictd_core::scalar::Real;
use ictd_core::tasks::{FiniteTask, FiniteTasks, Mrp, Task as _};
use ictd_core::training::{Kind, UniversalSettings, UniversalTraining};
use ictd_core::transformer::Transformer;
use ictd_core::{Error, UniversalModel};
use nalgebra::{SMatrix, SVector};

/// Layers of the model.
const LAYERS: usize = 3;
/// The dimensions of training tasks, drawn from this list.
const DIMENSIONS: [usize; 8] = [2, 4, 4, 8, 2, 4, 8, 16];
/// The families of tasks: Boyan's chains with random rewards, and with values that the features can represent; random
/// MDPs with such values, Loop, and random MDPs with random rewards.
const FAMILIES: [FiniteTask; 5] = [
    FiniteTask::BoyanChain,
    FiniteTask::BoyanChainRepresentable,
    FiniteTask::RandomMdp { actions: 3 },
    FiniteTask::Loop { threshold: 0.5 },
    FiniteTask::RandomMdp { actions: 3 },
];
const RANDOM_REWARDS: usize = 4;
/// How many of so many steps are taken on each family, the rest on random signals: Boyan's chains with random
/// rewards are the hardest; more of the others make those better and these worse.
const MIXTURE: [u32; 5] = [72, 3, 5, 3, 3];
const STEPS_OF_MIXTURE: u32 = 92;
/// The weight of the shortest contexts of the other families, which Boyan's chains lose little by.
const EARLY: f32 = 1.5;

/// Draws a task of a family with d features.
fn draw<R: Real, const D: usize>(
    family: usize,
    d: usize,
    gamma: R,
    rng: &mut Rng,
) -> Result<Mrp<R, D, STATES>, Error> {
    let (kind, states) = (FAMILIES[family], (2 * d).max(10));
    let task: Mrp<R, D, STATES> = FiniteTasks { kind, states }.draw_of_dim(d, gamma, rng)?;
    if family != RANDOM_REWARDS {
        return Ok(task);
    }
    let reward = SVector::from_fn(|_, _| rng.uniform_in(R::from_f64(-1.0), R::from_f64(1.0)));
    let p = SMatrix::from_fn(|s, next| task.transition_from(s)[next]);
    let phi = SMatrix::from_fn(|i, s| task.feature_map()[s][i]);
    Mrp::new(states, task.initial(), &p, &reward, &phi)
}

/// The model in training.
pub struct Training {
    training: UniversalTraining<LAYERS>,
    rng: Rng,
}

impl Training {
    /// Returns the model before the first of so many steps.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for no steps.
    pub fn new(steps: u64, seed: u64) -> Result<Self, Error> {
        let settings = UniversalSettings { steps, ..Default::default() };
        let training = UniversalTraining::new(settings)?;
        Ok(Training { training, rng: Rng::stream(seed, Stream::Tasks) })
    }

    /// Takes a step on a random task or signal, and returns its loss.
    ///
    /// # Errors
    /// The core's.
    pub fn step(&mut self) -> Result<f32, Error> {
        // 1 - gamma is log-uniform between 0.02 and 0.7.
        let gamma = 1.0 - self.rng.log_uniform(0.02, 0.7);
        let mut part = self.rng.below(STEPS_OF_MIXTURE);
        let family = MIXTURE.into_iter().position(|steps| {
            let drawn = part < steps;
            part = part.wrapping_sub(steps);
            drawn
        });
        let Some(family) = family else {
            return self.training.step_on_signal(gamma, &mut self.rng);
        };
        match DIMENSIONS[self.rng.below(8) as usize] {
            2 => self.step_on::<2>(family, gamma),
            4 => self.step_on::<4>(family, gamma),
            8 => self.step_on::<8>(family, gamma),
            _ => self.step_on::<16>(family, gamma),
        }
    }

    fn step_on<const D: usize>(&mut self, family: usize, gamma: f32) -> Result<f32, Error> {
        let task: Mrp<f32, D, STATES> = draw(family, D, gamma, &mut self.rng)?;
        // One cell for each family and dimension.
        let cell = 4 * family + D.ilog2() as usize - 1;
        let early = if family == 0 { 1.0 } else { EARLY };
        self.training.step(Kind { cell, early }, &task, gamma, &mut self.rng)
    }

    /// Returns the layers.
    pub fn layers(&self) -> Vec<UniversalLayer<f32>> {
        self.training.transformer().layers().to_vec()
    }
}

/// The trace decay of LSTD(lambda) and TD(lambda) beside the model.
const LAMBDA: f64 = 0.9;
/// The contexts that are judged.
const LENGTHS: [u64; 11] = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100, 200];
/// The step sizes and ridges that are tried for the classical algorithms.
const GRID: [f64; 12] = [0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.16, 10.0, 30.0];
/// Steps of batch TD.
const BATCH_STEPS: usize = 15;
/// The error that stands for what diverged.
const DIVERGED: f64 = 1e3;

/// The errors of one task at each length: the model's; those of LSTD, TD and batch TD for each of the grid; and the
/// paper's model's, NaN without one.
pub struct Errors([(f64, [[f64; GRID.len()]; 3], f64); LENGTHS.len()]);

/// The model, and the paper's own: TD(0)'s mask, d = 4.
pub struct Judge {
    model: UniversalModel<f64>,
    papers: Vec<Option<Transformer<Layer<f64, 9>, 1>>>,
}

impl Judge {
    /// Returns the judge of layers at a discount, beside the seeds of a run with shared layers and d = 4.
    ///
    /// # Errors
    /// The core's, for layers and discounts that no model has.
    pub fn new(
        layers: &[UniversalLayer<f32>],
        gamma: f64,
        runs: &[SeedRun],
        depth: usize,
    ) -> Result<Self, Error> {
        let layers: Vec<_> = layers.iter().map(|layer| layer.map(f64::from)).collect();
        let mask = TdLambda::new(UniversalModel::<f64>::TRACE * gamma)?;
        let (transformer, prior) =
            (Transformer::sequential(&layers)?, UniversalModel::<f64>::PRIOR_COUNT);
        let matrix =
            |m: &[f32]| SMatrix::<f64, 9, 9>::from_row_iterator(m.iter().map(|x| f64::from(*x)));
        let paper = |run: &SeedRun| {
            let m = run.last()?.layers.first()?;
            // None of a seed that diverged.
            Transformer::autoregressive(Layer { p: matrix(&m.p), q: matrix(&m.q) }, depth).ok()
        };
        let papers = runs.iter().map(paper).collect();
        Ok(Judge { model: UniversalModel::new(transformer, mask, prior, gamma)?, papers })
    }

    /// Returns the errors on a task of 2, 4, 8 or 16 features; each is given to one of the paper's seeds.
    ///
    /// # Errors
    /// The core's.
    pub fn errors(&self, family: usize, d: usize, task: usize, seed: u64) -> Result<Errors, Error> {
        let paper = self.papers.get(task % self.papers.len().max(1)).and_then(Option::as_ref);
        match d {
            0..=4 => self.of_task::<4>(family, d, seed, |context| {
                let value = paper?.value_function(&context.statistic(self.model.gamma(), 0).ok()?);
                Some(value.ok()?.weights).filter(|_| d == 4)
            }),
            _ => self.of_task::<16>(family, d, seed, |_| None),
        }
    }

    /// Returns the errors on a task; `paper` has the weights that the paper's model reads out of a context, if it does.
    fn of_task<const D: usize>(
        &self,
        family: usize,
        d: usize,
        seed: u64,
        paper: impl Fn(&Context<D, Td0, Growing, f64>) -> Option<SVector<f64, D>>,
    ) -> Result<Errors, Error> {
        let (mut rng, gamma) = (Rng::new(seed), self.model.gamma());
        let task: Mrp<f64, D, STATES> = draw(family, d, gamma, &mut rng)?;
        let (v, d_p) = (task.true_value(gamma)?, task.stationary_distribution()?);
        let of_zero = task.msve(&d_p, &SVector::zeros(), &v);
        let error = |value: &dyn Fn(&SVector<f64, D>) -> f64| {
            let v_hat = SVector::from_fn(|s, _| value(&task.feature_map()[s]));
            let error = task.msve(&d_p, &v_hat, &v) / of_zero;
            if error < DIVERGED { error } else { DIVERGED }
        };
        let of_weights = |w: &SVector<f64, D>| error(&|phi| w.dot(phi));
        let mut context = self.model.context::<D>();
        let mut of_paper = Context::<D, Td0, Growing, f64>::with(Td0, Growing);
        let (mut a, mut b) = (SMatrix::<f64, D, D>::zeros(), SVector::<f64, D>::zeros());
        let (mut a_0, mut b_0, mut trace) = (a, b, b);
        let mut td = [SVector::<f64, D>::zeros(); GRID.len()];
        let mut state = task.initial_state(&mut rng);
        let mut found = [(0.0, [[0.0; GRID.len()]; 3], f64::NAN); LENGTHS.len()];
        for (found, n) in found.iter_mut().zip(LENGTHS) {
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
            let value = self.model.value_function(&context)?;
            found.0 = error(&|phi| value.at(phi));
            found.2 = paper(&of_paper).map_or(f64::NAN, |w| of_weights(&w));
            for (i, x) in GRID.into_iter().enumerate() {
                let mut regularised = a;
                for j in 0..d {
                    regularised[(j, j)] += x;
                }
                let w = linear_system::solve(regularised, b, d, "LSTD")
                    .unwrap_or_else(|_| SVector::zeros());
                let mut batch = SVector::zeros();
                for _ in 0..BATCH_STEPS {
                    batch += (b_0 - a_0 * batch) * (x / n as f64);
                }
                for (errors, w) in found.1.iter_mut().zip([w, td[i], batch]) {
                    errors[i] = of_weights(&w);
                }
            }
        }
        Ok(Errors(found))
    }
}

/// Returns what is found over tasks at each length of a context, relative to predicting 0, by metric: `universal` (the
/// mean), `stderr` (its standard error) and `percentile_99_9`; `lstd_hindsight` (LSTD(0.9) with the best
/// ridge for each length), `lstd_one_ridge` (with the one that is best over all lengths), `td_hindsight` and
/// `batch_td_hindsight` (online TD(0.9) and batch TD(0) with the best step size for each length); and `paper`, if the
/// paper's model has this dimension.
pub fn summary(errors: &[Errors]) -> Vec<(&'static str, u64, f64)> {
    let mean =
        |of: &dyn Fn(&Errors) -> f64| errors.iter().map(of).sum::<f64>() / errors.len() as f64;
    let grid = |which: usize, at: usize, i: usize| mean(&|e| e.0[at].1[which][i]);
    // The one ridge for all lengths has the least sum of errors.
    let sum = |i: usize| (0..LENGTHS.len()).map(|at| grid(0, at, i)).sum::<f64>();
    let one = (0..GRID.len()).min_by(|a, b| sum(*a).total_cmp(&sum(*b))).unwrap_or(0);
    let mut found = Vec::new();
    for (at, n) in LENGTHS.into_iter().enumerate() {
        let mut put = |metric, value| found.push((metric, n, value));
        let least =
            |which| (0..GRID.len()).map(|i| grid(which, at, i)).fold(f64::INFINITY, f64::min);
        let (universal, paper) = (|e: &Errors| e.0[at].0, |e: &Errors| e.0[at].2);
        let all = mean(&universal);
        let variance = mean(&|e| (universal(e) - all) * (universal(e) - all));
        put("universal", all);
        put("stderr", (variance / errors.len() as f64).sqrt());
        let mut sorted: Vec<f64> = errors.iter().map(universal).collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        put(
            "percentile_99_9",
            sorted.get((last * 0.999).ceil() as usize).copied().unwrap_or(f64::NAN),
        );
        put("lstd_hindsight", least(0));
        put("lstd_one_ridge", grid(0, at, one));
        put("td_hindsight", least(1));
        put("batch_td_hindsight", least(2));
        let known = || errors.iter().map(paper).filter(|x| !x.is_nan());
        if known().next().is_some() {
            put("paper", known().sum::<f64>() / known().count() as f64);
        }
    }
    found
}
