//! What comes from elsewhere: files, run directories and configs that were made to do harm, or by mistake.

use crate::bounds::bounded;
use crate::common::{self, *};
use std::io::{Cursor, Write};

pub(crate) const TRAIN: &str =
    "train --tasks 4 --batches 1 --batch-size 4 --context-length 6 --log-every 2";
const DATA: &str = "phi_0,phi_1,reward\n1,0,1\n0,1,-1\n1,1,0.5\n0.5,1,2\n1,0,0\n";

/// A `.safetensors` file of (3, 3) tensors.
fn safetensors(names: &[&str], metadata: &[(&str, &str)]) -> Vec<u8> {
    let matrices: Vec<_> = names.iter().map(|name| (name, vec![0.125; 9])).collect();
    common::safetensors(&matrices, metadata)
}

/// An array as NumPy writes it.
pub(crate) fn npy(dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend(data);
    bytes
}

/// A compressed `.npz`.
pub(crate) fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, array) in arrays {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(array).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn doubles(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[cfg(unix)]
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused_and_what_it_leads_to_stays() {
    use std::os::unix::fs::symlink;
    let out = Folder::new();
    let precious = out.join("precious");
    ictd(&out, TRAIN);
    ictd(&out, "demo --tasks 2");
    let (run, demo) = (trained(&out), out.join("demo"));
    for (run, command) in [
        (demo.clone(), "demo --tasks 2".to_owned()),
        (demo.clone(), format!("plot {}", demo.display())),
        (run.clone(), format!("train --resume {}", run.display())),
        (run.clone(), TRAIN.to_owned()),
        (run.join("seed_0"), TRAIN.to_owned()),
    ] {
        let lock = run.join(".lock");
        for make in [symlink::<&Path, &Path>, |from: &Path, to: &Path| fs::hard_link(from, to)] {
            fs::write(&precious, "precious").unwrap();
            fs::remove_file(&lock).unwrap();
            make(&precious, &lock).unwrap();
            let line = refusal(&ictd(&out, &command));
            assert!(line.contains(".lock: a "), "{line}");
            assert_eq!(fs::read(&precious).unwrap(), b"precious", "{command}");
        }
        fs::remove_file(&lock).unwrap();
        fs::write(&lock, "").unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_run_directory_that_is_a_link_is_not_written_to() {
    use std::os::unix::fs::symlink;
    let (out, mine) = (Folder::new(), Folder::new());
    ictd(&mine, TRAIN);
    ictd(&mine, "demo --tasks 2");
    let run = trained(&mine).file_name().unwrap().to_owned();
    let before = contents(&mine);
    for name in ["demo".as_ref(), run.as_os_str()] {
        symlink(mine.join(name), out.join(name)).unwrap();
    }
    symlink(&mine, out.join("runs")).unwrap();
    let merge = format!("merge {}", mine.join(&run).display());
    let more = format!("{TRAIN} --seeds 2");
    let rnn = "reproduce rnn-learning --seeds 1 --tasks 2";
    for command in ["demo --tasks 3", &more, &merge, rnn] {
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
    use std::os::unix::fs::{FileTypeExt, symlink};
    let out = Folder::new();
    let at = |name: &str| out.join(name);
    pipe(&at("pipe"));
    symlink("/dev/full", at("device")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    for name in ["pipe", "device", "folder"] {
        let line = refusal(&ictd(&at(name), "export --construction td0"));
        assert!(line.contains(name) && line.contains("regular file"), "{line}");
    }
    let line = refusal(&ictd(&at("missing/model"), "export --construction td0"));
    assert!(line.contains("--out: cannot write") && !line.contains(".ictd-"), "{line}");
    assert!(fs::metadata(at("pipe")).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata(at("device")).unwrap().is_symlink());
    done(&at("model"), "export --construction td0");
}

#[test]
fn a_directory_that_ictd_did_not_make_is_left_alone() {
    let out = Folder::new();
    let mine = [("config.toml", "[package]\n"), ("run.json", "{}"), ("seeds.csv", "1,2\n")];
    let rnn = "reproduce rnn-learning --seeds 1 --tasks 2";
    let names = {
        let made = Folder::new();
        [TRAIN, rnn].iter().for_each(|command| drop(ictd(&made, command)));
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        let shared = format!("runs/{}", name(trained(&made.join("runs"))));
        [name(trained(&made)), "demo".into(), shared, ".".into()]
    };
    for run in &names {
        let folder = out.join(run);
        fs::create_dir_all(&folder).unwrap();
        mine.iter().for_each(|(name, content)| folder.put(name, content));
    }
    let commands = [TRAIN, "demo --tasks 2", rnn, "--threads 1"];
    for command in commands {
        let line = refusal(&ictd(&out, command));
        assert!(line.contains("config.toml, which ictd did not write"), "{line}");
    }
    for run in &names {
        for (name, content) in mine {
            assert_eq!(fs::read_to_string(out.join(run).join(name)).unwrap(), content);
        }
        assert!(!out.join(run).join(".lock").exists(), "{run}");
    }
    // What it made itself, and an empty directory, it takes.
    let other = Folder::new();
    fs::create_dir(other.join("demo")).unwrap();
    for _ in 0..2 {
        assert!(code(&ictd(&other, "demo --tasks 2")) < Some(2));
    }
    // A page that somebody else wrote stays, too.
    let page = other.join("report.html");
    fs::write(&page, "<html>mine</html>").unwrap();
    let report = format!("report {}", other.display());
    assert!(refusal(&ictd(&other, &report)).contains("report.html: ictd did not write it"));
    fs::remove_file(&page).unwrap();
    for _ in 0..2 {
        done(&other, &report);
    }
}

#[test]
fn a_config_cannot_say_where_to_write() {
    let out = Folder::new();
    ictd(&out, TRAIN);
    let config = out.join("received.toml");
    for (text, key) in [
        ("command = \"train\"\nout = \"/tmp/x\"\n", "out"),
        ("command = \"train\"\nresume = \"train\"\n", "resume"),
        ("command = \"train\"\nconfig = \"other.toml\"\n", "config"),
        ("command = \"export\"\nconstruction = \"td0\"\n", "command"),
        ("command = \"report\"\n", "command"),
    ] {
        fs::write(&config, text).unwrap();
        let line = refusal(&ictd(&out, &format!("--config {}", config.display())));
        assert!(line.contains(&format!("received.toml: {key}: expected")), "{line}");
    }
    // A run's own is what it was.
    let again = format!("--config {}", trained(&out).join("config.toml").display());
    done(&out, &again);
}

#[test]
fn a_model_with_more_layers_than_can_be_typed_is_refused() {
    let out = Folder::new();
    ictd(&out, TRAIN);
    as_train(&out);
    out.put("data.csv", DATA);
    let many = [("L", "4000000000"), ("gamma", "0.9"), ("attention", "linear")];
    out.put("m.safetensors", safetensors(&["P", "Q"], &many));
    let params = out.join("train/seed_0/params.json");
    let text = fs::read_to_string(&params).unwrap().replace("\"l\":3", "\"l\":4000000000");
    fs::write(&params, text).unwrap();
    for command in [
        "evaluate --data data.csv --model m.safetensors",
        "import m.safetensors",
        "import train/seed_0/data.npz",
        "export train/seed_0/data.npz --out x",
        "evaluate --data data.csv --model train/seed_0/data.npz",
    ] {
        let line = refusal(&bounded(&out, command));
        assert!(line.contains("4000000000; expected an integer from 1 to 65535"), "{line}");
    }
}

#[test]
fn half_a_layer_and_two_namings_are_refused_by_name() {
    let out = Folder::new();
    let model = out.join("m.safetensors");
    let layers = |l: &[usize]| -> Vec<String> {
        l.iter().flat_map(|l| [format!("layers.{l}.P"), format!("layers.{l}.Q")]).collect()
    };
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut half = layers(&[0, 1]);
    half.push("layers.2.Q".into());
    let cases: [(Vec<String>, &str); 6] = [
        (layers(&[0, 1, 3]), "layers.3.P"),
        (half, "layers.2.Q"),
        (named(&["Q"]), "attn.P"),
        (named(&["P", "Q", "attn.P", "attn.Q"]), "`P`"),
        (named(&["layers.0.P", "layers.0.Q", "P", "Q"]), "`P`"),
        (named(&["P", "Q", "R"]), "`R`"),
    ];
    for (names, culprit) in cases {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let metadata = [("gamma", "0.9"), ("attention", "linear"), ("L", "1")];
        fs::write(&model, safetensors(&names, &metadata[..2])).unwrap();
        let line = refusal(&ictd(&out, &format!("import {} --layers 1", model.display())));
        assert!(line.contains(culprit), "{names:?}: {line}");
        assert!(line.contains("array `"), "{names:?}: {line}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_at_once() {
    let out = Folder::new();
    ictd(&out, "demo --tasks 2");
    out.put("data.csv", DATA);
    pipe(&out.join("pipe"));
    for command in [
        "--config pipe",
        "evaluate --data pipe",
        "evaluate --data data.csv --model pipe",
        "evaluate --data data.csv --queries pipe",
        "import pipe",
        "inspect pipe",
        "compare pipe data.csv",
        "export pipe --out x",
    ] {
        let line = refusal(&bounded(&out, command));
        assert!(line.contains("pipe: no regular file"), "{command}: {line}");
    }
    for name in ["results.json", "config.toml", "run.json", "records.csv", "demo.svg", ".lock"] {
        let path = out.join("demo").join(name);
        let aside = out.join("aside");
        fs::rename(&path, &aside).unwrap();
        pipe(&path);
        for command in ["report demo", "plot demo", "demo --tasks 2 --out .", "compare demo demo"] {
            bounded(&out, command);
        }
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn a_stored_lambda_is_used_and_named() {
    let out = Folder::with("data.csv", DATA);
    let run = |command: &str| {
        let output = bounded(&out, &format!("{command} --json"));
        assert_eq!(code(&output), Some(0), "{output:?}");
        json(&output)
    };
    let mut found = Vec::new();
    for lambda in ["0", "0.8", "1"] {
        run(&format!("export --construction td-lambda --dim 2 --trace-decay {lambda} --out model"));
        let evaluated = run("evaluate --data data.csv --model model");
        let constructed = run(&format!("evaluate --data data.csv --trace-decay {lambda}"));
        let weights = [&evaluated, &constructed].map(|object| {
            let weights = object["estimators"][0]["weights"].as_array().unwrap();
            weights.iter().map(|x| x.as_f64().unwrap()).collect::<Vec<_>>()
        });
        // The stored model has single precision.
        let close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
        assert!(weights[0].iter().zip(&weights[1]).all(close), "{evaluated}");
        let algorithm = &evaluated["estimators"][1];
        assert!(algorithm["difference"].as_f64().unwrap() < 1e-5, "{evaluated}");
        let imported = run("import model --tasks 3 --alpha 0.2");
        assert!(imported["vd"]["mean"].as_f64().unwrap() < 1e-9, "{imported}");
        for object in [&evaluated, &imported] {
            let said = object["trace_decay"].as_f64().unwrap();
            assert!((said - lambda.parse::<f64>().unwrap()).abs() < 1e-7, "{object}");
        }
        assert_eq!(algorithm["name"] == "batch TD(lambda)", lambda != "0");
        found.push(weights[0].clone());
    }
    assert!(found[0] != found[1] && found[1] != found[2], "{found:?}");
}

#[test]
fn a_logged_alpha_that_is_none_is_refused() {
    let out = Folder::new();
    let file = |name: &str, bytes: Vec<u8>| -> PathBuf {
        out.put(name, bytes);
        out.join(name)
    };
    let p = npy("<f4", "(1, 1, 3, 3)", &0.5_f32.to_le_bytes().repeat(9));
    let rest = "--layers 2 --gamma 0.9 --attention linear --tasks 2";
    for alpha in [f64::INFINITY, -0.5] {
        let alpha = npy("<f8", "(1,)", &doubles(&[alpha]));
        let log = file("data.npz", npz(&[("P", p.clone()), ("Q", p.clone()), ("alpha", alpha)]));
        let line = refusal(&ictd(&out, &format!("import {} {rest}", log.display())));
        assert!(
            line.contains("array `alpha`: ") && line.contains("at least 0, or --alpha"),
            "{line}"
        );
        let typed = ictd(&out, &format!("import {} {rest} --alpha 0.2", log.display()));
        assert!(code(&typed) < Some(2), "{typed:?}");
    }
}
