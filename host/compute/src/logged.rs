//! Logged transitions as a distribution of tasks: each logged task has the same probability, and its trajectories are windows
//! of the log. A terminated episode continues with the next one, as in
//! [`Mrp::with_terminal`](ictd_core::tasks::Mrp::with_terminal). No trajectory crosses the end of a truncated episode.

use crate::array_checks::check_numbers;
use crate::transitions::{EpisodeEnd, Transitions};
use ictd_core::Error;
use ictd_core::digest::Digest;
use ictd_core::rng::Rng;
use ictd_core::scalar::Real;
use ictd_core::tasks::Task;
use nalgebra::SVector;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Log {
    /// The transitions. Their marks show every truncation.
    pub transitions: Transitions,
    /// The task of each transition, (n).
    pub task: Vec<f64>,
    pub gamma: Option<f64>,
    /// The number of steps from each transition to the end of its chain of episodes, (n). Every terminal state between two
    /// episodes adds a step, to the next start.
    left: Vec<usize>,
    /// The transitions of each task, in descending order of `left`; the tasks in ascending order.
    starts: Vec<Vec<usize>>,
}

impl Log {
    /// Returns a log. `task` names the task of each row of [`Transitions::phi`]; it is empty if there is only one. An episode is
    /// truncated where the task changes, and where the next row does not have the next features.
    /// Returns the reason for a number that is not finite in single precision, or a discount outside [0, 1).
    pub fn new(
        mut transitions: Transitions,
        task: &[f64],
        gamma: Option<f64>,
    ) -> Result<Self, String> {
        let Transitions { d, phi, from, reward, phi_next, marks, .. } = &mut transitions;
        check_numbers(gamma, &[("phi", phi), ("reward", reward), ("phi_next", phi_next)])?;
        // -0 becomes 0.
        let task = |row: &usize| task.get(*row).copied().unwrap_or_default() + 0.0;
        let task: Vec<f64> = from.iter().map(task).collect();
        let (mut left, mut order) = (vec![1; task.len()], (0..task.len()).collect::<Vec<_>>());
        for i in order.iter().copied().rev() {
            let same_task = task.get(i + 1) == Some(&task[i]);
            let follows = || phi[from[i + 1] * *d..][..*d] == phi_next[i * *d..][..*d];
            if marks[i] == EpisodeEnd::Continues && !(same_task && follows()) {
                marks[i] = EpisodeEnd::End;
            }
            match marks[i] {
                EpisodeEnd::Continues => left[i] += left[i + 1],
                EpisodeEnd::Terminal if same_task => left[i] += 1 + left[i + 1],
                EpisodeEnd::Terminal | EpisodeEnd::End => {}
            }
        }
        order.sort_by(|a, b| task[*a].total_cmp(&task[*b]).then(left[*b].cmp(&left[*a])));
        let starts = order.chunk_by(|a, b| task[*a] == task[*b]).map(<[_]>::to_vec).collect();
        Ok(Log { transitions, task, gamma, left, starts })
    }

    /// Returns the length of the longest trajectory of each task, and the task, where this length is the shortest.
    pub fn longest(&self) -> Option<(usize, f64)> {
        let longest = |of: &Vec<usize>| of.first().map(|i| (self.left[*i], self.task[*i]));
        self.starts.iter().filter_map(longest).min_by_key(|(longest, _)| *longest)
    }

    pub(crate) fn digest(&self) -> Digest {
        let (t, mut digest) = (&self.transitions, Digest::EMPTY);
        digest.word(t.d as u64);
        for i in 0..t.len() {
            digest.number(self.task[i]);
            digest.word(t.marks[i] as u64);
            let states = [2 * i, 2 * i + 1].into_iter().flat_map(|state| self.phi(state));
            // -0 becomes 0.
            states.chain([&t.reward[i]]).for_each(|x| digest.number(*x + 0.0));
        }
        digest.number(self.gamma.unwrap_or(-1.0));
        digest
    }

    /// Draws a task, whose trajectories have at least `len` transitions.
    /// Returns [`Error::Empty`] if the task has none of this length.
    pub fn draw(self: &Arc<Self>, len: usize, rng: &mut Rng) -> Result<LoggedTask, Error> {
        let task = rng.below(self.starts.len() as u32) as usize;
        let starts =
            self.starts.get(task).map_or(0, |of| of.partition_point(|i| self.left[*i] >= len));
        if starts == 0 {
            return Err(Error::Empty { parameter: "task" });
        }
        Ok(LoggedTask { log: self.clone(), task, starts })
    }

    /// Returns the features of a state of [`LoggedTask`], (d).
    fn phi(&self, state: usize) -> &[f64] {
        let Transitions { d, phi, from, phi_next, .. } = &self.transitions;
        let (of, row) = if state % 2 == 1 { (phi_next, state / 2) } else { (phi, from[state / 2]) };
        &of[row * d..][..*d]
    }
}

/// A task of a [`Log`]. Its trajectories start at each transition that enough steps follow, with the same probability.
#[derive(Clone, Debug)]
pub struct LoggedTask {
    log: Arc<Log>,
    task: usize,
    starts: usize,
}

impl<R: Real, const D: usize> Task<R, D> for LoggedTask {
    /// 2 i is the state that transition i leaves, and 2 i + 1 the state that it enters.
    type State = usize;

    fn initial_state(&self, rng: &mut Rng) -> usize {
        2 * self.log.starts[self.task][rng.below(self.starts as u32) as usize]
    }

    fn step(&self, state: usize, _: &mut Rng) -> (R, usize) {
        let (i, entered) = (state / 2, state % 2 == 1);
        let t = &self.log.transitions;
        match t.marks[i] {
            EpisodeEnd::Continues => (R::from_f64(t.reward[i]), 2 * (i + 1)),
            _ if !entered => (R::from_f64(t.reward[i]), state + 1),
            // The next episode begins.
            EpisodeEnd::Terminal if self.log.left[i] > 1 => (R::ZERO, 2 * (i + 1)),
            // The log ends here: the trainer refuses a trajectory that is longer.
            _ => (R::from_f64(f64::NAN), state),
        }
    }

    fn features(&self, state: usize) -> SVector<R, D> {
        let phi = self.log.phi(state);
        SVector::from_fn(|i, _| phi.get(i).map_or(R::ZERO, |x| R::from_f64(*x)))
    }
}
