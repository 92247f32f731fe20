//! What comes from elsewhere: files, run directories and configs that were made to do harm, or by mistake.

use crate::bounds::bounded;
use crate::common::{self, *};
#[cfg(unix)]
use std::os::unix::fs::{FileTypeExt, symlink};

pub(crate) const TRAIN: &str =
    "train --tasks 4 --batches 1 --batch-size 4 --context-length 6 --log-every 2";
const RNN: &str = "reproduce rnn-learning --seeds 1 --tasks 2";
const DATA: &str = "phi_0,phi_1,reward\n1,0,1\n0,1,-1\n1,1,0.5\n0.5,1,2\n1,0,0\n";

/// A `.safetensors` file of (3, 3) tensors.
fn safetensors(names: &[&str], metadata: &[(&str, &str)]) -> Vec<u8> {
    let matrices: Vec<_> = names.iter().map(|name| (name, vec![0.125; 9])).collect();
    common::safetensors(&matrices, metadata)
}

/// An array as NumPy writes it.
pub(crate) fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_of(&format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n"), data)
}

/// One with this header.
pub(crate) fn npy_of(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[cfg(unix)]
pub(crate) fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_stays() {
    let out = &Folder::new();
    let precious = out.join("precious");
    ictd(out, TRAIN);
    ictd(out, "demo --tasks 2");
    let run = trained(out);
    let resume = format!("train --resume {}", run.display());
    let train = format!("{TRAIN} --out .");
    for (folder, command) in [
        (out.join("demo"), "demo --tasks 2 --out ."),
        (out.join("demo"), "plot demo"),
        (run.clone(), &resume),
        (run.clone(), &train),
        (run.join("seed_0"), &train),
    ] {
        let lock = folder.join(".lock");
        fs::write(&precious, "precious").unwrap();
        fs::remove_file(&lock).unwrap();
        symlink(&precious, &lock).unwrap();
        let line = refused(out, command);
        assert!(line.contains(".lock: a link"), "{line}");
        assert_eq!(fs::read(&precious).unwrap(), b"precious", "{command}");
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "").unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_run_directory_that_is_a_link_is_not_written_to() {
    let (out, mine) = (Folder::new(), Folder::new());
    ictd(&mine, TRAIN);
    ictd(&mine, "demo --tasks 2");
    let run = trained(&mine).file_name().unwrap().to_owned();
    let before = contents(&mine);
    for name in ["demo".as_ref(), run.as_os_str()] {
        symlink(mine.join(name), out.join(name)).unwrap();
    }
    symlink(&mine, out.join("runs")).unwrap();
    let more = format!("{TRAIN} --seeds 2");
    for command in ["demo --tasks 3", &more, RNN] {
        let line = refusal(&ictd(&out, command));
        assert!(line.contains(": a link; expected a folder"), "{command}: {line}");
    }
    assert_eq!(contents(&mine), before);
    // As the user named it, it is followed.
    symlink(&mine, out.join("there")).unwrap();
    assert!(code(&ictd(&out.join("there"), "demo --tasks 2")) < Some(2));
}

#[cfg(unix)]
#[test]
fn a_model_is_exported_to_a_regular_file_or_not_at_all() {
    let out = &Folder::new();
    pipe(&out.join("pipe"));
    symlink("/dev/full", out.join("device")).unwrap();
    fs::create_dir(out.join("folder")).unwrap();
    for (name, reason) in [
        ("pipe", "regular file"),
        ("device", "regular file"),
        ("folder", "regular file"),
        ("missing/model", "--out: cannot write"),
    ] {
        let line = refused(out, &format!("export --construction td0 --out {name}"));
        let is_said = line.contains(name) && line.contains(reason) && !line.contains(".ictd-");
        assert!(is_said, "{line}");
    }
    assert!(fs::metadata(out.join("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(out.join("device")).unwrap().is_symlink());
    done(&out.join("model"), "export --construction td0");
}

#[test]
fn a_directory_that_ictd_did_not_make_is_left_alone() {
    let (out, made) = (Folder::new(), Folder::new());
    let mine = [("config.toml", "[package]\n"), ("run.json", "{}"), ("seeds.csv", "1,2\n")];
    [TRAIN, RNN].iter().for_each(|command| drop(ictd(&made, command)));
    let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let shared = format!("runs/{}", name(trained(&made.join("runs"))));
    let names = [name(trained(&made)), "demo".into(), shared, ".".into()];
    for run in &names {
        fs::create_dir_all(out.join(run)).unwrap();
        mine.iter().for_each(|(name, content)| out.join(run).put(name, content));
    }
    for command in [TRAIN, "demo --tasks 2", RNN, "--threads 1"] {
        let line = refusal(&ictd(&out, command));
        assert!(line.contains("config.toml, which ictd did not write"), "{line}");
    }
    for run in &names {
        mine.iter().for_each(|(name, content)| assert_eq!(out.join(run).text(name), *content));
        assert!(!out.join(run).join(".lock").exists(), "{run}");
    }
    // What it made itself, and an empty directory, it takes.
    let other = &Folder::new();
    fs::create_dir(other.join("demo")).unwrap();
    for _ in 0..2 {
        assert!(code(&ictd(other, "demo --tasks 2")) < Some(2));
    }
    // A page that somebody else wrote stays, too.
    other.put("report.html", "<html>mine</html>");
    assert!(refused(other, "report .").contains("report.html: ictd did not write it"));
    fs::remove_file(other.join("report.html")).unwrap();
    for _ in 0..2 {
        object(other, 0, "report .");
    }
}

#[test]
fn a_config_cannot_say_where_to_write() {
    let out = &Folder::new();
    ictd(out, TRAIN);
    as_train(out);
    for (text, key) in [
        ("command = \"train\"\nout = \"/tmp/x\"\n", "out"),
        ("command = \"train\"\nresume = \"train\"\n", "resume"),
        ("command = \"train\"\nconfig = \"other.toml\"\n", "config"),
        ("command = \"export\"\nconstruction = \"td0\"\n", "command"),
        ("command = \"report\"\n", "command"),
    ] {
        out.put("received.toml", text);
        let line = refused(out, "--config received.toml");
        assert!(line.contains(&format!("received.toml: {key}: expected")), "{line}");
    }
    // A run's own is what it was.
    object(out, 0, "--config train/config.toml");
}

#[test]
fn a_model_with_more_layers_than_can_be_typed_is_refused() {
    let out = &Folder::with("data.csv", DATA);
    ictd(out, TRAIN);
    as_train(out);
    let many = [("L", "4000000000"), ("gamma", "0.9"), ("attention", "linear")];
    out.put("m.safetensors", safetensors(&["P", "Q"], &many));
    fs::create_dir(out.join("log")).unwrap();
    let params = out.text("train/seed_0/params.json").replace("\"l\":3", "\"l\":4000000000");
    out.put("log/params.json", params);
    out.put("log/data.npz", out.bytes("train/seed_0/data.npz"));
    for command in [
        "evaluate --data data.csv --model m.safetensors",
        "export log/data.npz --out x",
        "evaluate --data data.csv --model log/data.npz",
    ] {
        let line = refusal(&bounded(out, command));
        assert!(line.contains("4000000000; expected an integer from 1 to 65535"), "{line}");
    }
}

#[test]
fn half_a_layer_and_two_namings_are_refused_by_name() {
    let two = "layers.0.P layers.0.Q layers.1.P layers.1.Q";
    for (names, culprit) in [
        (&format!("{two} layers.3.P layers.3.Q")[..], "layers.3.P"),
        (&format!("{two} layers.2.Q"), "layers.2.Q"),
        ("Q", "attn.P"),
        ("P Q attn.P attn.Q", "`P`"),
        ("layers.0.P layers.0.Q P Q", "`P`"),
        ("P Q R", "`R`"),
    ] {
        let metadata = [("gamma", "0.9"), ("attention", "linear")];
        let model = safetensors(&names.split(' ').collect::<Vec<_>>(), &metadata);
        let out = Folder::with("m.safetensors", model);
        let line = refused(&out, "export m.safetensors --layers 1 --out x");
        assert!(line.contains(culprit) && line.contains("array `"), "{names}: {line}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_at_once() {
    let out = &Folder::with("data.csv", DATA);
    ictd(out, "demo --tasks 2");
    pipe(&out.join("pipe"));
    for command in [
        "--config pipe",
        "evaluate --data pipe",
        "evaluate --data data.csv --model pipe",
        "evaluate --data data.csv --queries pipe",
        "inspect pipe",
        "export pipe --out x",
    ] {
        let line = refusal(&bounded(out, command));
        assert!(line.contains("pipe: no regular file"), "{command}: {line}");
    }
    for name in ["results.json", "config.toml", "run.json", "records.csv", "demo.svg", ".lock"] {
        let (path, aside) = (out.join("demo").join(name), out.join("aside"));
        fs::rename(&path, &aside).unwrap();
        pipe(&path);
        for command in ["report demo", "plot demo", "demo --tasks 2 --out ."] {
            bounded(out, command);
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn a_stored_lambda_is_used_and_named() {
    let out = &Folder::with("data.csv", DATA);
    let of = |line: &str| object(out, 0, line);
    let mut found = Vec::new();
    for lambda in ["0", "0.8", "1"] {
        of(&format!("export --construction td-lambda --dim 2 --trace-decay {lambda} --out model"));
        let evaluated = of("evaluate --data data.csv --model model");
        let constructed = of(&format!("evaluate --data data.csv --trace-decay {lambda}"));
        let [weights, expected] =
            [&evaluated, &constructed].map(|object| numbers(&object["estimators"][0]["weights"]));
        // The stored model has single precision.
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
        assert!(weights.iter().zip(&expected).all(close), "{evaluated}");
        let algorithm = &evaluated["estimators"][1];
        assert!(algorithm["difference"].as_f64().unwrap() < 1e-5, "{evaluated}");
        let said = evaluated["trace_decay"].as_f64().unwrap();
        assert!((said - lambda.parse::<f64>().unwrap()).abs() < 1e-7, "{evaluated}");
        assert_eq!(algorithm["name"] == "batch TD(lambda)", lambda != "0");
        found.push(weights);
    }
    assert!(found[0] != found[1] && found[1] != found[2], "{found:?}");
}
