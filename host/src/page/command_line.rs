//! The command line that repeats a run.

use crate::program::quoted;
use serde_json::{Map, Value};

/// The options of a run that differ from the defaults: name and value, none if it is a switch.
pub(super) fn changes(
    root: &clap::Command,
    command: &str,
    config: &Map<String, Value>,
) -> Vec<(String, Option<String>)> {
    let known = root.find_subcommand(command);
    let defaults = |key: &str| -> Vec<String> {
        let argument = known.and_then(|c| c.get_arguments().find(|a| a.get_long() == Some(key)));
        let values = argument.into_iter().flat_map(clap::Arg::get_default_values);
        values.map(|value| value.to_string_lossy().into_owned()).collect()
    };
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
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
        let number = |text: &str| text.parse::<f64>().ok();
        let same =
            |(a, b): (&String, &String)| a == b || (number(a).is_some() && number(a) == number(b));
        let defaults = defaults(key);
        if defaults.len() != texts.len() || !defaults.iter().zip(&texts).all(same) {
            changes.extend(texts.into_iter().map(|text| (key.clone(), Some(text))));
        }
    }
    changes
}

/// The command line of a run, after `ictd`.
pub(super) fn repeats(
    root: &clap::Command,
    command: &str,
    seed: u64,
    config: &Map<String, Value>,
) -> String {
    let changes = changes(root, command, config);
    let hidden = root.find_subcommand(command).is_some_and(|c| c.is_hide_set());
    // What has no command of its own is repeated by `reproduce`, at a scale.
    let scale = |key: &String| ["seeds", "mrps"].contains(&key.as_str());
    let scaled = changes.is_empty() || config.keys().all(scale);
    let mut words = Vec::new();
    if hidden && scaled {
        words.push("reproduce".into());
    }
    words.push(quoted(command));
    if seed != 0 {
        words.push(format!("--seed {seed}"));
    }
    words.extend(changes.into_iter().map(|(key, value)| match value {
        Some(value) => format!("--{} {}", quoted(&key), quoted(&value)),
        None => format!("--{}", quoted(&key)),
    }));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::evaluate::Evaluate;
    use crate::experiments::{demo::Demo, invariant_set::InvariantSet, learning::Scale};
    use crate::options;
    use clap::{Args, Command};
    use serde_json::json;

    #[test]
    fn a_command_line_has_what_differs_from_the_defaults() {
        let config = |value: Value| value.as_object().cloned().unwrap_or_default();
        // The program's own has all commands, and would compile what trains once more.
        let root = Command::new("ictd").subcommands([
            Demo::augment_args(Command::new("demo")),
            Evaluate::augment_args(Command::new("evaluate")),
            InvariantSet::augment_args(Command::new("invariant-set").hide(true)),
            Scale::augment_args(Command::new("figure-2").hide(true)),
        ]);
        let of = |command, seed, value| repeats(&root, command, seed, &config(value));
        assert_eq!(of("demo", 0, json!({"tasks": 300, "gamma": 0.9, "task": "mdp"})), "demo");
        assert_eq!(
            of("demo", 3, json!({"tasks": 20, "alpha": 0.2, "task": "loop"})),
            "demo --seed 3 --tasks 20 --task loop"
        );
        assert_eq!(
            of("figure-2", 0, json!({"seeds": 4, "mrps": 400})),
            "reproduce figure-2 --seeds 4 --mrps 400"
        );
        assert_eq!(of("figure-2", 0, json!({})), "reproduce figure-2");
        let set = |seeds: u64| json!({"seeds": seeds, "steps": 40, "alpha": 0.01});
        let defaults = serde_json::to_value(options::parsed::<InvariantSet>(""));
        assert_eq!(of("invariant-set", 0, defaults.unwrap()), "reproduce invariant-set");
        assert!(of("invariant-set", 0, set(7)).starts_with("invariant-set --seeds 7"));
        assert_eq!(
            of("evaluate", 0, json!({"data": "it's; $(x).csv", "quiet": false})),
            "evaluate --data 'it'\\''s; $(x).csv'"
        );
    }
}
