//! What another crate adds is run like what is there: by `train --task`, `verify`, `list` and `reproduce`.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn run(out: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_extension"));
    let command = command.args(line.split(' ')).current_dir(out);
    command.output().expect("the program starts")
}

#[track_caller]
fn json(out: &Path, line: &str) -> Value {
    let output = run(out, &format!("{line} --json --out ."));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{line}: {said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

const SMALL: &str = "--tasks 20 --log-every 10 --batches 2 --batch-size 8 --context-length 10";

#[test]
fn a_task_trains_by_its_name_with_its_own_number_of_states() {
    let folder = tempfile::tempdir().unwrap();
    let trained =
        json(folder.path(), &format!("train --task random-walk {SMALL} --loss true-value"));
    assert_eq!(trained["config"]["states"], 7, "{trained}");
    json(folder.path(), &format!("train --task boyan,random-walk --states 9 {SMALL}"));
    for (options, expected) in [
        ("--task random-walk --states 30", "expected 3 to 21 for random-walk"),
        ("--task random-walk --fixed features", "whose rewards depend on nothing else"),
        ("--task walk", "cartpole-uniform, random-walk, or FILE.npz"),
    ] {
        let output = run(folder.path(), &format!("train {options} --tasks 20"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{options}: {said}");
    }
}

#[test]
fn a_mask_is_verified_apart_from_the_papers_claims() {
    let folder = tempfile::tempdir().unwrap();
    let verified = json(folder.path(), "verify --seeds 3 --layers 10");
    let claims = verified["claims"].as_array().unwrap();
    let own =
        claims.iter().find(|claim| claim["claim"] == "TD with a trace of two steps in 10 layers");
    let own = own.expect("the row's claim");
    assert_eq!((&own["whose"], &own["verdict"]), (&"own".into(), &"holds".into()), "{own}");
    let papers = claims.iter().filter(|claim| claim["whose"] == "paper");
    assert_eq!(papers.count(), 4);
    let largest = verified["constructions"]["two_steps"]["max_abs_error"].as_f64().unwrap();
    assert!(largest > 0.0 && largest < 1e-12, "{largest}");
}

#[test]
fn a_figure_is_reproduced_with_its_claim() {
    let folder = tempfile::tempdir().unwrap();
    let listed = run(folder.path(), "list");
    assert!(String::from_utf8_lossy(&listed.stdout).contains("random-walk"));
    let output = run(folder.path(), "reproduce random-walk --seeds 2 --tasks 20 --out . --json");
    let said = String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {said}"));
    assert_eq!(report["claims"][0]["claim"], "random walks: P's corner ends above 0", "{report}");
    assert!(folder.path().join("random-walk/random-walk.svg").exists(), "{report}");
}
