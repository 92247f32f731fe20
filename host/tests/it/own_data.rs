//! `evaluate`, `import` and `compare`: a user's own data and parameters, from the command line.

use crate::common::as_train;
use serde_json::Value;
use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

/// A deterministic cycle of three states with rewards 1, 0, 0: v = (1, gamma^2, gamma) / (1 - gamma^3).
const CYCLE: &str = "phi_0,phi_1,phi_2,reward\n1,0,0,1\n0,1,0,0\n0,0,1,0\n1,0,0,\n";

/// Runs `ictd` in a directory; its exit code must be this one.
fn ictd(directory: &TempDir, exit_code: i32, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ictd"));
    let output = command.current_dir(directory).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(exit_code), "{arguments:?}: {}", stderr(&output));
    output
}

/// The one JSON object on stdout.
fn json(output: Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn write(directory: &TempDir, name: &str, content: impl AsRef<[u8]>) {
    fs::write(directory.path().join(name), content).unwrap();
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The weights of the transformer, of the algorithm, and of LSTD.
fn weights(result: &Value) -> [Vec<f64>; 3] {
    let of = |i: usize| &result["estimators"][i]["weights"];
    [0, 1, 2].map(|i| if of(i).is_null() { Vec::new() } else { numbers(of(i)) })
}

#[test]
fn enough_layers_predict_the_true_values_of_a_users_states() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE);
    write(&directory, "ask.csv", "phi_0,phi_1,phi_2\n0,0,1\n");
    let arguments = ["evaluate", "--data", "data.csv", "--queries", "ask.csv", "--gamma", "0.5"];
    let more = ["--layers", "2000", "--alpha", "0.9", "--json"];
    let result = json(ictd(&directory, 0, &[&arguments[..], &more[..]].concat()));
    let v: Vec<f64> = [1.0, 0.25, 0.5].iter().map(|x| x / 0.875).collect();
    for (got, want) in weights(&result).iter().flat_map(|w| w.iter().zip(&v)) {
        assert!((got - want).abs() < 1e-12, "{got} against {want}");
    }
    assert!((numbers(&result["query_values"])[0] - v[2]).abs() < 1e-12);
    let values = fs::read_to_string(directory.path().join("results/evaluate/values.csv")).unwrap();
    assert_eq!(values.lines().count(), 1 + 4, "{values}");
}

#[test]
fn each_layer_is_a_step_of_its_algorithm_on_a_users_data() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE);
    for lambda in ["0", "0.5"] {
        let arguments = ["evaluate", "--data", "data.csv", "--lambda", lambda, "--json"];
        let result = json(ictd(&directory, 0, &arguments));
        let difference = result["estimators"][1]["difference"].as_f64().unwrap();
        assert!(difference < 1e-14, "{lambda}: {difference}");
        let [weights, ..] = weights(&result);
        assert!(weights.iter().any(|w| w.abs() > 0.1), "{lambda}: {weights:?}");
    }
}

#[test]
fn layers_that_diverge_are_said_to() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE.replace("1,0", "200,0").replace("0,1", "0,200"));
    let result = json(ictd(&directory, 0, &["evaluate", "--data", "data.csv", "--json"]));
    assert_eq!(result["diverges"], true, "{result}");
    let text = ictd(&directory, 0, &["evaluate", "--data", "data.csv"]).stdout;
    assert!(String::from_utf8(text).unwrap().contains("--model universal"));
    let universal = ["evaluate", "--data", "data.csv", "--model", "universal", "--json"];
    assert!(json(ictd(&directory, 0, &universal))["diverges"] == false);
}

