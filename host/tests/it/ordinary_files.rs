//! Tables as loggers, spreadsheets and databases write them.

use crate::common::{self, json};
use crate::predict::{csv, predict, predictions, signal};
use ictd_core::rng::Rng;
use std::fs;

fn text(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A time of the form that a logger writes, of a number of minutes.
fn stamp(form: usize, minute: usize) -> String {
    let (day, hour, minute_of_hour) = (minute / 1440, minute / 60 % 24, minute % 60);
    match form {
        0 => format!("2024-03-{:02}T{hour:02}:{minute_of_hour:02}:00Z", 1 + day),
        1 => format!("2024/03/{:02} {hour:02}:{minute_of_hour:02}:00", 1 + day),
        2 => format!("2024-03-{:02} {hour:02}:{minute_of_hour:02}:00.500", 1 + day),
        3 => (1_709_251_200 + 60 * minute).to_string(),
        _ => (1_709_251_200_000 + 60_000 * minute as u64).to_string(),
    }
}

#[test]
fn rows_that_are_missing_by_their_time_are_named_or_begin_anew() {
    let x = signal(1200);
    for form in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        // Three minutes are missing after row 400, one row is there twice and one is too early.
        let minute = |t: usize| match t {
            0..400 => t,
            700 => 702,
            800 => 700,
            _ => t + 3,
        };
        let rows = x.iter().enumerate().map(|(t, x)| format!("{};{x}", stamp(form, minute(t))));
        let content = csv("when;x", rows);
        let output = predict(&directory, &content, "--json");
        let found = json(&output);
        assert_eq!(found["time"], "when", "{found}");
        let said = found["times"].to_string();
        for part in [
            "1 earlier than the row before (the first is row 801)",
            "1 of the same time as the row before (the first is row 701)",
            "(the first is row 401)",
            "every row was taken to follow",
        ] {
            assert!(said.contains(part), "{form}: {said}");
        }
        // The same as a file in which the gap is a row without a value.
        let skipped = predict(&directory, &content, "--skip-gaps --json");
        assert!(json(&skipped)["times"].to_string().contains("began anew"));
        let of_times = predictions(&directory.path().join("out"), "x", 0.9);
        let other = tempfile::tempdir().unwrap();
        let mut cells: Vec<String> = x.iter().map(f64::to_string).collect();
        for at in [800, 701, 700, 400] {
            cells.insert(at, "NA".into());
        }
        let rows = cells.iter().enumerate().map(|(t, x)| format!("{t},{x}"));
        predict(&other, &csv("t,x", rows), "--column x --skip-gaps --json");
        let of_gaps = predictions(&other.path().join("out"), "x", 0.9);
        for (a, b) in of_times.iter().zip(&of_gaps).take(800) {
            assert_eq!(a.2, b.2, "{form}: rows {} and {}", a.0, b.0);
        }
    }
}

#[test]
fn each_value_of_a_column_is_a_series_of_its_own() {
    let series = [signal(600), signal(700).iter().map(|x| 3.0 - x).collect()];
    // Interleaved at random, and one after the other.
    let mut rng = Rng::new(5);
    for is_mixed in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (mut at, mut rows, mut places) = ([0, 0], Vec::new(), [Vec::new(), Vec::new()]);
        while at[0] < 600 || at[1] < 700 {
            let next = if is_mixed { rng.below(2) as usize } else { usize::from(at[0] == 600) };
            if at[next] < series[next].len() {
                rows.push(format!("{},room {next},{}", at[next], series[next][at[next]]));
                places[next].push(rows.len() as u64);
                at[next] += 1;
            }
        }
        let output = predict(&directory, &csv("time,id,x", rows.into_iter()), "--by id --json");
        let found = json(&output);
        assert_eq!(found["times"].as_array().unwrap().len(), 0, "{found}");
        let names: Vec<_> =
            found["signals"].as_array().unwrap().iter().map(|s| s["name"].clone()).collect();
        assert_eq!(names.len(), 2);
        for (i, x) in series.iter().enumerate() {
            let alone = tempfile::tempdir().unwrap();
            predict(&alone, &csv("x", x.iter().map(f64::to_string)), "--json");
            let expected = predictions(&alone.path().join("out"), "x", 0.9);
            let found = predictions(&directory.path().join("out"), &format!("x of room {i}"), 0.9);
            assert_eq!(found.len(), expected.len());
            for (t, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert_eq!((a.0, &a.2), (places[i][t], &b.2));
            }
        }
    }
}

