//! Each of the options of every command changes something of a command, or that command refuses it by name.
//!
//! The commands and the options are those of the command line itself: a new one without a line here fails.

use crate::common::*;
use crate::untrusted::TRAIN;
use ictd::cli::command::clap_command;
use ictd::experiments;

/// A small run of every command, with the options of every command that it takes; those of an experiment take all.
const SMALL: [(&str, &[&str]); 15] = [
    ("demo --tasks 2", COMPUTES),
    ("verify --seeds 2 --layers 2", COMPUTES),
    (TRAIN, COMPUTES),
    ("sweep plan.toml", COMPUTES),
    ("reproduce rnn-learning --seeds 1 --tasks 2", COMPUTES),
    ("evaluate --data data.csv --model run", &["seed", "out", "json", "config"]),
    ("bench --contexts 2", COMPUTES),
    ("predict data.csv --gamma 0.5 --model run", COMPUTES),
    ("export run", &["seed", "out", "json", "config"]),
    ("list", JSON),
    ("digest", JSON),
    ("inspect model.ictd", JSON),
    ("completions bash", JSON),
    // Those that are run elsewhere: their own directory, or what they print.
    ("plot run", JSON),
    ("report run", JSON),
];
const COMPUTES: &[&str] = &["seed", "out", "threads", "json", "config"];
const JSON: &[&str] = &["json"];

/// A place with transitions and signals in data.csv, a training run of two seeds, and a stored model.
fn place() -> Folder {
    let row = |i: u32| format!("{},{},{},{}\n", i % 3, i % 5, i % 7, i % 2);
    let rows: String = (0..200).map(row).collect();
    let place = Folder::with("data.csv", format!("phi_0,phi_1,phi_2,reward\n{rows}"));
    for command in [
        format!("{TRAIN} --dim 3 --seeds 2 --learning-rate 0.01"),
        "export --construction td0 --out model.ictd".to_owned(),
    ] {
        let made = run(&place, &command);
        assert!(made.status.code() < Some(2), "{made:?}");
    }
    fs::rename(trained(&place.join("results")), place.join("run")).unwrap();
    fs::remove_dir(place.join("results")).unwrap();
    place
}

#[test]
fn every_command_refuses_the_options_of_every_command_that_change_nothing_of_it() {
    let root = clap_command();
    let options: Vec<_> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    assert_eq!(options.len(), COMPUTES.len());
    let place = place();
    for command in root.get_subcommands() {
        let name = command.get_name();
        let known = SMALL.iter().find(|(line, _)| line.split(' ').next() == Some(name));
        let is_experiment = experiments::ALL.iter().any(|entry| entry.id == name);
        let (line, taken) = match known {
            Some((line, taken)) => (*line, *taken),
            None => (name, if is_experiment { COMPUTES } else { panic!("{name} has no line") }),
        };
        for option in &options {
            let id = option.get_id().as_str();
            let value = match id {
                "seed" | "threads" => "1",
                "out" => "elsewhere",
                "config" => "nowhere.toml",
                _ => "",
            };
            // Before the command and after it.
            for line in [format!("--{id} {value} {line}"), format!("{line} --{id} {value}")] {
                if taken.contains(&id) {
                    if id == "config" {
                        let text = refused(&place, &line);
                        assert!(text.contains("nowhere.toml"), "{line}: {text}");
                    }
                    continue;
                }
                let output = run(&place, &format!("{line} --json"));
                let text = refusal(&output);
                let reason = format!("--{id} has no effect on `{name}`: remove it");
                assert!(text.contains(&reason), "{line}: {text}");
                let object: Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!(object["exit_code"], 2, "{object}");
            }
            let shown = command.get_arguments().find(|arg| arg.get_id() == id);
            let is_shown = shown.is_none_or(|arg| !arg.is_hide_set());
            assert_eq!(is_shown, taken.contains(&id), "the help of {name} on --{id}");
        }
    }
    assert!(!place.join("elsewhere").exists());
}

#[test]
fn a_seed_that_chooses_nothing_and_an_option_of_a_run_that_goes_on_are_refused() {
    let place = place();
    let folder = "--seed: 1 chooses one model of a run; expected the folder of a run";
    let own = "cannot be used with --resume, which has the run's own: remove it";
    for (line, reason) in [
        ("evaluate --data data.csv --seed 1", folder),
        ("evaluate --data data.csv --model model.ictd --seed 1", folder),
        ("predict data.csv --seed 1", folder),
        ("export --construction td0 --seed 1", folder),
        ("train --resume run --seed 1", own),
        ("train --resume run --out elsewhere", own),
    ] {
        let text = refused(&place, line);
        assert!(text.contains(reason), "{line}: {text}");
    }
}
