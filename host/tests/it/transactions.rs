//! A run directory is a transaction: a fault at any operation on its files loses nothing.
//!
//! `ICTD_FAULTS=all cargo test -p host --test it transactions -- --nocapture` strikes at every operation in
//! every way, and prints how often (default: each operation of a command in one way; of a long command, whose many
//! files are written alike, each fifth).
//! A state of the files from which the command has come to its end once is not tried again.

use crate::common::*;
use crate::sweep::tiny;
use ictd::run::{info, transaction};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const TRAIN: &str = "train --tasks 4 --batches 1 --batch-size 4 --context-length 6 --log-every 2 --checkpoint-every 0";
pub(crate) const DATA: &str = "phi_0,reward\n1,1\n2,-1\n0.5,0.5\n";

type Contents = Vec<(String, Vec<u8>)>;

fn run_json(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap_or_default()).unwrap_or_default()
}

fn is_finished(run: &Path) -> bool {
    run_json(run)["outcome"] == "finished"
}

/// Every file that run.json lists is there, as it says.
#[track_caller]
fn assert_as_recorded(run: &Path) {
    let info = run_json(run);
    let recorded = info["digests"]["files"].as_object().expect("digests");
    let mut names: Vec<_> = recorded.keys().cloned().collect();
    names.sort();
    let mut written = files(run);
    let is_other =
        |name: &str| ["run.json", "report.html"].contains(&name) || name.ends_with(".lock");
    written.retain(|name| !is_other(name) && !name.contains(".ictd-"));
    assert_eq!(names, written);
    for (name, recorded) in recorded {
        assert_eq!(*recorded, info::digest(&run.bytes(name)), "{name}");
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in files(from) {
        let path = to.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(from.join(name), path).unwrap();
    }
}

fn run(directory: &Path, arguments: &str, fault: &str) -> Output {
    let mut command = program(directory, arguments);
    // So that the operations come in one order.
    let with_threads = ["train", "sweep", "reproduce", "demo", "import", "predict"];
    if with_threads.iter().any(|name| arguments.starts_with(name)) {
        command.args(["--threads", "1"]);
    }
    command.env("ICTD_FAULT", fault).stdin(Stdio::null());
    command.output().unwrap()
}

/// The digest of what the next process finds: every file, without the times of processes and their numbers.
fn state(directory: &Path) -> String {
    let content = |name: String| {
        let content = directory.bytes(&name);
        let shown = if name.ends_with("run.json") {
            let mut info: Value = serde_json::from_slice(&content).unwrap_or_default();
            if let Value::Object(info) = &mut info {
                info.retain(|key, _| !["started", "seconds", "cpu_seconds"].contains(&&**key));
            }
            info.to_string().into_bytes()
        } else if name.ends_with(".lock") {
            vec![u8::from(content.len() > 5)]
        } else {
            content
        };
        (name, shown)
    };
    let all: Contents = files(directory).into_iter().map(content).collect();
    let parts = all.iter().flat_map(|(name, content)| [name.as_bytes(), b"\0", content, b"\0"]);
    info::digest(&parts.collect::<Vec<_>>().concat())
}

/// A command that is struck in a directory.
struct Struck<'a> {
    before: &'a Path,
    arguments: &'a str,
    /// It goes on from where it was; another begins anew.
    is_resumed: bool,
    /// The files before, and those after the undisturbed command, with its exit code.
    old: Contents,
    new: Contents,
    code: Option<i32>,
    /// The states from which the same command came to the same end.
    passed: Mutex<BTreeSet<String>>,
}