#[test]
fn nothing_crosses_the_end_of_an_episode() {
    let directory = tempfile::tempdir().unwrap();
    let evaluate = |data: &str, more: &str| {
        write(&directory, "data.csv", data);
        let options = "--lambda 0.5 --gamma 0.5 --json";
        let arguments = ["evaluate", "--data", "data.csv"].into_iter();
        let arguments: Vec<_> =
            arguments.chain(options.split(' ')).chain(more.split(' ')).collect();
        json(ictd(&directory, 0, &arguments))
    };
    let near = |result: &Value, count: usize, want: [f64; 2]| {
        for (got, want) in weights(result)[..count].iter().flat_map(|w| w.iter().zip(want)) {
            assert!((got - want).abs() < 1e-12, "{result}");
        }
    };
    // Two episodes of two states: reward 1, then 2, then the end.
    let twice = "phi_0,phi_1,reward,terminal\n1,0,1,0\n0,1,2,1\n1,0,1,0\n0,1,2,1\n";
    let result = evaluate(twice, "--layers 2000 --alpha 0.5");
    assert_eq!((&result["transitions"], &result["episodes"]), (&4.into(), &2.into()));
    near(&result, 3, [2.0, 2.0]);
    // One step from w = 0 is alpha/n sum_i r_i e_i, where e restarts with each episode.
    let result = evaluate(twice, "--layers 1 --alpha 0.2");
    near(&result, 2, [0.2, 0.2]);
    // The same cut short: no reward follows the second state, and no transition leaves it.
    let cut = "phi_0,phi_1,reward,end\n1,0,1,0\n0,1,,1\n1,0,1,0\n0,1,,1\n";
    let result = evaluate(cut, "--layers 1 --alpha 0.2");
    assert_eq!((&result["transitions"], &result["episodes"]), (&2.into(), &2.into()));
    near(&result, 2, [0.2, 0.0]);

    write(&directory, "data.csv", twice.replace("1,2,1\n1", "1,2,yes\n1"));
    let refused = ictd(&directory, 2, &["evaluate", "--data", "data.csv"]);
    let line = "error: data.csv: row 2 (line 3), column `terminal`: `yes`; accepted is 0 or 1\n";
    assert_eq!(stderr(&refused), line);
}

#[test]
fn bad_data_are_refused_in_one_line_that_names_row_and_column() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE.replace("0,0,1,0", "0,oops,1,0"));
    let refused = ictd(&directory, 2, &["evaluate", "--data", "data.csv"]);
    assert_eq!(
        stderr(&refused),
        "error: data.csv: row 3 (line 4), column `phi_1`: `oops`; accepted is a finite number such \
         as -0.25 or 1e-3\n"
    );
    assert!(!directory.path().join("results/evaluate/results.json").exists());
    let refused = ictd(&directory, 2, &["evaluate", "--data", "missing.npz"]);
    assert!(stderr(&refused).starts_with("error: missing.npz: "));
}

