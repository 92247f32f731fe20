//! Config files: `config.toml` of a run, read back with `--config`.
//!
//! A config file holds a `command` and options by their long names. Its options are put before
//! the typed ones on the command line, so that they pass the same checks and the typed ones win.

use crate::cli;
use crate::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The text of a run's `config.toml`.
///
/// # Errors
/// [`Error::Usage`] if an option has no TOML form.
pub fn to_text(command: &str, seed: u64, options: &impl serde::Serialize) -> Result<String, Error> {
    let mut table = Table::new();
    table.insert("command".into(), Value::String(command.into()));
    // Seeds stay below 2^63 (see `options::seed`).
    table.insert("seed".into(), Value::Integer(seed as i64));
    let options = Table::try_from(options).map_err(|e| Error::Usage(e.to_string()))?;
    table.extend(options);
    let body = toml::to_string(&table).map_err(|e| Error::Usage(e.to_string()))?;
    Ok(format!("# Repeats this run: ictd --config config.toml\n{body}"))
}

/// The arguments with those of the config file they name, if any, before the typed ones.
///
/// # Errors
/// [`Error::File`] for a file that cannot be read, that is no TOML, or whose options are refused.
pub fn insert(arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    let Some(path) = typed_path(&arguments) else { return Ok(arguments) };
    let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    insert_text(arguments, &path, &text)
}

/// As [`insert`], with the content of the config file.
///
/// # Errors
/// As [`insert`].
pub fn insert_text(
    arguments: Vec<OsString>,
    path: &Path,
    text: &str,
) -> Result<Vec<OsString>, Error> {
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        let line = e.span().map_or(1, |s| 1 + text[..s.start].matches('\n').count());
        Error::file(path, format!("line {line}: {}; accepted is TOML", e.message()))
    })?;

    let root = cli::command();
    let found = cli::typed_command(&root, &arguments);
    let typed = found.map(|(_, command)| command.get_name());
    let written = match table.remove("command") {
        None => None,
        Some(Value::String(name)) => Some(name),
        Some(_) => return Err(Error::file(path, "command: accepted is a string")),
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
    if table.contains_key("config") {
        return Err(Error::file(path, "config: a config file cannot name another one"));
    }
    for (name, value) in &table {
        from_file.extend(to_arguments(path, name, value)?);
    }
    // Refused here, the file is named in the message.
    if let Err(e) = cli::try_parse(&from_file) {
        return Err(Error::file(path, cli::one_line(&e, &from_file)));
    }
    let place = found.map_or(0, |(index, _)| index);
    let rest = arguments.into_iter().enumerate().skip(1);
    from_file.extend(rest.filter(|(index, _)| *index != place).map(|(_, a)| a));
    Ok(from_file)
}

/// The value of `--config`, before clap sees the arguments.
fn typed_path(arguments: &[OsString]) -> Option<PathBuf> {
    let mut path = None;
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        if argument == "--config" {
            // Without a value clap refuses the arguments, and says so.
            path = rest.next().map(PathBuf::from);
        } else if let Some(value) = argument.to_str().and_then(|a| a.strip_prefix("--config=")) {
            path = Some(value.into());
        }
    }
    path
}

fn to_arguments(path: &Path, name: &str, value: &Value) -> Result<Option<OsString>, Error> {
    let text = match value {
        Value::Boolean(false) => return Ok(None),
        Value::Boolean(true) => return Ok(Some(format!("--{name}").into())),
        Value::String(s) => s.clone(),
        Value::Integer(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => {
            let accepted = "accepted is a string, a number, true or false";
            return Err(Error::file(path, format!("{name}: {accepted}")));
        }
    };
    Ok(Some(format!("--{name}={text}").into()))
}

/// The `config.toml` of a run: its text, its first seed, and the options of a command in it.
///
/// # Errors
/// [`Error::File`] if it cannot be read, is of another command, or holds options that are refused.
pub fn read_run<T: serde::de::DeserializeOwned>(
    directory: &Path,
    command: &str,
) -> Result<(String, u64, T), Error> {
    let path = directory.join("config.toml");
    let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, e))?;
    let (seed, options) = run_of_text(&path, command, &text)?;
    Ok((text, seed, options))
}

/// As [`read_run`], of the file's content.
///
/// # Errors
/// As [`read_run`].
pub fn run_of_text<T: serde::de::DeserializeOwned>(
    path: &Path,
    command: &str,
    text: &str,
) -> Result<(u64, T), Error> {
    let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
        Error::file(path, format!("{}; accepted is TOML", e.message()))
    })?;
    match table.remove("command") {
        Some(Value::String(found)) if found == command => {}
        _ => return Err(Error::file(path, format!("command: accepted is `{command}`"))),
    }
    let seed = match table.remove("seed") {
        Some(Value::Integer(seed)) if seed >= 0 => seed as u64,
        _ => return Err(Error::file(path, "seed: accepted is an integer of at least 0")),
    };
    let options = table.try_into().map_err(|e: toml::de::Error| Error::file(path, e.message()))?;
    Ok((seed, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(typed: &str, text: &str) -> Result<String, String> {
        let arguments = typed.split(' ').map(OsString::from).collect();
        insert_text(arguments, Path::new("c.toml"), text)
            .map(|found| found.join(" ".as_ref()).into_string().unwrap())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_value_with_the_name_of_a_command_is_a_value() {
        let text = "command = \"train\"\nmrps = 20\n";
        for (typed, want) in [
            ("ictd train --out train", "ictd train --mrps=20 --out train"),
            ("ictd --out demo", "ictd train --mrps=20 --out demo"),
            ("ictd --out=demo", "ictd train --mrps=20 --out=demo"),
            ("ictd --json --out train train", "ictd train --mrps=20 --json --out train"),
            ("ictd --seed 1 train --out demo", "ictd train --mrps=20 --seed 1 --out demo"),
        ] {
            assert_eq!(inserted(typed, text).as_deref(), Ok(want));
        }
        let refused = inserted("ictd --out train demo", text).unwrap_err();
        assert!(refused.contains("this file is of `train`, not of `demo`"), "{refused}");
    }
}
