//! An experiment: its description, its run, and the files that it writes.
//!
//! Most experiments are data: an [`ExperimentSpec`] defines one completely. Its runs are trained (or taken from `runs/`), every
//! number of every seed goes into one [`MeasurementTable`] (`records.csv`), [`ClaimSpec`]s read it, and the figures are drawn
//! from it. A function `own` adds measurements other than those of training; slow loops over floats are in the crate `compute`.
//! A command with its own options, such as `demo`, calls [`Experiment::record`].

use super::judging::{ClaimSpec, together};
use super::learning::{TrainingBudget, numbers_of, others_of_mean, put_curves, trained};
use super::measurements::{MeasurementTable, name_in_base};
use super::plots::{self, FigureSpec};
use super::statistics::Interval;
use crate::error::{Error, WithContext as _};
use crate::run::{
    Claim, Report, RunDirectory, RunFiles, RunManifest, Session, Verdict, config, records,
};
use crate::train::{LayerSharing, Recipe, SeedRun, Seeds, Train};
use crate::{files, options};
use figures::{Figure, NamedFigures};
pub use judge::judge::EvaluationPlan;
use judge::judge::judge;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

pub struct Experiment {
    pub id: &'static str,
    pub figure: &'static str,
    /// Draws the figures that are code from the records; file names have no extension.
    pub figures: fn(&RunFiles) -> Result<NamedFigures, Error>,
    pub run: Runner,
}

pub enum Runner {
    ByCommand,
    Fixed(fn(&Session) -> Result<Report, Error>),
    Spec(ExperimentSpec),
}

impl Experiment {
    pub const fn by_command(
        id: &'static str,
        figure: &'static str,
        figures: fn(&RunFiles) -> Result<NamedFigures, Error>,
    ) -> Self {
        Experiment { id, figure, figures, run: Runner::ByCommand }
    }

    /// Returns whether a number of seeds, and one of tasks, changes something.
    fn takes(&self) -> [bool; 2] {
        match &self.run {
            Runner::Spec(spec) => [true, !spec.runs.is_empty()],
            _ => [false; 2],
        }
    }

    pub fn run(&self, scale: &TrainingBudget, session: &Session) -> Result<Report, Error> {
        match &self.run {
            Runner::Fixed(run) => run(session),
            Runner::Spec(spec) => {
                let tasks = scale.tasks.filter(|_| self.takes()[1]);
                let fresh_tasks = scale.fresh_tasks.or(spec.fresh_tasks);
                let scale = TrainingBudget { tasks, fresh_tasks, ..scale.clone() };
                self.record(&scale, session, |records| spec.measure(&scale, session, records))
            }
            Runner::ByCommand => Err(Error::Usage(format!(
                "{} is a command of its own: run it without `reproduce`",
                self.id
            ))),
        }
    }

    pub fn drawn(&self, records: &RunFiles) -> Result<NamedFigures, Error> {
        let mut figures = (self.figures)(records)?;
        if let Runner::Spec(table) = &self.run {
            let runs: Vec<_> = table.runs.iter().map(|run| (run.name, run.title)).collect();
            figures.extend(plots::figures(table.figures, &runs, records)?);
        }
        Ok(figures)
    }

