//! `--config`: adds the options of a config file that are not typed to the command line, so that they pass the same checks.

use super::command::{catalogue, clap_command, try_parse, without_effect};
use super::{command_of, one_line, partial};
use crate::error::{Error, InFile as _};
use crate::files;
use crate::formats::tasks;
use crate::run::config;
use clap::Arg;
use clap::parser::ValueSource;
use compute::own_tasks::OwnTasks;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Value;

/// The options that an untrusted file may not set: where to write, and what to remove.
const TYPED_ONLY: [&str; 3] = ["config", "out", "resume"];

/// Returns the arguments with those of the config file they name, if any.
pub fn insert(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let named = arguments.iter().enumerate().find_map(|(i, a)| match a.to_str()? {
        "--config" => arguments.get(i + 1).cloned(),
        a => a.strip_prefix("--config=").map(Into::into),
    });
    let Some(path) = named.map(PathBuf::from) else { return Ok(arguments) };
    if command_of(&arguments).is_some_and(|name| without_effect(&name).contains(&"config")) {
        // The parser reports it.
        return Ok(arguments);
    }
    let text = config::read_text(&path, files::read(&path, files::TEXT))?;
    insert_text(arguments, &path, &text)
}

pub fn insert_text(
    mut arguments: Vec<OsString>,
    path: &Path,
    text: &str,
) -> Result<Vec<OsString>, Error> {
    let refuse = |reason: String| Err(Error::file(path, reason));
    let mut table = config::parse(text).in_file(path)?;
    let written = match table.remove("command") {
        None if command_of(&arguments).is_none() => {
            return refuse("command: missing; expected the config.toml of a run".into());
        }
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return refuse("command: expected a string".into()),
    };
    if let Some(key) = TYPED_ONLY.iter().find(|key| table.contains_key(**key)) {
        return refuse(format!("{key}: expected --{key} as typed, not in a config file"));
    }
    let command = match (command_of(&arguments), written.filter(|name| name != "main")) {
        (Some(typed), Some(written)) if typed != written => {
            return refuse(format!("command: this file is of `{written}`, not of `{typed}`"));
        }
        (Some(typed), _) => Some(typed),
        (None, Some(written)) if !catalogue().entries().any(|entry| entry.id == written) => {
            return refuse("command: expected one whose runs write a config.toml".into());
        }
        (None, written) => {
            arguments.splice(1..1, written.as_ref().map(OsString::from));
            written
        }
    };
    let root = clap_command();
    let found = partial(&arguments);
    let found = found.as_ref().map(|found| found.subcommand().map_or(found, |(_, of)| of));
    let is_typed = |argument: &Arg| {
        let id = argument.get_id().as_str();
        found.is_some_and(|found| found.value_source(id) == Some(ValueSource::CommandLine))
    };
    let known = command.as_ref().and_then(|name| root.find_subcommand(name));
    let known = known.into_iter().chain([&root]).flat_map(clap::Command::get_arguments);
    let known: Vec<_> = known.collect();
    let is_repeatable = |argument: &Arg| matches!(argument.get_action(), clap::ArgAction::Append);
    let is_digest = |own: &str| OwnTasks::named(own).is_some_and(|own| own.source().0.is_none());
    // All options of the file, and only those that are not typed.
    let (mut all, mut added) = (Vec::new(), Vec::new());
    for (name, value) in &table {
        let argument = known.iter().copied().find(|argument| is_named(argument, name));
        let values = match value {
            Value::String(value) if argument.is_some_and(Arg::is_positional) => vec![value.into()],
            Value::Array(values) if argument.is_some_and(is_repeatable) => {
                let each = values.iter().map(|value| to_arguments(path, name, value));
                each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
            }
            // The tasks of a run are next to its config.
            Value::String(own) if name == "task" && is_digest(own) => {
                let file = files::parent(path).join(tasks::FILE_NAME);
                vec![format!("--task={}#{own}", file.display()).into()]
            }
            value => to_arguments(path, name, value)?.into_iter().collect(),
        };
        if !argument.is_some_and(is_typed) {
            added.extend(values.iter().cloned());
        }
        all.extend(values);
    }
    // An error that is found here names the file.
    all.splice(0..0, [OsString::from("ictd")].into_iter().chain(command.map(OsString::from)));
    if let Err(e) = try_parse(&all) {
        return refuse(one_line(&e, &all));
    }
    arguments.extend(added);
    Ok(arguments)
}

fn is_named(argument: &Arg, name: &str) -> bool {
    argument.get_long() == Some(name) || argument.is_positional() && argument.get_id() == name
}

fn to_arguments(path: &Path, name: &str, value: &Value) -> Result<Option<OsString>, Error> {
    let text = match value {
        Value::Boolean(false) => return Ok(None),
        Value::Boolean(true) => return Ok(Some(format!("--{name}").into())),
        Value::String(s) => s.clone(),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
            let expected = "expected a string, a number, true or false";
            return Err(Error::file(path, format!("{name}: {expected}")));
        }
    };
    Ok(Some(format!("--{name}={text}").into()))
}
