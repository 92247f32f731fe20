//! The search for the universal model's parameters.

use super::loss::Target;
use super::quasi_newton::QuasiNewton;
use ictd_core::scalar::Real;
use ictd_core::universal::UniversalParameters;
use serde::{Deserialize, Serialize};

/// A stage of the search, on fresh tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The number of tasks relative to that of [`super::Loss::new`].
    pub share: f64,
    /// Adds half of this times the squared distance from the start to the loss: without it, the first steps end where gates
    /// saturate and their gradients vanish.
    pub pull: f64,
    pub evaluations: usize,
}

pub const STAGES: [Stage; 3] = [
    Stage { share: 0.25, pull: 3e-3, evaluations: 40 },
    Stage { share: 0.5, pull: 1e-4, evaluations: 50 },
    Stage { share: 1.0, pull: 1e-5, evaluations: 300 },
];
/// A stage ends when twenty steps in a row have gained less than this share of the loss.
const TOLERANCE: f64 = 1e-4;

/// Returns the start of the search: LSTD for the three lambdas, with ridges of 3, 10 and 10 transitions, and gates
/// 1 / (1 + (1 + T)^2), which believe each solution as far as its specification test T allows. Every other parameter is 0.
pub fn start() -> Vec<f64> {
    let mut parameters = UniversalParameters::SHAPE.map(|()| 0.0);
    for (log_ridge, ridge) in parameters.log_ridge.iter_mut().zip([3.0_f64, 10.0, 10.0]) {
        log_ridge[0] = Real::ln(ridge);
    }
    let [g_1, g_2] = &mut parameters.gate_logits;
    (g_1[1], g_2[2]) = (-2.0, -2.0);
    parameters.iter().copied().collect()
}

/// The state of a search, which can be stored and resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterSearch {
    seed: u64,
    td_errors: bool,
    stage: usize,
    /// The number of evaluations of this stage so far.
    pub evaluations: usize,
    search: QuasiNewton,
}

impl ParameterSearch {
    pub fn new(target: Target, seed: u64) -> Self {
        let (td_errors, search) = (target == Target::TdError, QuasiNewton::new(&start()));
        ParameterSearch { seed, td_errors, stage: 0, evaluations: 0, search }
    }

    /// Returns true if this search was started with these arguments.
    pub fn is_of(&self, target: Target, seed: u64) -> bool {
        (self.seed, self.td_errors) == (seed, target == Target::TdError)
            && self.search.fits(UniversalParameters::COUNT)
    }

    /// Returns the index and the stage of the next evaluation; `None` if the search has ended.
    pub fn stage(&self) -> Option<(usize, Stage)> {
        Some((self.stage, *STAGES.get(self.stage)?))
    }

    /// Returns the best loss of this stage so far, including the pull.
    pub fn loss(&self) -> Option<f64> {
        self.search.loss
    }

    pub fn question(&self) -> Vec<f64> {
        self.search.question()
    }

    /// Advances the search by the loss and gradient at [`ParameterSearch::question`], summed over the groups.
    pub fn tell(&mut self, groups: &[(f64, Vec<f64>)]) {
        let Some((_, stage)) = self.stage() else { return };
        let (mut loss, mut gradient) = (0.0, vec![0.0; UniversalParameters::COUNT]);
        for (of_group, slopes) in groups {
            loss += of_group;
            gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        }
        for (slope, (x, start)) in gradient.iter_mut().zip(self.question().iter().zip(start())) {
            loss += 0.5 * stage.pull * (x - start) * (x - start);
            *slope += stage.pull * (x - start);
        }
        self.evaluations += 1;
        if self.search.tell(loss, &gradient, TOLERANCE) || self.evaluations >= stage.evaluations {
            self.stage += 1;
            self.evaluations = 0;
            self.search.renew();
        }
    }

    /// Returns the best parameters so far, rounded to `f32`.
    pub fn parameters(&self) -> UniversalParameters<f32> {
        let mut best = self.search.best.iter();
        UniversalParameters::SHAPE.map(|()| best.next().map_or(0.0, |x| *x as f32))
    }
}
