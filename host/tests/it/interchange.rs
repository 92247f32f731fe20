//! Interchange with NumPy and with the authors' code, each by its own reader and writer.
//!
//! Needs `python3` with NumPy (another one: `ICTD_PYTHON`), and says so if there is none. With
//! `ICTD_AUTHORS` = a checkout of the authors' repository (and its requirements) their unmodified
//! plotting code and model take part.

use crate::common::*;
use ictd::formats::{safetensors, seed_run};
use ictd::model_file::{self, AnyModel};
use ictd::train::Recipe;
use ictd::train::directory::seed_params;

fn python() -> Command {
    Command::new(std::env::var_os("ICTD_PYTHON").unwrap_or("python3".into()))
}

fn script(arguments: &[&str]) -> Output {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/interchange.py");
    let output = python().arg(path).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn assert_close(what: &str, got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{what}: {got}, {want}");
    }
}

/// Two seeds' folders as the training writes them: three log points, a parameter that can be told.
fn write_seeds(directory: &Path) {
    for seed in [0, 1] {
        let p = |t: u64| {
            let mut p = vec![0.01_f32; 49];
            p[48] = (t / 10 - 1) as f32 + seed as f32;
            vec![p]
        };
        let log = crate::units::formats::seed_run::seed(seed, &[10, 20, 30], p);
        let params = seed_params(&Recipe { dim: 3, tasks: 30, ..Recipe::default() }, seed);
        let folder = directory.join(format!("seed_{seed}"));
        fs::create_dir(&folder).unwrap();
        folder.put(seed_run::DATA_FILE, seed_run::to_npz(&log).unwrap());
        folder.put(seed_run::PARAMS_FILE, params.to_string());
    }
}

#[test]
fn numpy_and_the_authors_code_read_ours_and_we_read_theirs() {
    let numpy = python().args(["-c", "import numpy"]).output();
    if !numpy.is_ok_and(|output| output.status.success()) {
        return not_run("interchange: no python3 with numpy (ICTD_PYTHON names one)");
    }
    let directory = Folder::new();
    let path = directory.to_str().unwrap();
    let done = |line: String| object(&directory, 0, &line);
    script(&["write", path]);
    write_seeds(&directory);

    // Theirs through `export` and `evaluate` (on their transitions).
    let mut ours = serde_json::Map::new();
    for (mode, sharing) in [("auto", "autoregressive"), ("sequential", "sequential")] {
        let log = format!("{path}/{mode}/data.npz");
        let stored = done(format!("export {log} --out {path}/{mode}.ictd"));
        assert_eq!(stored["mode"], sharing);
        let Ok(AnyModel::Dense(parameters, _)) = model_file::open(Path::new(&log), None) else {
            panic!("{log}");
        };
        directory.put(format!("{mode}/parameters.safetensors"), safetensors::to_bytes(&parameters));
        let line =
            format!("evaluate --data {path}/transitions.npz --model {log} --out {path}/{mode}");
        ours.insert(mode.into(), done(line)["query_values"].clone());
    }

    // Ours through NumPy and the paper's literal equation.
    let theirs: Value = serde_json::from_slice(&script(&["read", path]).stdout).unwrap();
    for mode in ["auto", "sequential"] {
        let (got, want) = (numbers(&ours[mode]), numbers(&theirs[mode]));
        assert!(want.iter().any(|x| x.abs() > 1e-3), "{mode}: {want:?} says nothing");
        assert_close(mode, &got, &want, 1e-10);
    }

    let Some(code) = std::env::var_os("ICTD_AUTHORS") else {
        eprintln!("skipped: the authors' own code (ICTD_AUTHORS names a checkout of it)");
        return;
    };
    done(format!("train --seeds 2 --tasks 30 --out {path}/run"));
    let output = script(&["plot", path, code.to_str().unwrap()]);
    let theirs: Value = serde_json::from_slice(&output.stdout).unwrap();
    for mode in ["auto", "sequential"] {
        assert_close(mode, &numbers(&ours[mode]), &numbers(&theirs[mode]), 1e-5);
    }
    let figures = theirs["figures"].as_array().unwrap();
    assert_eq!(theirs["figures of the other"].as_array(), Some(figures));
    for name in
        ["P_metrics_0.pdf", "Q_metrics_0.pdf", "batch_td_comparison.pdf", "PQ_mean_0_30.pdf"]
    {
        assert!(figures.contains(&name.into()), "{name} of {figures:?}");
    }
}