#[test]
fn imported_parameters_make_a_run_whose_files_all_evaluate_alike() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE);
    // Theorem 1's parameters for d = 3 as another tool would write them: plain P and Q, no metadata.
    let (mut p, mut q) = (vec![0.0_f32; 49], vec![0.0_f32; 49]);
    p[48] = 1.0;
    for i in 0..3 {
        q[7 * i + i] = -0.25;
        q[7 * i + 3 + i] = 0.25;
    }
    let header = r#"{"P":{"dtype":"F32","shape":[7,7],"data_offsets":[0,196]},"Q":{"dtype":"F32","shape":[7,7],"data_offsets":[196,392]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(p.iter().chain(&q).flat_map(|x| x.to_le_bytes()));
    write(&directory, "theirs.safetensors", bytes);

    let refused = ictd(&directory, 2, &["import", "theirs.safetensors", "--gamma", "0.9"]);
    assert!(stderr(&refused).contains("--layers: the model's file does not say; accepted is"));
    let said = ["--gamma", "0.9", "--attention", "linear", "--layers", "8", "--alpha", "0.25"];
    let arguments =
        [&["import", "theirs.safetensors", "--json", "--tasks", "5"], &said[..]].concat();
    let result = json(ictd(&directory, 0, &arguments));
    assert_eq!(result["elements"][0]["q_trace_upper_left"], -0.75);
    // It is batch TD: no difference, cosines of 1.
    assert!(result["vd"]["mean"].as_f64().unwrap() < 1e-20, "{result}");
    assert!((result["iws"]["mean"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{result}");
    for name in ["parameters.svg", "records.csv", "comparison.csv"] {
        assert!(directory.path().join("results/import").join(name).is_file(), "{name}");
    }

    let run = "results/import";
    let found = ["", "/parameters.safetensors", "/model.ictd"].map(|file| {
        let model = format!("{run}{file}");
        let arguments = ["evaluate", "--data", "data.csv", "--model", &model, "--json"];
        // gamma is stored in f32 in the stored model.
        let result = json(ictd(&directory, 0, &[&arguments[..], &["--gamma", "0.9"]].concat()));
        numbers(&result["estimators"][0]["weights"])
    });
    assert!(found[0] == found[1] && found[0] == found[2], "{found:?}");
}

#[test]
fn an_import_is_repeated_bit_for_bit_from_its_config() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", CYCLE);
    ictd(&directory, 0, &["evaluate", "--data", "data.csv", "--out", "a"]);
    let config = ["--config", "a/evaluate/config.toml", "--out", "b"];
    ictd(&directory, 0, &config);
    let result = json(ictd(&directory, 0, &["compare", "a", "b", "--json"]));
    assert_eq!(result["equal"], true);

    ictd(&directory, 0, &["evaluate", "--data", "data.csv", "--out", "c", "--layers", "16"]);
    let result = json(ictd(&directory, 1, &["compare", "a", "c", "--json"]));
    assert_eq!(result["equal"], false);
    let files: Vec<_> = (result["differences"].as_array().unwrap().iter())
        .map(|d| (d["file"].as_str().unwrap(), d["first_difference"].as_str()))
        .collect();
    assert_eq!(files[0].0, "evaluate/config.toml");
    assert_eq!(files[0].1.map(|place| place.contains("layers = 16")), Some(true), "{files:?}");
    assert!(files.contains(&("evaluate/values.csv", None)), "{files:?}");
    assert!(stderr(&ictd(&directory, 2, &["compare", "a", "nothing"])).contains("nothing: "));
}

#[test]
fn runs_that_differ_in_threads_alone_are_equal() {
    let directory = tempfile::tempdir().unwrap();
    for (out, threads) in [("a", "1"), ("b", "2")] {
        ictd(&directory, 0, &["demo", "--tasks", "30", "--out", out, "--threads", threads]);
    }
    // Written on one side alone, then on both: it says how many threads there were.
    ictd(&directory, 0, &["report", "a"]);
    ictd(&directory, 0, &["compare", "a", "b"]);
    ictd(&directory, 0, &["report", "b"]);
    let page = |out: &str| fs::read(directory.path().join(out).join("report.html")).unwrap();
    assert_ne!(page("a"), page("b"));
    let result = json(ictd(&directory, 0, &["compare", "a", "b", "--json"]));
    assert_eq!(result["equal"], true);
}

#[test]
fn a_run_means_the_folder_of_its_seed_wherever_a_model_is_read() {
    let directory = tempfile::tempdir().unwrap();
    write(&directory, "data.csv", "phi_0,phi_1,reward\n1,0,1\n0,1,0\n1,0,\n");
    let short = "train --dim 2 --mrps 20 --batches 1 --batch-size 8 --context 10 --seeds 2";
    ictd(&directory, 0, &short.split(' ').collect::<Vec<_>>());
    as_train(&directory.path().join("results"));
    for command in [&["evaluate", "--data", "data.csv", "--model"][..], &["import", "--tasks", "2"]]
    {
        let results = ["results/train", "results/train/seed_1"].map(|source| {
            let arguments = [command, &[source, "--seed", "1"]].concat();
            let text = ictd(&directory, 0, &arguments).stdout;
            let place = format!("figures and numbers: results/{}\n", command[0]);
            assert!(String::from_utf8(text).unwrap().contains(&place), "{arguments:?}");
            let file = format!("results/{}/results.json", command[0]);
            let text = fs::read(directory.path().join(file)).unwrap();
            let mut result: Value = serde_json::from_slice(&text).unwrap();
            result["config"].take();
            result
        });
        assert_eq!(results[0], results[1]);
        let wrong = [command, &["results/train", "--seed", "7"]].concat();
        let line = stderr(&ictd(&directory, 2, &wrong));
        assert!(line.contains("has no seed 7; accepted is one of 0, 1"), "{line}");
    }
    // Of a folder the log is read: it says alpha.
    let import = |source: &str| {
        json(ictd(&directory, 0, &["import", source, "--tasks", "2", "--json"]))["alpha"].clone()
    };
    assert_eq!(import("results/train/seed_0"), import("results/train/seed_0/data.npz"));
    assert_eq!(import("results/train/seed_0/parameters.safetensors"), 1.0);
    assert_ne!(import("results/train/seed_0"), 1.0);
}

#[test]
fn models_that_stream_are_opened_in_one_way() {
    let directory = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..150_u32).map(|i| (i * i % 17).to_string()).collect();
    write(&directory, "x.csv", format!("x\n{}\n", rows.join("\n")));
    let train = |out: &str, more: &str| {
        let short =
            "train --mrps 3 --batches 1 --batch-size 8 --context 10 --log-every 1 --seeds 2";
        let line = format!("{short} --out {out} {more}");
        ictd(&directory, 0, &line.split_whitespace().collect::<Vec<_>>());
        as_train(&directory.path().join(out));
    };
    train("run", "");
    train("softmax", "--attention softmax");
    train("units", "--normalise");
    let line = |code: i32, line: &str| ictd(&directory, code, &line.split(' ').collect::<Vec<_>>());

    // What one of the two refuses, the other does, too.
    let (predict, demo) = ("predict x.csv --model", "demo --tasks 2 --max-context 5 --dim");
    for (model, d, reason) in [
        ("run/train", 5, "d = 4; accepted is 5"),
        ("softmax/train", 4, "softmax attention; accepted is linear attention"),
        ("units/train", 4, "reads contexts without units"),
    ] {
        let refused = stderr(&line(2, &format!("{demo} {d} --model {model}")));
        assert!(refused.contains("--model: ") && refused.contains(reason), "{refused}");
        let refused = stderr(&line(2, &format!("{predict} {model} --features {d}")));
        assert!(refused.contains("--model: ") && refused.contains(reason), "{refused}");
    }
    for (option, reason) in [("--alpha 0.5", "--alpha: "), ("--layers 3", "--layers: ")] {
        let refused = stderr(&line(2, &format!("{demo} 4 --model run/train {option}")));
        assert!(
            refused.contains(reason) && refused.contains("accepted without --model"),
            "{refused}"
        );
    }

    // predict takes the seed of --seed, demo all of them, or that of the folder.
    line(0, &format!("{predict} run/train --seed 1"));
    let of_seed = |out: &str, column: &str| -> Vec<String> {
        let path = directory.path().join(out).join("predict/predictions.csv");
        let text = fs::read_to_string(path).unwrap();
        let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let place = head.iter().position(|name| *name == column).unwrap();
        text.lines().skip(1).map(|l| l.split(',').nth(place).unwrap().to_owned()).collect()
    };
    let second = of_seed("results", "run/train");
    line(0, &format!("{predict} run/train/seed_1"));
    assert_eq!(of_seed("results", "run/train/seed_1"), second);
    line(0, &format!("{predict} run/train"));
    assert_ne!(of_seed("results", "run/train"), second);

    let demo_of = |model: &str| {
        let text = format!("{demo} 4 --model {model} --json --out of-model");
        let output = Command::new(env!("CARGO_BIN_EXE_ictd"))
            .current_dir(directory.path())
            .args(text.split(' '))
            .output()
            .unwrap();
        // Three tasks of training make no claim hold.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        numbers(&json(output)["msve_mean"])
    };
    let [first, second, all] = ["run/train/seed_0", "run/train/seed_1", "run/train"].map(demo_of);
    assert_ne!(first, second);
    for ((first, second), mean) in first.iter().zip(&second).zip(&all) {
        assert!(((first + second) / 2.0 - mean).abs() < 1e-12 * mean.abs());
    }
    let rows = fs::read_to_string(directory.path().join("of-model/demo/records.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 2 * 3 * all.len());
}
