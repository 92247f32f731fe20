//! A fault at any operation on the files of a run loses nothing.
//!
//! `ICTD_FAULTS=all cargo test -p host --test it transactions -- --nocapture` strikes at every operation in
//! every way, and prints how often (default: one in a few operations, each in one way).

use crate::common::*;
use crate::sweep::tiny;
use ictd::run::info;
use std::sync::atomic::{AtomicUsize, Ordering};

const TRAIN: &str = "train --tasks 4 --batches 1 --batch-size 4 --context-length 6 --log-every 2 --checkpoint-every 0";
pub(crate) const DATA: &str = "phi_0,reward\n1,1\n2,-1\n0.5,0.5\n";
const MINE: &str = "mine.txt";

/// Every file that run.json lists is there, as it says, and no other.
#[track_caller]
fn assert_as_recorded(run: &Path) {
    let recorded = run.json("run.json")["digests"]["files"].as_object().expect("digests").clone();
    let mut written = files(run);
    written
        .retain(|name| !["run.json", "report.html"].contains(&&**name) && !name.ends_with(".lock"));
    let mut names: Vec<_> = recorded.keys().cloned().collect();
    names.sort();
    assert_eq!(names, written);
    for (name, recorded) in recorded {
        assert_eq!(recorded, info::digest(&run.bytes(&name)), "{name}");
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for name in files(from) {
        let path = to.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from.join(name), path).unwrap();
    }
}

/// Runs a command on one thread, so that its operations come in one order.
fn struck(directory: &Path, arguments: &str, fault: &str) -> Output {
    let mut command = program(directory, arguments);
    if ["train", "sweep", "demo", "predict"].iter().any(|name| arguments.starts_with(name)) {
        command.args(["--threads", "1"]);
    }
    command.env("ICTD_FAULT", fault).stdin(Stdio::null()).output().unwrap()
}

/// Strikes at one operation in `step` of a command, in a copy of `before`, more than `least` times. Afterwards the files are
/// those before or those after the undisturbed command, or, of one that goes on from where it was, each of them is; and the
/// same command ends in the same bytes. The user's own file is always there.
fn strike(before: &Path, arguments: &str, goes_on: bool, step: usize, least: usize) {
    let all = std::env::var("ICTD_FAULTS").is_ok_and(|x| x == "all");
    let after = Folder::new();
    copy(before, &after);
    let code = code(&struck(&after, arguments, ""));
    assert!(code < Some(2), "{arguments}: {code:?}");
    let (old, new) = (contents(before), contents(&after));
    let kinds = ["error", "short", "broken", "kill"];
    let once = |number: usize, kind: &str| {
        let what = format!("{arguments}: {kind} at operation {number}");
        let directory = Folder::new();
        copy(before, &directory);
        let output = struck(&directory, arguments, &format!("{number} {kind}"));
        match output.status.code() {
            Some(2) => drop(refusal(&output)),
            Some(137) => assert_eq!(kind, "kill", "{what}"),
            Some(0 | 1) => {}
            _ => panic!("{what}: {output:?}"),
        }
        let is_killed = output.status.code() == Some(137);
        let of_user = |name: &str| name.ends_with(MINE);
        let mine = |files: Vec<String>| files.iter().filter(|name| of_user(name)).count();
        assert_eq!(mine(files(&directory)), mine(files(before)), "{what}");
        let results = |all: &[(String, Vec<u8>)]| -> Vec<_> {
            let is_result = |name: &str| !name.contains(".ictd-") && !of_user(name);
            all.iter().filter(|(name, _)| is_result(name)).cloned().collect()
        };
        let [found, old, of_new] = [&contents(&directory), &old, &new].map(|all| results(all));
        if goes_on {
            let grows =
                |name: &str| name.ends_with("checkpoint.bin") || name.ends_with("report.html");
            let is_whole = |file| old.contains(file) || of_new.contains(file);
            let torn = found.iter().find(|file| !grows(&file.0) && !is_whole(file));
            assert!(torn.is_none(), "{what}: {:?}", torn.map(|file| &file.0));
        } else {
            assert!(found == old || found == of_new, "{what}: neither old nor new");
        }
        let again = struck(&directory, arguments, "");
        assert_eq!(again.status.code(), code, "{what}: {again:?}");
        assert!(contents(&directory) == new, "{what}: other bytes, or leftovers");
        // A process that is not killed had no more operations.
        is_killed || kind != "kill"
    };
    let (next, end) = (AtomicUsize::new(1), AtomicUsize::new(usize::MAX));
    let strike_in_turn = || loop {
        let turn = next.fetch_add(1, Ordering::SeqCst);
        let number = if all { turn.div_ceil(kinds.len()) } else { step * turn };
        if number >= end.load(Ordering::SeqCst) {
            return;
        }
        if !once(number, kinds[turn % kinds.len()]) {
            end.fetch_min(number, Ordering::SeqCst);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(strike_in_turn);
        }
    });
    let faults = next.into_inner();
    println!("{arguments}: {faults} faults");
    assert!(faults > least, "{arguments}: {faults}");
}

