//! A run directory describes itself, and one process at a time works on it.

use crate::common::{contents, files, ictd, json, refusal, trained};
use ictd::run::lock::RunLock;
use serde_json::Value;
use std::fs;
use std::path::Path;

const TRAIN: &str = "train --tasks 20 --batches 2 --batch-size 8 --context-length 10 --seeds 2 --checkpoint-every 0 --json";

fn run_json(run: &Path) -> Value {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

#[test]
fn run_json_has_versions_platform_times_digests_and_verdicts() {
    let out = tempfile::tempdir().unwrap();
    let result = json(&ictd(out.path(), &format!("{TRAIN} --threads 2")));
    let info = run_json(&trained(out.path()));
    assert_eq!((&info["format"], &info["command"]), (&2.into(), &"train".into()));
    assert_eq!(info["versions"]["ictd"], env!("CARGO_PKG_VERSION"));
    assert!(info["versions"]["rustc"].as_str().unwrap().starts_with("rustc 1."));
    assert!(info["platform"]["target"].as_str().unwrap().contains('-'));
    assert!(info["platform"]["instructions"].is_string());
    assert_eq!(info["platform"]["threads"], 2);
    assert_eq!(info["outcome"], "finished");
    assert!(info["seconds"].as_f64().unwrap() >= 0.0);
    assert!(info["started"].as_str().unwrap().ends_with('Z'));
    for seed in result["seeds"].as_array().unwrap() {
        assert_eq!(info["digests"]["seeds"][seed["seed"].to_string()], seed["digest"]);
    }

    let claims = json(&ictd(out.path(), "demo --tasks 20 --json"))["claims"].clone();
    let info = run_json(&out.path().join("demo"));
    assert_eq!(info["verdicts"], claims);
    let digests = info["digests"]["files"].as_object().unwrap();
    let written = files(&out.path().join("demo"));
    for name in written.iter().filter(|name| !["run.json", ".lock"].contains(&name.as_str())) {
        let mut digest = ictd_core::digest::Digest::EMPTY;
        digest.bytes(&fs::read(out.path().join("demo").join(name)).unwrap());
        assert_eq!(digests[name], digest.to_string(), "{name}");
    }
    assert_eq!(digests.len() + 2, written.len());
}

#[test]
fn a_training_run_leaves_everything_that_its_directory_promises() {
    let out = tempfile::tempdir().unwrap();
    json(&ictd(out.path(), TRAIN));
    let mut expected: Vec<String> = ["config.toml", "run.json", "results.json", ".lock"]
        .into_iter()
        .chain(["records.csv", "matrices.csv", "train.svg"])
        .map(str::to_owned)
        .collect();
    for seed in [0, 1] {
        expected.extend(
            ["checkpoint.bin", "metrics.csv", "elements.csv", "data.npz", "params.json"]
                .into_iter()
                .chain(["parameters.safetensors", ".lock"])
                .map(|name| format!("seed_{seed}/{name}")),
        );
    }
    expected.sort();
    let run = trained(out.path());
    assert_eq!(files(&run), expected);
    // Its figure is drawn again from its records.
    let picture = fs::read(run.join("train.svg")).unwrap();
    fs::remove_file(run.join("train.svg")).unwrap();
    assert!(ictd(out.path(), &format!("plot {}", run.display())).status.success());
    assert!(fs::read(run.join("train.svg")).unwrap() == picture);
}

#[test]
fn another_recipe_has_a_folder_of_its_own() {
    let out = tempfile::tempdir().unwrap();
    json(&ictd(out.path(), TRAIN));
    let run = trained(out.path());
    let first = contents(&run);
    json(&ictd(out.path(), &TRAIN.replace("--seeds 2", "--seeds 1 --network rnn")));
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 2);
    assert!(contents(&run) == first);
    // Another folder of that name is not written to.
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("learning-rate = 0.001", "learning-rate = 0.01")).unwrap();
    let line = refusal(&ictd(out.path(), TRAIN));
    assert!(line.contains("config.toml: another recipe"), "{line}");
}

#[test]
fn a_shared_run_keeps_its_seeds_at_another_scale() {
    let out = tempfile::tempdir().unwrap();
    let scale = "reproduce rnn-learning --tasks 20 --seeds";
    ictd(out.path(), &format!("{scale} 2"));
    let results = || fs::read(out.path().join("rnn-learning/results.json")).unwrap();
    let (run, two) = (trained(&out.path().join("runs")), results());
    let first = contents(&run);
    ictd(out.path(), &format!("{scale} 1"));
    assert!(contents(&run) == first && results() != two);
    ictd(out.path(), &format!("{scale} 2"));
    assert!(contents(&run) == first && results() == two);
}

#[test]
fn a_directory_that_another_process_works_on_is_refused_in_one_line() {
    let out = tempfile::tempdir().unwrap();
    json(&ictd(out.path(), TRAIN));
    json(&ictd(out.path(), "demo --tasks 3 --json"));
    let run = trained(out.path());
    let resume = format!("train --resume {}", run.display());
    ictd(out.path(), "reproduce figure-2 --seeds 1 --tasks 10");
    let shared = trained(&out.path().join("runs"));
    let [of_run, of_shared] = [run, shared].map(|run| run.join("seed_0"));
    let plot = format!("plot {}", out.path().join("demo").display());
    let commands = [
        (of_run.to_str().unwrap(), TRAIN),
        (of_run.to_str().unwrap(), resume.as_str()),
        ("demo", "demo --tasks 3"),
        ("verify", "verify --seeds 2"),
        ("figure-2", "reproduce figure-2 --seeds 1 --tasks 10"),
        (of_shared.to_str().unwrap(), "reproduce figure-2 --seeds 1 --tasks 10"),
        ("", "--threads 1"),
        ("demo", plot.as_str()),
    ];
    for (directory, command) in commands {
        let claimed = out.path().join(directory);
        // This test is the first process.
        fs::create_dir_all(&claimed).unwrap();
        let lock = RunLock::acquire(&claimed).unwrap();
        let before = contents(out.path());
        let line = refusal(&ictd(out.path(), command));
        let holder = format!("in use by process {}", std::process::id());
        assert!(line.contains(&holder), "{command}: {line}");
        let named = claimed.to_str().unwrap().trim_end_matches('/');
        assert!(line.contains(named), "{command}: {line}");
        assert!(contents(out.path()) == before, "{command} changed something");
        drop(lock);
    }
}
