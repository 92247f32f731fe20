use super::windows::windows_of;
use super::{
    Adam, AdamSettings, BatchTdReference, Loss, Network, Optimizer, Parameters, Targets,
    TrainerSettings, TrajectoryBuffer, Windows, td_errors, td_update,
};
use crate::error::{Error, Result, ensure, out_of_range};
use crate::rng::{Rng, RngStream};
use crate::scalar::{Real, Scalar};
use crate::tasks::{Task, TaskDistribution};
use core::array::from_mut;
use heapless::Vec;

/// Multi-task TD (Algorithm 1), one seed in each lane of the scalar.
///
/// For each task it draws a task per lane and trains the network on [`TrainerSettings::batches_per_task`] fresh
/// trajectories of it; a batch-TD reference learns its step size from the same batches. T is the capacity for a
/// trajectory, n + W + 2 feature vectors.
///
/// Lane i is bit for bit the trainer of its seed alone: each lane has its own random streams, and
/// no control flow depends on a lane's numbers. [The crate](crate) has an example.
#[derive(Clone, Debug)]
pub struct MultiTaskTd<S, N, E, const D: usize, const T: usize>
where
    S: Scalar,
    N: Network<S>,
    E: TaskDistribution<S::Element, D>,
{
    settings: TrainerSettings,
    pub(super) network: N,
    pub(super) adam: Option<Adam<N::Parameters>>,
    /// The batch-TD reference, and its step size.
    pub reference: BatchTdReference<S, D>,
    pub(super) reference_adam: Adam<[S; 1]>,
    distribution: E,
    pub(super) seeds: S::PerLane<u64>,
    pub(super) rngs: S::PerLane<Rng>,
    pub(super) tasks: S::PerLane<Option<E::Task>>,
    /// How many tasks it has trained on.
    pub tasks_done: u64,
    /// The batches of the task that is under way.
    pub(super) batches_done: usize,
    trajectory: TrajectoryBuffer<S, D, T>,
    gradient: N::Parameters,
    /// The loss of the last batch (before its update); 0 before the first.
    pub loss: S,
    /// The discount of the last task: that of the settings, or one drawn for the task.
    pub gamma: f64,
}

