//! What a command leaves out of runs that it reads, it names; a link in them it does not follow.

use crate::common::*;
use crate::sweep::tiny;
use crate::untrusted::{TRAIN, pipe};
use std::os::unix::fs::symlink;

#[test]
fn folders_of_somebody_else_are_merged_and_none_is_written_through() {
    let place = &Folder::new();
    let [from, to] = ["from", "to"].map(|name| place.join(name));
    ictd(&from, &format!("{TRAIN} --seeds 2"));
    let run = trained(&from);
    fs::rename(run.join("seed_1"), place.join("seed_1")).unwrap();
    run.put("seed_0/metrics.csv", "mine");
    run.put("seed_0/more.txt", "mine");
    object(place, 0, "merge from --out to");
    let merged = trained(&to);
    assert!(!merged.join("seed_1").exists() && !merged.join("seed_0/more.txt").exists());
    let metrics = merged.text("seed_0/metrics.csv");
    assert!(metrics.starts_with("tasks,alpha,"), "{metrics}");
    // And none is written through.
    fs::remove_dir_all(merged.join("seed_0")).unwrap();
    symlink(place.join("seed_1"), merged.join("seed_0")).unwrap();
    let line = refused(place, "merge from --out to");
    assert!(line.contains("seed_0: a link"), "{line}");
    // Of results whose seeds are nowhere nothing is made.
    fs::remove_dir_all(run.join("seed_0")).unwrap();
    let line = refused(place, &format!("merge {} --out nothing", run.display()));
    assert!(line.contains("results.json: ") && line.contains("no seed has finished"), "{line}");
    assert!(!place.join("nothing").exists());
}

/// Something else in the place of a file or a folder, and what it is called.
type Else = (fn(&Path), &'static str);

const ELSE: [Else; 3] = [
    (|path| symlink("../../away/checkpoint.bin", path).unwrap(), "a link"),
    (|path| fs::create_dir(path).unwrap(), "no regular file"),
    (pipe, "no regular file"),
];

#[test]
fn a_seed_that_cannot_be_read_is_refused_or_named_by_every_command() {
    let out = &tiny("2", "");
    let at = |name: &str| out.join(name);
    ictd(&at("from"), &format!("{TRAIN} --seeds 2"));
    let run = trained(&at("from"));
    let checkpoint = run.join("seed_1/checkpoint.bin");
    let intact = fs::read(&checkpoint).unwrap();
    fs::create_dir(at("from/away")).unwrap();
    at("from/away").put("checkpoint.bin", &intact);
    let tried = |culprit: &str, reason: &str| {
        for from in ["from", run.to_str().unwrap()] {
            let line = refused(out, &format!("merge {from} --out to"));
            assert!(line.contains(culprit) && line.contains(reason), "{from}: {line}");
            assert!(!at("to").exists());
        }
        let resume = format!("train --resume {}", run.display());
        let [sweep, train] = ["sweep plan.toml", TRAIN].map(|line| format!("{line} --out from"));
        for command in [format!("{sweep} --collect"), sweep, resume, train] {
            let line = refused(out, &command);
            assert!(line.contains(culprit), "{command}: {line}");
        }
    };
    for (make, reason) in ELSE {
        fs::remove_file(&checkpoint).unwrap();
        make(&checkpoint);
        tried("seed_1/checkpoint.bin", reason);
        fs::remove_file(&checkpoint).or_else(|_| fs::remove_dir(&checkpoint)).unwrap();
        fs::write(&checkpoint, &intact).unwrap();
    }
    fs::rename(run.join("seed_1"), at("seed_1")).unwrap();
    let before = contents(&at("seed_1"));
    symlink(at("seed_1"), run.join("seed_1")).unwrap();
    tried("seed_1", "a link");
    assert!(contents(&at("seed_1")) == before && run.join("results.json").exists());
    // One without a checkpoint has not begun: it is named.
    fs::remove_file(run.join("seed_1")).unwrap();
    fs::create_dir(run.join("seed_1")).unwrap();
    ictd(&at("from"), "demo --tasks 2");
    let merged = object(out, 0, "merge from --out to");
    let left_out = merged["left_out"].to_string();
    for what in ["from/away: no run", "from/demo: a run of `demo`", "seeds 1..1: no checkpoint"] {
        assert!(left_out.contains(what), "{left_out}");
    }
    let collected = object(out, 1, "sweep plan.toml --collect --out from");
    assert!(collected["missing"].to_string().contains("\":\"1..1\""), "{collected}");
}

#[test]
fn a_link_to_a_run_is_named_and_nothing_is_read_or_drawn_through_it() {
    let (out, mine) = (&Folder::new(), &Folder::new());
    for place in [out, mine] {
        ictd(place, "demo --tasks 2");
        ictd(place, TRAIN);
        as_train(place);
    }
    let before = contents(mine);
    for (run, name) in [("demo", "linked"), ("train", "linked_train")] {
        symlink(mine.join(run), out.join(name)).unwrap();
    }
    // Unfinished: without results.
    fs::remove_file(out.join("train/results.json")).unwrap();
    let plotted = object(out, 0, "plot .");
    assert!(plotted["left_out"].to_string().contains("linked: a link"), "{plotted}");
    let report = object(out, 0, "report .");
    assert_eq!(report["runs"], serde_json::json!(["demo"]));
    for what in ["linked: a link", "linked_train: a link", "train: no results.json"] {
        assert!(report["left_out"].to_string().contains(what), "{report}");
    }
    assert!(out.text("report.html").contains("Left out: linked: a link"));
    let line = refused(out, "merge . --out to");
    assert!(line.contains("linked: a link"), "{line}");
    assert!(contents(mine) == before);
}
