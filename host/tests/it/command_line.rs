//! Wrong use: one line that names the option and what is expected, exit code 2, nothing written.

use crate::common::*;
use ictd::cli::config_file::insert_text;
use std::ffi::OsString;

/// The line of a refusal that leaves no files.
fn refused(arguments: &str) -> String {
    let out = Folder::new();
    let line = crate::common::refused(&out, arguments);
    assert_eq!(files(&out), [""; 0], "{arguments}");
    line
}

#[test]
fn a_bad_value_is_answered_with_the_option_and_what_is_accepted() {
    for (arguments, option, expected) in [
        ("verify --seeds 0", "--seeds 0", "from 1 to"),
        ("verify --layers 0", "--layers 0", "from 1 to 128"),
        ("verify --layers -1", "--layers -1", "from 1 to 128"),
        ("verify --layers 1.5", "--layers 1.5", "an integer"),
        ("verify --dim 9", "--dim 9", "from 1 to 8"),
        ("verify --context-length 100000", "--context-length 100000", "from 1 to 1024"),
        ("verify --gamma 1", "--gamma 1", "[0, 1)"),
        ("verify --gamma NaN", "--gamma NaN", "[0, 1)"),
        ("verify --gamma -0.1", "--gamma -0.1", "[0, 1)"),
        ("verify --trace-decay 2", "--trace-decay 2", "[0, 1]"),
        ("verify --c-norm inf", "--c-norm inf", "[0.01, 10]"),
        ("verify --c-norm 0", "--c-norm 0", "[0.01, 10]"),
        ("verify --successors x", "--successors x", "independent, trajectory"),
        ("verify --seeds", "--seeds", "missing"),
        ("demo --tasks 0", "--tasks 0", "from 1 to"),
        ("demo --task x", "--task x", "expected one of boyan, boyan-representable, mdp, loop"),
        ("demo --task cartpole", "--task cartpole", "boyan-representable, mdp, loop"),
        ("demo --dim 9", "--dim 9", "from 1 to 8"),
        ("demo --min-states 1", "--min-states 1", "from 2 to 32"),
        ("demo --max-states 33", "--max-states 33", "from 2 to 32"),
        ("demo --min-states 12", "--min-states", "--max-states 10"),
        ("demo --alpha NaN", "--alpha NaN", "[0, 100]"),
        ("demo --context-step 0", "--context-step 0", "from 1 to"),
        ("demo --threads 0", "--threads 0", "from 1 to 1024"),
        ("demo --seed -1", "--seed -1", "from 0 to"),
        ("demo --seed 9223372036854775808", "--seed", "from 0 to 9223372036854775807"),
        ("demo --gamma 0.999999999", "--gamma", "less than 1 in single precision"),
        ("train --gamma 0.999999999", "--gamma", "less than 1 in single precision"),
        ("export universal --gamma 0.999999999", "--gamma", "less than 1 in single"),
        ("demo --colour", "--colour", "--alpha"),
        ("--gamma 0.5", "--gamma", "--seed"),
        ("dome", "dome", "demo, verify"),
        ("reproduce verify --seeds 3", "--seeds", "changes nothing of verify"),
        ("reproduce demo verify --tasks 3", "--tasks", "changes nothing of demo, verify"),
        ("reproduce control --tasks 3", "--tasks", "changes nothing of control"),
        ("control --tasks 3", "--tasks", "changes nothing of control"),
        ("plot /nowhere", "/nowhere", "No such file"),
        ("evaluate --data x --trace-decay 2", "--trace-decay 2", "[0, 1]"),
        ("evaluate --data x --model universal --alpha 1", "--alpha", "cannot be used with"),
        ("evaluate --data x --attention softmax", "--attention", "linear attention"),
        ("--out x plot y", "--out", "remove it"),
        ("report y --out x", "--out", "remove it"),
        ("train --dim 65", "--dim: 65", "from 1 to 64"),
        ("train --context-length 4097", "--context-length: 4097", "from 1 to 4096"),
        ("train --context-length 257 --attention softmax", "--context-length: 257", "1 to 256"),
        ("train --dim 17 --attention softmax", "--dim: 17", "1 to 16"),
        ("train --layers 9 --attention softmax", "--layers: 9", "1 to 8"),
        ("train --gamma 1", "--gamma: 1", "[0, 1)"),
        ("train --layers 0", "--layers: 0", "from 1 to"),
        ("train --network rnn --layer-sharing sequential", "--layer-sharing: sequential", ""),
        ("train --network rnn --attention softmax", "--attention: softmax", "it needs"),
        ("train --optimizer td --weight-decay 0.1", "--weight-decay: 0.1", "it needs"),
        ("train --optimizer td --clip-norm 1", "--clip-norm: 1", "it needs"),
        ("train --clip-norm 0", "--clip-norm: 0", "(0, 1000]"),
        ("train --gamma 0.5 --gamma-range 0.1..0.2", "--gamma: 0.5", "no --gamma-range"),
        ("train --learning-rate 0", "--learning-rate: 0", "(0, 1000]"),
        ("train --seed 9223372036854775807 --seeds 2", "--seed: 9223372036854775807", ""),
        ("train --rnn-input delayed", "--rnn-input: delayed", "--network rnn"),
        ("train --task cartpole --loss true-value", "--loss: true-value", ""),
        ("train --seeds 0", "--seeds 0", "expected an integer from 1 to 100000"),
        ("train --seeds 9..3", "--seeds 9..3", "expected at most 100000 seeds"),
        ("train --resume here --learning-rate 1", "--resume: ", "takes all options from"),
        ("train --resume no/such/run", "no/such/run", "config.toml: "),
        ("demo --seed 1 --seed 2", "--seed", ""),
        ("train --dim 4 --dim 5", "--dim", ""),
        ("predict x.csv --skip-gaps --skip-gaps", "--skip-gaps", ""),
        ("predict x.csv --horizont 5", "did you mean --horizon?", ""),
        ("predicr x.csv", "did you mean predict?", ""),
        ("reproduce figure2", "did you mean `figure-2`?", ""),
        ("train --attention softmx", "softmax", ""),
    ] {
        let line = refused(arguments);
        assert!(line.contains(option) && line.contains(expected), "{arguments}: {line}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named_before_anything_is_computed() {
    let here = Folder::with("file", "");
    let line = crate::common::refused(&here, "demo --tasks 1000000 --out file/x");
    assert!(line.contains("--out") && line.contains("file/x"), "{line}");
}

#[test]
fn a_bad_config_file_is_named_with_the_option() {
    let directory = Folder::new();
    let file = directory.join("c.toml");
    for (text, reason) in [
        ("command = \"demo\"\ntasks = 0\n", "--tasks 0"),
        ("command = \"demo\"\nlambda = 0.5\n", "--lambda"),
        ("command = \"verify\"\n", "verify"),
        ("command = \"demo\"\ntasks = [1]\n", "tasks"),
        ("command = \"demo\"\ngamma = nan\n", "--gamma"),
        ("command = \"demo\"\nconfig = \"x\"\n", "config"),
        ("tasks = \n", "line 1"),
        ("tasks = 1\ntasks = 2\n", "line 2"),
    ] {
        fs::write(&file, text).unwrap();
        let line = refused(&format!("demo --config {}", file.display()));
        assert!(line.contains("c.toml") && line.contains(reason), "{text}: {line}");
    }
    fs::write(&file, "").unwrap();
    let line = refused(&format!("--config {}", file.display()));
    assert!(line.contains("command: missing"), "{line}");
    assert!(refused("demo --config /nowhere.toml").contains("/nowhere.toml"));
}

#[test]
fn help_is_a_command_too_and_a_script_completes_the_line() {
    let shown = |arguments: &str| {
        let output = run(&std::env::temp_dir(), arguments);
        assert_eq!(output.status.code(), Some(0));
        text(&output)
    };
    assert_eq!(shown("help"), shown("--help"));
    assert_eq!(shown("help demo"), shown("demo --help"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(shown(&format!("completions {shell}")).contains("skip-gaps"), "{shell}");
    }
    for line in ["--version", "train --help"] {
        let answer = object(&std::env::temp_dir(), 0, line);
        assert!(answer["text"].as_str().unwrap().contains("ictd"), "{answer}");
    }
}

#[test]
fn iterates_that_diverge_do_not_hold_and_stay_readable() {
    let output = ictd(&Folder::new(), "demo --tasks 20 --alpha 50");
    let text = text(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("DOES NOT HOLD"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

fn inserted(typed: &str, text: &str) -> Result<String, String> {
    let arguments = typed.split(' ').map(OsString::from).collect();
    insert_text(arguments, Path::new("c.toml"), text)
        .map(|found| found.join(" ".as_ref()).into_string().unwrap())
        .map_err(|e| e.to_string())
}

#[test]
fn a_value_with_the_name_of_a_command_is_a_value() {
    let text = "command = \"train\"\ntasks = 20\n";
    for (typed, want) in [
        ("ictd train --out train", "ictd train --out train --tasks=20"),
        ("ictd --out demo", "ictd train --out demo --tasks=20"),
        ("ictd --out=demo", "ictd train --out=demo --tasks=20"),
        ("ictd --json --out train train", "ictd --json --out train train --tasks=20"),
        ("ictd --seed 1 train --out demo", "ictd --seed 1 train --out demo --tasks=20"),
        ("ictd --tasks 3", "ictd train --tasks 3"),
    ] {
        assert_eq!(inserted(typed, text).as_deref(), Ok(want));
    }
    let refused = inserted("ictd --out train demo", text).unwrap_err();
    assert!(refused.contains("this file is of `train`, not of `demo`"), "{refused}");
}
