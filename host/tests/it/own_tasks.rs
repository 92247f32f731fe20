//! Tasks of one's own: told by their digest, kept with the run, refused once they have changed.

use crate::common::*;

/// A walk over five states, the ends of which are terminal, with three feature maps.
fn arrays() -> Vec<(&'static str, Array)> {
    let step = |s: usize, t: usize| match s {
        0 | 4 => f64::from(u8::from(s == t)),
        _ => 0.5 * f64::from(u8::from(s.abs_diff(t) == 1)),
    };
    vec![
        ("p", array(&[5, 5], (0..25).map(|i| step(i / 5, i % 5)))),
        ("reward", array(&[5], [0.0, 0.0, 0.0, 0.5, 0.0])),
        ("phi", array(&[3, 5, 2], (0..30).map(number))),
        ("p0", array(&[5], [0.0, 0.0, 1.0, 0.0, 0.0])),
        ("terminal", Array { shape: vec![5], data: Data::I64(vec![1, 0, 0, 0, 1]) }),
        ("gamma", array(&[], [0.8])),
    ]
}

#[test]
fn a_run_of_own_tasks_can_be_told_and_repeated_wherever_the_file_lies() {
    let here = &Folder::with("walk.npz", npz_of(&arrays()));
    // As one stack, under another name: the same tasks.
    let stacked = arrays().into_iter().map(|(name, of)| match (name, of.to_f64()) {
        ("phi" | "gamma", _) => (name, of),
        (_, numbers) => (name, array(&[&[3], &of.shape[..]].concat(), numbers.repeat(3))),
    });
    here.put("other.npz", npz_of(&stacked.collect::<Vec<_>>()));
    let found = object(here, 0, &format!("train --task walk.npz --tasks 12 {SMALL} --out a"));
    assert_eq!((&found["config"]["dim"], &found["config"]["gamma"]), (&2.into(), &0.8.into()));
    assert!(found["seeds"][0]["vd"].is_f64() && found["seeds"][0]["msve"].is_f64(), "{found}");
    object(here, 0, &format!("train --task other.npz --tasks 12 {SMALL} --out b"));
    assert_same(&here.join("a"), &here.join("b"));
    let folder = trained(&here.join("a"));
    let config = folder.join("config.toml");
    fs::remove_file(here.join("walk.npz")).unwrap();
    object(here, 0, &format!("--config {} --out c", config.display()));
    assert_same(&here.join("a"), &here.join("c"));
}

#[test]
fn tasks_that_have_changed_are_refused() {
    let here = &Folder::with("walk.npz", npz_of(&arrays()));
    object(here, 0, &format!("train --task walk.npz --tasks 12 {SMALL} --out a"));
    let folder = trained(&here.join("a"));
    let mut other = arrays();
    other[5].1 = array(&[], [0.7]);
    folder.put("tasks.npz", npz_of(&other));
    let before = contents(&folder);
    for line in [
        format!("train --resume {}", folder.display()),
        format!("--config {}", folder.join("config.toml").display()),
    ] {
        let error = refused(here, &line);
        assert!(error.contains("tasks.npz: its tasks have changed"), "{error}");
    }
    assert_eq!(contents(&folder), before);
    fs::remove_file(folder.join("tasks.npz")).unwrap();
    assert!(refused(here, &format!("train --resume {}", folder.display())).contains("tasks.npz"));
}

#[test]
fn what_is_no_task_is_refused_by_the_name_of_the_array() {
    let here = &Folder::new();
    let with = |name: &'static str, array: Array| {
        let mut arrays = arrays();
        arrays.retain(|(other, _)| *other != name);
        arrays.push((name, array));
        here.put("walk.npz", npz_of(&arrays));
        refused(here, "train --task walk.npz --tasks 2")
    };
    let large = Array { shape: vec![5], data: Data::I64(vec![(1 << 53) + 1; 5]) };
    for (name, array, expected) in [
        ("p", array(&[5, 4], vec![0.2; 20]), "`p`: float64 of shape (5, 4); expected (m, m)"),
        ("p", array(&[5, 5], vec![0.3; 25]), "`p`: of task 0; expected probabilities that sum"),
        ("reward", array(&[4], vec![0.0; 4]), "`reward`: float64 of shape (4,); expected (5,)"),
        ("reward", array(&[5, 5], [0.0; 25]), "depend on both states, (p * r).sum(1); for 5 tasks"),
        ("reward", array(&[5], vec![f64::NAN; 5]), "`reward`: NaN at 1; expected finite numbers"),
        ("p0", array(&[5], vec![0.2; 5]), "`p0`: of task 0; expected 0 for states that end"),
        ("terminal", array(&[5], vec![0.5; 5]), "`terminal`: 0.5 at 0; expected 0 or 1"),
        ("terminal", array(&[5], [1.0; 5]), "of task 0; expected a state that ends no"),
        ("reward", large, "`reward`: the integer 9007199254740993; expected integers up to 2^53"),
        ("gamma", array(&[2], [0.5, 0.6]), "float64 of shape (2,); expected one discount"),
        ("gamma", array(&[], vec![1.0]), "`gamma`: 1; expected a number in [0, 1)"),
        ("rewards", array(&[5], vec![0.0; 5]), "did you mean `reward`?"),
    ] {
        let error = with(name, array);
        assert!(error.contains(expected), "{error}");
    }
    here.put("walk.npz", npz_of(&arrays()));
    let error = refused(here, "train --task walk.npz --dim 3");
    assert!(error.contains("--dim: 3: expected 2"), "{error}");
    let error = refused(here, "train --task walk.npz --gamma 0.5");
    assert!(error.contains("--gamma: 0.5: expected 0.8"), "{error}");
    assert!(!here.join("results").exists());
}

