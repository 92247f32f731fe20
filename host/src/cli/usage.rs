//! Reads the arguments before clap sees them, and says what clap refuses in one line that names the option and
//! what is expected.

use super::command::{clap_command, without_effect};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;

/// Finds the command, the first argument that is neither an option nor the value of one, with its place; and the value of
/// `--config`.
pub(super) fn typed<'a>(
    root: &'a clap::Command,
    arguments: &[OsString],
) -> (Option<(usize, &'a clap::Command)>, Option<PathBuf>) {
    let takes_value = |option: &str| {
        let named = root.get_arguments().find(|arg| arg.get_long() == Some(option));
        named.is_some_and(|arg| arg.get_action().takes_values())
    };
    let (mut found, mut config, mut words) = (None, None, 0);
    let mut rest = arguments.iter().enumerate().skip(1);
    while let Some((index, argument)) = rest.next() {
        let option = argument.to_str().filter(|a| a.starts_with('-'));
        let Some(option) = option.map(|option| option.trim_start_matches('-')) else {
            words += 1;
            let command = root.find_subcommand(argument).filter(|_| words == 1);
            found = found.or(command.map(|command| (index, command)));
            continue;
        };
        let (option, value) = match option.split_once('=') {
            Some((option, value)) => (option, Some(value.into())),
            // Without a value clap refuses the arguments, and says so.
            None if takes_value(option) => (option, rest.next().map(|(_, value)| value.into())),
            None => continue,
        };
        if option == "config" {
            config = value;
        }
    }
    (found, config)
}

/// clap's error in one line that names the option and what is expected.
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

/// Returns the options of the typed command, or of `ictd` itself.
fn accepted_options(arguments: &[OsString]) -> String {
    let root = clap_command();
    let (command, _) = typed(&root, arguments);
    let refused = command.map_or(&[][..], |(_, command)| without_effect(command.get_name()));
    let own = command.into_iter().flat_map(|(_, command)| command.get_arguments());
    let names: Vec<_> = own
        .chain(root.get_arguments())
        .filter(|arg| !arg.is_hide_set() && !refused.contains(&arg.get_id().as_str()))
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect();
    names.join(", ")
}