impl<S: Scalar, N: Network<S>, E: TaskDistribution<S::Element, D>, const D: usize, const T: usize>
    MultiTaskTd<S, N, E, D, T>
{
    /// Returns a trainer whose lane i has seed `seeds[i]`: it draws the lane's initial parameters and its
    /// tasks. With fewer seeds than lanes the last one fills the rest; more are refused. The reference uses the
    /// network's Adam settings, or the default ones if the network learns by plain TD.
    /// Returns the errors of [`TrainerSettings::check`]; [`Error::CapacityExceeded`] for a longer context than the network takes
    /// ([`Network::CONTEXT_CAPACITY`]) and for more seeds than lanes; [`Error::Empty`] without a seed;
    /// the errors of the distribution's settings.
    pub fn new(
        settings: TrainerSettings,
        distribution: E,
        mut network: N,
        reference: BatchTdReference<S, D>,
        seeds: &[u64],
    ) -> Result<Self> {
        settings.check(T)?;
        let capacity = N::CONTEXT_CAPACITY.unwrap_or(usize::MAX);
        ensure(settings.context_len <= capacity, Error::capacity("context_len", capacity))?;
        // The window that follows a context which grows has one transition more.
        let grown = settings.context_len_range.map_or(0, |[_, largest]| largest.saturating_add(1));
        ensure(grown <= capacity, Error::capacity("context_len_range + 1", capacity))?;
        let last = *seeds.last().ok_or(Error::Empty { parameter: "seeds" })?;
        ensure(seeds.len() <= S::LANES, Error::capacity("seeds", S::LANES))?;
        ensure(
            network.dim() == distribution.dim(),
            out_of_range("dim", "as many features as the tasks have"),
        )?;
        // A distribution that refuses its settings does so at once, not in the middle of a run.
        let gamma = <S::Element as Scalar>::from_f64(settings.gamma);
        distribution.draw(gamma, &mut Rng::new(last))?;
        let seed = |lane: usize| seeds.get(lane).copied().unwrap_or(last);
        for lane in 0..S::LANES {
            network.initialise_lane(lane, &mut Rng::stream(seed(lane), RngStream::Parameters));
        }
        let (adam, of_reference) = match settings.optimizer {
            Optimizer::Adam(adam) | Optimizer::AdamByWindow(adam) => {
                (Some(Adam::new(adam, network.parameters())?), adam)
            }
            Optimizer::Td { .. } => (None, AdamSettings::default()),
        };
        Ok(MultiTaskTd {
            settings,
            gradient: network.parameters().zeros_like(),
            trajectory: TrajectoryBuffer::new(network.dim()),
            network,
            adam,
            reference_adam: Adam::new(of_reference, &[reference.step_size])?,
            reference,
            distribution,
            seeds: S::per_lane(seed),
            rngs: S::per_lane(|lane| Rng::stream(seed(lane), RngStream::Tasks)),
            tasks: S::per_lane(|_| None),
            tasks_done: 0,
            batches_done: 0,
            loss: S::ZERO,
            gamma: settings.gamma,
        })
    }

    /// Draws the next task and trains on its batches, or on those that are left of a task that [`MultiTaskTd::train_batch`] began.
    /// It fails if a task cannot be drawn, or the loss is [`Loss::TrueValue`] and the task has no true value.
    pub fn train_task(&mut self) -> Result<()> {
        while !self.train_batch()? {}
        Ok(())
    }

    /// Trains on one batch, for a program that has little time for each call, and draws a task for it if the one before is done.
    /// Returns true if the batch was its task's last one.
    /// It fails as [`MultiTaskTd::train_task`] does.
    pub fn train_batch(&mut self) -> Result<bool> {
        let (number, batch) = (self.tasks_done, self.batches_done);
        if batch == 0 {
            self.gamma = self.settings.gamma_of(number);
            let gamma = <S::Element as Scalar>::from_f64(self.gamma);
            let lanes = self.seeds.as_ref().iter().zip(self.rngs.as_mut());
            for ((seed, rng), task) in lanes.zip(self.tasks.as_mut()) {
                *task = Some(self.distribution.draw_in_turn(*seed, number, gamma, rng)?);
            }
        }
        let settings = self.settings.gamma(self.gamma);
        let lengths = self.trajectory.lengths.get_mut(..settings.batch_size).unwrap_or_default();
        settings.write_lengths(number, batch, lengths);
        self.trajectory.sample(&settings, self.tasks.as_ref(), self.rngs.as_mut())?;
        self.learn()?;
        let last = batch + 1 >= settings.batches_per_task;
        self.batches_done = if last { 0 } else { batch + 1 };
        if last {
            // A count that was restored may be anything.
            self.tasks_done = self.tasks_done.saturating_add(1);
        }
        Ok(last)
    }

    /// Updates the network, and the reference, by the trajectory that was sampled.
    fn learn(&mut self) -> Result<()> {
        let TrainerSettings { context_len, batch_size, context_len_range, loss, .. } =
            self.settings;
        let gamma = S::from_f64(self.gamma);
        let TrajectoryBuffer { dim, features, rewards, targets, lengths } = &mut self.trajectory;
        let lengths = lengths.get(..batch_size).unwrap_or_default();
        let sampled = (features.as_flattened(), rewards.as_slice());
        let windows = match context_len_range {
            None => windows_of(*dim, sampled, [context_len, batch_size], gamma)?,
            Some(_) => {
                // They ascend.
                let largest = lengths.last().copied().unwrap_or_default();
                windows_of(*dim, sampled, [largest, 1], gamma)?.growing(lengths)?
            }
        };
        let given = targets.get_mut(..windows.count()).unwrap_or_default();
        // The reference has the network's targets, or TD's if these are the residual gradient's.
        let of_reference = match loss {
            Loss::TrueValue | Loss::MonteCarlo { .. } => Targets::Given(given),
            Loss::TdError | Loss::ResidualGradient => Targets::Bootstrapped,
        };
        let [_, slope] = self.reference.batch_gradient(&windows, of_reference)?;
        self.reference_adam.step(from_mut(&mut self.reference.step_size), &[slope]);
        let learner = (&mut self.network, &mut self.adam, &mut self.gradient);
        self.loss = update(learner, &windows, given, &self.settings)?;
        Ok(())
    }

    /// Returns the settings.
    pub fn settings(&self) -> &TrainerSettings {
        &self.settings
    }

    /// Returns the network in training.
    pub fn network(&self) -> &N {
        &self.network
    }

    /// Returns the task that a lane was trained on last; `None` before the first task, and after a restore until the next
    /// task.
    pub fn task(&self, lane: usize) -> Option<&E::Task> {
        self.tasks.as_ref().get(lane).and_then(Option::as_ref)
    }

    /// Returns a fresh trajectory of a lane's last task, with one window of the training context length. Its random
    /// numbers depend on the lane's seed and [`MultiTaskTd::tasks_done`] alone: how often one evaluates changes neither
    /// the training nor any other evaluation.
    /// Returns [`Error::Empty`] before the first task, and for a lane that does not exist; [`Error::CapacityExceeded`] if it
    /// has more than LEN states, n + 3.
    pub fn evaluation_trajectory<const LEN: usize>(
        &self,
        lane: usize,
    ) -> Result<TrajectoryBuffer<S::Element, D, LEN>> {
        // An odd multiplier other than the one that the seeding itself steps by, so that the
        // generators of two tasks share no part of their states.
        let seed = self.seeds.as_ref().get(lane).copied().unwrap_or_default();
        let moment = self.tasks_done.wrapping_mul(0xd134_2543_de82_ef95);
        let rng = &mut Rng::stream(seed.wrapping_add(moment), RngStream::Evaluation);
        let task = self.tasks.as_ref().get(lane..).unwrap_or_default();
        let settings = self.settings.batch_size(1).context_len_range(None).loss(Loss::TdError);
        ensure(settings.trajectory_len() < LEN, Error::capacity("trajectory", LEN))?;
        let mut trajectory = TrajectoryBuffer::new(self.network.dim());
        trajectory.sample(&settings, task, core::slice::from_mut(rng))?;
        Ok(trajectory)
    }
}

