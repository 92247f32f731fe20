//! The commands.
//!
//! A new command is one file (under `experiments/` for a figure of the paper, under `commands/`
//! otherwise), one variant of [`Command`], and one line of [`dispatch`].

use crate::commands::{
    WITH_FIGURES, bench, digest, evaluate, main_job, plot, predict, report, reproduce,
    stored_model, sweep, train_run,
};
use crate::error::Error;
use crate::experiments::verify::{self, Verify};
use crate::experiments::{self, Catalogue, ExperimentCommand, Extensions, added, demo::Demo};
use crate::run::{Report, Session};
use crate::train::Train;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// Transformers that learn temporal-difference methods in context.
///
/// Without a command, `ictd` runs the main job: `verify`, `demo`, `reproduce figure-2` (30 seeds) and one layer (10 seeds). It
/// answers the paper's three questions with measurements. Figures and numbers go to --out, results to stdout, progress to
/// stderr.
///
/// The paper: Wang, Blaser, Daneshmand, Zhang, "Transformers Can Learn Temporal Difference Methods
/// for In-Context Reinforcement Learning" (ICLR 2025).
#[derive(Parser)]
#[command(
    name = "ictd",
    version,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 a claim or check failed, 2 wrong use or bad input, \
                  101 a defect of ictd, 130 interrupted.\n\
                  Each run writes its config.toml: `ictd --config results/demo/config.toml` \
                  repeats it bit for bit."
)]
pub struct Cli {
    #[command(flatten)]
    pub session: Session,
    /// Read options from a config.toml that a run wrote; command-line options override it
    #[arg(
        long,
        global = true,
        value_name = "FILE.toml",
        help_heading = "Options of every command"
    )]
    pub config: Option<PathBuf>,
    /// The command; without one, the main job.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Subcommand)]
pub enum Command {
    Demo(Demo),
    Verify(Verify),
    Train(Train),
    Sweep(sweep::Sweep),
    Reproduce(reproduce::Reproduce),
    #[command(skip)]
    Table(ExperimentCommand),
    /// List the experiments and the figures of the paper that they repeat
    List,
    Plot(plot::Plot),
    Report(report::ReportOptions),
    /// Run the determinism kernels and compare this machine's digests with the expected ones
    ///
    /// Each kernel is a part of the numeric core on fixed seeds: forward passes, constructions, streaming
    /// contexts, short training runs, stored bytes, random streams. Equal digests mean that every bit of
    /// every result is what it is on every other platform. Exit code 1 if one differs.
    Digest,
    Export(stored_model::Export),
    Inspect(stored_model::Inspect),
    Evaluate(evaluate::Evaluate),
    Bench(bench::Bench),
    Predict(predict::Predict),
    /// Print the script with which a shell completes the command line: `ictd completions bash > FILE`
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
}

pub fn dispatch(command: Option<&Command>, session: &Session) -> Result<Report, Error> {
    let catalogue = catalogue();
    match command {
        None => main_job::run(session, &catalogue),
        Some(Command::Demo(options)) => options.run(session),
        Some(Command::Verify(options)) => options.run(session),
        Some(Command::Train(options)) => train_run::run(options, session),
        Some(Command::Sweep(options)) => sweep::run(options, session),
        Some(Command::Reproduce(options)) => reproduce::run(options, session, &catalogue),
        Some(Command::Table(command)) => command.run(session),
        Some(Command::List) => Ok(reproduce::list()),
        Some(Command::Plot(options)) => plot::run(options, session, &catalogue),
        Some(Command::Report(options)) => report::run(options, session, &catalogue),
        Some(Command::Digest) => digest::run(),
        Some(Command::Export(options)) => stored_model::export(options, session),
        Some(Command::Inspect(options)) => stored_model::inspect(options),
        Some(Command::Evaluate(options)) => evaluate::run(options, session),
        Some(Command::Bench(options)) => bench::run(options, session),
        Some(Command::Predict(options)) => predict::run(options, session),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut clap_command(), "ictd", &mut script);
            let text = String::from_utf8_lossy(&script).into_owned();
            Ok(Report { text, ..Report::of("completions", &()) })
        }
    }
}

/// Adds what a program of its own has to this one, before it parses its command line.
/// Returns an error for a name that is taken.
pub fn extend(extensions: Extensions) -> Result<(), Error> {
    let rows = verify::rows().map(|(name, _)| name);
    let commands = clap_command();
    let commands = commands.get_subcommands().map(clap::Command::get_name);
    let others = WITH_FIGURES.iter().chain(experiments::ALL).map(|entry| entry.id);
    let taken: Vec<_> = rows.chain(commands).chain(others).collect();
    added::add(extensions, &taken)
}

pub fn catalogue() -> Catalogue {
    Catalogue { others: WITH_FIGURES, command: clap_command() }
}

pub fn clap_command() -> clap::Command {
    // A value such as `-1` belongs to its option, whose range check then explains it.
    fn accept_negative_numbers(command: clap::Command) -> clap::Command {
        command
            .mut_args(|arg| {
                if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
            })
            .mut_subcommands(accept_negative_numbers)
    }
    let root = accept_negative_numbers(Cli::command().subcommands(experiments::commands()));
    let shared: Vec<_> = root.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    root.mut_subcommands(|command| {
        let refused = without_effect(command.get_name());
        let refused = shared.iter().filter(|arg| refused.contains(&arg.get_id().as_str()));
        refused.fold(command, |command, arg| command.arg(arg.clone().hide(true)))
    })
}

/// Returns the global options that have no effect on this command; they are rejected and hidden from its help.
pub(super) fn without_effect(command: &str) -> &'static [&'static str] {
    let entry = experiments::all().chain(WITH_FIGURES).find(|entry| entry.id == command);
    match (command, entry) {
        ("train" | "reproduce", _) => &[],
        // These commands compute on one thread.
        ("evaluate" | "export", _) => &["threads"],
        (_, Some(_)) => &[],
        _ => &["seed", "out", "threads", "config"],
    }
}

/// Parses arguments without a config file.
pub(crate) fn try_parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut root = clap_command();
    let matches = root.try_get_matches_from_mut(arguments)?;
    let is_typed = |option: &str| matches.value_source(option) == Some(ValueSource::CommandLine);
    let (name, typed) = matches.subcommand().unzip();
    let refused = name.map_or(&[][..], without_effect);
    let mut conflict = |reason: String| Err(root.error(ErrorKind::ArgumentConflict, reason));
    if let (Some(name), Some(option)) = (name, refused.iter().find(|option| is_typed(option))) {
        let reason = format!("--{option} has no effect on `{name}`: remove it");
        return conflict(reason);
    }
    let resumes =
        name == Some("train") && typed.is_some_and(|typed| typed.value_source("resume").is_some());
    if let Some(option) = ["seed", "out"].into_iter().find(|option| resumes && is_typed(option)) {
        return conflict(format!(
            "--{option} cannot be used with --resume, which has the run's own: remove it"
        ));
    }
    let Some(table) = ExperimentCommand::of(&matches)? else {
        return Cli::from_arg_matches(&matches);
    };
    let session = Session::from_arg_matches(&matches)?;
    Ok(Cli { session, config: None, command: Some(Command::Table(table)) })
}
