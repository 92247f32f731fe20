//! A run directory describes itself, and one process at a time works on it.

use crate::common::*;
use crate::transactions::copy;
use ictd::run::lock::RunLock;
use ictd::train::checkpoint::Checkpoint;

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

/// Files of a run's folder, damaged in every way: what is left of it, or what stands in its place.
fn damages(intact: &[u8], strangers: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let mut flipped = intact.to_vec();
    flipped[intact.len() / 2] ^= 2;
    let half = intact[..intact.len() / 2].to_vec();
    let own = [Vec::new(), half, vec![0; intact.len()], flipped];
    own.into_iter().chain(strangers.iter().cloned()).map(Some).chain([None]).collect()
}

fn damage(file: &Path, content: Option<&Vec<u8>>) {
    match content {
        Some(content) => fs::write(file, content).unwrap(),
        None => fs::remove_file(file).unwrap(),
    }
}

#[test]
fn the_same_command_makes_every_damaged_file_of_a_run_again_or_refuses_it_by_name() {
    let small = "--tasks 4 --batches 1 --batch-size 4 --context-length 6 --log-every 2";
    let of_sweep =
        "seeds = 2\n[settings]\ntasks = 4\nbatches = 1\nbatch-size = 4\ncontext-length = 6\n";
    let train = format!("train {small} --seeds 2");
    for command in [
        &train,
        // Of more features and layers than the paper's, whose network is another.
        &format!("{train} --attention softmax --dim 9 --states 10 --layers 5"),
        &format!("{train} --network rnn"),
        "sweep plan.toml",
    ] {
        let place = &Folder::with("plan.toml", of_sweep);
        let other =
            command.replace("plan.toml", "other.toml").replace("train ", "train --gamma 0.5 ");
        place.put("other.toml", format!("{of_sweep}gamma = 0.5\n"));
        object(place, 0, &format!("{other} --out other"));
        object(place, 0, &format!("{command} --out clean"));
        let (clean, stranger) = (trained(&place.join("clean")), trained(&place.join("other")));
        let folder = place.join("run").join(clean.file_name().unwrap());
        copy(&clean, &folder);
        let mut mended = 0;
        for name in files(&clean).iter().filter(|name| !name.starts_with("seed_1/")) {
            let (file, intact) = (folder.join(name), clean.bytes(name));
            let strangers = [stranger.join(name), clean.join(name.replace("seed_0/", "seed_1/"))];
            for content in damages(&intact, &strangers.map(|path| fs::read(path).unwrap())) {
                damage(&file, content.as_ref());
                let output = run(place, &format!("{command} --threads 1 --out run"));
                let said = said(&output);
                if code(&output) == Some(0) {
                    assert_same(&folder, &clean);
                    let is_derived = !["run.json", "config.toml", "checkpoint.bin", ".lock"]
                        .iter()
                        .any(|of| name.ends_with(of));
                    let is_named = said.contains("made again") && said.contains(name);
                    assert!(
                        !is_derived || is_named || content.as_ref() == Some(&intact),
                        "{name}: {said}"
                    );
                    mended += usize::from(is_derived);
                } else {
                    assert!(refusal(&output).contains(name), "{command}: {name}: {said}");
                    fs::write(&file, &intact).unwrap();
                }
            }
        }
        assert!(mended >= 7, "{command}: {mended}");
    }
}

#[test]
fn a_damaged_file_is_made_again_or_named_by_whoever_reads_the_run() {
    let place = &Folder::with("data.csv", "phi_0,phi_1,phi_2,phi_3,reward\n1,0,0,0,1\n0,1,0,1,0\n");
    object(place, 0, &format!("{} --out .", TRAIN.replace(" --json", "")));
    as_train(place);
    object(place, 0, "demo --tasks 2 --out .");
    let clean = contents(&place.join("train"));
    object(place, 0, "export train --out model");
    object(place, 0, "export train --seed 1 --out other");
    let other = place.bytes("train/seed_1/parameters.safetensors");
    for name in ["parameters.safetensors", "data.npz", "metrics.csv"] {
        let file = place.join("train/seed_0").join(name);
        for content in damages(&fs::read(&file).unwrap(), std::slice::from_ref(&other)) {
            damage(&file, content.as_ref());
            let checked = object(place, 1, "report train --check");
            assert!(checked["differing"].to_string().contains(name), "{checked}");
            for command in
                ["export train --out again", "evaluate --data data.csv --model train/seed_0"]
            {
                damage(&file, content.as_ref().or(Some(&Vec::new())));
                let output = run(place, command);
                let said = said(&output);
                assert!(
                    code(&output) == Some(0) && said.contains(&format!("seed_0/{name}")),
                    "{said}"
                );
                assert_eq!(contents(&place.join("train")), clean);
            }
            assert_eq!(place.bytes("again"), place.bytes("model"));
        }
        // Without its run a file is what it is.
        fs::create_dir_all(place.join("alone")).unwrap();
        for content in
            damages(&fs::read(&file).unwrap(), &[b"PK\x03\x04".to_vec(), b"ictd".to_vec()])
        {
            let path = place.join("alone").join(name);
            path.exists().then(|| fs::remove_file(&path).unwrap());
            content.iter().for_each(|content| fs::write(&path, content).unwrap());
            if content.as_ref() != Some(&fs::read(&file).unwrap()) {
                refused(place, "export alone --out x");
                refused(place, "demo --tasks 2 --model alone");
            }
        }
        fs::remove_dir_all(place.join("alone")).unwrap();
    }
    for command in ["report train", "plot train"] {
        place.put("train/records.csv", "");
        let said = said(&run(place, command));
        assert!(said.contains("made again") && said.contains("records.csv"), "{said}");
        fs::remove_file(place.join("train/report.html")).ok();
        assert_eq!(contents(&place.join("train")), clean);
    }
    let checked = object(place, 0, "report . --check --retrain");
    assert_eq!(checked["runs"], 2, "{checked}");
    place.put("demo/records.csv", "");
    assert!(refused(place, "report demo").contains("records.csv"));
    assert_eq!(object(place, 1, "report . --check")["differing"].as_array().unwrap().len(), 1);
    // Another checkpoint than training gives.
    let checkpoint = place.join("train/seed_1/checkpoint.bin");
    let mut found = Checkpoint::from_bytes(&fs::read(&checkpoint).unwrap()).unwrap();
    found.run.points[0].loss += 1.0;
    fs::write(&checkpoint, found.to_bytes()).unwrap();
    object(place, 0, "report train");
    object(place, 0, "report train --check");
    let checked = object(place, 1, "report train --check --retrain");
    assert!(checked["differing"].to_string().contains("seed_1/checkpoint.bin"), "{checked}");
}

#[test]
fn what_an_experiment_judges_on_the_first_thread_fits_its_stack() {
    let out = Folder::new();
    // After two tasks claims need not hold; a stack that overflows leaves no exit code.
    let trained =
        ["ablation", "algorithm-1", "autoregressive", "depth", "losses", "pretraining-loss"];
    let trained = trained.map(|name| format!("reproduce {name} --seeds 1 --tasks 2"));
    let others = ["control", "off-policy"].map(|name| format!("reproduce {name} --seeds 1"));
    for command in trained.iter().chain(&others) {
        let output = ictd(&out, command);
        assert!(matches!(code(&output), Some(0 | 1)), "{command}: {output:?}");
    }
}
