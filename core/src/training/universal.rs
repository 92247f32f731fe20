//! Training of a [`UniversalModel`]: tasks of any kind and size, contexts of all lengths, one step of Adam each.

use super::trainer::sampled_return;
use super::{Adam, AdamSettings, Loss};
use crate::context::{Context, Growing};
use crate::error::Error;
use crate::gradient::equivariant::Tape;
use crate::layer::{EquivariantLayer, LayerParameters, UniversalLayer};
use crate::linalg::zeros;
use crate::mask::TdLambda;
use crate::model::UniversalModel;
use crate::normalised::{self, Normalised, Unnormalised};
use crate::rng::Rng;
use crate::scalar::{Lanes4, Real, Scalar};
use crate::tasks::{Mrp, Task};
use crate::transformer::Transformer;
use crate::value_function::within;
use crate::vector::Vector;

/// The context lengths of a step, drawn log-uniformly, one from each of so many parts of the range.
pub const LENGTHS: usize = 16;

/// How a universal model is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UniversalSettings {
    /// Steps of Adam, each on one task.
    pub steps: u64,
    /// Adam's largest learning rate: reached after 200 steps, from then on it falls linearly, to a fiftieth.
    pub learning_rate: f64,
    /// The longest context.
    pub longest: usize,
    /// [`Loss::TrueValue`]: of each context the mean squared value error e over that of predicting 0, weighted by
    /// the stationary distribution, and of those the mean of 3 log(1 + e / 3), so that no context outweighs
    /// the others. [`Loss::MonteCarlo`]: the same against one sampled return from each state. [`Loss::TdError`]:
    /// its semi-gradient, in expectation over the stationary distribution, and no logarithm.
    pub loss: Loss,
}

impl Default for UniversalSettings {
    /// Those of the model that ships.
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

/// A universal model in training, of C layers of their own.
#[derive(Clone, Debug)]
pub struct UniversalTraining<const C: usize> {
    settings: UniversalSettings,
    transformer: Transformer<UniversalLayer<f32>, C>,
    adam: Adam<Transformer<UniversalLayer<f32>, C>>,
}

/// Lanes of contexts.
type S = Lanes4;

impl<const C: usize> UniversalTraining<C> {
    /// Before the first step: each layer is half a step of TD(0).
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for no steps, no learning rate, contexts of length 0, or returns of no reward.
    pub fn new(settings: UniversalSettings) -> Result<Self, Error> {
        let at_least_1 = "at least 1";
        if settings.steps == 0 {
            return Err(Error::OutOfRange { parameter: "steps", accepted: at_least_1 });
        }
        if settings.longest == 0 {
            return Err(Error::OutOfRange { parameter: "longest", accepted: at_least_1 });
        }
        if settings.loss == (Loss::MonteCarlo { horizon: 0 }) {
            return Err(Error::OutOfRange { parameter: "horizon", accepted: at_least_1 });
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
        Ok(UniversalTraining { settings, adam: Adam::new(adam, &transformer)?, transformer })
    }

    /// The layers.
    pub fn transformer(&self) -> &Transformer<UniversalLayer<f32>, C> {
        &self.transformer
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.adam.steps()
    }

    /// One step, on contexts of a task with features of dimension D. Returns the mean of the contexts' log(1 + e).
    ///
    /// # Errors
    /// If the task has no true values or no stationary distribution, or gamma is outside [0, 1).
    pub fn step<const D: usize, const M: usize>(
        &mut self,
        task: &Mrp<f32, D, M>,
        gamma: f32,
        rng: &mut Rng,
    ) -> Result<f32, Error> {
        let judge = Judge::new(task, gamma, self.settings.loss, rng)?;
        let lanes = self.transformer.map(|layer| layer.map(S::splat));
        let lengths = self.lengths(rng);
        let mask = TdLambda::new(UniversalModel::<f32>::TRACE as f32 * gamma)?;
        let mut context = Context::<D, _>::with(mask, Growing);
        let mut state = task.initial_state(rng);
        let mut gradient = self.transformer.map(|_| UniversalLayer::ZERO);
        let (mut loss, share) = (0.0, 1.0 / LENGTHS as f32);
        for lengths in lengths.chunks(S::LANES) {
            let mut batch = Contexts::<D>::ZERO;
            for (lane, n) in lengths.iter().enumerate() {
                while context.len() < *n {
                    context.observe_transition(&task.transition(&mut state, rng))?;
                }
                batch.set_lane(lane, &context, gamma)?;
            }
            let mut sums = [UniversalLayer::ZERO; C];
            let errors = batch.gradient(&lanes, &judge, &mut sums);
            for lane in 0..S::LANES {
                loss += share * Real::ln(1.0 + errors.lane(lane));
                for (to, from) in gradient.layers_mut().iter_mut().zip(&sums) {
                    for (to, from) in to.matrices_mut().zip(from.matrices()) {
                        for (to, from) in to.iter_mut().zip(from) {
                            // A context that blew up teaches nothing.
                            if from.lane(lane).is_finite() {
                                *to += share * from.lane(lane);
                            }
                        }
                    }
                }
            }
        }
        let (step, steps) = (self.adam.steps() as f64 + 1.0, self.settings.steps as f64);
        let fall = (1.0 - 0.98 * step / steps).max(0.0);
        self.adam.set_learning_rate(
            self.settings.learning_rate * fall * if step < WARM_UP { step / WARM_UP } else { 1.0 },
        );
        self.adam.step(&mut self.transformer, &gradient);
        Ok(loss)
    }

    /// Lengths in ascending order, between 1 and the longest.
    fn lengths(&self, rng: &mut Rng) -> [u64; LENGTHS] {
        let longest = self.settings.longest as f32;
        let octaves = Real::ln(longest + 1.0) * core::f32::consts::LOG2_E;
        let u = rng.uniform::<f32>();
        core::array::from_fn(|j| {
            let length = Scalar::exp2((j as f32 + u) / LENGTHS as f32 * octaves);
            (length as u64).clamp(1, self.settings.longest as u64)
        })
    }
}

/// What the values of a task are judged by.
struct Judge<'a, const D: usize, const M: usize> {
    task: &'a Mrp<f32, D, M>,
    gamma: f32,
    value: [f32; M],
    distribution: [f32; M],
    /// Over the mean squared value.
    scale: f32,
    loss: Loss,
}

impl<'a, const D: usize, const M: usize> Judge<'a, D, M> {
    fn new(task: &'a Mrp<f32, D, M>, gamma: f32, loss: Loss, rng: &mut Rng) -> Result<Self, Error> {
        let distribution = task.stationary_distribution()?;
        let value = if let Loss::MonteCarlo { horizon } = loss {
            let mut returns = zeros::<f32, M, 1>();
            for s in 0..task.states() {
                returns[s] = sampled_return(task, s, gamma, horizon, rng);
            }
            returns
        } else {
            task.true_value(gamma)?
        };
        let square = task.msve(&distribution, &Vector::ZERO, &value);
        if !(square > 0.0) {
            return Err(Error::Empty { parameter: "value" });
        }
        let (value, distribution) = (value.into(), distribution.into());
        Ok(Judge { task, gamma, value, distribution, scale: 1.0 / square, loss })
    }
}

/// Contexts of one task, side by side.
struct Contexts<const D: usize> {
    unnormalised: Unnormalised<S, D>,
    n: S,
    reach: [S; D],
}

impl<const D: usize> Contexts<D> {
    const ZERO: Self = Contexts {
        unnormalised: Unnormalised::ZERO,
        n: <S as Scalar>::ZERO,
        reach: [<S as Scalar>::ZERO; D],
    };

