//! Training of a [`UniversalModel`]: tasks and signals of any kind and size, contexts of all lengths, one step of
//! Adam each.

mod judged;
mod pass;

use super::{Adam, AdamSettings, Loss};
use crate::context::{Context, Forgetting, Growing};
use crate::error::Error;
use crate::layer::{EquivariantLayer, LayerParameters, UniversalLayer};
use crate::mask::TdLambda;
use crate::model::UniversalModel;
use crate::rng::Rng;
use crate::scalar::{Lanes8, Real, Scalar};
use crate::tasks::{Mrp, Task};
use crate::transformer::Transformer;
use crate::transition::check_gamma;
use judged::{Judged, SIGNAL_FEATURES, Signal, td_targets};
use pass::{Contexts, Pass};

/// The number of context lengths of a step, one drawn log-uniformly from each part of the range.
pub const LENGTHS: usize = 16;

/// How many kinds of tasks can be told apart.
pub const CELLS: usize = 32;

/// The kind of task that a step is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Those of one cell (of [`CELLS`]) share running means of their errors.
    pub cell: usize,
    /// The weight of its shortest contexts, the first four of [`LENGTHS`], beside its others.
    pub early: f32,
}

/// How a universal model is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UniversalSettings {
    /// Steps of Adam, each on one task or signal.
    pub steps: u64,
    /// Adam's largest learning rate: reached after 200 steps, from then on it falls linearly, to a fiftieth.
    pub learning_rate: f64,
    /// The longest context of a task.
    pub longest: usize,
    /// The targets of values: true values, sampled returns ([`Loss::MonteCarlo`]: one from each state
    /// of a task) or, by the semi-gradient, the TD error in expectation over the stationary distribution. Of
    /// signals the returns are known, so that the first two are one.
    pub loss: Loss,
}

impl Default for UniversalSettings {
    /// Returns those of the model that ships.
    fn default() -> Self {
        UniversalSettings {
            steps: 100_000,
            learning_rate: 0.004,
            longest: 400,
            loss: Loss::TrueValue,
        }
    }
}

/// Steps until the learning rate is reached.
const WARM_UP: f64 = 200.0;
/// The share of the steps, at the end, whose mean the layers become.
const AVERAGED: f64 = 0.3;
/// An error much larger than this counts as its logarithm does.
const LARGE: f64 = 6.0;
/// How fast the running mean of a cell's errors moves.
const LEVEL_RATE: f32 = 0.005;
/// The weight of a signal, beside a task.
const OF_SIGNAL: f32 = 0.3;

/// A universal model in training, of C layers of their own.
#[derive(Clone, Debug)]
pub struct UniversalTraining<const C: usize> {
    settings: UniversalSettings,
    transformer: Transformer<UniversalLayer<f32>, C>,
    adam: Adam<Transformer<UniversalLayer<f32>, C>>,
    average: Transformer<UniversalLayer<f32>, C>,
    averaged: f32,
    /// The running mean of the errors of each cell and length, 0 before the first.
    levels: [[f32; LENGTHS]; CELLS],
}

/// The shortest contexts of a step, which count as [`Kind::early`] says.
const EARLY: usize = 4;

/// Lanes of contexts.
type S = Lanes8;

impl<const C: usize> UniversalTraining<C> {
    /// Before the first step: each layer is half a step of TD(0).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for no steps, no learning rate or contexts of length 0.
    pub fn new(settings: UniversalSettings) -> Result<Self, Error> {
        let at_least_1 = "at least 1";
        if settings.steps == 0 {
            return Err(Error::OutOfRange { parameter: "steps", accepted: at_least_1 });
        }
        if settings.longest == 0 {
            return Err(Error::OutOfRange { parameter: "longest", accepted: at_least_1 });
        }
        if matches!(settings.loss, Loss::DifferentialTdError | Loss::ResidualGradient) {
            let accepted = "true values, sampled returns, or the TD error";
            return Err(Error::OutOfRange { parameter: "loss", accepted });
        }
        let (p, q) = ([0.0, 0.0, 0.0, 0.0, 0.5], [-0.4, 0.4, 0.0, 0.0, 0.0]);
        let layer =
            UniversalLayer { base: EquivariantLayer { p, q }, early: EquivariantLayer::ZERO };
        let transformer = Transformer::sequential(&[layer; C])?;
        let adam = AdamSettings {
            learning_rate: settings.learning_rate,
            weight_decay: 0.0,
            ..Default::default()
        };
        let adam = Adam::new(adam, &transformer)?;
        let (average, levels) = (transformer.clone(), [[0.0; LENGTHS]; CELLS]);
        Ok(UniversalTraining { settings, transformer, adam, average, averaged: 0.0, levels })
    }

    /// Returns the layers: of the last three tenths of the steps their mean so far.
    pub fn transformer(&self) -> &Transformer<UniversalLayer<f32>, C> {
        if self.averaged > 0.0 { &self.average } else { &self.transformer }
    }

    /// Returns how many steps were taken.
    pub fn steps(&self) -> u64 {
        self.adam.steps()
    }

