//! In-context TD emerges: whole training runs, whose ends are compared over seeds, never seed by seed
//! (some seeds stay stuck, here as in every implementation).

use crate::common::*;
use crate::documented_numbers::differing;
use ictd::experiments::{learning::numbers_of, measurements::MeasurementTable};
use ictd::run::records::RunFiles;
use ictd::train::checkpoint::Checkpoint;
use ictd_core::metrics::FORM_DISTANCE;

/// A metric of every seed.
fn metric(seeds: &[Value], name: &str) -> Vec<f64> {
    seeds.iter().map(|seed| seed[name].as_f64().unwrap()).collect()
}

/// The standard score of the Mann-Whitney test, ties counted half: beyond 3.29 in either direction
/// two samples of one distribution come once in a thousand times.
fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let wins: f64 = a
        .iter()
        .flat_map(|x| b.iter().map(move |y| f64::from(x > y) + 0.5 * f64::from(x == y)))
        .sum();
    let (n, m) = (a.len() as f64, b.len() as f64);
    (wins - n * m / 2.0) / (n * m * (n + m + 1.0) / 12.0).sqrt()
}

#[test]
fn the_main_job_shows_what_it_claims_and_its_seeds_end_as_those_of_another_implementation() {
    let out = Folder::new();
    let main = done(&out, "");
    assert!(main.stderr.is_empty(), "{main:?}");
    let text = text(&main);
    assert!(text.lines().count() <= 30 && !text.contains("NaN"), "{text}");
    let main = out.json("results.json");
    assert_eq!(main["holds"], true);
    assert!(main["verify"]["constructions"].is_object());
    assert!(main["demo"]["msve_mean"].is_array());
    assert!(out.join("config.toml").is_file() && out.join("demo/demo.svg").is_file());
    // The same bytes wherever and whenever it runs.
    let results = out.text("results.json");
    assert!(!results.contains("seconds") && !results.contains(out.to_str().unwrap()));
    let info: Value = out.json("run.json");
    assert_eq!(info["command"], "main");
    assert!(!info["verdicts"].as_array().unwrap().is_empty());

    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/reference_run");
    let peer = Path::new(folder).json("peer_linear_L3_30seeds.json");
    // The pages have the numbers of what it computes.
    let (compared, differing) = differing(&out);
    assert!(compared > 10 && differing.is_empty(), "{compared}: {differing:#?}");
    // The seeds have finished, so nothing is trained again; one layer's are in a folder of their own.
    let inside = fs::read_dir(out.join("runs")).unwrap().map(|e| e.unwrap().path());
    let one_layer = inside.into_iter().find(|path| path.display().to_string().contains("-L1-"));
    fs::remove_dir_all(one_layer.unwrap()).unwrap();
    let seeds = json(&done(&out.join("runs"), "train --seeds 30 --json"));
    // Of these the firmware has one.
    let file = out.join("trained.ictd");
    done(&file, &format!("export {} --seed 0", trained(&out.join("runs")).display()));
    let committed = include_bytes!("../../../embedded-demo/src/trained.ictd");
    assert!(fs::read(&file).unwrap() == committed, "embedded-demo/README.md says how to renew it");
    let seeds = seeds["seeds"].as_array().unwrap();
    assert_eq!(seeds.len(), 30);
    for (ours, theirs) in [
        ("p_bottom_right", "layer0_P_bottom_right"),
        ("p_avg_abs_others", "layer0_P_avg_abs_others"),
        ("q_trace_upper_left", "layer0_Q_trace_upper_left"),
        ("q_trace_upper_right", "layer0_Q_trace_upper_right"),
        ("q_avg_abs_others", "layer0_Q_avg_abs_others"),
        ("vd", "VD"),
        ("iws", "IWS"),
        ("alpha", "alpha"),
    ] {
        let expected = peer[theirs]["final_per_seed"].as_array().unwrap();
        let expected: Vec<f64> = expected.iter().map(|x| x.as_f64().unwrap()).collect();
        let z = mann_whitney(&metric(seeds, ours), &expected);
        println!("{ours}: z = {z:.2}");
        assert!(z.abs() < 3.29, "{ours} ends elsewhere than the peer's: z = {z:.2}");
    }
    assert!(mann_whitney(&[1.0; 30], &[2.0; 30]) < -3.29, "what ends elsewhere is told apart");
    let record =
        |of: &str| MeasurementTable::read(&RunFiles::open(&out.join(of)).unwrap()).unwrap();
    assert_form(&record("figure-2"), "linear-l3", "q_distance_0");
    assert_form(&record("one-layer"), "linear-l1", "q_distance_one_layer_0");
    // Exactly linear in the query: what differs is rounding.
    for (iws, ss) in metric(seeds, "iws").iter().zip(metric(seeds, "ss")) {
        assert!((iws - ss).abs() < 1e-4, "IWS {iws} and SS {ss} of linear attention");
    }
}

/// Asserts that Q of the first layer of a run has ended at a form in most of the seeds, and at others in few.
fn assert_form(long: &MeasurementTable, run: &str, form: &str) {
    for other in ["q_distance_one_layer_0", "q_distance_0", "q_distance_residual_0"] {
        let distances = long.of(run).values(other);
        let (count, seeds) =
            (distances.iter().filter(|x| **x <= FORM_DISTANCE).count(), distances.len());
        println!("{run}, {other}: {count} of {seeds} seeds");
        let is_so = if other == form { count * 8 >= seeds * 5 } else { count * 4 < seeds };
        assert!(seeds >= 8 && is_so, "{run}, {other}: {count} of {seeds} seeds");
    }
}

#[test]
fn q_of_two_layers_ends_at_theorem_1s_form() {
    let out = Folder::new();
    done(&out, "train --layers 2 --seeds 8");
    let mut long = MeasurementTable::default();
    for seed in 0..8 {
        let bytes = trained(&out).bytes(format!("seed_{seed}/checkpoint.bin"));
        let run = Checkpoint::from_bytes(&bytes).unwrap().run;
        long.extend("linear-l2", seed, numbers_of(&run));
    }
    assert_form(&long, "linear-l2", "q_distance_0");
}
