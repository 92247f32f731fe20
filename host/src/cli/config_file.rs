//! `--config`: the options of a config file are put before the typed ones on the command line, so that
//! they pass the same checks and the typed ones win.

use super::command::{catalogue, clap_command, try_parse, without_effect};
use super::usage::{one_line, typed};
use crate::error::Error;
use crate::files;
use crate::formats::tasks;
use std::ffi::OsString;
use std::path::Path;
use toml::{Table, Value};

/// The options that a file from elsewhere may not set: where to write, and what to remove.
const TYPED_ONLY: [&str; 3] = ["config", "out", "resume"];

/// Returns true for a command whose runs are repeated by their config.toml.
fn writes_configs(name: &str) -> bool {
    catalogue().entries().any(|entry| entry.id == name)
}

/// Returns the arguments with those of the config file they name, if any, before the typed ones.
/// Errors: [`Error::File`] for a file that cannot be read, that is no TOML, or whose options are
/// refused.
pub fn insert(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let root = clap_command();
    let (command, config) = typed(&root, &arguments);
    let Some(path) = config else { return Ok(arguments) };
    if command.is_some_and(|(_, command)| without_effect(command.get_name()).contains(&"config")) {
        // The parser says so.
        return Ok(arguments);
    }
    let bytes = files::read(&path, files::TEXT).map_err(|e| Error::file(&path, e))?;
    let text = String::from_utf8(bytes).map_err(|_| Error::file(&path, "expected UTF-8"))?;
    insert_text(arguments, &path, &text)
}

/// As [`insert`], with the content of the config file.
pub fn insert_text(
    arguments: Vec<OsString>,
    path: &Path,
    text: &str,
) -> Result<Vec<OsString>, Error> {
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| 1 + text[..s.start].matches('\n').count());
        Error::file(path, format!("line {line}: {}; expected TOML", e.message()))
    })?;

    let root = clap_command();
    let (found, _) = typed(&root, &arguments);
    let typed = found.map(|(_, command)| command.get_name());
    let written = match table.remove("command") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(Error::file(path, "command: expected a string")),
    };
    if let (Some(typed), Some(written)) = (typed, &written)
        && typed != written
    {
        let reason = format!("command: this file is of `{written}`, not of `{typed}`");
        return Err(Error::file(path, reason));
    }
    let command = typed.map(str::to_owned).or(written.filter(|w| w != "main"));

    let program = arguments.first().cloned().unwrap_or_else(|| "ictd".into());
    let mut from_file = vec![program];
    from_file.extend(command.as_ref().map(OsString::from));
    if let Some(key) = TYPED_ONLY.iter().find(|key| table.contains_key(**key)) {
        let reason = format!("{key}: expected --{key} as typed, not in a config file");
        return Err(Error::file(path, reason));
    }
    if command.as_ref().is_some_and(|name| !writes_configs(name)) && typed.is_none() {
        let reason = "command: expected one whose runs write a config.toml";
        return Err(Error::file(path, reason));
    }
    let of_command = command.as_ref().and_then(|name| root.find_subcommand(name));
    let mut given = Vec::new();
    for (name, value) in &table {
        let argument = of_command.and_then(|c| c.get_arguments().find(|a| is_named(a, name)));
        if let Some(id) = argument.map(clap::Arg::get_id) {
            if given.contains(&id) {
                let reason = format!("{name}: there twice; expected each option once");
                return Err(Error::file(path, reason));
            }
            given.push(id);
        }
        // A typed option wins.
        let option = argument.or(root.get_arguments().find(|a| is_named(a, name)));
        let is_typed = |a: &OsString| {
            let typed = a.to_str().and_then(|a| a.strip_prefix("--"));
            let typed = typed.and_then(|a| a.split('=').next());
            typed.is_some_and(|typed| typed == name || option.is_some_and(|a| is_named(a, typed)))
        };
        let is_typed = arguments.iter().any(is_typed);
        match value {
            Value::String(value) if argument.is_some_and(clap::Arg::is_positional) => {
                from_file.push(value.into());
            }
            _ if is_typed => {}
            Value::Array(values) if argument.is_some_and(is_repeatable) => {
                for value in values {
                    from_file.extend(to_arguments(path, name, value)?);
                }
            }
            // The tasks of a run are beside its config.
            Value::String(own) if name == "task" && own.starts_with("own-") => {
                let file = files::parent(path).join(tasks::FILE_NAME);
                from_file.push(format!("--task={}#{own}", file.display()).into());
            }
            value => from_file.extend(to_arguments(path, name, value)?),
        }
    }
    // Refused here, the file is named in the message.
    if let Err(e) = try_parse(&from_file) {
        return Err(Error::file(path, one_line(&e, &from_file)));
    }
    let place = found.map_or(0, |(index, _)| index);
    let rest = arguments.into_iter().enumerate().skip(1);
    from_file.extend(rest.filter(|(index, _)| *index != place).map(|(_, a)| a));
    Ok(from_file)
}

fn is_named(argument: &clap::Arg, name: &str) -> bool {
    argument.get_long() == Some(name)
        || argument.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        || argument.is_positional() && argument.get_id() == name
}

fn is_repeatable(argument: &clap::Arg) -> bool {
    matches!(argument.get_action(), clap::ArgAction::Append)
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
