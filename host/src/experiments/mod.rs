//! The paper's experiments, and questions that it leaves open. Most are data ([`experiment`]): the paper's in [`paper`] and
//! [`appendices`], the others in [`beyond`]. A command with its own options is a file.

pub mod added;
pub mod appendices;
pub mod beyond;
pub mod control;
pub mod demo;
pub mod experiment;
pub mod follow_ups;
pub mod judging;
pub mod learning;
pub mod measurements;
pub mod off_policy;
pub mod one_layer;
pub mod paper;
pub mod plots;
pub mod pretraining_loss;
pub mod rnn_context;
pub mod statistics;
pub mod universal;
pub mod verify;

pub use added::{Extensions, VerifyRow};
pub use experiment::{Experiment, Measured};
pub use measurements::MeasurementTable;

use crate::error::Error;
use crate::options;
use crate::run::{Report, Session};
use clap::{ArgMatches, Args, FromArgMatches};
use experiment::{ExperimentSpec, Runner};
use learning::TrainingBudget;

/// The commands whose runs have figures, and the command line that parses them, for code that shows runs.
pub struct Catalogue {
    pub others: &'static [Experiment],
    pub command: clap::Command,
}

impl Catalogue {
    pub fn entries(&self) -> impl Iterator<Item = &'static Experiment> + Clone {
        all().chain(self.others)
    }
}

/// Returns every experiment: the program's ([`ALL`]), and those that were added to it.
pub fn all() -> impl Iterator<Item = &'static Experiment> + Clone {
    ALL.iter().chain(added::added().experiments)
}

pub const ALL: &[Experiment] = &[
    demo::ENTRY,
    paper::FIGURE_2,
    paper::ALGORITHM_1,
    paper::ABLATION,
    one_layer::ONE_LAYER,
    paper::AUTOREGRESSIVE,
    paper::COMPARISON,
    appendices::SEQUENTIAL,
    appendices::SOFTMAX,
    appendices::CART_POLE,
    appendices::RNN_LEARNING,
    rnn_context::RNN_CONTEXT,
    verify::ENTRY,
    universal::UNIVERSAL,
    beyond::EMERGENCE,
    control::CONTROL,
    follow_ups::LOSSES,
    follow_ups::DEPTH,
    off_policy::OFF_POLICY,
    pretraining_loss::PRETRAINING_LOSS,
];

pub struct ExperimentCommand {
    entry: &'static Experiment,
    scale: TrainingBudget,
}

impl ExperimentCommand {
    pub fn of(matches: &ArgMatches) -> Result<Option<Self>, clap::Error> {
        let Some((id, options)) = matches.subcommand() else { return Ok(None) };
        let Some((entry, _)) = tables().find(|(entry, _)| entry.id == id) else { return Ok(None) };
        let fresh_tasks = options.try_get_one(FRESH_TASKS).ok().flatten().copied();
        let scale = TrainingBudget { fresh_tasks, ..TrainingBudget::from_arg_matches(options)? };
        Ok(Some(ExperimentCommand { entry, scale }))
    }

    pub fn run(&self, session: &Session) -> Result<Report, Error> {
        experiment::refuse_unused(&self.scale, &[self.entry])?;
        self.entry.run(&self.scale, session)
    }
}

const FRESH_TASKS: &str = "fresh-tasks";
const FRESH_TASKS_HELP: &str =
    "Fresh tasks that the model is tested on, in each setting of the experiment";

fn tables() -> impl Iterator<Item = (&'static Experiment, &'static ExperimentSpec)> {
    all().filter_map(|entry| match &entry.run {
        Runner::Spec(table) => Some((entry, table)),
        _ => None,
    })
}

pub fn commands() -> impl Iterator<Item = clap::Command> {
    tables().map(|(Experiment { id, figure, .. }, table)| {
        let one = TrainingBudget::augment_args(clap::Command::new(*id)).hide(true).about(*figure);
        let fresh_tasks = table.fresh_tasks.map(|default| {
            let arg = clap::Arg::new(FRESH_TASKS).long(FRESH_TASKS).help(FRESH_TASKS_HELP);
            let arg = arg.default_value(default.to_string());
            arg.value_parser(options::integer(2..=1_000_000))
        });
        one.long_about(format!("{figure}\n\n{}", table.about)).args(fresh_tasks)
    })
}
