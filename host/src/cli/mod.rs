//! The command line: parses typed arguments, and those of a config file, into a command.

pub mod command;
pub mod config_file;
mod usage;

use crate::error::Error;
use clap::error::ErrorKind;
use command::{Cli, try_parse};
use std::ffi::OsString;
use usage::one_line;

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