    fn set_lane(
        &mut self,
        lane: usize,
        context: &Context<D, TdLambda>,
        gamma: f32,
    ) -> Result<(), Error> {
        let mut of_lane = Unnormalised::ZERO;
        context.read_to(gamma, 0, &mut of_lane)?;
        self.unnormalised.set_lane(lane, &of_lane);
        self.n.set_lane(lane, context.weight());
        let reach = normalised::reach(of_lane.root_mean_squares(context.weight()));
        for (to, from) in self.reach.iter_mut().zip(reach) {
            to.set_lane(lane, from);
        }
        Ok(())
    }

    /// The error of each context over that of predicting 0, and the gradient of its loss.
    fn gradient<const M: usize, const C: usize>(
        &self,
        transformer: &Transformer<UniversalLayer<S>, C>,
        judge: &Judge<D, M>,
        gradient: &mut [UniversalLayer<S>; C],
    ) -> S {
        let prior_count = S::from_f64(UniversalModel::<f32>::PRIOR_COUNT);
        let statistic = Normalised::new(&self.unnormalised, self.n, prior_count);
        let d = statistic.features_seen();
        let share = d / (self.n + d);
        let layers = transformer.at(share);
        let tape = Tape::<S, D, C>::forward(&layers, &statistic);
        let mut weights = tape.weights();
        statistic.denormalise(&mut weights);

        let states = judge.task.states();
        let (mut values, mut features) = ([S::ZERO; M], [[S::ZERO; D]; M]);
        for s in 0..states {
            let phi = judge.task.feature_map()[s].data.0[0].map(S::splat);
            features[s] = within(&phi, &self.reach);
            values[s] = features[s].dot(&weights);
        }
        let (mut error, mut w_bar) = (S::ZERO, [S::ZERO; D]);
        for s in 0..states {
            let weight = S::splat(judge.distribution[s] * judge.scale);
            let difference = values[s] - S::splat(judge.value[s]);
            error += weight * (difference * difference);
            let difference = match judge.loss {
                Loss::TdError => values[s] - self.td_target(judge, s, &values),
                _ => difference,
            };
            let v_bar = (weight + weight) * difference;
            w_bar.add_scaled(v_bar, &features[s]);
        }
        // d/de of 3 log(1 + e / 3); nothing of a context that blew up.
        let mut factor = S::ONE / (S::ONE + S::from_f64(1.0 / 3.0) * error);
        if judge.loss == Loss::TdError {
            factor = S::ONE;
        }
        for w in &mut w_bar {
            *w *= factor;
        }
        statistic.adjoint_of_denormalise(&mut w_bar);
        let mut of_layers = [EquivariantLayer::ZERO; C];
        tape.backward(&layers, &w_bar, &mut of_layers);
        for (to, from) in gradient.iter_mut().zip(&of_layers) {
            to.add_adjoint(share, from);
        }
        error
    }

    /// r(s) + gamma sum_s' p(s, s') v(s').
    fn td_target<const M: usize>(&self, judge: &Judge<D, M>, s: usize, values: &[S; M]) -> S {
        let p = judge.task.transition_from(s);
        let mut next = S::ZERO;
        for (p, value) in p.iter().zip(values) {
            next += S::splat(*p) * *value;
        }
        S::splat(judge.task.reward()[s]) + S::splat(judge.gamma) * next
    }
}
