//! What layers lose on fresh tasks by two losses of pretraining, with parameters of a known form or trained ones: Boyan's
//! chains of 10 states with 4 random features, and contexts of 30 transitions.

use crate::explained::Target;
use crate::parameters::Parameters;
use crate::value_error::DIVERGED;
use ictd_core::Result;
use ictd_core::mask::Td0;
use ictd_core::rng::Rng;
use ictd_core::statistic::Statistic;
use ictd_core::tasks::{Mrp, Task as _, boyan_chain};
use ictd_core::td::PreconditionedTd;
use ictd_core::td::updates::td_error;
use ictd_core::transition::{Transition, token};
use nalgebra::SVector;

const D: usize = 4;
const K: usize = 2 * D + 1;
const STATES: usize = 10;
const CONTEXT: usize = 30;
const GAMMA: f64 = 0.9;
/// Transitions after the context, at which the TD error is taken.
const QUERIES: usize = 16;
/// Tasks of a draw; the first draw is the one that numbers are fitted to.
const TASKS: usize = 1000;
/// Draws that losses are judged in.
pub const DRAWS: usize = 10;

struct Sample {
    means: PreconditionedTd<f64, D>,
    statistic: Statistic<f64, K>,
    target: Target<D>,
    after: Vec<Transition<f64, D>>,
}

impl Sample {
    fn draw(rng: &mut Rng) -> Result<Self> {
        let task: Mrp<f64, D, STATES> = boyan_chain(STATES, D, rng)?;
        let (d, v) = (task.stationary_distribution()?, task.true_value(GAMMA)?);
        let mut state = task.initial_state(rng);
        let mut transitions: Vec<_> =
            (0..CONTEXT + QUERIES).map(|_| task.transition(&mut state, rng)).collect();
        let after = transitions.split_off(CONTEXT);
        let columns = transitions.iter().map(|t| token(t, GAMMA));
        Ok(Sample {
            means: PreconditionedTd::from_transitions(&transitions, GAMMA, 0.0)?,
            statistic: Statistic::from_columns(columns, &Td0)?,
            target: Target::over((0..STATES).map(|s| (task.feature_map()[s], v[s], d[s]))),
            after,
        })
    }

    /// Returns the squared value error and the squared TD error of weights.
    fn losses(&self, w: &SVector<f64, D>) -> [f64; 2] {
        let squares = self.after.iter().map(|t| td_error(w, t, GAMMA)).map(|delta| delta * delta);
        [self.target.residual(w), squares.sum()]
    }
}

/// Tasks in draws.
pub struct FreshTasks {
    to_fit: Vec<Sample>,
    draws: Vec<Vec<Sample>>,
}

/// The names of the losses, in order: the value error, which is the Monte Carlo loss less a constant, and the TD error.
pub const LOSSES: [&str; 2] = ["value error", "TD error"];

impl FreshTasks {
    pub fn draw(seed: u64) -> Result<Self> {
        let mut rng = Rng::new(seed);
        let mut draw = || (0..TASKS).map(|_| Sample::draw(&mut rng)).collect::<Result<Vec<_>>>();
        Ok(FreshTasks {
            to_fit: draw()?,
            draws: (0..DRAWS).map(|_| draw()).collect::<Result<_>>()?,
        })
    }

    /// Returns both losses in each draw, relative to those of predicting 0, of L layers of preconditioned TD.
    pub fn of_numbers(&self, [alpha, beta]: [f64; 2], layers: usize) -> Vec<[f64; 2]> {
        let weights = |sample: &Sample| sample.means.weights(alpha, beta, layers);
        self.draws.iter().map(|draw| over_zero(draw, &weights)).collect()
    }

    /// Returns both losses over all draws, relative to those of predicting 0, of trained layers.
    /// Returns the core's error if the parameters are not those of 4 features.
    pub fn of_parameters(&self, parameters: &Parameters, layers: usize) -> Result<[f64; 2]> {
        let transformer = parameters.transformer::<f64, K, 16>(layers)?;
        let weights = |sample: &Sample| {
            -transformer.readout(&sample.statistic).fixed_rows::<D>(0).into_owned()
        };
        Ok(over_zero(self.draws.iter().flatten(), &weights))
    }

    /// Returns alpha and, if `preconditioned`, beta (else 0) with the least loss that a pattern search finds on tasks of their own.
    pub fn best(&self, layers: usize, loss: usize, preconditioned: bool) -> [f64; 2] {
        let of = |[alpha, beta]: [f64; 2]| {
            over_zero(&self.to_fit, &|sample: &Sample| sample.means.weights(alpha, beta, layers))
                [loss]
        };
        let (mut best, mut step) = ([1.0, 0.0], 0.5);
        let mut least = of(best);
        while step > 1e-3 {
            let [alpha, beta] = best;
            let along = [[alpha + step, beta], [alpha - step, beta]];
            let across = [0.3, -0.3].map(|part| [alpha, beta + part * step]);
            let moves = along.into_iter().chain(across.into_iter().filter(|_| preconditioned));
            let found = moves.map(|at| (at, of(at))).min_by(|a, b| a.1.total_cmp(&b.1));
            match found.filter(|(_, loss)| *loss < least) {
                Some((at, loss)) => (best, least) = (at, loss),
                None => step *= 0.5,
            }
        }
        best
    }
}

/// Returns the sums of both losses over tasks, each divided by that of predicting 0, and at most [`DIVERGED`].
fn over_zero<'a>(
    samples: impl IntoIterator<Item = &'a Sample>,
    weights: &impl Fn(&Sample) -> SVector<f64, D>,
) -> [f64; 2] {
    let (mut sums, mut zeros) = ([0.0; 2], [0.0; 2]);
    for sample in samples {
        let (of, of_zero) = (sample.losses(&weights(sample)), sample.losses(&SVector::zeros()));
        for at in 0..2 {
            sums[at] += of[at];
            zeros[at] += of_zero[at];
        }
    }
    // NaN is the larger one.
    [0, 1].map(|at| (sums[at] / zeros[at]).min(DIVERGED))
}
