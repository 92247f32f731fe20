//! The command line that repeats a run.

use crate::program::quoted;
use serde_json::{Map, Value};

/// Returns the options of a run that differ from the defaults: name and value, `None` for a switch.
pub(super) fn changes(
    root: &clap::Command,
    command: &str,
    config: &Map<String, Value>,
) -> Vec<(String, Option<String>)> {
    let known = root.find_subcommand(command);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = |text: &str| text.parse::<f64>().ok();
    let same =
        |(a, b): (&String, &String)| a == b || number(a).is_some_and(|x| number(b) == Some(x));
    let mut changes = Vec::new();
    for (key, value) in config {
        let texts: Vec<_> = match value {
            Value::Null | Value::Bool(false) => continue,
            Value::Bool(true) => {
                changes.push((key.clone(), None));
                continue;
            }
            // An option that was given several times.
            Value::Array(values) => values.iter().map(text).collect(),
            other => vec![text(other)],
        };
        let argument = known.and_then(|c| c.get_arguments().find(|a| a.get_long() == Some(key)));
        let defaults = argument.into_iter().flat_map(clap::Arg::get_default_values);
        let defaults: Vec<_> = defaults.map(|x| x.to_string_lossy().into_owned()).collect();
        if defaults.len() != texts.len() || !defaults.iter().zip(&texts).all(same) {
            changes.extend(texts.into_iter().map(|text| (key.clone(), Some(text))));
        }
    }
    changes
}

pub fn repeats(
    root: &clap::Command,
    command: &str,
    seed: u64,
    config: &Map<String, Value>,
) -> String {
    let changes = changes(root, command, config);
    let hidden = root.find_subcommand(command).is_some_and(|c| c.is_hide_set());
    // An experiment without a command of its own is repeated by `reproduce`, at a scale.
    let scale = |key: &String| ["seeds", "tasks"].contains(&key.as_str());
    let scaled = changes.is_empty() || config.keys().all(scale);
    let mut words = Vec::new();
    if hidden && scaled {
        words.push("reproduce".into());
    }
    words.push(quoted(command));
    if seed != 0 {
        words.push(format!("--seed {seed}"));
    }
    let is_positional = |key: &str| {
        let known = root.find_subcommand(command).into_iter().flat_map(|c| c.get_positionals());
        known.into_iter().any(|argument| argument.get_id() == key)
    };
    words.extend(changes.into_iter().map(|(key, value)| match value {
        Some(value) if is_positional(&key) => quoted(&value),
        Some(value) => format!("--{} {}", quoted(&key), quoted(&value)),
        None => format!("--{}", quoted(&key)),
    }));
    words.join(" ")
}