/// Scales a gradient whose norm is larger than the limit to it; a gradient that overflowed becomes 0.
fn clip<S: Scalar>(gradient: &mut impl Parameters<S>, limit: Option<f64>) {
    let Some(limit) = limit.map(S::from_f64) else { return };
    let square = gradient.numbers().fold(S::ZERO, |square, g| square + *g * *g);
    // The scale is exactly 1 in a lane within the limit, and NaN in one with NaN in its gradient.
    let scale = limit / square.sqrt().max(limit);
    for g in gradient.numbers_mut() {
        let scaled = scale * *g;
        // The larger of 0 and NaN is 0.
        *g = S::ZERO.max(scaled) - S::ZERO.max(-scaled);
    }
}

/// Updates a network by a batch, and returns the loss before. `targets` holds those that are given, and is else room for
/// the errors of the residual gradient. (It is compiled for each network, whatever the capacity for a trajectory is.)
fn update<S: Scalar, N: Network<S>>(
    (network, adam, gradient): (&mut N, &mut Option<Adam<N::Parameters>>, &mut N::Parameters),
    windows: &Windows<S>,
    targets: &mut [S],
    settings: &TrainerSettings,
) -> Result<S> {
    let TrainerSettings { optimizer, clip_norm, .. } = *settings;
    let of_batch = matches!(optimizer, Optimizer::Adam(_));
    let targets = match settings.loss {
        Loss::TdError => Targets::Bootstrapped,
        Loss::TrueValue | Loss::MonteCarlo { .. } => Targets::Given(targets),
        Loss::ResidualGradient if of_batch => {
            td_errors(network, windows, targets)?;
            Targets::Residual(targets)
        }
        Loss::ResidualGradient => Targets::Residual(&[]),
    };
    if let (true, Some(adam)) = (of_batch, &mut *adam) {
        gradient.slices_mut().for_each(|slice| slice.fill(S::ZERO));
        let loss = network.batch_gradient(windows, targets, gradient)?;
        clip(gradient, clip_norm);
        adam.step(network.parameters_mut(), gradient);
        return Ok(loss);
    }
    let step_size = match optimizer {
        Optimizer::Td { step_size } => S::from_f64(step_size),
        // The gradient of the squared error, of which Adam takes the step.
        _ => S::from_f64(-2.0),
    };
    let mut sum = S::ZERO;
    for t in 0..windows.count() {
        let delta = td_update(network, windows, t, targets, step_size, gradient)?;
        sum += delta * delta;
        if let Some(adam) = adam {
            clip(gradient, clip_norm);
            adam.step(network.parameters_mut(), gradient);
            continue;
        }
        let numbers = network.parameters_mut().numbers_mut().zip(gradient.numbers());
        numbers.for_each(|(theta, g)| *theta += *g);
    }
    Ok(sum / S::from_count(windows.count() as u64))
}

