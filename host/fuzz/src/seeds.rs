//! Real files for each target to start from, in DIR/TARGET: what the program writes itself, and what
//! NumPy and pandas wrote.

use crate::{TARGETS, small_run};
use ictd_core::model::ConstructionSettings;
use std::fs;
use std::io::Read;
use std::path::Path;

/// Files of other tools, and which targets start from them.
const FILES: [(&str, &str, &[u8]); 8] = [
    ("npz", "numpy.npz", include_bytes!("../../tests/files/numpy.npz")),
    ("npz", "compressed.npz", include_bytes!("../../tests/files/numpy_compressed.npz")),
    ("npz", "transitions.npz", include_bytes!("../../tests/files/numpy_transitions.npz")),
    ("safetensors", "python", include_bytes!("../../tests/files/python.safetensors")),
    ("safetensors", "layers", include_bytes!("../../tests/files/python_sequential.safetensors")),
    ("csv", "pandas.csv", include_bytes!("../../tests/files/pandas.csv")),
    ("csv", "cycle.csv", b"phi_0;reward\n1;0\n0;1\n1;\n"),
    ("json", "params.json", br#"{"d": 4, "l": 3, "gamma": 0.9, "activation": "identity"}"#),
];

/// A small sweep.
const PLAN: &str = "seeds = 2
[settings]
tasks = 2
batch-size = 4
context-length = 6
[grid]
learning-rate = [0.001, 0.01]
layers = [1, 2]
";

pub fn write(out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    for (target, _) in TARGETS {
        fs::create_dir_all(out.join(target))?;
    }
    let put =
        |target: &str, name: &str, bytes: &[u8]| fs::write(out.join(target).join(name), bytes);
    for (target, name, bytes) in FILES {
        put(target, name, bytes)?;
    }
    put("json", "lock", b"ictd\nprocess 4711 on node-17\n")?;

    // A run of each kind of directory.
    let results = out.join("results");
    let run = |arguments: &str| {
        let out = [std::ffi::OsStr::new("--out"), results.as_os_str()].map(Into::into);
        ictd::run(arguments.split(' ').map(Into::into).chain(out).collect())
    };
    // As `small_run` has them.
    let of_train = "--tasks 4 --batches 2 --batch-size 4 --context-length 6 --log-every 2";
    run(&format!("ictd train {of_train} --json"));
    // A run is the same wherever it is.
    fs::rename(fs::read_dir(&results)?.next().ok_or("no run")??.path(), results.join("train"))?;
    run("ictd demo --tasks 2 --json");
    run("ictd verify --seeds 2 --json");
    fs::write(results.join("plan.toml"), PLAN)?;
    let plan = results.join("plan.toml");
    let plan = plan.to_str().ok_or("a path that is no text")?;
    run(&format!("ictd sweep {plan} --json"));
    run(&format!("ictd sweep {plan} --collect --json"));
    let train = results.join("train");
    for (target, file) in [
        ("toml", "config.toml"),
        ("toml", "../demo/config.toml"),
        ("toml", "../verify/config.toml"),
        ("checkpoint", "seed_0/checkpoint.bin"),
        ("npz", "seed_0/data.npz"),
        ("safetensors", "seed_0/parameters.safetensors"),
        ("csv", "seed_0/metrics.csv"),
        ("csv", "seed_0/elements.csv"),
        ("json", "seed_0/params.json"),
        ("json", "run.json"),
    ] {
        put(target, &file.replace(['/', '.'], "_"), &fs::read(train.join(file))?)?;
    }
    let record = |name: &str| fs::read(results.join(name));
    for run in ["train", "demo", "verify"] {
        let mut parts = Vec::new();
        for file in ["0config.toml", "1run.json", "2results.json", "5records.csv"] {
            // `0` is 48, and six files are told apart.
            let (which, name) = file.split_at(1);
            parts.push([which.as_bytes(), &record(&format!("{run}/{name}"))?].concat());
        }
        put("run_directory", run, &parts.join(b"\n---\n".as_slice()))?;
        put("report", run, &record(&format!("{run}/records.csv"))?)?;
    }
    put("run_directory", "journal", b"4remove old.csv\nput records.csv\n\n---\n0x\n---\n3ictd\n")?;
    let sweep = [record("sweep/summary.csv")?, record("sweep/config.toml")?];
    put("report", "sweep", &sweep.join(b"\n---\n".as_slice()))?;
    // The whole table has thousands of rows.
    let rows = fs::read_to_string(train.join("records.csv"))?;
    let few: Vec<_> = rows.lines().take(30).collect();
    put("csv", "records", few.join("\n").as_bytes())?;
    let checkpoint = fs::read(train.join("seed_0/checkpoint.bin"))?;
    let mut record = ictd::train::checkpoint::Checkpoint::from_bytes(&checkpoint)?.record;
    put("checkpoint", "record", &record)?;
    put("toml", "plan", PLAN.as_bytes())?;
    put("json", "recipe", &serde_json::to_vec(&small_run())?)?;
    // Once accepted, with another random stream than the one stored.
    record[28..60].fill(0);
    put("checkpoint", "record_without_stream", &record)?;

    let mut archive = zip::ZipArchive::new(fs::File::open(train.join("seed_0/data.npz"))?)?;
    for at in 0..archive.len() {
        let mut array = Vec::new();
        archive.by_index(at)?.read_to_end(&mut array)?;
        put("npz", &format!("array_{at}"), &array)?;
    }
    let mut buffer = [0; 4096];
    let settings = ConstructionSettings::new(0.9).step_size(0.2).depth(3);
    let mut predictor = ictd_core::Predictor::<3>::new([1.0, 10.0, 300.0])?;
    let mut samples: Vec<f32> = vec![1.0, 10.0, 300.0];
    for t in 0..200u8 {
        let sample = match t {
            90 => 65535.0,
            95 => f32::NAN,
            _ => 20.0 + f32::from(t % 9) + f32::from(t.wrapping_mul(151) % 64),
        };
        predictor.observe(sample);
        samples.push(sample);
    }
    let samples: Vec<u8> = samples.into_iter().flat_map(f32::to_le_bytes).collect();
    put("predictor", "samples", &samples)?;
    let stored = predictor.write(&mut buffer)?;
    put("predictor", "stored", stored)?;
    put("c_storage", "predictor", &[&[0, 1, 0, 0], stored].concat())?;
    put("stored_model", "td0", ictd_core::Model::<2>::td0(settings)?.write(&mut buffer)?)?;
    put("stored_model", "td0_d4", ictd_core::Model::<4>::td0(settings)?.write(&mut buffer)?)?;
    fs::remove_dir_all(results)?;
    Ok(())
}
