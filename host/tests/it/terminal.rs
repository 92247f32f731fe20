//! The views of a terminal and a pipe: a bar, plain lines, no colour where none is wanted.

use crate::common::*;

const TRAIN: &str = "train --tasks 300 --batches 2 --batch-size 8 --context-length 10 --seeds 2";

/// Runs `ictd` on a terminal of its own (by util-linux' `script`), whose screen is the output; none if
/// there is no such program.
fn on_a_terminal(arguments: &str, no_color: Option<&str>, columns: usize) -> Option<String> {
    let out = Folder::new();
    let program = format!("stty rows 30 cols {columns}; '{}'", env!("CARGO_BIN_EXE_ictd"));
    let command = format!("{program} --out '{}' {arguments}", out.display());
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).env("TERM", "xterm-256color");
    script.env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CI");
    script.envs(no_color.map(|value| ("NO_COLOR", value)));
    let Ok(output) = script.output() else {
        eprintln!("skipped: no `script` (Debian: apt-get install bsdutils)");
        return None;
    };
    assert!(output.status.code() < Some(2), "{}", text(&output));
    Some(text(&output))
}

/// Sequences that set a colour or a weight.
fn has_colour(text: &str) -> bool {
    let sequences = text.split("\x1b[").skip(1);
    let mut ends = sequences.filter_map(|s| s.chars().find(|c| c.is_ascii_alphabetic()));
    ends.any(|end| end == 'm')
}

#[test]
fn a_terminal_shows_a_bar_in_colour_unless_none_is_wanted() {
    let Some(coloured) = on_a_terminal(TRAIN, None, 100) else { return };
    assert!(has_colour(&coloured));
    for shown in ["(left ", "P[−1, −1]"] {
        assert!(coloured.contains(shown), "{shown}");
    }
    assert!(!has_colour(&on_a_terminal(TRAIN, Some("1"), 100).unwrap()));
}

#[test]
fn a_pipe_sees_plain_lines() {
    for arguments in [TRAIN, "demo --tasks 5", "verify --seeds 2", "list", "train --help"] {
        let output = ictd(&Folder::new(), arguments);
        assert!(output.status.success(), "{arguments}");
        assert!(output.stderr.is_empty(), "{arguments}");
        assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&b'\r'), "{arguments}");
        assert!(text(&output).lines().count() > 2, "{arguments}");
    }
}

#[test]
fn claims_fit_the_terminal() {
    let lines = |columns: usize| -> Option<Vec<String>> {
        let screen = on_a_terminal("demo --tasks 30 2> /dev/null", None, columns)?;
        Some(screen.lines().map(|line| line.trim_end().to_owned()).collect())
    };
    let (Some(narrow), Some(wide)) = (lines(50), lines(300)) else { return };
    assert!(wide.len() < narrow.len(), "{wide:?}");
    let claims = narrow.iter().take_while(|line| !line.starts_with("figures and numbers"));
    let widths: Vec<_> = claims.map(|line| line.chars().count()).collect();
    assert!(widths.len() > 3 && widths.iter().all(|width| *width <= 50), "{narrow:?}");
}

#[test]
fn with_json_a_terminal_sees_the_object_alone() {
    let Some(screen) = on_a_terminal(&format!("{TRAIN} --json"), None, 100) else { return };
    assert!(serde_json::from_str::<Value>(&screen).is_ok(), "{screen}");
}

#[test]
fn a_full_device_behind_stdout_is_one_line() {
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else { return };
    let here = Folder::new();
    let output = program(&here, "list").stdout(full).stderr(Stdio::piped()).output().unwrap();
    let line = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && line.starts_with("error: stdout: "), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn control_c_keeps_what_training_had_reached() {
    let here = Folder::new();
    let line =
        "train --tasks 400 --batches 2 --batch-size 8 --context-length 10 --seeds 200 --out out";
    let mut command = with_default_signals(program(&here, line));
    let training = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let first_seed = || trained(&here.join("out")).join("seed_0").exists();
    while !first_seed() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = training.id().try_into().unwrap();
    // SAFETY: a signal to a process of this test's own.
    assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
    let output = training.wait_with_output().unwrap();
    let last = String::from_utf8(output.stderr).unwrap();
    let is_told =
        last.lines().last().is_some_and(|line| line.contains("interrupted: finished seeds"));
    assert!(output.status.code() == Some(130) && is_told, "{last}");
    done(&here.join("out"), &line.replace(" --out out", ""));
}
