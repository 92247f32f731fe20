//! The paper's experiments. Those that train and judge the runs are data ([`trained`]); each of the others
//! is a file, with its options field by field.

pub mod claims;
pub mod demo;
pub mod demo_trained;
pub mod emergence;
pub mod experiment;
pub mod fixed_point;
pub mod fresh;
pub mod function;
pub mod invariant_set;
pub mod learning;
pub mod panels;
pub mod ratio;
pub mod rnn_context;
pub mod statistics;
pub mod stuck;
pub mod trained;
pub mod universal;
pub mod verify;

pub use experiment::{Entry, Experiment, run};

use crate::error::Error;
use crate::run::report::Report;
use crate::run::session::Session;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use experiment::{Run, Training};
use learning::Scale;

/// The commands whose runs have figures, and how they are typed: handed down by the command line to what
/// shows runs.
pub struct Catalogue {
    /// The experiments, in the paper's order.
    pub experiments: &'static [Entry],
    /// Other commands.
    pub others: &'static [Entry],
    /// The command line.
    pub command: clap::Command,
}

impl Catalogue {
    /// All commands whose runs have figures.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + Clone {
        self.experiments.iter().chain(self.others)
    }
}

/// Every experiment, in the paper's order.
pub const ALL: &[Entry] = &[
    demo::Demo::ENTRY,
    demo_trained::DemoTrained::ENTRY,
    trained::FIGURE_2,
    trained::ALGORITHM_1,
    trained::ABLATION,
    invariant_set::InvariantSet::ENTRY,
    fixed_point::FixedPoint::ENTRY,
    trained::AUTOREGRESSIVE,
    trained::COMPARISON,
    trained::SEQUENTIAL,
    trained::SEQUENTIAL_GAIN,
    trained::SOFTMAX,
    trained::CART_POLE,
    trained::CART_POLE_UNIFORM,
    trained::RNN_LEARNING,
    rnn_context::RnnContext::ENTRY,
    verify::Verify::ENTRY,
    universal::Universal::ENTRY,
    emergence::Emergence::ENTRY,
    stuck::Stuck::ENTRY,
    ratio::Ratio::ENTRY,
];

/// One of the experiments that are data, as a hidden command whose options are a scale.
#[derive(Clone, Debug)]
pub struct TrainedCommand {
    id: String,
    scale: Scale,
}

impl TrainedCommand {
    /// Runs the experiment.
    pub fn run(&self, session: &Session) -> Result<Report, Error> {
        let entry = ALL.iter().find(|e| e.id == self.id);
        entry.map_or(Ok(Report::default()), |entry| entry.run(&self.scale, session))
    }
}

impl FromArgMatches for TrainedCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some((id, options)) if Self::has_subcommand(id) => {
                Ok(TrainedCommand { id: id.into(), scale: Scale::from_arg_matches(options)? })
            }
            _ => Err(clap::Error::new(ErrorKind::InvalidSubcommand)),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn trained() -> impl Iterator<Item = (&'static Entry, &'static Training)> {
    ALL.iter().filter_map(|entry| match &entry.run {
        Run::Trained(training) => Some((entry, training)),
        _ => None,
    })
}

impl Subcommand for TrainedCommand {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        trained().fold(command, |command, (Entry { id, figure, .. }, training)| {
            let one = Scale::augment_args(clap::Command::new(*id)).hide(true).about(*figure);
            command.subcommand(one.long_about(format!("{figure}\n\n{}", training.about)))
        })
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        trained().any(|(entry, _)| entry.id == name)
    }
}
