use clap::{Args as _, Command, Subcommand as _};
use ictd::commands::evaluate::Evaluate;
use ictd::experiments::ExperimentCommand;
use ictd::experiments::demo::Demo;
use ictd::page::command_line::repeats;
use serde_json::{Value, json};

#[test]
fn a_command_line_has_what_differs_from_the_defaults() {
    let config = |value: Value| value.as_object().cloned().unwrap_or_default();
    let root = Command::new("ictd").subcommands([
        Demo::augment_args(Command::new("demo")),
        Evaluate::augment_args(Command::new("evaluate")),
    ]);
    let root = ExperimentCommand::augment_subcommands(root);
    let of = |command, seed, value| repeats(&root, command, seed, &config(value));
    assert_eq!(of("demo", 0, json!({"tasks": 300, "gamma": 0.9, "task": "mdp"})), "demo");
    assert_eq!(
        of("demo", 3, json!({"tasks": 20, "alpha": 0.2, "task": "loop"})),
        "demo --seed 3 --tasks 20 --task loop"
    );
    assert_eq!(
        of("figure-2", 0, json!({"seeds": 4, "tasks": 400})),
        "reproduce figure-2 --seeds 4 --tasks 400"
    );
    assert_eq!(of("figure-2", 0, json!({})), "reproduce figure-2");
    assert_eq!(of("universal", 0, json!({"fresh-tasks": 2000})), "reproduce universal");
    assert_eq!(of("universal", 0, json!({"fresh-tasks": 512})), "universal --fresh-tasks 512");
    assert_eq!(
        of("evaluate", 0, json!({"data": "it's; $(x).csv", "quiet": false})),
        "evaluate --data 'it'\\''s; $(x).csv'"
    );
}
