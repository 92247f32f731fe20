//! Whatever happens, a command ends in a documented exit code and, with `--json`, in one JSON object; what it
//! prints of anybody's text is shown by a terminal and not obeyed.

use crate::common::*;
use crate::untrusted::TRAIN;
use fs::{self, File};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn start(out: &Path, arguments: &str) -> Command {
    let mut command = with_default_signals(program(out, arguments));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

/// The one object on stdout, of a process that ended with this code.
#[track_caller]
fn object(output: &Output, code: i32) -> Value {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    if code != 0 {
        assert_eq!(object["exit_code"], code, "{object}");
    }
    object
}

fn wait_for(what: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < end, "it never came");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_full_stdout_is_an_error() {
    let out = Folder::with("a.csv", "x\n1\n");
    for arguments in ["list", "digest", "--help", "nothing --json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = start(&out, arguments).stdout(full).output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {line}");
        assert!(line.contains("stdout: No space left"), "{arguments}: {line}");
    }
    // A reader that went away is none.
    let mut child = start(&out, "list").spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_argument_that_is_not_utf_8_is_refused_in_words() {
    let out = Folder::new();
    let path = OsStr::from_bytes(b"caf\xe9");
    for arguments in ["demo --tasks 2 --json --out", "plot --json", "evaluate --json --data"] {
        let output = start(&out, arguments).arg(path).output().unwrap();
        let error = object(&output, 2)["error"].to_string();
        assert!(error.contains("UTF-8"), "{error}");
    }
    assert!(files(&out).is_empty());
    // In such a directory everything works.
    let folder = out.join(path);
    fs::create_dir(&folder).unwrap();
    object(&start(&folder, "demo --tasks 2 --json --out .").output().unwrap(), 0);
    object(&start(&folder, "plot . --json").output().unwrap(), 0);
    object(&start(&folder, "report . --json").output().unwrap(), 0);
}

#[test]
fn a_defect_is_one_line_one_object_and_a_code_of_its_own() {
    for (fault, arguments) in [("3 panic", "demo --tasks 2"), ("9 panic", TRAIN)] {
        let arguments = format!("{arguments} --json");
        let output = start(&Folder::new(), &arguments).env("ICTD_FAULT", fault).output().unwrap();
        let error = object(&output, 101)["error"].to_string();
        for part in ["a defect of ictd, please report it: a fault on purpose", "faults.rs:"] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(output.stderr.iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}

#[test]
fn a_signal_that_is_ignored_stays_so() {
    let out = Folder::new();
    for name in ["HUP", "INT", "TERM"] {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("trap '' {name}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_ictd")])
            .args("train --tasks 2000 --batches 1 --batch-size 4 --json --out".split(' '))
            .arg(name)
            .current_dir(&out);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| trained(&out.join(name)).join("run.json").exists());
        for _ in 0..3 {
            signal(&child, name);
        }
        object(&child.wait_with_output().unwrap(), 0);
    }
}

