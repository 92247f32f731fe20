//! `ictd report`: from the files of runs alone, and nothing by half.

use crate::common::{done, files, ictd, json, refusal};
use std::path::Path;
use std::process::Output;

fn report(directory: &Path) -> Output {
    ictd(Path::new("unused"), &format!("report {}", directory.display()))
}

/// Two small runs.
fn runs(out: &Path) {
    for arguments in ["demo --tasks 5 --max-context 9", "verify --seeds 2 --layers 3"] {
        assert!(ictd(out, arguments).status.code().is_some_and(|code| code < 2), "{arguments}");
    }
}

fn page(directory: &Path) -> String {
    assert_eq!(report(directory).status.code(), Some(0));
    std::fs::read_to_string(directory.join("report.html")).unwrap()
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    runs(a.path());
    runs(b.path());
    let first = page(a.path());
    assert_eq!(first, page(a.path()), "written again");
    assert_eq!(first, page(b.path()), "of the same runs elsewhere");
    assert!(!first.contains(a.path().to_str().unwrap()), "no path of the machine");
}

#[test]
fn the_page_holds_every_claim_figure_number_digest_and_command() {
    let out = tempfile::tempdir().unwrap();
    runs(out.path());
    let html = page(out.path());
    assert_eq!(html.matches(">Made by ictd ").count(), 2);
    assert!(!html.contains("Not as the run wrote it"));
    for file in ["demo/results.json", "verify/results.json"] {
        let text = std::fs::read_to_string(out.path().join(file)).unwrap();
        let results: serde_json::Value = serde_json::from_str(&text).unwrap();
        let claims = results["claims"].as_array().unwrap();
        assert!(!claims.is_empty());
        for claim in claims {
            for part in ["claim", "paper", "measured"] {
                let text = claim[part].as_str().unwrap().replace('<', "&lt;").replace('>', "&gt;");
                let text = text.replace('"', "&quot;");
                assert!(html.contains(&text), "{claim}");
            }
        }
    }
    assert_eq!(html.matches("<figure class=\"plot\"").count(), 2);
    assert!(html.contains("cargo run -p host -- demo --tasks 5 --max-context 9"));
    assert!(html.contains("cargo run -p host -- verify --seeds 2 --layers 3"));
    let expected = include_str!("../../../tests/digests.txt");
    for line in expected.lines().filter(|line| !line.starts_with('#')) {
        let (kernel, digest) = line.split_once(' ').unwrap();
        let row = format!(">{kernel}</th><td>{0}</td><td>{0}</td><td>equal", digest.trim());
        assert!(html.contains(&row), "{kernel}");
    }
    // A run alone gives a page of its own.
    let alone = page(&out.path().join("demo"));
    assert_eq!(alone.matches("<figure class=\"plot\"").count(), 1);
}

#[test]
fn what_the_run_did_not_write_is_named_and_not_shown() {
    let out = tempfile::tempdir().unwrap();
    runs(out.path());
    let write = |name: &str, text: &str| std::fs::write(out.path().join(name), text).unwrap();
    let results = std::fs::read_to_string(out.path().join("demo/results.json")).unwrap();
    write("demo/results.json", &results.replace("\"seed\": 0", "\"seed\": 1"));
    // The page's pictures are drawn from records: these are not read.
    write("demo/demo.svg", "<svg>evil</svg>");
    write("verify/other.svg", "evil");
    let html = page(out.path());
    assert!(html.contains("Not as the run wrote it: demo.svg, results.json."));
    assert!(html.contains("results.json is not what the run wrote") && !html.contains("evil"));
    assert!(!html.contains("value error falls"), "a verdict that the run did not write");
    // The page's own script is its last.
    assert_eq!(html.matches("<script").count(), 1);
}

/// The one line of a refusal; checks that the previous page is as it was and nothing else appeared.
fn refused(directory: &Path) -> String {
    let before = files(directory);
    let page = std::fs::read(directory.join("report.html")).ok();
    let line = refusal(&report(directory));
    assert_eq!(files(directory), before);
    assert_eq!(std::fs::read(directory.join("report.html")).ok(), page);
    line
}

