//! A figure whose training is interrupted goes on by the same command.

use crate::common::{assert_same, trained, with_default_signals};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_interrupted_figure_goes_on_by_the_same_command() {
    let start = |out: &Path| {
        let mut command = with_default_signals(Command::new(env!("CARGO_BIN_EXE_ictd")));
        command
            .args(["reproduce", "figure-2", "--seeds", "2", "--tasks", "3000", "--out"])
            .arg(out);
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
            let id = child.id().to_string();
            assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        (output.status.code() == Some(130)).then(|| (out, stderr(&output)))
    };
    let (out, line) = (0..20).find_map(|_| interrupted()).expect("no run was interrupted");
    assert!(
        line.contains("run the same command again to continue") && !line.contains("--resume"),
        "{line}"
    );
    let line = stderr(&start(out.path()).wait_with_output().unwrap());
    assert!(
        line.contains("runs/boyan-L3-")
            && line.contains(": an unfinished run")
            && line.lines().count() == 1,
        "{line}"
    );
    // Its page holds times.
    for out in [&whole, &out] {
        std::fs::remove_file(out.path().join("report.html")).unwrap();
    }
    assert_same(out.path(), whole.path());
}
