//! Experiments as data: runs, measurements, claims and figures.
//!
//! An [`ExperimentSpec`] defines an experiment completely. Its runs are trained (or taken from `runs/`), every number of every
//! seed goes into one [`MeasurementTable`] (`records.csv`), [`ClaimSpec`]s read it, and the figures are drawn from it. A
//! function `own` adds measurements other than those of training; slow loops over floats are in the crate `compute`.

use super::judging::ClaimSpec;
use super::learning::{TrainingBudget, numbers_of, others_of_mean, put_curves, trained};
use super::measurements::MeasurementTable;
use super::plots::FigureSpec;
use super::statistics::Interval;
use crate::error::{Error, WithContext};
use crate::options;
use crate::run::{Claim, RunFiles, Session};
use crate::train::{LayerSharing, Recipe, SeedRun, Seeds, Train};
pub use compute::judge::EvaluationPlan;
use compute::judge::judge;
use serde_json::{Map, Value};
pub struct ExperimentSpec {
    /// The help text of its command, in addition to the figure.
    pub about: &'static str,
    /// The default of `--fresh-tasks`, which the command then has.
    pub fresh_tasks: Option<usize>,
    pub runs: &'static [TrainingRun],
    /// The measurements of the runs' seeds on fresh tasks.
    pub evaluation: EvaluationPlan,
    /// Computes further measurements, and adds them to the record.
    pub own: fn(&ExperimentInputs, &mut MeasurementTable) -> Result<(), Error>,
    /// The claims about all runs together.
    pub claims: &'static [ClaimSpec],
    pub figures: &'static [FigureSpec],
    /// The run whose P and Q, which a figure has, are also shown during training.
    pub emergence: Option<&'static str>,
}

/// A run of an experiment. Runs with equal names are one run, and have the same options.
pub struct TrainingRun {
    /// The directory in `runs/`, and the name in the records.
    pub name: &'static str,
    /// The options as typed after `ictd train`, without the seeds.
    pub options: &'static str,
    /// The subject of the claims, and the title in figures.
    pub title: &'static str,
    pub claims: &'static [ClaimSpec],
    /// The largest number of seeds.
    pub seeds: usize,
}

impl TrainingRun {
    pub const fn of_seeds(self, seeds: usize) -> Self {
        TrainingRun { seeds, ..self }
    }
}

pub const fn run(
    name: &'static str,
    options: &'static str,
    title: &'static str,
    claims: &'static [ClaimSpec],
) -> TrainingRun {
    TrainingRun { name, options, title, claims, seeds: usize::MAX }
}

pub struct Finished {
    pub name: &'static str,
    pub recipe: Recipe,
    pub seeds: Vec<SeedRun>,
}

pub struct ExperimentInputs<'a> {
    pub session: &'a Session,
    pub seeds: usize,
    pub fresh_tasks: Option<usize>,
    pub runs: &'a [Finished],
}

pub struct Measured {
    /// An object: the results in `--json`, in addition to command, seed and config.
    pub results: Value,
    /// The results as text; claims and the place of the files are appended.
    pub text: String,
    pub claims: Vec<Claim>,
}

impl ExperimentSpec {
    pub const EMPTY: Self = ExperimentSpec {
        about: "",
        fresh_tasks: None,
        runs: &[],
        evaluation: EvaluationPlan::NOTHING,
        own: |_, _| Ok(()),
        claims: &[],
        figures: &[],
        emergence: None,
    };

    pub fn measure(
        &self,
        scale: &TrainingBudget,
        session: &Session,
        records: &mut RunFiles,
    ) -> Result<Measured, Error> {
        let (mut long, mut runs) = (MeasurementTable::default(), Vec::new());
        for run in self.runs {
            let mut train: Train = options::parsed(run.options);
            train.seeds = Seeds::Count(scale.seeds().min(run.seeds));
            train.recipe.tasks = scale.tasks.unwrap_or(train.recipe.tasks);
            let seeds = trained(run.name, &train, session)?;
            for (metric, Interval { estimate, low, high }) in others_of_mean(&seeds) {
                for (end, value) in [("", estimate), (" low", low), (" high", high)] {
                    long.put(run.name, None, &format!("{metric}{end}"), 0.0, value);
                }
            }
            for seed in &seeds {
                long.extend(run.name, seed.seed, numbers_of(seed));
            }
            let judge = judge(&train.recipe, self.evaluation, session.seed);
            if let Some(judge) = judge.context(format!("{}, fresh tasks", run.name))? {
                let numbers = session.map(run.name, &seeds, |seed| {
                    judge(seed).context(format!("{}, seed {}", run.name, seed.seed))
                })?;
                for (seed, numbers) in seeds.iter().zip(numbers) {
                    long.extend(run.name, seed.seed, numbers);
                }
            }
            runs.push(Finished { name: run.name, recipe: train.recipe, seeds });
        }
        let (seeds, fresh_tasks) = (scale.seeds(), scale.fresh_tasks);
        let work = ExperimentInputs { session, seeds, fresh_tasks, runs: &runs };
        (self.own)(&work, &mut long)?;
        let is_of_training = |shown: &FigureSpec| {
            !matches!(shown, FigureSpec::Explained(..) | FigureSpec::Plots(..))
        };
        if self.figures.iter().any(is_of_training) {
            runs.iter().for_each(|run| put_curves(run.name, &run.seeds, &mut long));
        }
        long.write(records)?;
        let of_runs = self.runs.iter().flat_map(|run| {
            run.claims.iter().map(|claim| claim.judge(run.title, long.of(run.name)))
        });
        let together = self.claims.iter().map(|claim| claim.judge("", long.of("")));
        let (claims, text) = (of_runs.chain(together).collect(), String::new());
        Ok(Measured { results: results(&runs).into(), text, claims })
    }
}

fn results(runs: &[Finished]) -> Map<String, Value> {
    let of_run = |run: &Finished| {
        let sequential = run.recipe.layer_sharing == LayerSharing::Sequential;
        let key = if runs.len() == 1 { "seeds" } else { run.name };
        (key.to_owned(), run.seeds.iter().map(|seed| seed.to_value(sequential)).collect())
    };
    runs.iter().map(of_run).collect()
}
