//! The command line: commands, global options, and usage errors in one line.
//!
//! A new command is one file (under `experiments/` for a figure of the paper, under `commands/`
//! otherwise), one variant of [`Command`], and one line of [`dispatch`].

use crate::commands::{
    compare, digest, evaluate, import, list, main_job, plot, report, reproduce, shell,
    stored_model, train_run,
};
use crate::config;
use crate::error::Error;
use crate::experiments::{self, demo::Demo, verify::Verify};
use crate::experiments::{
    autoregressive::Autoregressive, cart_pole::CartPole, comparison::Comparison, figure_2::Figure2,
    invariant_set::InvariantSet, rnn_context::RnnContext, rnn_learning::RnnLearning,
    sequential::Sequential, softmax::Softmax,
};
use crate::options;
use crate::report::Report;
use crate::session::Session;
use crate::train::Train;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Transformers that learn temporal-difference methods in context.
///
/// Without a command: the main job, `verify`, `demo` and `reproduce figure-2`, which trains 30 seeds,
/// with measured results beside the paper's claims. Figures and numbers go to --out, results to stdout, progress to stderr.
///
/// The paper: Wang, Blaser, Daneshmand, Zhang, "Transformers Can Learn Temporal Difference Methods
/// for In-Context Reinforcement Learning" (ICLR 2025).
#[derive(Debug, Parser)]
#[command(
    name = "ictd",
    version,
    args_override_self = true,
    disable_help_subcommand = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 a claim or check failed, 2 wrong use or bad input, \
                  130 interrupted.\n\
                  Each run writes its config.toml: `ictd --config results/demo/config.toml` \
                  repeats it bit for bit."
)]
pub struct Cli {
    /// The options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do; nothing: the main job.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Global {
    /// The (first) random seed; equal seeds give equal bits on every machine
    #[arg(long, global = true, default_value = "0", value_parser = options::seed)]
    pub seed: u64,
    /// Where to write: each command into the directory of its name
    #[arg(long, global = true, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Remove a training run with other options that stands where this one goes, instead of renaming its
    /// directory to NAME-1, NAME-2, ...; `train` also starts an unfinished one anew
    #[arg(long, global = true)]
    pub overwrite: bool,
    /// Threads, each taking whole seeds or tasks, so that results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N", value_parser = options::integer(1..=1024))]
    pub threads: Option<usize>,
    /// Print one JSON object with all results on stdout, and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// Read options from a config.toml that a run wrote; options typed beside it win
    #[arg(long, global = true, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(Demo),
    Verify(Verify),
    Train(Train),
    Reproduce(reproduce::Reproduce),
    #[command(name = "figure-2", hide = true)]
    Figure2(Figure2),
    #[command(name = "autoregressive", hide = true)]
    Autoregressive(Autoregressive),
    #[command(name = "comparison", hide = true)]
    Comparison(Comparison),
    #[command(name = "sequential", hide = true)]
    Sequential(Sequential),
    #[command(name = "softmax", hide = true)]
    Softmax(Softmax),
    #[command(name = "cart-pole", hide = true)]
    CartPole(CartPole),
    #[command(name = "rnn-learning", hide = true)]
    RnnLearning(RnnLearning),
    #[command(name = "rnn-context", hide = true)]
    RnnContext(RnnContext),
    #[command(name = "invariant-set", hide = true)]
    InvariantSet(InvariantSet),
    List(list::List),
    Plot(plot::Plot),
    Report(report::ReportOptions),
    Digest(digest::DigestOptions),
    Export(stored_model::Export),
    Inspect(stored_model::Inspect),
    Completions(shell::Completions),
    Man(shell::Man),
    Evaluate(evaluate::Evaluate),
    Import(import::Import),
    Compare(compare::Compare),
}

/// Runs the command.
///
/// # Errors
/// The command's.
pub fn dispatch(cli: &Cli, session: &Session) -> Result<Report, Error> {
    match &cli.command {
        None => main_job::run(session),
        Some(Command::Demo(options)) => experiments::run(options, session),
        Some(Command::Verify(options)) => experiments::run(options, session),
        Some(Command::Train(options)) => train_run::run(options, session),
        Some(Command::Reproduce(options)) => reproduce::run(options, session),
        Some(Command::Figure2(options)) => experiments::run(options, session),
        Some(Command::Autoregressive(options)) => experiments::run(options, session),
        Some(Command::Comparison(options)) => experiments::run(options, session),
        Some(Command::Sequential(options)) => experiments::run(options, session),
        Some(Command::Softmax(options)) => experiments::run(options, session),
        Some(Command::CartPole(options)) => experiments::run(options, session),
        Some(Command::RnnLearning(options)) => experiments::run(options, session),
        Some(Command::RnnContext(options)) => experiments::run(options, session),
        Some(Command::InvariantSet(options)) => experiments::run(options, session),
        Some(Command::List(_)) => Ok(list::run()),
        Some(Command::Plot(options)) => plot::run(options),
        Some(Command::Report(options)) => report::run(options),
        Some(Command::Digest(_)) => digest::run(),
        Some(Command::Export(options)) => stored_model::export(options, session),
        Some(Command::Inspect(options)) => stored_model::inspect(options),
        Some(Command::Completions(options)) => shell::completions(options),
        Some(Command::Man(_)) => shell::man(),
        Some(Command::Evaluate(options)) => evaluate::run(options, session),
        Some(Command::Import(options)) => import::run(options, session),
        Some(Command::Compare(options)) => compare::run(options),
    }
}