    /// One step, on contexts of a task with features of dimension D. Returns the mean of the contexts' log(1 + e), e
    /// the mean squared value error, weighted by the stationary distribution, over that of predicting 0.
    ///
    /// A context counts as 1 / (1 + e / 6), so that none outweighs the others, and in inverse proportion to
    /// the root of the mean e among those of its kind and length: what is learned well has small errors, and is
    /// not to be forgotten for it.
    ///
    /// # Errors
    /// If the task has no true values or no stationary distribution, gamma is outside [0, 1), or there is no such
    /// cell (of [`CELLS`]).
    pub fn step<const D: usize, const M: usize>(
        &mut self,
        kind: Kind,
        task: &Mrp<f32, D, M>,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<f32, Error> {
        if kind.cell >= CELLS {
            return Err(Error::OutOfRange { parameter: "cell", accepted: "0 to 31" });
        }
        let judged = Judged::of_task(task, gamma, self.settings.loss, rng)?;
        let lanes = self.transformer.map(|layer| layer.map(S::splat));
        let mut context = Context::<D, _>::with(mask(gamma)?, Growing);
        let lengths = spread(1.0, self.settings.longest as f32 + 1.0, rng);
        let mut state = task.initial_state(rng);
        let mut gradient = self.transformer.map(|_| UniversalLayer::ZERO);
        let mut loss = 0.0;
        for (batch, lengths) in lengths.chunks(S::LANES).enumerate() {
            let mut contexts = Contexts::<D>::ZERO;
            for (lane, n) in lengths.iter().enumerate() {
                while context.len() < *n {
                    context.observe_transition(&task.transition(&mut state, rng))?;
                }
                contexts.set_lane(lane, &context, gamma)?;
            }
            let pass = Pass::forward(&lanes, &contexts, &judged);
            add_log_errors(&mut loss, pass.error);
            let mut factor = S::ZERO;
            for lane in 0..S::LANES {
                let level = &mut self.levels[kind.cell][batch * S::LANES + lane];
                factor.set_lane(lane, of_task(pass.error.lane(lane), level));
            }
            for lane in 0..if batch == 0 { EARLY } else { 0 } {
                factor.set_lane(lane, factor.lane(lane) * kind.early);
            }
            if self.settings.loss == Loss::TdError {
                let targets = td_targets(task, gamma, &pass.values);
                pass.backward(&judged, &targets, S::ONE, &mut gradient);
            } else {
                pass.backward(&judged, &judged.value, factor, &mut gradient);
            }
        }
        self.update(&gradient);
        Ok(loss)
    }

    /// One step, on contexts of a [`random_signal`](crate::tasks::random_signal) of 60 to 700 samples, seen as deviations ([`crate::signal`]) with 4 features, which
    /// forget the past with a retention of 0.98 to 0.998: predictions of the 12 next steps, against the returns
    /// that followed. The loss is the logarithm of the mean of e over the contexts, e the mean squared error
    /// over the mean squared return of the signal. Returns the mean of log(1 + e).
    ///
    /// # Errors
    /// If gamma is outside [0, 1).
    pub fn step_on_signal(&mut self, gamma: f32, rng: &mut Rng) -> Result<f32, Error> {
        let signal = Signal::draw(check_gamma(gamma)?, rng)?;
        let lanes = self.transformer.map(|layer| layer.map(S::splat));
        let retention = Forgetting::new(1.0 - rng.log_uniform(0.002, 0.02))?;
        let mut context = Context::<SIGNAL_FEATURES, _, _>::with(mask(gamma)?, retention);
        let times = spread(15.0, signal.len as f32, rng);
        let mut passes: [Option<_>; LENGTHS / S::LANES] = [const { None }; LENGTHS / S::LANES];
        let (mut loss, mut sum) = (0.0, 0.0);
        let mut t = 0;
        for (times, pass) in times.chunks(S::LANES).zip(&mut passes) {
            let mut contexts = Contexts::ZERO;
            for (lane, time) in times.iter().enumerate() {
                while t < *time as usize {
                    let next = t + 1;
                    context.observe(
                        &signal.features[t],
                        signal.deviations[next],
                        &signal.features[next],
                    )?;
                    t = next;
                }
                contexts.set_lane(lane, &context, gamma)?;
            }
            let judged = signal.judged(times);
            let forward = Pass::forward(&lanes, &contexts, &judged);
            add_log_errors(&mut loss, forward.error);
            (0..S::LANES).for_each(|lane| sum += at_most(10.0, forward.error.lane(lane)));
            *pass = Some((forward, judged));
        }
        let mean = sum / LENGTHS as f32;
        let mut gradient = self.transformer.map(|_| UniversalLayer::ZERO);
        for ((pass, judged), times) in passes.iter().flatten().zip(times.chunks(S::LANES)) {
            if self.settings.loss == Loss::TdError {
                let targets = signal.td_targets(times, gamma, &pass.values);
                pass.backward(judged, &targets, S::splat(OF_SIGNAL), &mut gradient);
            } else {
                // d/de of log(mean + 0.001); of a context far above the mean less.
                let factor = S::splat(OF_SIGNAL / (mean + 1e-3))
                    / (S::ONE + S::splat(0.05 / mean) * pass.error);
                pass.backward(judged, &judged.value, factor, &mut gradient);
            }
        }
        self.update(&gradient);
        Ok(loss)
    }

    fn update(&mut self, gradient: &Transformer<UniversalLayer<f32>, C>) {
        let (step, steps) = (self.adam.steps() as f64 + 1.0, self.settings.steps as f64);
        let fall = (1.0 - 0.98 * step / steps).max(0.0);
        self.adam.set_learning_rate(
            self.settings.learning_rate * fall * if step < WARM_UP { step / WARM_UP } else { 1.0 },
        );
        self.adam.step(&mut self.transformer, gradient);
        if step > (1.0 - AVERAGED) * steps {
            self.averaged += 1.0;
            let averages = self.average.layers_mut().iter_mut().flat_map(|l| l.matrices_mut());
            let numbers = self.transformer.layers().iter().flat_map(|l| l.matrices());
            for (average, x) in averages.flatten().zip(numbers.flatten()) {
                *average += (*x - *average) / self.averaged;
            }
        }
    }
}

/// Returns the model's mask.
fn mask(gamma: f32) -> Result<TdLambda, Error> {
    TdLambda::new(UniversalModel::<f32>::TRACE as f32 * gamma)
}

/// Whole numbers in ascending order, between low and high, one log-uniform in each of so many parts.
fn spread(low: f32, high: f32, rng: &mut Rng) -> [u64; LENGTHS] {
    let octaves = Real::ln(high / low) * core::f32::consts::LOG2_E;
    let u = rng.uniform::<f32>();
    core::array::from_fn(|j| {
        let x = low * Scalar::exp2((j as f32 + u) / LENGTHS as f32 * octaves);
        (x as u64).clamp(low as u64, (high as u64 - 1).max(low as u64))
    })
}

/// Returns the smaller of the two; the limit where x is not a number.
fn at_most(limit: f32, x: f32) -> f32 {
    if x < limit { x } else { limit }
}

/// Adds the lanes' part of the mean of log(1 + e), four by four.
fn add_log_errors(mean: &mut f32, errors: S) {
    for four in errors.0.chunks(4) {
        *mean += four.iter().map(|e| Real::ln(1.0 + e)).sum::<f32>() / LENGTHS as f32;
    }
}

/// Returns the weight of a context of a task with an error.
fn of_task(error: f32, level: &mut f32) -> f32 {
    let now = at_most(3.0, error);
    *level = if *level > 0.0 { *level + LEVEL_RATE * (now - *level) } else { now.max(0.2) };
    1.0 / ((1.0 + (1.0 / LARGE as f32) * error) * Scalar::sqrt(*level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{boyan_chain, random_mdp};

    const KIND: Kind = Kind { cell: 0, early: 1.0 };

    #[test]
    fn every_loss_learns_from_tasks_and_from_signals() {
        let steps = 200;
        for loss in [Loss::TrueValue, Loss::MonteCarlo { horizon: 50 }, Loss::TdError] {
            for of_signals in [false, true] {
                let settings = UniversalSettings { steps, loss, ..Default::default() };
                let mut training = UniversalTraining::<2>::new(settings).unwrap();
                let mut rng = Rng::new(7);
                let (mut first, mut last) = (0.0, 0.0);
                for step in 0..steps {
                    let of_step = if of_signals {
                        training.step_on_signal(0.9, &mut rng).unwrap()
                    } else {
                        let task: Mrp<f32, 2, 8> = random_mdp(8, 3, 0.9, &mut rng).unwrap();
                        training.step(KIND, &task, 0.9, &mut rng).unwrap()
                    };
                    match step {
                        0..50 => first += of_step,
                        150.. => last += of_step,
                        _ => (),
                    }
                }
                // Most of an error against one sampled return is that return's own noise.
                let is_noisy = !of_signals && matches!(loss, Loss::MonteCarlo { .. });
                let most = if is_noisy { 0.99 } else { 0.95 };
                assert!(last < most * first, "{loss:?} {of_signals}: {first} {last}");
                assert_eq!(training.steps(), steps);
                assert_ne!(training.transformer().layers(), training.transformer.layers());
            }
        }
    }

    #[test]
    fn what_cannot_be_trained_is_refused() {
        let none = UniversalSettings { steps: 0, ..Default::default() };
        assert!(UniversalTraining::<1>::new(none).is_err());
        let mut training = UniversalTraining::<1>::new(UniversalSettings::default()).unwrap();
        let rng = &mut Rng::new(1);
        let task: Mrp<f32, 2, 5> = boyan_chain(5, rng).unwrap();
        assert!(training.step(Kind { cell: CELLS, ..KIND }, &task, 0.9, rng).is_err());
        assert!(training.step(KIND, &task, 1.0, rng).is_err());
        assert!(training.step_on_signal(1.0, rng).is_err());
        assert_eq!(training.steps(), 0);
    }
}
