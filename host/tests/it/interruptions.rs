//! Nothing is lost: a training run killed at random moments, and on a disk that is full.
//!
//! `ICTD_KILLS=200 cargo test -p host --test it interruptions -- --nocapture` kills 200 times (default: 8)
//! and prints what happened. `ICTD_FUZZ_SEED` chooses other moments.

use crate::common::{files, trained, with_default_signals};
use ictd_core::rng::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Two groups of seeds on two threads, a checkpoint after every task, files of every kind.
const RUN: [&str; 18] = [
    "train",
    "--mrps",
    "160",
    "--batches",
    "2",
    "--batch-size",
    "16",
    "--context",
    "12",
    "--seeds",
    "3",
    "--log-every",
    "5",
    "--checkpoint-every",
    "0",
    "--tensorboard",
    "--threads",
    "2",
];

fn environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The run from the beginning, or the rest of it.
fn command(out: &Path) -> Command {
    let mut command = with_default_signals(Command::new(env!("CARGO_BIN_EXE_ictd")));
    let run = trained(out);
    if run.join("config.toml").is_file() {
        command.args(["train", "--resume"]).arg(run).args(&RUN[13..]);
    } else {
        command.args(RUN).arg("--out").arg(out);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn contents(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let run = trained(out);
    // How the run went, and who is at work on it.
    let is_result = |name: &String| !name.ends_with("run.json") && !name.ends_with(".lock");
    let names = files(&run).into_iter().filter(is_result);
    names.map(|name| (name.clone(), fs::read(run.join(name)).unwrap())).collect()
}

fn assert_same(found: &BTreeMap<String, Vec<u8>>, expected: &BTreeMap<String, Vec<u8>>) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(expected));
    for (name, content) in found {
        assert!(*content == expected[name], "{name} differs");
    }
}

fn uninterrupted() -> (BTreeMap<String, Vec<u8>>, Duration) {
    let out = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let output = command(out.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    (contents(out.path()), started.elapsed())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_run_killed_at_random_moments_ends_in_the_bytes_of_an_uninterrupted_one() {
    let wanted = environment("ICTD_KILLS", 8);
    let mut rng = Rng::new(environment("ICTD_FUZZ_SEED", 0));
    let (expected, whole) = uninterrupted();
    // How often each happened: `KILL in the middle`, `KILL after the end`, ...
    let mut tally = BTreeMap::<String, u64>::new();
    let (mut kills, mut runs, mut half_written) = (0, 0, 0);
    while kills < wanted {
        let out = tempfile::tempdir().unwrap();
        loop {
            let name = ["KILL", "TERM", "INT"][(rng.next_u64() % 3) as usize];
            // Up to half of a run's time, so that a run is killed several times.
            let share = (rng.next_u64() % 1000) as f64 / 2000.0;
            let mut child = command(out.path()).spawn().unwrap();
            if kills < wanted {
                sleep(whole.mul_f64(share));
                // A child that has ended is a zombie until it is waited for, and takes the signal.
                signal(&child, name);
                kills += 1;
                // Impatient users press Ctrl-C twice.
                if name == "INT" && rng.next_u64().is_multiple_of(4) {
                    signal(&child, name);
                }
            } else {
                child.wait().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let what = match (output.status.code(), output.status.signal()) {
                (Some(0), _) => "after the end",
                // Ctrl-C: the run says how to go on, unless it was pressed twice.
                (Some(130), _) if stderr(&output).is_empty() => "twice",
                (Some(130), _) => {
                    let line = stderr(&output);
                    assert!(line.contains("interrupted") && line.lines().count() == 1, "{line}");
                    "in the middle"
                }
                (_, Some(_)) => "in the middle",
                _ => panic!("{name}: {:?}: {}", output.status, stderr(&output)),
            };
            *tally.entry(format!("{name} {what}")).or_default() += 1;
            let left = files(&trained(out.path()));
            half_written += left.iter().filter(|file| file.contains(".ictd-")).count();
            if output.status.success() {
                break;
            }
        }
        assert_same(&contents(out.path()), &expected);
        let info = fs::read(trained(out.path()).join("run.json")).unwrap();
        let info: serde_json::Value = serde_json::from_slice(&info).unwrap();
        let processes = info["processes"].as_array().unwrap();
        assert_eq!(processes.last().unwrap()["outcome"], "finished");
        runs += 1;
    }
    println!(
        "{kills} kills in {runs} runs, {half_written} half-written files removed, all {} final files \
         equal: {tally:?}",
        expected.len()
    );
    let in_the_middle: u64 =
        tally.iter().filter(|(what, _)| what.ends_with("middle")).map(|(_, count)| count).sum();
    assert!(2 * in_the_middle >= wanted, "too few kills hit a running process: {tally:?}");
}

#[test]
fn an_interrupted_figure_goes_on_by_the_same_command() {
    let start = |out: &Path| {
        let mut command = with_default_signals(Command::new(env!("CARGO_BIN_EXE_ictd")));
        command.args(["reproduce", "figure-2", "--seeds", "2", "--mrps", "3000", "--out"]).arg(out);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let whole = tempfile::tempdir().unwrap();
    start(whole.path()).wait().unwrap();
    // On a busy machine a run may end before its signal comes.
    let interrupted = || {
        let out = tempfile::tempdir().unwrap();
        let mut child = start(out.path());
        let begun = || trained(&out.path().join("runs")).join("run.json").is_file();
        while !begun() && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            signal(&child, "INT");
        }
        let output = child.wait_with_output().unwrap();
        (output.status.code() == Some(130)).then(|| (out, stderr(&output)))
    };
    let (out, line) = (0..20).find_map(|_| interrupted()).expect("no run was interrupted");
    assert!(line.contains("the same command goes on") && !line.contains("--resume"), "{line}");
    let line = stderr(&start(out.path()).wait_with_output().unwrap());
    assert!(
        line.contains("runs/boyan-L3-")
            && line.contains(": an unfinished run")
            && line.lines().count() == 1,
        "{line}"
    );
    let written = |out: &Path| -> BTreeMap<_, _> {
        let names = files(out).into_iter();
        // These hold times.
        let names = names.filter(|n| !n.ends_with("run.json") && n != "report.html");
        names.map(|name| (name.clone(), fs::read(out.join(name)).unwrap())).collect()
    };
    assert_same(&written(out.path()), &written(whole.path()));
}

#[test]
fn a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room() {
    let (expected, _) = uninterrupted();
    let out = tempfile::tempdir().unwrap();
    let mut refused = 0;
    // No file may grow beyond so many blocks of 512 bytes: the first limit stops at the first
    // checkpoint, the last at nothing.
    for blocks in [0, 1, 2, 8, 16, 32, 48, 64, 128, 256, 512, 4096] {
        let limited = command(out.path());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh"])
            .arg(blocks.to_string())
            .arg(limited.get_program())
            .args(limited.get_args());
        let output = shell.output().unwrap();
        let left = contents(out.path());
        assert!(left.keys().all(|name| !name.contains(".ictd-")), "{:?}", left.keys());
        for (name, content) in &left {
            // What grows along the way may be behind; everything else is there as it will be.
            let grows = name.contains("tfevents") || name.ends_with("checkpoint.bin");
            assert!(grows || *content == expected[name], "{blocks}: {name}");
        }
        if output.status.success() {
            continue;
        }
        refused += 1;
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{blocks}: {line}");
        assert!(line.contains("File too large") && line.lines().count() == 1, "{line}");
    }
    assert!((3..12).contains(&refused), "{refused} of 12 limits were reached");
    let output = command(out.path()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_same(&contents(out.path()), &expected);
}