#[test]
fn columns_that_are_no_signals_are_left_out_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let x = signal(600);
    let rows = x.iter().enumerate().map(|(t, x)| {
        format!("{t},{},{},{x},{}", stamp(1, t), 0.25 * t as f64, u8::from(t % 50 == 0))
    });
    let content = csv("index,timestamp,seconds,x,label", rows);
    let found = json(&predict(&directory, &content, "--leave-out label --json"));
    assert_eq!(found["signals"].as_array().unwrap().len(), 1, "{found}");
    let left_out = found["left_out"].to_string();
    for name in ["index", "timestamp", "seconds", "label"] {
        assert!(left_out.contains(name), "{left_out}");
    }
    // Who asks for a column gets it.
    let found = json(&predict(&directory, &content, "--column index --column x --json"));
    assert_eq!(found["signals"].as_array().unwrap().len(), 2);
    let output = predict(&directory, &content, "");
    assert!(text(&output).contains("`index` is left out: it changes by 1 in every row."));
    assert!(text(&output).contains("`timestamp` is left out: it is the time."));
    for (arguments, part) in [
        ("--leave-out nothing", "column `nothing`: missing"),
        ("--by nothing", "column `nothing`: missing"),
        ("--time nothing", "column `nothing`: missing"),
    ] {
        let line = common::refused(directory.path(), &format!("predict data.csv {arguments}"));
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn an_option_is_given_once_and_one_that_is_not_known_is_guessed() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        ("demo --seed 1 --seed 2", "--seed"),
        ("train --dim 4 --dim 5", "--dim"),
        ("predict x.csv --skip-gaps --skip-gaps", "--skip-gaps"),
        ("predict x.csv --horizont 5", "did you mean --horizon?"),
        ("predicr x.csv", "did you mean predict?"),
        ("reproduce figure2", "did you mean `figure-2`?"),
        ("train --attention softmx", "softmax"),
    ] {
        let line = common::refused(directory.path(), arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
}

#[test]
fn a_file_that_no_run_wrote_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let content = csv("x", signal(300).iter().map(f64::to_string));
    predict(&directory, &content, "");
    let out = directory.path().join("out/predict");
    // A user keeps a file of his own in the folder; a later version writes one of that name.
    let manifest = fs::read_to_string(out.join("run.json")).unwrap();
    let without = manifest.replace("shown.csv", "other.csv");
    assert_ne!(manifest, without);
    fs::write(out.join("run.json"), without).unwrap();
    fs::write(out.join("shown.csv"), "mine").unwrap();
    let line = common::refused(directory.path(), "predict data.csv --out out");
    assert!(line.contains("shown.csv: no run wrote it"), "{line}");
    assert_eq!(fs::read_to_string(out.join("shown.csv")).unwrap(), "mine");
}

#[test]
fn a_script_completes_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = common::run(directory.path(), &format!("completions {shell}"));
        assert!(output.status.success());
        assert!(text(&output).contains("skip-gaps"), "{shell}");
    }
}

#[test]
fn figures_are_drawn_as_pdf_or_it_is_said_what_that_needs() {
    let directory = tempfile::tempdir().unwrap();
    common::run(directory.path(), "demo --tasks 3 --max-context 20");
    if cfg!(feature = "pdf") {
        let output = common::run(directory.path(), "plot results/demo --pdf");
        assert!(output.status.success(), "{output:?}");
        let pdf = fs::read(directory.path().join("results/demo/demo.pdf")).unwrap();
        assert!(pdf.starts_with(b"%PDF-"));
    } else {
        let line = common::refused(directory.path(), "plot results/demo --pdf");
        assert!(line.contains("--features pdf"), "{line}");
    }
}

#[test]
fn two_runs_lie_over_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let demo = "demo --tasks 60 --max-context 41 --context-step 10";
    common::object(directory.path(), 0, &format!("{demo} --out a"));
    common::object(directory.path(), 0, &format!("{demo} --layers 10 --out b"));
    let output = common::run(directory.path(), "compare a/demo b/demo --figures both");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let written = common::files(&directory.path().join("both"));
    let svg = fs::read_to_string(directory.path().join("both").join(&written[0])).unwrap();
    assert!(svg.contains(">A<") && svg.contains(">B<"), "{written:?}");
    let line = common::refused(directory.path(), "compare a/demo a --figures both");
    assert!(line.contains("expected a run of `demo`"), "{line}");
}