/// What the arguments ask for.
pub enum Parsed {
    /// Help or the version.
    Text(String),
    /// A command.
    Command(Box<Cli>),
}

/// The clap command, for help, completions and the man page.
pub fn command() -> clap::Command {
    // A value such as `-1` belongs to its option, whose range check then explains it.
    fn accept_negative_numbers(command: clap::Command) -> clap::Command {
        command
            .mut_args(|arg| {
                if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg }
            })
            .mut_subcommands(accept_negative_numbers)
    }
    accept_negative_numbers(Cli::command())
}

/// Parses arguments, with those of a `--config` file put before the typed ones.
///
/// # Errors
/// [`Error::Usage`] in one line; [`Error::File`] for a bad config file.
pub fn parse(mut arguments: Vec<OsString>) -> Result<Parsed, Error> {
    // `ictd help train` is what many type for `ictd train --help`.
    if arguments.get(1).is_some_and(|a| a == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    let arguments = config::insert(arguments)?;
    match try_parse(&arguments) {
        Ok(cli) => Ok(Parsed::Command(Box::new(cli))),
        Err(e) => match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                use std::io::IsTerminal;
                let colour = std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
                let text = e.render();
                Ok(Parsed::Text(if colour { text.ansi().to_string() } else { text.to_string() }))
            }
            _ => Err(Error::Usage(one_line(&e, &arguments))),
        },
    }
}

/// Parses without config file.
pub(crate) fn try_parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches_from(arguments)?;
    Cli::from_arg_matches(&matches)
}

/// clap's error in one line that names the option and what is accepted.
pub(crate) fn one_line(error: &clap::Error, arguments: &[OsString]) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        Some(ContextValue::Strings(list)) => list.join(", "),
        _ => String::new(),
    };
    // `--gamma <GAMMA>` is called `--gamma`.
    let shown = text(ContextKind::InvalidArg);
    let option = shown.split_whitespace().next().unwrap_or_default();
    let value = text(ContextKind::InvalidValue);
    let typed = if value.is_empty() { option.to_owned() } else { format!("{option} {value}") };
    match error.kind() {
        ErrorKind::ValueValidation => {
            let source = std::error::Error::source(error);
            format!("{typed}: {}", source.map(ToString::to_string).unwrap_or_default())
        }
        ErrorKind::InvalidValue => match text(ContextKind::ValidValue) {
            list if list.is_empty() && value.is_empty() => {
                format!("{option}: a value is missing; accepted is {shown}")
            }
            list if value.is_empty() => {
                format!("{option}: a value is missing; accepted is one of {list}")
            }
            list => format!("{typed}: accepted is one of {list}"),
        },
        ErrorKind::UnknownArgument => {
            format!("{option} is not an option here: accepted is {}", accepted_options(arguments))
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            let root = command();
            let list: Vec<_> = root.get_subcommands().map(|c| c.get_name()).collect();
            format!("{name} is not a command: accepted is one of {}", list.join(", "))
        }
        _ => {
            let rendered = error.render().to_string();
            let paragraph = rendered.split("\n\n").next().unwrap_or_default();
            paragraph.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}

/// The typed command and its place among the arguments: the first one that is neither an option nor the
/// value of one.
pub(crate) fn typed_command<'a>(
    root: &'a clap::Command,
    arguments: &[OsString],
) -> Option<(usize, &'a clap::Command)> {
    let takes_value = |option: &str| {
        let named = root.get_arguments().find(|arg| arg.get_long() == option.strip_prefix("--"));
        named.is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut rest = arguments.iter().enumerate().skip(1);
    while let Some((index, argument)) = rest.next() {
        match argument.to_str() {
            Some(option) if option.starts_with('-') => {
                if takes_value(option) {
                    rest.next();
                }
            }
            _ => return root.find_subcommand(argument).map(|command| (index, command)),
        }
    }
    None
}

/// The options of the typed command, or of `ictd` itself.
fn accepted_options(arguments: &[OsString]) -> String {
    let root = command();
    let typed = typed_command(&root, arguments);
    let own = typed.into_iter().flat_map(|(_, command)| command.get_arguments());
    let names: Vec<_> = own
        .chain(root.get_arguments())
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect();
    names.join(", ")
}