#[test]
fn a_missing_or_damaged_file_is_named_and_the_old_page_and_figure_stay() {
    let out = tempfile::tempdir().unwrap();
    assert!(refused(out.path()).contains("holds no run"));
    assert!(refused(&out.path().join("nowhere")).contains("nowhere"));
    runs(out.path());
    page(out.path());
    let record = std::fs::read_to_string(out.path().join("demo/records.csv")).unwrap();
    let longer: String = record.lines().map(|line| format!("{line},1\n")).collect();
    let damages = [
        ("demo/run.json", Some("{\"versions\": 1}"), "expected what a run wrote"),
        ("demo/results.json", Some("{"), "expected what a run wrote"),
        ("demo/results.json", Some("[]"), "expected what a run wrote"),
        ("demo/results.json", Some("{\"seed\": 0}"), "missing field `command`"),
        ("demo/results.json", Some("{\"command\": \"demo\", \"claims\": [{}]}"), "missing field"),
        ("demo/results.json", None, "results.json"),
        ("demo/records.csv", None, "No such file"),
        ("demo/records.csv", Some(""), "line 1: ``; expected `run,seed,metric,x,value`"),
        ("demo/records.csv", record.lines().next(), "holds no rows"),
        ("demo/records.csv", Some("<svg"), "line 1: `<svg`; expected `run,"),
        ("demo/records.csv", Some("<svg\n<script>\n"), "line 1: `<svg`; expected `run,"),
        ("demo/records.csv", Some(&longer), "line 1: `"),
        ("demo/records.csv", Some("run,seed,metric,x,value\nr,0,m,1,1\nr,1,m,x,1\n"), "line: 3"),
        ("demo/records.csv", Some("\u{0}\n\u{1}\n"), "line 1: `"),
    ];
    let plot = format!("plot {}", out.path().join("demo").display());
    let figure = || std::fs::read(out.path().join("demo/demo.svg")).unwrap();
    let drawn = figure();
    for (name, content, reason) in damages {
        let file = out.path().join(name);
        let intact = std::fs::read(&file).ok();
        match content {
            Some(content) => std::fs::write(&file, content).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let line = refused(out.path());
        let short = name.rsplit('/').next().unwrap();
        assert!(line.contains(short) && line.contains(reason), "{name} {content:?}: {line}");
        if short == "records.csv" {
            let line = refusal(&ictd(out.path(), &plot));
            assert!(line.contains(short) && line.contains(reason), "{content:?}: {line}");
            assert!(figure() == drawn, "{content:?}");
        }
        match intact {
            Some(intact) => std::fs::write(&file, intact).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
    }
    page(out.path());
    done(out.path(), &plot);
    assert!(figure() == drawn);
}

#[test]
fn the_report_of_other_runs_leaves_a_damaged_one_out_and_says_so() {
    let out = tempfile::tempdir().unwrap();
    runs(out.path());
    std::fs::write(out.path().join("verify/results.json"), "{ <b>").unwrap();
    // Nor does one that cannot be brought to its end.
    let received = out.path().join("received");
    std::fs::create_dir(&received).unwrap();
    std::fs::write(received.join("results.json"), "{\"command\": \"demo\"}").unwrap();
    std::fs::write(received.join(".ictd-commit"), "remove ../demo\n").unwrap();
    let listed = json(&done(out.path(), "reproduce demo --json"))["files"].to_string();
    assert!(listed.contains("report.html"), "{listed}");
    let html = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(html.contains("Left out: verify: results.json: "), "the reason is there");
    assert!(html.contains("Left out: received: ") && html.contains("nothing that ictd wrote"));
    assert!(html.contains("id=\"run-demo\""));
    assert!(!html.contains("id=\"run-verify\""));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_previous_page_as_it_was() {
    let out = tempfile::tempdir().unwrap();
    runs(out.path());
    let before = page(out.path());
    let names = files(out.path());
    // No file may grow beyond a few kilobytes.
    let command = format!(
        "ulimit -f 8; exec '{}' report '{}'",
        env!("CARGO_BIN_EXE_ictd"),
        out.path().display()
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    let line = refusal(&output);
    assert!(line.contains("cannot write"), "{line}");
    assert_eq!(files(out.path()), names);
    assert_eq!(std::fs::read_to_string(out.path().join("report.html")).unwrap(), before);
}