#[test]
fn ctrl_c_ends_whatever_takes_long() {
    let out = Folder::new();
    let row = |i: u32| format!("{},1,1,1,1,1,1,1,{}\n", i % 7, i % 3);
    let head = "phi_0,phi_1,phi_2,phi_3,phi_4,phi_5,phi_6,phi_7,reward\n";
    let rows: String = (0..300_000).map(row).collect();
    out.put("data.csv", format!("{head}{rows}"));
    for (arguments, begun) in [
        ("evaluate --data data.csv --layers 1000 --alpha 1e-9", "results/evaluate/.lock"),
        ("demo --tasks 1 --max-context 99999 --context-step 1 --layers 1000", "results/demo/.lock"),
        ("train --tasks 1 --batches 100000", ""),
    ] {
        for signals in [1, 2] {
            let child = start(&out, &format!("{arguments} --json")).spawn().unwrap();
            let begun = || match begun {
                "" => trained(&out.join("results")).join("run.json"),
                begun => out.join(begun),
            };
            // The run before left a run.json that says so.
            let is_new = |text: &String| text.len() > 6 && !text.contains("\"interrupted\"");
            wait_for(|| fs::read_to_string(begun()).is_ok_and(|text| is_new(&text)));
            sleep(Duration::from_millis(100));
            let sent = Instant::now();
            for _ in 0..signals {
                signal(&child, "INT");
                sleep(Duration::from_millis(100));
            }
            let output = child.wait_with_output().unwrap();
            assert!(sent.elapsed() < Duration::from_secs(5), "{arguments}: {:?}", sent.elapsed());
            let error = object(&output, 130)["error"].to_string();
            let goes_on = error.contains("run the same command again to continue");
            assert!(error.contains("interrupted"), "{error}");
            assert!(goes_on || !arguments.starts_with("train"), "{error}");
            // It has said that it ended: another machine may go on.
            let lock = begun().with_file_name(".lock");
            assert_eq!(fs::read(&lock).unwrap(), b"ictd\n");
            // What is not training leaves nothing else.
            if !arguments.starts_with("train") {
                assert_eq!(files(lock.parent().unwrap()), [".lock"], "{arguments}");
            }
        }
    }
}

#[test]
fn what_came_from_elsewhere_is_printed_and_not_obeyed() {
    let out = Folder::new();
    // An Arabic letter mark turns text around, too, and tags are not seen.
    let evil = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{61c}\u{e0041}";
    let toml_evil = "\\u001b[2J\\u009b31m\\u202e\\u061c\\U000e0041";
    ictd(&out, TRAIN);
    as_train(&out);
    ictd(&out, "demo --tasks 2");
    out.put("key.toml", format!("command = \"demo\"\n\"{toml_evil}\" = 1\n"));
    out.put("value.toml", format!("command = \"demo\"\ntask = \"{toml_evil}\"\n"));
    out.put("command.toml", format!("command = \"{toml_evil}\"\n"));
    out.put("broken.toml", format!("{evil} = \n"));
    out.put("cell.csv", format!("phi_0,reward\n1,{evil}\n"));
    out.put("head.csv", format!("phi_0,{evil}\n1,1\n"));
    out.put(format!("{evil}.csv"), "x\n1\n");
    out.put("a.csv", format!("x,{evil}\n1,{evil}\n"));
    out.put("b.csv", format!("x,{evil}\n1,2\n"));
    out.put("demo/results.json", r#"{"command":"demo","\u001b[2J":"\u009b"}"#);
    out.put("demo/records.csv", format!("{evil}\n1\n"));
    out.put("train/.lock", format!("{evil}\nprocess {evil} on elsewhere\n"));
    let config = out.join("train/config.toml");
    let text = fs::read_to_string(&config).unwrap().replace("boyan", toml_evil);
    fs::write(config, text).unwrap();
    let mut shown = 0;
    for arguments in [
        "--config key.toml",
        "--config value.toml",
        "--config command.toml",
        "--config broken.toml",
        "evaluate --data cell.csv",
        "evaluate --data head.csv",
        &format!("evaluate --data {evil}.csv"),
        evil,
        &format!("plot {evil}"),
        "report demo",
        "report .",
        "plot demo",
        "train --out . --resume train",
        "train --out . --tasks 2",
    ] {
        for json in ["", " --json"] {
            let output = start(&out, &format!("{arguments}{json}")).output().unwrap();
            assert!(output.status.code().is_some_and(|code| code <= 2), "{arguments}: {output:?}");
            let printed = [output.stdout, output.stderr].concat();
            let text = String::from_utf8(printed).expect("UTF-8");
            let obeyed = |c: char| {
                c.is_control() && c != '\n' || ['\u{202e}', '\u{61c}', '\u{e0041}'].contains(&c)
            };
            assert!(!text.contains(obeyed), "{arguments}{json}: {text:?}");
            shown += usize::from(text.contains("\\u"));
        }
    }
    assert!(shown > 12, "it was printed: {shown}");
}
