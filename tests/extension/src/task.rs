//! A task: the random walk of Sutton and Barto, example 6.2, with random features.

use compute::mixture::TaskFamily;
use compute::own_tasks::TaskArrays;
use ictd_core::Result;
use ictd_core::rng::Rng;
use ictd_core::tasks::StateCounts;

/// States in a line. A step leads to either neighbour with the same probability; beyond either end an episode ends, with
/// reward 1 on the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomWalk;

impl TaskFamily for RandomWalk {
    fn name(&self) -> &'static str {
        "random-walk"
    }

    /// Returns 3 to 21 states with both ends, of which example 6.2 has 7.
    fn states(&self) -> StateCounts {
        StateCounts { least: 3, most: 21, default: 7 }
    }

    fn draw(&self, states: usize, dim: usize, _: f64, rng: &mut Rng) -> Result<TaskArrays> {
        let mut p = vec![0.0; states * states];
        for s in 1..states - 1 {
            p[s * states + s - 1] = 0.5;
            p[s * states + s + 1] = 0.5;
        }
        let at = |place: usize, value| {
            let mut of_states = vec![0.0; states];
            of_states[place] = value;
            of_states
        };
        let mut terminal = vec![false; states];
        (terminal[0], terminal[states - 1]) = (true, true);
        Ok(TaskArrays {
            states,
            dim,
            p0: at(states / 2, 1.0),
            p,
            // The expected reward of the last step to the right, which half of the steps take.
            reward: at(states - 2, 0.5),
            phi: (0..states * dim).map(|_| rng.uniform_in(-1.0, 1.0)).collect(),
            terminal,
            gamma: None,
        })
    }
}
