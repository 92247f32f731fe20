//! What a command leaves out of runs that it reads, it names; a link in them it does not follow.

use crate::common::*;
use crate::untrusted::TRAIN;
use std::os::unix::fs::symlink;

#[test]
fn folders_of_somebody_else_are_merged_and_none_is_written_through() {
    let (out, from) = (Folder::new(), Folder::new());
    ictd(&from, &format!("{TRAIN} --seeds 2"));
    let run = trained(&from);
    fs::rename(run.join("seed_1"), out.join("seed_1")).unwrap();
    run.put("seed_0/metrics.csv", "mine");
    run.put("seed_0/more.txt", "mine");
    let to = out.join("to");
    done(&to, &format!("merge {}", from.display()));
    let seeds = files(&trained(&to)).into_iter().filter(|name| name.starts_with("seed_"));
    assert!(
        seeds.clone().all(|name| name.starts_with("seed_0/")),
        "{:?}",
        seeds.collect::<Vec<_>>()
    );
    assert!(!trained(&to).join("seed_0/more.txt").exists());
    let metrics = trained(&to).text("seed_0/metrics.csv");
    assert!(metrics.starts_with("tasks,alpha,"), "{metrics}");
    // And none is written through.
    fs::remove_dir_all(trained(&to).join("seed_0")).unwrap();
    symlink(out.join("seed_1"), trained(&to).join("seed_0")).unwrap();
    let line = refusal(&ictd(&to, &format!("merge {}", from.display())));
    assert!(line.contains("seed_0: a link"), "{line}");
    // Of results whose seeds are nowhere nothing is made.
    fs::remove_dir_all(run.join("seed_0")).unwrap();
    let nothing = out.join("nothing");
    let line = refusal(&ictd(&nothing, &format!("merge {}", run.display())));
    assert!(line.contains("results.json: ") && line.contains("no seed has finished"), "{line}");
    assert!(!nothing.exists());
}

/// Something else in the place of a file or a folder, and what it is called.
type Else = (fn(&Path), &'static str);

const ELSE: [Else; 3] = [
    (|path| symlink("../../away/checkpoint.bin", path).unwrap(), "a link"),
    (|path| fs::create_dir(path).unwrap(), "no regular file"),
    (
        |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "no regular file",
    ),
];

const PLAN: &str = "seeds = 2\n[settings]\ntasks = 4\nbatches = 1\nbatch-size = 4\ncontext-length = 6\nlog-every = 2\n";

#[test]
fn a_seed_that_cannot_be_read_is_refused_or_named_by_every_command() {
    let out = Folder::new();
    let at = |name: &str| out.join(name);
    fs::write(at("plan.toml"), PLAN).unwrap();
    ictd(&at("from"), &format!("{TRAIN} --seeds 2"));
    let run = trained(&at("from"));
    let checkpoint = run.join("seed_1/checkpoint.bin");
    let intact = fs::read(&checkpoint).unwrap();
    fs::create_dir(at("from/away")).unwrap();
    fs::write(at("from/away/checkpoint.bin"), &intact).unwrap();
    let plan = at("plan.toml").display().to_string();
    let tried = |culprit: &str, reason: &str| {
        let named = |line: &str| line.contains(culprit) && line.contains(reason);
        let from = at("from").display().to_string();
        for command in [format!("merge {from}"), format!("merge {}", run.display())] {
            let line = refusal(&ictd(&at("to"), &command));
            assert!(named(&line) && !at("to").exists(), "{command}: {line}");
        }
        let resume = format!("train --resume {}", run.display());
        let collect = format!("sweep {plan} --collect");
        for command in [collect, format!("sweep {plan}"), resume, TRAIN.into()] {
            let line = refusal(&ictd(&at("from"), &command));
            assert!(line.contains(culprit), "{command}: {line}");
        }
    };
    for (make, reason) in ELSE {
        fs::remove_file(&checkpoint).unwrap();
        make(&checkpoint);
        tried("seed_1/checkpoint.bin", reason);
        if checkpoint.is_dir() {
            fs::remove_dir(&checkpoint).unwrap();
        } else {
            fs::remove_file(&checkpoint).unwrap();
        }
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
    let merged = json(&ictd(&at("to"), &format!("merge {} --json", at("from").display())));
    let left_out = merged["left_out"].to_string();
    for what in ["from/away: no run", "from/demo: a run of `demo`", "seeds 1..1: no checkpoint"] {
        assert!(left_out.contains(what), "{left_out}");
    }
    let collected = json(&ictd(&at("from"), &format!("sweep {plan} --collect --json")));
    assert!(collected["missing"].to_string().contains("\":\"1..1\""), "{collected}");
}

#[test]
fn a_link_to_a_run_is_named_and_nothing_is_read_or_drawn_through_it() {
    let (out, mine) = (Folder::new(), Folder::new());
    ictd(&mine, "demo --tasks 2");
    ictd(&mine, TRAIN);
    as_train(&mine);
    let before = contents(&mine);
    ictd(&out, "demo --tasks 2");
    for (run, name) in [("demo", "linked"), ("train", "linked_train")] {
        symlink(mine.join(run), out.join(name)).unwrap();
    }
    // Unfinished: without results.
    ictd(&out, TRAIN);
    as_train(&out);
    fs::remove_file(out.join("train/results.json")).unwrap();
    let all = out.display();
    let plotted = json(&ictd(&out, &format!("plot {all} --json")));
    assert!(plotted["left_out"].to_string().contains("linked: a link"), "{plotted}");
    let report = json(&ictd(&out, &format!("report {all} --json")));
    assert_eq!(report["runs"], serde_json::json!(["demo"]));
    for what in ["linked: a link", "linked_train: a link", "train: no results.json"] {
        assert!(report["left_out"].to_string().contains(what), "{report}");
    }
    let page = out.text("report.html");
    assert!(page.contains("Left out: linked: a link"));
    let line = refusal(&ictd(&out.join("to"), &format!("merge {all}")));
    assert!(line.contains("linked: a link"), "{line}");
    assert!(contents(&mine) == before);
}