/// Strikes at each operation of a command in turn, or at one in `step`, in a copy of `before`, more than `least` times.
/// After each the directory reads as before or as after; then the same command ends in the same bytes.
fn strike(before: &Path, arguments: &str, is_resumed: bool, step: usize, least: usize) {
    let all = std::env::var("ICTD_FAULTS").is_ok_and(|x| x == "all");
    let after = Folder::new();
    copy(before, &after);
    let undisturbed = run(&after, arguments, "");
    assert!(undisturbed.status.code() < Some(2), "{undisturbed:?}");
    let struck = Struck {
        before,
        arguments,
        is_resumed,
        old: contents(before),
        new: contents(&after),
        code: undisturbed.status.code(),
        passed: Mutex::default(),
    };
    let kinds = ["error", "short", "broken", "kill"];
    let (next, end) = (AtomicUsize::new(1), AtomicUsize::new(usize::MAX));
    let strike_in_turn = || loop {
        let turn = next.fetch_add(1, Ordering::SeqCst);
        // With a step of its own each operation has another kind than the one before.
        let number = if all { turn.div_ceil(kinds.len()) } else { step * turn };
        if number >= end.load(Ordering::SeqCst) {
            return;
        }
        // A process that is not killed had no more operations.
        if !struck.once(number, kinds[turn % kinds.len()]) {
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

impl Struck<'_> {
    /// Returns false if the process should have been killed and was not.
    fn once(&self, number: usize, kind: &str) -> bool {
        let Struck { arguments, old, new, .. } = self;
        let what = format!("{arguments}: {kind} at operation {number}");
        let directory = Folder::new();
        copy(self.before, &directory);
        let struck = run(&directory, arguments, &format!("{number} {kind}"));
        let code = struck.status.code();
        assert!(matches!(code, Some(0 | 1 | 2 | 137)), "{what}: {struck:?}");
        let is_killed = code == Some(137);
        assert!(!is_killed || kind == "kill", "{what}: {struck:?}");
        if code == Some(2) {
            refusal(&struck);
        }
        let left = state(&directory);
        if self.passed.lock().unwrap().contains(&left) {
            return is_killed || kind != "kill";
        }
        // Whoever reads it next sees all of one state.
        for folder in folders(&directory) {
            transaction::settle_unclaimed(&folder).unwrap();
        }
        let mut found = contents(&directory);
        found.retain(|(name, _)| !name.contains(".ictd-"));
        if self.is_resumed {
            for file in &found {
                let name = &file.0;
                // What grows along the way may be behind; the page says which run it could not read.
                let grows = name.ends_with("checkpoint.bin") || name.ends_with("report.html");
                let whole = old.contains(file) || new.contains(file);
                assert!(grows || whole, "{what}: {name}");
            }
        } else {
            let names =
                [&found, old, new].map(|of| of.iter().map(|file| &file.0).collect::<Vec<_>>());
            assert!(found == *old || found == *new, "{what}: one of three: {names:?}");
        }
        let writes_runs = !["report", "plot", "export"].iter().any(|c| arguments.starts_with(c));
        for folder in folders(&directory) {
            if writes_runs && is_finished(&folder) && found == *new {
                assert_as_recorded(&folder);
            }
        }
        let again = run(&directory, arguments, "");
        assert_eq!(again.status.code(), self.code, "{what}: {again:?}");
        assert!(contents(&directory) == *new, "{what}: other bytes, or leftovers");
        self.passed.lock().unwrap().insert(left);
        is_killed || kind != "kill"
    }
}

/// The folders of runs.
fn folders(directory: &Path) -> Vec<PathBuf> {
    let inside = |folder: &str| {
        let entries = fs::read_dir(directory.join(folder)).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    [vec![directory.to_owned()], inside("results"), inside("results/runs")].concat()
}

fn prepared(commands: &[&str]) -> Folder {
    let directory = Folder::with("data.csv", DATA);
    directory.put("queries.csv", "phi_0\n3\n");
    let rows: String = (0..200).map(|i| format!("{}\n", i % 7)).collect();
    directory.put("signals.csv", format!("a\n{rows}"));
    for command in commands {
        let output = run(&directory, command, "");
        assert!(output.status.code() < Some(2), "{command}: {output:?}");
    }
    directory
}

#[test]
fn a_fault_at_any_operation_of_training_loses_nothing() {
    let fresh = prepared(&[]);
    strike(&fresh, TRAIN, true, 5, 20);
    strike(&fresh, "reproduce rnn-learning --seeds 1 --tasks 2", true, 5, 20);
}

#[test]
fn a_fault_at_any_operation_of_a_sweep_loses_nothing() {
    let place = || tiny("2", "learning-rate = [0.1, 0.2]");
    let sweep = "sweep plan.toml --checkpoint-every 0";
    strike(&place(), sweep, true, 5, 30);
    let directory = place();
    for command in [sweep, "sweep plan.toml --collect --metric loss"] {
        assert_eq!(run(&directory, command, "").status.code(), Some(0));
    }
    strike(&directory, "sweep plan.toml --collect --metric vd", false, 1, 30);
    let (one, other) = (prepared(&[&format!("{TRAIN} --seeds 2")]), "train-of-others");
    let seed = format!("{TRAIN} --seed 2 --out {other}");
    assert_eq!(run(&one, &seed, "").status.code(), Some(0));
    strike(&one, &format!("merge {other} --out results"), true, 5, 30);
}

#[test]
fn a_fault_at_any_operation_of_a_run_leaves_the_old_one_or_the_new_one() {
    let old = |command| prepared(&[command]);
    let queries = "evaluate --data data.csv --queries queries.csv";
    for (before, command, step, least) in [
        (old(queries), "evaluate --data data.csv --layers 3", 1, 30),
        (old("demo --tasks 2"), "demo --tasks 3", 1, 30),
        (prepared(&[]), "evaluate --data data.csv", 1, 30),
        // Its predictions are written piece by piece.
        (old("predict signals.csv --gamma 0.5"), "predict signals.csv --gamma 0.8", 3, 15),
    ] {
        strike(&before, command, false, step, least);
    }
}

#[test]
fn a_fault_at_any_operation_of_a_report_leaves_the_old_one_or_the_new_one() {
    let directory = prepared(&["demo --tasks 2", "report results", TRAIN]);
    as_train(&directory.join("results"));
    strike(&directory, "report results", false, 1, 20);
    fs::remove_file(directory.join("results/demo/demo.svg")).unwrap();
    strike(&directory, "plot results/demo", false, 1, 15);
    strike(&directory, "export results/train --out model.ictd", false, 1, 5);
}

#[test]
fn nothing_of_the_run_before_is_left() {
    let directory = prepared(&[
        "evaluate --data data.csv --queries queries.csv",
        "evaluate --data data.csv",
        TRAIN,
    ]);
    let results = directory.join("results");
    as_train(&results);
    run(&directory, "import results/train --tasks 2", "");
    assert!(!files(&results.join("evaluate")).contains(&"queries.csv".to_owned()));
    assert!(results.join("import/elements.svg").exists());
    let mine = results.join("import/mine.txt");
    fs::write(&mine, "mine").unwrap();
    let export = "export --construction td0 --dim 4 --out m.ictd";
    for command in [export, "import m.ictd --tasks 2"] {
        assert!(run(&directory, command, "").status.code() < Some(2));
    }
    assert!(!results.join("import/elements.svg").exists() && mine.exists());
    fs::remove_file(mine).unwrap();
    for folder in ["evaluate", "import", "train"] {
        assert_as_recorded(&results.join(folder));
    }
}

#[test]
fn a_run_whose_last_write_fails_is_not_finished_and_goes_on() {
    let directory = prepared(&[]);
    let whole = prepared(&[TRAIN]);
    let wanted = trained(&whole.join("results"));
    let train = directory.join("results").join(wanted.file_name().unwrap());
    fs::create_dir_all(train.join("records.csv")).unwrap();
    let line = refusal(&run(&directory, TRAIN, ""));
    assert!(line.contains("records.csv"), "{line}");
    let outcome = run_json(&train)["outcome"].to_string();
    assert!(outcome.contains("failed: ") && outcome.contains("records.csv"), "{outcome}");
    fs::remove_dir(train.join("records.csv")).unwrap();
    let checkpoint = train.join("seed_0/checkpoint.bin");
    let trained = fs::metadata(&checkpoint).unwrap().modified().unwrap();
    let again = run(&directory, TRAIN, "");
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
        assert!(is_finished(&run) && contents(&run) == whole);
        assert_as_recorded(&run);
    }
}

#[test]
fn a_changed_file_of_any_run_is_named_by_report_and_plot() {
    let directory = prepared(&[TRAIN, "demo --tasks 2"]);
    as_train(&directory.join("results"));
    let said = |command: &str| said(&run(&directory, command, ""));
    for file in ["train/records.csv", "train/seed_0/checkpoint.bin", "demo/records.csv"] {
        let path = directory.join("results").join(file);
        let intact = fs::read(&path).unwrap();
        for command in ["report results", "plot results"] {
            assert!(!said(command).contains("Not as"), "{command}");
            fs::write(&path, [&intact[..], b"\n"].concat()).unwrap();
            let text = said(command);
            assert!(text.contains("Not as the run wrote it: ") && text.contains(file), "{text}");
            fs::remove_file(&path).unwrap();
            assert!(said(command).contains(file), "{command} {file}");
            fs::write(&path, &intact).unwrap();
        }
    }
}

#[test]
fn a_directory_in_use_on_another_machine_is_refused_with_its_name() {
    let directory = prepared(&["demo --tasks 2", TRAIN]);
    let name = trained(&directory.join("results"));
    let name = name.file_name().unwrap().to_str().unwrap();
    let resume = format!("train --resume results/{name}");
    for (name, command) in [("demo", "demo --tasks 2"), (name, TRAIN), (name, &resume)] {
        let lock = directory.join("results").join(name).join(".lock");
        let before = contents(&directory);
        fs::write(&lock, "ictd\nprocess 4711 on node-17\n").unwrap();
        let line = refusal(&run(&directory, command, ""));
        let advice = "in use by process 4711 on node-17: if it has ended, remove";
        assert!(line.contains(advice), "{line}");
        assert!(contents(&directory) == before);
        fs::remove_file(&lock).unwrap();
        assert_eq!(run(&directory, command, "").status.code(), Some(0), "{command}");
    }
}

#[test]
fn a_journal_of_somebody_else_is_refused_and_reaches_nothing() {
    let directory = prepared(&["demo --tasks 2"]);
    ictd(&directory, "list");
    let mine = directory.join("data.csv");
    for line in ["remove ../../data.csv", "put ../../data.csv", "remove .lock", "nothing"] {
        let journal = directory.join("results/demo/.ictd-commit");
        fs::write(&journal, format!("{line}\n")).unwrap();
        for command in ["demo --tasks 2", "report results", "plot results/demo"] {
            let line = refusal(&run(&directory, command, ""));
            assert!(line.contains("is nothing that ictd wrote"), "{command}: {line}");
        }
        assert_eq!(fs::read_to_string(&mine).unwrap(), DATA);
    }
    // A file that the run did not write stays, whatever a journal says.
    let notes = directory.join("results/demo/notes.txt");
    fs::write(&notes, "mine").unwrap();
    for line in ["remove notes.txt\n", "put notes.txt\n"] {
        fs::write(notes.with_file_name(".ictd-commit"), line).unwrap();
        fs::write(notes.with_file_name(".ictd-new-notes.txt"), "theirs").unwrap();
        assert_eq!(run(&directory, "report results", "").status.code(), Some(0));
        assert_eq!(fs::read_to_string(&notes).unwrap(), "mine", "{line}");
    }
}
