//! Training on logged transitions, from the command line.

use crate::common::*;

/// 60 states in which episodes terminate after rows 20 and 40.
fn log() -> Vec<(&'static str, Array)> {
    vec![
        ("phi", array(&[60, 2], (0..120).map(number))),
        ("reward", array(&[60], (0..60).map(|i| number(3 * i + 1)))),
        ("terminal", array(&[60], (0..60).map(|i| f64::from(u8::from(i == 20 || i == 40))))),
        ("gamma", array(&[], [0.8])),
    ]
}

#[test]
fn a_run_on_a_log_repeats_and_goes_on_with_the_same_bytes() {
    let here = &Folder::with("log.npz", npz_of(&log()));
    let found = object(here, 0, &format!("train --task log.npz --tasks 12 {SMALL} --out a"));
    let config = &found["config"];
    assert_eq!((&config["dim"], &config["gamma"]), (&2.into(), &0.8.into()));
    assert!(config["task"].as_str().unwrap().starts_with("log-"), "{found}");
    // The TD error is reported, and what needs true values is not.
    assert!(found["seeds"][0]["loss"].is_f64() && found["seeds"][0]["msve"].is_null(), "{found}");
    let text = text(&run(here, &format!("train --task log.npz --tasks 12 {SMALL} --out text")));
    assert!(text.contains("LOSS") || text.contains("loss"), "{text}");
    assert!(!text.to_lowercase().contains("nan") && !text.contains("MSVE"), "{text}");
    // The same transitions with next features, which are not read where an episode terminates, and with a task.
    let next = (2..120).map(|i| if i / 2 == 21 || i / 2 == 41 { 9.0 } else { number(i) });
    let mut other = log();
    other[0].1 = array(&[59, 2], (0..118).map(number));
    (1..3).for_each(|at| {
        let numbers = log()[at].1.to_f64();
        other[at].1 = array(&[59], numbers[..59].to_vec());
    });
    other.push(("phi_next", array(&[59, 2], next)));
    other.push(("task", array(&[59], vec![0.0; 59])));
    here.put("other.npz", npz_of(&other));
    object(here, 0, &format!("train --task other.npz --tasks 12 {SMALL} --out b"));
    assert_same(&here.join("a"), &here.join("b"));
    let folder = trained(&here.join("a"));
    fs::remove_file(here.join("log.npz")).unwrap();
    object(here, 0, &format!("--config {} --out c", folder.join("config.toml").display()));
    assert_same(&here.join("a"), &here.join("c"));
    let stored = format!("b/{}/tasks.npz", folder.file_name().unwrap().display());
    object(here, 0, &format!("train --task {stored} --tasks 25 {SMALL} --out d"));
    object(here, 0, &format!("train --resume {} --tasks 25", folder.display()));
    let long = trained(&here.join("d"));
    assert_same(&here.join("a").join(long.file_name().unwrap()), &long);
    for line in [
        format!("report {}", folder.display()),
        format!("plot {}", folder.display()),
        format!("export {}/seed_0/data.npz --out e", folder.display()),
    ] {
        object(here, 0, &line);
    }
}

#[test]
fn a_log_that_cannot_be_trained_on_is_refused_in_one_line() {
    let here = &Folder::new();
    let refuse = |with: &[(&'static str, Array)], line: &str| {
        let mut arrays = log();
        arrays.retain(|(name, _)| with.iter().all(|(other, _)| other != name));
        arrays.extend(with.iter().cloned());
        here.put("log.npz", npz_of(&arrays));
        refused(here, line)
    };
    let train = format!("train --task log.npz --tasks 2 {SMALL}");
    let (loss, demo) = (format!("{train} --loss"), "demo --task log.npz --tasks 2");
    let marks =
        |rows: &[usize]| array(&[60], (0..60).map(|i| f64::from(u8::from(rows.contains(&i)))));
    for (with, line, expected) in [
        // The last row leaves 59 transitions, and each terminal state adds a step.
        (
            vec![],
            "train --task log.npz",
            "--task: log.npz: task 0 has at most 61 transitions in a row; expected 95, or less with \
             a lower --context-length or --batch-size",
        ),
        (vec![], "train --task log.npz --context-range 5..80", "expected 82, or less with a lower"),
        // From row 16 to the cut after row 29: 14 transitions and a terminal state.
        (vec![("end", marks(&[15, 30, 45]))], &train, "15 transitions in a row; expected 19"),
        (
            vec![("task", array(&[60], (0..60).map(|i| if i < 44 { 3.0 } else { 8.0 })))],
            &train,
            "task 8 has at most 15 transitions in a row; expected 19",
        ),
        (vec![], &format!("{loss} true-value"), "--loss: true-value: the values of logged"),
        (vec![], &format!("{loss} monte-carlo"), "expected td-error or residual-gradient"),
        (vec![], demo, "--task: log.npz: the true values of logged transitions are not known"),
        (vec![], "evaluate --task log.npz", "--task: log.npz: the true values of logged"),
        (vec![], &format!("{train} --dim 3"), "--dim: 3: expected 2, as the tasks have"),
        (vec![], &format!("{train} --gamma 0.5"), "--gamma: 0.5: expected 0.8"),
        (vec![("rho", marks(&[]))], &train, "array `rho`: unknown; expected one of phi, reward"),
        (vec![("end", array(&[60], vec![0.5; 60]))], &train, "array `end`: 0.5 in row 1"),
        (vec![("task", array(&[2], vec![0.0; 2]))], &train, "array `task`: float64 of shape (2,)"),
        (vec![("reward", array(&[60], vec![1e39; 60]))], &train, "array `reward`: 1e39 at 0"),
        (vec![("gamma", array(&[], [1.0]))], &train, "array `gamma`: 1; expected a number in"),
        (vec![("phi", array(&[60, 65], vec![0.0; 3900]))], &train, "65"),
    ] {
        let error = refuse(&with, line);
        assert!(error.contains(expected), "{line}: {error}");
    }
    assert!(contents(&here.join("results")).is_empty());
    // A file that is evaluated has transitions of one task.
    let error = refuse(&[("task", marks(&[]))], "evaluate --data log.npz");
    assert!(error.contains("`train --task` reads it"), "{error}");
}