    /// Draws P and Q during training, frame by frame; empty for other experiments.
    pub fn frames(&self, records: &RunFiles) -> Result<Vec<Figure>, Error> {
        match &self.run {
            Runner::Spec(ExperimentSpec { emergence: Some(run), .. }) => {
                plots::emergence(MeasurementTable::read(records)?.of(run))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Rejects a user's file inside the folder that a run replaces.
    pub fn refuse_inside(&self, session: &Session, input: &Path) -> Result<(), Error> {
        if files::is_inside(input, &session.out.join(self.id)) {
            let reason = "it lies in the folder that this command writes; expected another --out";
            return Err(Error::file(input, reason));
        }
        Ok(())
    }

    pub fn record(
        &self,
        options: &impl Serialize,
        session: &Session,
        measure: impl FnOnce(&mut RunFiles) -> Result<Measured, Error>,
    ) -> Result<Report, Error> {
        let directory = RunDirectory::claim(records::place(&session.out, self.id)?)?;
        let run_info = RunManifest::new(self.id, session);
        let started = std::time::Instant::now();
        let mut records = RunFiles::streaming_to(&directory);
        let Measured { results, text, claims } = measure(&mut records)?;

        let (figure, seed, config) = (self.figure, session.seed, config::table(options)?);
        let head = json!({ "figure": figure, "seed": seed, "config": config });
        let mut report = Report::of(self.id, &head);
        report.results.extend(results.as_object().cloned().unwrap_or_default());
        (report.text, report.claims) = (text, claims);
        records.put("config.toml", config::to_text(self.id, seed, options)?);
        // Equal configs give equal bytes on any machine: no times, no paths.
        records.put("results.json", format!("{:#}\n", report.to_value()));
        records.draw(&self.drawn(&records)?);
        report.files = directory.finish(records, run_info, &report.claims)?;
        report.seconds = Some(started.elapsed().as_secs_f64());
        if report.claims.is_empty() {
            report.text.push_str(&report.place());
        }
        Ok(report)
    }
}

pub fn refuse_unused(scale: &TrainingBudget, chosen: &[&Experiment]) -> Result<(), Error> {
    for (at, (option, given)) in
        [("--seeds", scale.seeds), ("--tasks", scale.tasks)].into_iter().enumerate()
    {
        if given.is_some() && !chosen.iter().any(|entry| entry.takes()[at]) {
            let ids = chosen.iter().map(|e| e.id).collect::<Vec<_>>().join(", ");
            return Err(Error::option(option, format!("it changes nothing of {ids}: remove it")));
        }
    }
    Ok(())
}

/// The numbers that are added to the seed, one for each base of seeds: other networks, and other tasks to judge them on.
pub const BASES: [u64; 3] = [0, 1000, 2000];

pub struct ExperimentSpec {
    /// The help text of its command, in addition to the figure.
    pub about: &'static str,
    /// The default of `--fresh-tasks`, which the command then has.
    pub fresh_tasks: Option<usize>,
    pub runs: &'static [TrainingRun],
    /// The measurements of the runs' seeds on fresh tasks.
    pub evaluation: EvaluationPlan,
    /// The number of bases of seeds, [`BASES`], in each of which the claims are judged.
    pub bases: usize,
    pub own: fn(&ExperimentInputs, &mut MeasurementTable) -> Result<(), Error>,
    pub claims: &'static [ClaimSpec],
    pub figures: &'static [FigureSpec],
    /// The run whose P and Q, which a figure has, are also shown during training.
    pub emergence: Option<&'static str>,
}

pub const fn table(id: &'static str, figure: &'static str, spec: ExperimentSpec) -> Experiment {
    Experiment { id, figure, figures: |_| Ok(Vec::new()), run: Runner::Spec(spec) }
}

/// A run of an experiment. Runs with equal names are one run, and have the same options.
pub struct TrainingRun {
    /// The directory in `runs/`, and the name in the records.
    pub name: &'static str,
    /// The options as typed after `ictd train`, without the seeds.
    pub options: &'static str,
    pub title: &'static str,
    pub claims: &'static [ClaimSpec],
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
        bases: 1,
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
        let mut unjudged = BTreeMap::new();
        let bases = &BASES[..if scale.one_base { 1 } else { self.bases }];
        for (base, run) in
            bases.iter().flat_map(|base| self.runs.iter().map(move |run| (*base, run)))
        {
            let name = &*name_in_base(run.name, base);
            let first = session.seed.saturating_add(base);
            let mut train: Train = options::parsed(run.options);
            train.seeds = Seeds::Count(scale.seeds().min(run.seeds));
            train.recipe.tasks = scale.tasks.unwrap_or(train.recipe.tasks);
            let seeds = trained(name, &train, first, session)?;
            for (metric, Interval { estimate, low, high }) in others_of_mean(&seeds) {
                for (end, value) in [("", estimate), (" low", low), (" high", high)] {
                    long.put(name, None, &format!("{metric}{end}"), 0.0, value);
                }
            }
            for seed in &seeds {
                long.extend(name, seed.seed, numbers_of(seed));
            }
            if self.evaluation != EvaluationPlan::NOTHING {
                let judge = judge(&train.recipe, self.evaluation, first);
                match judge.context(format!("{name}, fresh tasks"))? {
                    Ok(judge) => {
                        let numbers = session.map(name, &seeds, |seed| {
                            judge(seed).context(format!("{name}, seed {}", seed.seed))
                        })?;
                        for (seed, numbers) in seeds.iter().zip(numbers) {
                            long.extend(name, seed.seed, numbers);
                        }
                    }
                    Err(reason) => _ = unjudged.insert(run.name, reason),
                }
            }
            if base == 0 {
                runs.push(Finished { name: run.name, recipe: train.recipe, seeds });
            }
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
        let in_bases = |claim: &ClaimSpec, subject: &str, run: &str| {
            let judged = bases.iter().map(|base| claim.judge(subject, long.of(run).in_base(*base)));
            let mut judged: Vec<Claim> = judged.collect();
            let verdicts: Vec<_> = judged.iter().map(|claim| claim.verdict).collect();
            let verdict = together(&verdicts);
            let said = judged.iter().zip(bases).map(|(claim, base)| {
                let base = session.seed.saturating_add(*base);
                format!("seeds from {base}, {}: {}", claim.verdict.words(), claim.measured)
            });
            let measured = said.collect::<Vec<_>>().join(" | ");
            let first = judged.swap_remove(0);
            match unjudged.get(run) {
                Some(reason) if verdict == Verdict::NotMeasured => {
                    Claim { measured: reason.clone(), ..first }
                }
                _ if bases.len() == 1 => first,
                _ => Claim { measured, verdict, ..first },
            }
        };
        let of_runs = self
            .runs
            .iter()
            .flat_map(|run| run.claims.iter().map(|claim| in_bases(claim, run.title, run.name)));
        let of_all = self.claims.iter().map(|claim| in_bases(claim, "", ""));
        let (claims, text) = (of_runs.chain(of_all).collect(), String::new());
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
