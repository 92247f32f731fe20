//! Data and models of any number of features.

use crate::common::*;
use ictd_core::rng::Rng;
use std::fmt::Write as _;

/// Returns a CSV of 60 transitions with d features, multiplied by `scale`.
fn data(d: usize, scale: f64) -> String {
    let row = |name: &str| (0..d).map(|i| format!("{name}_{i}")).collect::<Vec<_>>().join(",");
    let mut csv = format!("{},reward\n", row("phi"));
    let mut rng = Rng::new(1);
    let mut draw = || rng.uniform_in(-1.0, 1.0);
    for _ in 0..=130 {
        let features: Vec<_> = (0..d).map(|_| (scale * draw()).to_string()).collect();
        writeln!(csv, "{},{}", features.join(","), draw()).unwrap();
    }
    csv
}

#[test]
fn a_users_data_may_have_any_number_of_features_up_to_64() {
    let here = &Folder::new();
    for d in [1, 6, 9, 17, 32, 64] {
        here.put("data.csv", data(d, 1.0));
        for decay in ["0", "0.5"] {
            let line = format!("evaluate --data data.csv --trace-decay {decay} --alpha 0.05");
            let result = object(here, 0, &line);
            for i in 0..3 {
                let weights = numbers(&result["estimators"][i]["weights"]);
                assert!(weights.len() == d && weights.iter().any(|w| *w != 0.0), "{result}");
            }
            // Each layer is a step of its algorithm.
            let difference = result["estimators"][1]["difference"].as_f64().unwrap();
            assert!(difference < 1e-13, "{d}: {difference}");
        }
        let universal = object(here, 0, "evaluate --data data.csv --model universal");
        assert_eq!(numbers(&universal["estimators"][0]["weights"]).len(), d);
    }
    here.put("data.csv", data(65, 1.0));
    let line = refused(here, "evaluate --data data.csv");
    assert!(line.contains("64"), "{line}");
}

#[test]
fn a_model_of_any_dimension_is_stored() {
    let here = &Folder::new();
    for (d, attention) in [(3, "linear"), (6, "softmax"), (20, "linear")] {
        // The transformer of TD(0), as another tool would write it.
        let k = 2 * d + 1;
        let (mut p, mut q) = (vec![0.0_f32; k * k], vec![0.0_f32; k * k]);
        p[k * k - 1] = 1.0;
        for i in 0..d {
            (q[k * i + i], q[k * i + d + i]) = (-0.125, 0.125);
        }
        here.put("model.safetensors", safetensors(&[("P", p), ("Q", q)], &[]));
        let line = refused(here, "export model.safetensors --gamma 0.9");
        assert!(line.contains("--layers: the model's file does not have it; expected"), "{line}");
        let options = format!("--attention {attention} --layers 3 --gamma 0.9");
        object(here, 0, &format!("export model.safetensors {options}"));
        // The stored model is the same parameters.
        let stored = object(here, 0, "inspect model.ictd");
        assert_eq!([&stored["dim"], &stored["nonzero_parameters"]], [d, 2 * d + 1]);
        here.put("data.csv", data(d, 0.1));
        let found = |model: &str, more: &str| {
            let line = format!("evaluate --data data.csv --model {model} --gamma 0.9 {more}");
            object(here, 0, &line)["estimators"][0].clone()
        };
        let of_stored = found("model.ictd", "");
        let more = format!("--attention {attention} --layers 3");
        assert_eq!(found("model.safetensors", &more)["weights"], of_stored["weights"]);
        assert!(attention == "softmax" || numbers(&of_stored["weights"]).len() == d, "{of_stored}");
    }
}