#[test]
fn the_demo_and_sweeps_take_own_tasks() {
    let here = &Folder::with("walk.npz", npz_of(&arrays()));
    let options =
        "demo --task walk.npz --tasks 40 --max-context 200 --context-step 100 --alpha 0.5";
    let found = object(here, 0, &format!("{options} --out a"));
    let errors = numbers(&found["msve_mean"]);
    assert!(errors[1] < errors[0], "{errors:?}");
    assert!(found["claims"].as_array().unwrap().is_empty(), "{found}");
    for (option, expected) in [("--dim 4", 2), ("--min-states 3", 5), ("--max-states 6", 5)] {
        let error = refused(here, &format!("demo --task walk.npz {option}"));
        assert!(error.contains(&format!("expected {expected}, as the tasks have")), "{error}");
    }
    object(here, 0, "--config a/demo/config.toml --out b");
    assert_same(&here.join("a"), &here.join("b"));
    let plan = "seeds = 2\n[settings]\ntask = \"walk.npz\"\ntasks = 4\n[grid]\nlayers = [1, 2]\n";
    here.put("plan.toml", plan);
    assert!(run(here, "sweep plan.toml --out s").status.success());
    let with_tasks = fs::read_dir(here.join("s")).unwrap().flatten();
    assert_eq!(with_tasks.filter(|run| run.path().join("tasks.npz").is_file()).count(), 2);
    // The tasks are stored once.
    let here = fs::read_dir(here.join("s")).unwrap().flatten().map(|entry| entry.path());
    let of_tasks = here.map(|path| if path.is_dir() { path.join("tasks.npz") } else { path });
    #[cfg(unix)]
    for file in of_tasks {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(&file).unwrap().nlink(), 3, "{}", file.display());
    }
}

#[test]
fn models_are_judged_on_own_tasks() {
    let here = &Folder::with("walk.npz", npz_of(&arrays()));
    let judged = |options: &str| {
        object(here, 0, &format!("evaluate --task walk.npz {options}"))["judge"].clone()
    };
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    // Theorem 1's layers are TD(0), and nothing else is.
    for layers in ["--layers 3", "--layers 15", "--layers 40 --alpha 0.15"] {
        let td = judged(&format!("{layers} --gamma 0.8"));
        let of = |name: &str| number(&td, name);
        assert!(of("explained by TD(0)") > 1.0 - 1e-9 && of("vd") < 1e-12, "{td}");
        assert!(of("explained by TD(0.9)") < 0.999 && of("iws") > 1.0 - 1e-9, "{td}");
    }
    let universal = judged("--model universal --context-length 200");
    let [error, zero] = ["msve", "msve of predicting 0"].map(|name| number(&universal, name));
    assert!(error < 0.5 * zero, "{universal}");
    // Without `terminal`, an absorbing state has all the weight.
    let absorbing = [
        ("p", array(&[3, 3], [0.5, 0.4, 0.1, 0.2, 0.5, 0.3, 0.0, 0.0, 1.0])),
        ("reward", array(&[3], [1.0, 2.0, 0.0])),
    ];
    here.put("absorbing.npz", npz_of(&absorbing));
    let output = text(&run(here, "evaluate --task absorbing.npz"));
    assert!(output.contains("States without weight in these numbers: 2, to which"), "{output}");
    assert!(!text(&run(here, "evaluate --task walk.npz")).contains("without weight"));
    object(here, 0, &format!("train --tasks 12 {SMALL} --dim 2 --out m"));
    let trained = trained(&here.join("m"));
    let line = refused(here, &format!("evaluate --task walk.npz --model {}", trained.display()));
    assert!(line.contains("--model: gamma = 0.9 in the model, 0.8 here"), "{line}");
    let d = refused(here, "evaluate --task walk.npz --gamma 0.5 --layers 3");
    assert!(d.contains("--gamma: 0.5: expected 0.8"), "{d}");
}

#[test]
fn a_run_that_is_trained_longer_has_the_bytes_of_one_long_run() {
    for (first, last) in [(12, 25), (20, 30)] {
        let here = &Folder::new();
        let short = format!("train --tasks {first} {SMALL} --seeds 2 --out a");
        object(here, 0, &short);
        let folder = trained(&here.join("a"));
        let before = contents(&folder);
        let resume = format!("train --resume {}", folder.display());
        let error = refused(here, &format!("{resume} --tasks 5"));
        assert!(error.contains(&format!("--tasks: 5: the run has {first} tasks")), "{error}");
        object(here, 0, &format!("{resume} --tasks {last}"));
        assert_eq!(contents(&folder), before, "the shorter run stays");
        object(here, 0, &format!("train --tasks {last} {SMALL} --seeds 2 --out b"));
        let long = trained(&here.join("b"));
        assert_same(&here.join("a").join(long.file_name().unwrap()), &long);
        // Nothing is left to do, and what is typed must be the run's.
        object(here, 0, &format!("{resume} --tasks {first}"));
        assert!(refused(here, &format!("{resume} --tasks 30 --layers 2")).contains("--resume"));
    }
    assert!(!ictd(&Folder::new(), "train --resume nowhere --tasks 9").status.success());
}
