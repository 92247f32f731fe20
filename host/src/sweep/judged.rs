//! Judges the seeds of a sweep at the end of training, on fresh contexts that all runs with equal tasks share.

use crate::train::directory::final_parameters;
use crate::train::{NetworkKind, Recipe, SeedRun};
use judge::bridge::{JudgedContext, contexts, judge_estimator};
use judge::estimator::{Estimator, Method};
use judge::judge::ALGORITHMS;

/// The number of draws of tasks, and of contexts in each; half of them fit step sizes.
pub(super) const DRAWS: usize = 4;
const CONTEXTS: usize = 24;

/// The metrics: the share of the values that each algorithm explains, the value error over that of predicting 0, and the
/// similarity of implicit weights.
pub const NAMES: [&str; ALGORITHMS.len() + 2] = [
    "explained_td0",
    "explained_td0.3",
    "explained_td0.6",
    "explained_td0.9",
    "explained_residual_gradient",
    "value_error",
    "iws_judged",
];

/// The metrics of a seed in a draw of tasks, by the order of [`NAMES`]; NaN where one is not defined.
pub(super) type Judgement = [f64; NAMES.len()];

/// The contexts of a run.
pub(super) struct Judge {
    recipe: Recipe,
    draws: Vec<Vec<JudgedContext>>,
}

impl Judge {
    /// Returns the judge of a run's seeds; `None` for an RNN, which has no iterations to compare it with, and for tasks whose
    /// true values are not known.
    pub(super) fn of(recipe: &Recipe) -> Option<Self> {
        if recipe.network == NetworkKind::Rnn {
            return None;
        }
        let draws = (0..DRAWS as u64).map(|draw| contexts(recipe, CONTEXTS, draw).ok());
        let draws = draws.collect::<Option<_>>()?;
        Some(Judge { recipe: recipe.clone(), draws })
    }

    /// Returns a seed's metrics in each draw; none if it has diverged, or if its values overflow.
    pub(super) fn judge(&self, run: &SeedRun) -> Vec<Judgement> {
        if run.diverged().is_some() {
            return Vec::new();
        }
        let Recipe { attention, gamma, layers, .. } = self.recipe;
        let parameters = Box::new(final_parameters(&self.recipe, run));
        let estimator =
            Estimator { method: Method::Trained { parameters, attention }, gamma, layers };
        let verdict = |contexts: &Vec<JudgedContext>| {
            let found = judge_estimator(&self.recipe, contexts, &estimator).ok()?;
            let [own, zero, ..] = found.msve;
            let mut numbers = [own / zero; NAMES.len()];
            for (number, (_, share)) in numbers.iter_mut().zip(&found.explained) {
                *number = *share;
            }
            numbers[NAMES.len() - 1] = found.iws;
            Some(numbers)
        };
        self.draws.iter().map(verdict).collect::<Option<_>>().unwrap_or_default()
    }
}

/// Returns a seed's mean over draws.
pub(super) fn mean(of: &[Judgement], metric: usize) -> f64 {
    of.iter().map(|draw| draw[metric]).sum::<f64>() / of.len() as f64
}

/// Returns the standard error of the mean over seeds and draws: the root of the sum of both variances, as either may be another
/// sample. NaN for one seed.
pub(super) fn stderr(seeds: &[Vec<Judgement>], metric: usize) -> f64 {
    let variance = |means: Vec<f64>| {
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        means.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0) / n
    };
    let of_seeds = seeds.iter().map(|seed| mean(seed, metric)).collect();
    let of_draw = |draw: usize| -> f64 {
        seeds.iter().map(|seed| seed[draw][metric]).sum::<f64>() / seeds.len() as f64
    };
    (variance(of_seeds) + variance((0..DRAWS).map(of_draw).collect())).sqrt()
}
