//! `ictd report`: from the files of runs alone, and nothing by half.

use crate::bounds::shell;
use crate::common::*;

/// A folder with two small runs.
fn runs() -> Folder {
    let out = Folder::new();
    for line in ["demo --tasks 5 --max-context 9", "verify --seeds 2 --layers 3"] {
        assert!(code(&ictd(&out, line)) < Some(2), "{line}");
    }
    out
}

fn page(directory: &Path) -> String {
    object(directory, 0, "report .");
    directory.text("report.html")
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let (a, b) = (runs(), runs());
    let first = page(&a);
    assert_eq!(first, page(&a), "written again");
    assert_eq!(first, page(&b), "of the same runs elsewhere");
    assert!(!first.contains(a.to_str().unwrap()), "no path of the machine");
}

#[test]
fn the_page_holds_every_claim_figure_number_digest_and_command() {
    let out = runs();
    let html = page(&out);
    assert_eq!(html.matches(">Made by ictd ").count(), 2);
    assert!(!html.contains("Not as the run wrote it"));
    for file in ["demo/results.json", "verify/results.json"] {
        let results = out.json(file);
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
    let alone = page(&out.join("demo"));
    assert_eq!(alone.matches("<figure class=\"plot\"").count(), 1);
}

#[test]
fn what_the_run_did_not_write_is_named_and_not_shown() {
    let out = runs();
    let results = out.text("demo/results.json");
    out.put("demo/results.json", results.replace("\"seed\": 0", "\"seed\": 1"));
    // The page's pictures are drawn from records: these are not read.
    out.put("demo/demo.svg", "<svg>evil</svg>");
    out.put("verify/other.svg", "evil");
    let html = page(&out);
    assert!(html.contains("Not as the run wrote it: demo.svg, results.json."));
    assert!(html.contains("results.json is not what the run wrote") && !html.contains("evil"));
    assert!(!html.contains("value error falls"), "a verdict that the run did not write");
    // The page's own script is its last.
    assert_eq!(html.matches("<script").count(), 1);
}

#[test]
fn a_name_that_is_markup_is_text_on_the_page() {
    let (out, name) = (runs(), "<img src=x onerror=alert(1)>&\"'");
    fs::create_dir(out.join(name)).unwrap();
    out.put(format!("{name}/config.toml"), "<script>alert(2)</script>");
    let html = page(&out);
    assert!(html.contains("&lt;img src=x onerror=alert(1)&gt;") && !html.contains("<img src=x"));
    assert_eq!(html.matches("<script").count(), 1);
}

#[test]
fn a_missing_or_damaged_file_is_named_and_the_old_page_and_figure_stay() {
    let empty = Folder::new();
    assert!(refused(&empty, "report .").contains("holds no run"));
    assert!(refused(&empty, "report nowhere").contains("nowhere"));
    let out = &runs();
    page(out);
    let record = out.text("demo/records.csv");
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
    let whole = contents(out);
    for (name, content, reason) in damages {
        let intact = out.bytes(name);
        fs::remove_file(out.join(name)).unwrap();
        content.into_iter().for_each(|content| out.put(name, content));
        let damaged = contents(out);
        let short = name.rsplit('/').next().unwrap();
        for command in ["report .", "plot demo"] {
            if command == "report ." || short == "records.csv" {
                let line = refused(out, command);
                let is_named = line.contains(short) && line.contains(reason);
                assert!(is_named, "{command}, {name} {content:?}: {line}");
            }
        }
        assert!(contents(out) == damaged, "{name} {content:?}");
        out.put(name, intact);
    }
    page(out);
    object(out, 0, "plot demo");
    assert!(contents(out) == whole);
}

#[test]
fn the_report_of_other_runs_leaves_a_damaged_one_out_and_says_so() {
    let out = runs();
    out.put("verify/results.json", "{ <b>");
    let listed = json(&done(&out, "reproduce demo --json"))["files"].to_string();
    assert!(listed.contains("report.html"), "{listed}");
    let html = out.text("report.html");
    assert!(html.contains("Left out: verify: results.json: "), "the reason is there");
    assert!(html.contains("id=\"run-demo\""));
    assert!(!html.contains("id=\"run-verify\""));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_previous_page_as_it_was() {
    let out = runs();
    page(&out);
    let before = contents(&out);
    // No file may grow beyond a few kilobytes.
    let line = refusal(&shell(&out, "ulimit -f 8; exec ictd report ."));
    assert!(line.contains("cannot write"), "{line}");
    assert_eq!(contents(&out), before);
}

#[test]
fn figures_are_drawn_as_pdf() {
    let directory = Folder::new();
    run(&directory, "demo --tasks 3 --max-context 20");
    let output = run(&directory, "plot results/demo --pdf");
    assert!(output.status.success(), "{output:?}");
    assert!(directory.bytes("results/demo/demo.pdf").starts_with(b"%PDF-"));
}
