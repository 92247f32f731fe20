//! An experiment: its description, its run, and the files that it writes.
//!
//! Most experiments are data ([`ExperimentSpec`]); one that has its own command and options, such as `demo`, calls [`run`].

use super::learning::TrainingBudget;
use super::measurements::MeasurementTable;
use super::plots;
use super::table::ExperimentSpec;
pub use super::table::Measured;
use crate::error::Error;
use crate::files;
use crate::run::{Report, RunDirectory, RunFiles, RunManifest, Session, config, records};
use figures::{Figure, NamedFigures};
use serde::Serialize;
use serde_json::json;
use std::path::Path;

pub struct Experiment {
    pub id: &'static str,
    /// The figure of the paper that it repeats.
    pub figure: &'static str,
    /// Draws the figures that are code from the records; file names have no extension.
    pub figures: fn(&RunFiles) -> Result<NamedFigures, Error>,
    pub run: Runner,
}

/// How an experiment is run without options of its own.
pub enum Runner {
    /// Only by its command, which needs arguments.
    ByCommand,
    /// Without training.
    Fixed(fn(&Session) -> Result<Report, Error>),
    /// As its specification defines, at a scale.
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
                let scale = TrainingBudget { seeds: scale.seeds, tasks, fresh_tasks };
                run(self, &scale, session, |records| spec.measure(&scale, session, records))
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

/// Rejects a user's file inside the folder that a run replaces.
pub fn refuse_inside(entry: &Experiment, session: &Session, input: &Path) -> Result<(), Error> {
    if files::is_inside(input, &session.out.join(entry.id)) {
        let reason = "it lies in the folder that this command writes; expected another --out";
        return Err(Error::file(input, reason));
    }
    Ok(())
}

/// Runs `measure`, which fills the records, and writes the run's directory: config.toml, results.json, records, figures,
/// run.json.
pub fn run(
    entry: &Experiment,
    options: &impl Serialize,
    session: &Session,
    measure: impl FnOnce(&mut RunFiles) -> Result<Measured, Error>,
) -> Result<Report, Error> {
    let directory = RunDirectory::claim(records::place(&session.out, entry.id)?)?;
    let run_info = RunManifest::new(entry.id, session);
    let started = std::time::Instant::now();
    let mut records = RunFiles::streaming_to(&directory);
    let Measured { results, text, claims } = measure(&mut records)?;

    let (figure, seed, config) = (entry.figure, session.seed, config::table(options)?);
    let head = json!({ "figure": figure, "seed": seed, "config": config });
    let mut report = Report::of(entry.id, &head);
    report.results.extend(results.as_object().cloned().unwrap_or_default());
    (report.text, report.claims) = (text, claims);
    records.put("config.toml", config::to_text(entry.id, seed, options)?);
    // Equal configs give equal bytes on any machine: no times, no paths.
    records.put("results.json", format!("{:#}\n", report.to_value()));
    records.draw(&entry.drawn(&records)?);
    report.files = directory.finish(records, run_info, &report.claims)?;
    report.seconds = Some(started.elapsed().as_secs_f64());
    if report.claims.is_empty() {
        report.text.push_str(&report.place());
    }
    Ok(report)
}