fn prepared(commands: &[&str]) -> Folder {
    let directory = Folder::with("data.csv", DATA);
    directory.put("queries.csv", "phi_0\n3\n");
    let rows: String = (0..200).map(|i| format!("{}\n", i % 7)).collect();
    directory.put("signals.csv", format!("a\n{rows}"));
    for command in commands {
        let output = struck(&directory, command, "");
        assert!(output.status.code() < Some(2), "{command}: {output:?}");
    }
    directory
}

#[test]
fn a_fault_at_any_operation_of_training_loses_nothing() {
    strike(&prepared(&[]), TRAIN, true, 7, 15);
    strike(
        &tiny("2", "learning-rate = [0.1, 0.2]"),
        "sweep plan.toml --checkpoint-every 0",
        true,
        9,
        15,
    );
}

#[test]
fn a_fault_at_any_operation_of_a_run_leaves_the_old_one_or_the_new_one() {
    let queries = "evaluate --data data.csv --queries queries.csv";
    for (first, command, step, least) in [
        (queries, "evaluate --data data.csv --layers 3", 1, 30),
        ("list", "demo --tasks 2", 3, 10),
        // Its predictions are written piece by piece.
        ("predict signals.csv --gamma 0.5", "predict signals.csv --gamma 0.8", 3, 10),
    ] {
        let before = prepared(&[first]);
        if let Some(name) = first.split(' ').next().filter(|name| *name != "list") {
            before.join("results").join(name).put(MINE, "mine");
        }
        strike(&before, command, false, step, least);
    }
    let directory = prepared(&["demo --tasks 2", "report results", TRAIN]);
    as_train(&directory.join("results"));
    strike(&directory, "report results", false, 2, 5);
    strike(&directory, "export results/train --out model.ictd", false, 1, 5);
}

#[test]
fn nothing_of_the_run_before_is_left_and_all_of_the_users() {
    let directory = prepared(&["evaluate --data data.csv --queries queries.csv"]);
    let run = directory.join("results/evaluate");
    run.put(MINE, "mine");
    fs::create_dir(run.join("notes")).unwrap();
    run.join("notes").put(MINE, "more");
    assert!(run.join("queries.csv").exists());
    object(&directory, 0, "evaluate --data data.csv");
    assert!(!run.join("queries.csv").exists());
    assert_eq!((run.text(MINE), run.join("notes").text(MINE)), ("mine".into(), "more".into()));
    fs::remove_dir_all(run.join("notes")).unwrap();
    fs::remove_file(run.join(MINE)).unwrap();
    assert_as_recorded(&run);
    assert_eq!(fs::read_dir(directory.join("results")).unwrap().count(), 1);
}

#[test]
fn a_run_whose_last_write_fails_is_not_finished_and_goes_on() {
    let (directory, whole) = (prepared(&[]), prepared(&[TRAIN]));
    let wanted = trained(&whole.join("results"));
    let train = directory.join("results").join(wanted.file_name().unwrap());
    fs::create_dir_all(train.join("records.csv")).unwrap();
    let line = refusal(&struck(&directory, TRAIN, ""));
    assert!(line.contains("records.csv"), "{line}");
    let outcome = train.json("run.json")["outcome"].to_string();
    assert!(outcome.contains("failed: ") && outcome.contains("records.csv"), "{outcome}");
    fs::remove_dir(train.join("records.csv")).unwrap();
    let checkpoint = train.join("seed_0/checkpoint.bin");
    let trained = fs::metadata(&checkpoint).unwrap().modified().unwrap();
    let again = struck(&directory, TRAIN, "");
    let line = String::from_utf8(again.stderr).unwrap();
    assert!(again.status.success() && line.contains("an unfinished run"), "{line}");
    assert_eq!(fs::metadata(&checkpoint).unwrap().modified().unwrap(), trained, "trained again");
    assert!(contents(&train) == contents(&wanted));
    assert_as_recorded(&train);
}

#[test]
fn trains_of_one_recipe_at_once_are_one_run() {
    let whole = prepared(&[&format!("{TRAIN} --seeds 7")]);
    let whole = contents(&trained(&whole.join("results")));
    for _ in 0..3 {
        let directory = prepared(&[TRAIN]);
        let start = |seed: u64| {
            let line = format!("{TRAIN} --threads 1 --seed {seed}");
            let mut command = program(&directory, &line);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let all: Vec<_> = (1..7).map(start).collect();
        for child in all {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        let run = trained(&directory.join("results"));
        assert!(run.json("run.json")["outcome"] == "finished" && contents(&run) == whole);
        assert_as_recorded(&run);
    }
}

#[test]
fn a_directory_in_use_on_another_machine_is_refused_with_its_name() {
    let directory = prepared(&["demo --tasks 2", TRAIN]);
    let name = trained(&directory.join("results"));
    let name = name.file_name().unwrap().to_str().unwrap();
    for (name, command) in [("demo", "demo --tasks 2"), (name, TRAIN)] {
        let lock = directory.join("results").join(name).join(".lock");
        let before = contents(&directory);
        fs::write(&lock, "ictd\nprocess 4711 on node-17\n").unwrap();
        let line = refusal(&struck(&directory, command, ""));
        let advice = "in use by process 4711 on node-17: if it has ended, remove";
        assert!(line.contains(advice), "{line}");
        assert!(contents(&directory) == before);
        fs::remove_file(&lock).unwrap();
        assert_eq!(struck(&directory, command, "").status.code(), Some(0), "{command}");
    }
}
