//! The command line: parses typed arguments, and those of a config file, into a command, or says in one line what is wrong.

pub mod command;
pub mod config_file;

use crate::error::Error;
use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use command::{Cli, clap_command, try_parse, without_effect};
use std::ffi::OsString;

pub enum Parsed {
    Text(String),
    Command(Box<Cli>),
}

/// Parses arguments, with those of a `--config` file put before the typed ones.
pub fn parse(mut arguments: Vec<OsString>) -> Result<Parsed, Error> {
    // A config.toml, and the object of --json, hold text.
    if let Some(argument) = arguments.iter().find(|argument| argument.to_str().is_none()) {
        let shown = argument.to_string_lossy();
        return Err(Error::Usage(format!("{shown}: expected arguments in UTF-8")));
    }
    // `ictd help train` is what many type for `ictd train --help`.
    if arguments.get(1).is_some_and(|a| a == "help") {
        arguments.remove(1);
        arguments.push("--help".into());
    }
    let arguments = config_file::insert(arguments)?;
    match try_parse(&arguments) {
        Ok(cli) => Ok(Parsed::Command(Box::new(cli))),
        Err(e) => match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Ok(Parsed::Text(e.render().to_string()))
            }
            _ => Err(Error::Usage(one_line(&e, &arguments))),
        },
    }
}

/// Returns the arguments that clap can parse, up to the first mistake.
fn partial(arguments: &[OsString]) -> Option<ArgMatches> {
    clap_command().ignore_errors(true).try_get_matches_from(arguments).ok()
}

fn command_of(arguments: &[OsString]) -> Option<String> {
    partial(arguments)?.subcommand_name().map(str::to_owned)
}

fn one_line(error: &clap::Error, arguments: &[OsString]) -> String {
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
    let suggested =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = suggested.map(text).concat();
    let suggestion = match suggested.split(", ").next() {
        Some(name) if !name.is_empty() => format!(" (did you mean {name}?)"),
        _ => String::new(),
    };
    let line = match error.kind() {
        ErrorKind::ValueValidation if !shown.is_empty() => {
            let source = std::error::Error::source(error);
            format!("{typed}: {}", source.map(ToString::to_string).unwrap_or_default())
        }
        ErrorKind::InvalidValue => match text(ContextKind::ValidValue) {
            list if list.is_empty() && value.is_empty() => {
                format!("{option}: a value is missing; expected {shown}")
            }
            list if value.is_empty() => {
                format!("{option}: a value is missing; expected one of {list}")
            }
            list => format!("{typed}: expected one of {list}"),
        },
        ErrorKind::UnknownArgument => {
            format!("{option} is not an option here: expected {}", accepted_options(arguments))
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand);
            let root = clap_command();
            let list: Vec<_> = root.get_subcommands().map(|c| c.get_name()).collect();
            format!("{name} is not a command: expected one of {}", list.join(", "))
        }
        _ => {
            let rendered = error.render().to_string();
            let paragraph = rendered.split("\n\n").next().unwrap_or_default();
            paragraph.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
        }
    };
    line + &suggestion
}

fn accepted_options(arguments: &[OsString]) -> String {
    let root = clap_command();
    let name = command_of(arguments).unwrap_or_default();
    let command = root.find_subcommand(&name);
    let refused = command.map_or(&[][..], |_| without_effect(&name));
    let own = command.into_iter().flat_map(clap::Command::get_arguments);
    let names: Vec<_> = own
        .chain(root.get_arguments())
        .filter(|arg| !arg.is_hide_set() && !refused.contains(&arg.get_id().as_str()))
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect();
    names.join(", ")
}
