//! The runs show their results, and can be repeated.

use crate::common::*;
use crate::predict::{csv_of_x, signal};
use ictd::commands::reproduce::choose;
use ictd::experiments::{ALL, experiment::Runner};
use ictd::train::Train;
use ictd::{Error, options};
use std::collections::BTreeMap;

#[test]
fn verification_stays_below_its_bounds_at_layer_40() {
    for successors in ["independent", "trajectory"] {
        let result =
            object(&Folder::new(), 0, &format!("verify --successors {successors} --seeds 5"));
        let rows = result["constructions"].as_object().unwrap();
        assert_eq!(rows.len(), 10);
        for (name, row) in rows {
            let papers = ["td0", "td_lambda", "residual_gradient", "average_reward"];
            let bound = if papers.contains(&name.as_str()) { 1e-10 } else { 1e-13 };
            // Not identically 0: two different programs computed it.
            let largest = row["max_abs_error"].as_f64().unwrap();
            assert!(largest > 0.0 && largest <= bound, "{name}: {largest}");
            let streaming = row["streaming_max_abs_error"].as_f64();
            assert!(streaming.map_or(name == "softmax_td", |x| x <= bound), "{name}");
            let value = row["max_abs_value"].as_f64().unwrap();
            assert!(value > 0.1, "{name}: iterates up to {value}");
            assert!(value < 1000.0 || bound < 1e-10, "{name}: iterates up to {value}");
        }
    }
}

#[test]
fn value_error_falls_to_a_quarter_as_the_context_grows() {
    for task in ["mdp", "boyan-representable", "loop --max-states 15"] {
        let result = json(&ictd(&Folder::new(), &format!("demo --json --task {task}")));
        let lengths = numbers(&result["context_lengths"]);
        assert_eq!((lengths[0], lengths[19], lengths.len()), (1.0, 39.0, 20));
        let mean = numbers(&result["msve_mean"]);
        assert!(mean[19] <= 0.25 * mean[0], "{task}: {} to {}", mean[0], mean[19]);
    }
}

#[test]
fn expected_updates_stay_in_the_invariant_set() {
    let out = Folder::new();
    let result = json(&ictd(&out, "one-layer --seeds 2 --tasks 20 --json"));
    let claims = result["claims"].as_array().unwrap();
    let stay = |claim: &&Value| claim["claim"].as_str().unwrap().contains("stay in it");
    assert_eq!(claims.iter().find(stay).unwrap()["verdict"], "holds", "{claims:?}");
}

#[test]
fn loop_task_repeats_the_authors_demo() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/reference_run");
    let reference = Path::new(folder).json("demo.json");
    let arguments = "demo --json --task loop --min-states 5 --max-states 15";
    let result = json(&ictd(&Folder::new(), arguments));
    assert_eq!(result["context_lengths"], reference["context_lengths"]);
    let columns =
        [(&result["msve_mean"], &result["msve_stderr"]), (&reference["mean"], &reference["ste"])]
            .map(|(mean, stderr)| (numbers(mean), numbers(stderr)));
    for i in 0..20 {
        let [(m, s), (m_ref, s_ref)] = &columns;
        let joint = (s[i] * s[i] + s_ref[i] * s_ref[i]).sqrt();
        assert!((m[i] - m_ref[i]).abs() <= 3.0 * joint, "length {i}: {} {}", m[i], m_ref[i]);
    }
}

#[test]
fn a_run_has_the_same_bytes_with_other_threads_from_its_config_and_drawn_again() {
    let here = &Folder::with("x.csv", csv_of_x(&signal(400)));
    done(&here.join("universal.ictd"), "export universal");
    for line in [
        "demo --tasks 21 --seed 5 --layers 12",
        "verify --seeds 5",
        "train --tasks 12 --batches 1 --batch-size 4 --context-length 6 --seeds 2",
        "predict x.csv --column x --gamma 0.5 --gamma 0.9 --dim 6 --model universal.ictd",
        // So little training need not make a claim hold.
        "figure-2 --seeds 2 --tasks 40",
        "rnn-context --seeds 1 --tasks 10",
        "control --seeds 2",
    ] {
        let name = line.split(' ').next().unwrap();
        let folder = |out: &str| match name {
            "train" => trained(&here.join(out)),
            _ => here.join(out).join(name),
        };
        let one = run(here, &format!("{line} --threads 1 --json --out one"));
        assert!(code(&one) < Some(2), "{line}: {one:?}");
        let makes_claims = !["train", "predict"].contains(&name);
        assert_eq!(json(&one)["claims"].as_array().is_some_and(|c| !c.is_empty()), makes_claims);
        let expected = contents(&folder("one"));
        let config = folder("one").join("config.toml");
        let four = run(here, &format!("--config {} --threads 4 --out four", config.display()));
        assert_eq!(code(&four), code(&one), "{line}: {four:?}");
        assert!(contents(&folder("four")) == expected, "{line}");
        let figures = || files(&folder("one")).into_iter().filter(|name| name.ends_with(".svg"));
        assert!(figures().count() > 0, "{line}");
        figures().for_each(|name| fs::remove_file(folder("one").join(name)).unwrap());
        object(here, 0, &format!("plot {}", folder("one").display()));
        assert!(contents(&folder("one")) == expected, "{line}");
    }
    // Typed options win over the file's.
    let result = json(&run(here, "demo --config one/demo/config.toml --tasks 3 --json"));
    let config = &result["config"];
    assert_eq!([&config["tasks"], &result["seed"], &config["layers"]], [3, 5, 12]);
}

#[test]
fn runs_of_one_name_are_one_run_that_can_be_trained() {
    let mut known = BTreeMap::new();
    let tables = ALL.iter().filter_map(|entry| match &entry.run {
        Runner::Spec(table) => Some(table),
        _ => None,
    });
    for run in tables.flat_map(|table| table.runs) {
        let options: Train = options::parsed(run.options);
        options.check(0).unwrap();
        let same = known.entry(run.name).or_insert_with(|| options.clone());
        assert_eq!(*same, options, "{}", run.name);
    }
    assert!(known.len() >= 30, "{}", known.len());
}

#[test]
fn ids_are_chosen_once_in_the_papers_order() {
    let names = |ids: &[&str]| -> Result<Vec<&str>, Error> {
        let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
        Ok(choose(&ids)?.into_iter().map(|e| e.id).collect())
    };
    assert_eq!(names(&["verify", "demo", "demo"]).unwrap(), ["demo", "verify"]);
    assert_eq!(names(&["all"]).unwrap().len(), ALL.len());
    assert!(names(&["figure-9"]).unwrap_err().to_string().starts_with("figure-9: expected "));
}