impl<S: Scalar, const D: usize, const T: usize> TrajectoryBuffer<S, D, T> {
    /// Samples phi_0 to phi_{n+W+1} and R_1 to R_{n+W+1} of each lane's task, and then, so that the loss does not
    /// change which trajectory is sampled, the targets of the queries' states, if the loss needs them.
    // Not inlined: it does not depend on the network, or on who asks.
    #[inline(never)]
    fn sample<E: Task<S::Element, D>>(
        &mut self,
        settings: &TrainerSettings,
        tasks: &[Option<E>],
        rngs: &mut [Rng],
    ) -> Result<()> {
        let last = settings.trajectory_len().min(T.saturating_sub(1));
        let has_targets = !matches!(settings.loss, Loss::TdError | Loss::ResidualGradient);
        let none = Error::Empty { parameter: "task" };
        let (Some(tasks), Some(rngs)) = (tasks.get(..S::LANES), rngs.get_mut(..S::LANES)) else {
            return Err(none);
        };
        // Filled in place: they are large.
        let mut paths = S::per_lane(|_| Vec::<E::State, T>::new());
        let mut states =
            S::per_lane(|lane| Some(tasks.get(lane)?.as_ref()?.initial_state(rngs.get_mut(lane)?)));
        // Step by step through all lanes: a step waits for the one before, the lanes do not.
        for k in 0..=last {
            let row = self.features.as_flattened_mut().get_mut(k * self.dim..).unwrap_or_default();
            let row = row.get_mut(..self.dim).unwrap_or_default();
            let Some(rewards) = self.rewards.get_mut(k) else { return Err(none) };
            let lanes = tasks.iter().zip(rngs.iter_mut()).zip(states.as_mut()).zip(paths.as_mut());
            for (lane, (((task, rng), state), path)) in lanes.enumerate() {
                let (Some(task), Some(state)) = (task, state) else { return Err(none) };
                let phi = task.features(*state);
                for (to, phi) in row.iter_mut().zip(phi.iter()) {
                    to.set_lane(lane, *phi);
                }
                if has_targets {
                    // Cannot overflow: there are at most T states.
                    let _ = path.push(*state);
                }
                if k < last {
                    let (reward, next) = task.step(*state, rng);
                    rewards.set_lane(lane, reward);
                    *state = next;
                }
            }
        }
        if !has_targets {
            return Ok(());
        }
        let gamma = S::Element::from_f64(settings.gamma);
        let lanes = tasks.iter().zip(rngs).zip(paths.as_ref()).enumerate();
        for (lane, ((task, rng), path)) in lanes {
            let Some(task) = task else { return Err(none) };
            let sliding = |t| settings.context_len + t;
            let growing = |t: usize| self.lengths.get(t).copied().unwrap_or_default();
            let len = |t| settings.context_len_range.map_or(sliding(t), |_| growing(t));
            let query = |t| path.get(len(t) + 1).copied();
            let mut queries = Vec::<E::State, T>::new();
            for query in (0..settings.batch_size).filter_map(query) {
                // Cannot overflow: they are states of the trajectory.
                let _ = queries.push(query);
            }
            let mut values = [S::Element::ZERO; T];
            let values = values.get_mut(..queries.len()).unwrap_or_default();
            match settings.loss {
                Loss::TdError | Loss::ResidualGradient => {}
                Loss::TrueValue => task.true_values(gamma, &queries, values)?,
                Loss::MonteCarlo { horizon } => {
                    for (value, query) in values.iter_mut().zip(&queries) {
                        *value = sampled_return(task, *query, gamma, horizon, rng);
                    }
                }
            }
            for (target, value) in self.targets.iter_mut().zip(values) {
                target.set_lane(lane, *value);
            }
        }
        Ok(())
    }
}

/// Returns R_1 + gamma R_2 + ... of one trajectory from a state, cut off after `horizon` rewards.
fn sampled_return<R: Real, const D: usize, E: Task<R, D>>(
    task: &E,
    mut state: E::State,
    gamma: R,
    horizon: u32,
    rng: &mut Rng,
) -> R {
    let (mut sum, mut discount) = (R::ZERO, R::ONE);
    for _ in 0..horizon {
        let (reward, next) = task.step(state, rng);
        sum += discount * reward;
        discount *= gamma;
        state = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::Mrp;
    use crate::training::Loss;

    #[test]
    fn targets_belong_to_the_querys_own_state() {
        // One-step returns are R of the query's own state, and true values solve v = r + gamma p v there.
        let rng = &mut Rng::new(8);
        let tasks: [Option<Mrp<f64, 2, 5>>; 1] = [crate::tasks::boyan_chain(5, 2, rng).ok()];
        let settings = TrainerSettings::default().context_len(3).batch_size(4);
        let sample = |loss| {
            let mut trajectory = TrajectoryBuffer::<f64, 2, 9>::new(2);
            let settings = settings.loss(loss);
            trajectory.sample(&settings, &tasks, &mut [Rng::new(9)]).unwrap();
            trajectory
        };
        let plain = sample(Loss::TdError);
        let one_step = sample(Loss::MonteCarlo { horizon: 1 });
        let truth = sample(Loss::TrueValue);
        assert_eq!(plain.features, one_step.features);
        let [Some(task)] = tasks else { panic!("no task") };
        let v = task.true_value(0.9).unwrap();
        for t in 0..4 {
            let query = plain.features[3 + 1 + t];
            let state = task.feature_map().iter().position(|phi| phi.data.0[0] == query).unwrap();
            assert_eq!(one_step.targets[t], task.reward()[state]);
            assert_eq!(truth.targets[t], v[state]);
        }
    }
}
