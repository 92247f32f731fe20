//! A run directory describes itself, and one process at a time works on it.

use crate::common::*;
use ictd::run::lock::RunLock;

const TRAIN: &str = "train --tasks 20 --batches 2 --batch-size 8 --context-length 10 --seeds 2 --checkpoint-every 0 --json";

#[test]
fn run_json_has_versions_platform_times_digests_and_verdicts() {
    let out = Folder::new();
    let result = json(&ictd(&out, &format!("{TRAIN} --threads 2")));
    let info = trained(&out).json("run.json");
    assert_eq!((&info["format"], &info["command"]), (&2.into(), &"train".into()));
    assert_eq!(info["versions"]["ictd"], env!("CARGO_PKG_VERSION"));
    assert!(info["versions"]["rustc"].as_str().unwrap().starts_with("rustc 1."));
    assert!(info["platform"]["target"].as_str().unwrap().contains('-'));
    assert!(info["platform"]["instructions"].is_string());
    assert_eq!((&info["platform"]["threads"], &info["outcome"]), (&2.into(), &"finished".into()));
    assert!(info["seconds"].as_f64().unwrap() >= 0.0);
    assert!(info["started"].as_str().unwrap().ends_with('Z'));
    for seed in result["seeds"].as_array().unwrap() {
        assert_eq!(info["digests"]["seeds"][seed["seed"].to_string()], seed["digest"]);
    }

    let claims = json(&ictd(&out, "demo --tasks 20 --json"))["claims"].clone();
    let info = out.json("demo/run.json");
    assert_eq!(info["verdicts"], claims);
}

#[test]
fn a_training_run_leaves_everything_that_its_directory_promises() {
    let out = Folder::new();
    json(&ictd(&out, TRAIN));
    let of_run = "config.toml run.json results.json .lock records.csv matrices.csv train.svg";
    let of_seed = "checkpoint.bin metrics.csv elements.csv data.npz params.json \
        parameters.safetensors .lock";
    let mut expected: Vec<_> = of_run.split(' ').map(str::to_owned).collect();
    for seed in [0, 1] {
        expected.extend(of_seed.split(' ').map(|name| format!("seed_{seed}/{name}")));
    }
    expected.sort();
    assert_eq!(files(&trained(&out)), expected);
}

#[test]
fn another_recipe_has_a_folder_of_its_own() {
    let out = Folder::new();
    json(&ictd(&out, TRAIN));
    let run = trained(&out);
    let first = contents(&run);
    json(&ictd(&out, &TRAIN.replace("--seeds 2", "--seeds 1 --network rnn")));
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    assert!(contents(&run) == first);
    // Another folder of that name is not written to.
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("learning-rate = 0.001", "learning-rate = 0.01")).unwrap();
    let line = refusal(&ictd(&out, TRAIN));
    assert!(line.contains("config.toml: another recipe"), "{line}");
}

#[test]
fn a_shared_run_keeps_its_seeds_at_another_scale() {
    let out = Folder::new();
    let scale = "reproduce rnn-learning --tasks 20 --seeds";
    ictd(&out, &format!("{scale} 2"));
    let results = || out.bytes("rnn-learning/results.json");
    let (run, two) = (trained(&out.join("runs")), results());
    let first = contents(&run);
    ictd(&out, &format!("{scale} 1"));
    assert!(contents(&run) == first && results() != two);
    ictd(&out, &format!("{scale} 2"));
    assert!(contents(&run) == first && results() == two);
}

#[test]
fn a_directory_that_another_process_works_on_is_refused_in_one_line() {
    let out = Folder::new();
    let figure_2 = "reproduce figure-2 --seeds 1 --tasks 10";
    for command in [TRAIN, "demo --tasks 3", figure_2] {
        ictd(&out, command);
    }
    let (run, shared) = (trained(&out), trained(&out.join("runs")));
    let resume = format!("train --resume {}", run.display());
    let plot = format!("plot {}", out.join("demo").display());
    for (claimed, command) in [
        (run.join("seed_0"), TRAIN),
        (run.join("seed_0"), &resume),
        (out.join("demo"), "demo --tasks 3"),
        (out.join("verify"), "verify --seeds 2"),
        (out.join("figure-2"), figure_2),
        (shared.join("seed_0"), figure_2),
        (out.to_path_buf(), "--threads 1"),
        (out.join("demo"), &plot),
    ] {
        // This test is the first process.
        fs::create_dir_all(&claimed).unwrap();
        let lock = RunLock::acquire(&claimed).unwrap();
        let before = contents(&out);
        let line = refusal(&ictd(&out, command));
        let holder = format!("in use by process {}", std::process::id());
        assert!(line.contains(&holder), "{command}: {line}");
        assert!(line.contains(claimed.to_str().unwrap()), "{command}: {line}");
        assert!(contents(&out) == before, "{command} changed something");
        drop(lock);
    }
}
