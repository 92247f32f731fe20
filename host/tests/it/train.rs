//! `ictd train`: what it prints, and that nothing but its options changes a bit.

use crate::common::*;

/// Small but whole: two batches per task, metrics along the way.
const ONE: &str = "train --tasks 12 --batches 2 --batch-size 8 --context-length 10";
const FIVE: &str = "train --tasks 12 --batches 2 --batch-size 8 --context-length 10 --seeds 5";

/// The object of a command that succeeds.
fn ran(out: &Path, arguments: &str) -> Value {
    json(&done(out, &format!("{arguments} --json")))
}

/// As [`ran`], into a directory of its own.
fn fresh(arguments: &str) -> Value {
    ran(&Folder::new(), arguments)
}

#[test]
fn threads_neighbours_and_measurements_change_no_bit() {
    let result = fresh(&format!("{FIVE} --threads 1"));
    assert!(result["seconds"].is_number() && result["cpu_seconds"].is_number());
    let one = &result["seeds"];
    assert!(one[4]["digest"].is_string() && one[5].is_null(), "{one}");
    for more in ["--threads 2", "--threads 3", "--log-every 1", "--log-every 1000"] {
        assert_eq!(fresh(&format!("{FIVE} {more}"))["seeds"], *one, "{more}");
    }
    assert_eq!(fresh(&format!("{ONE} --seed 2"))["seeds"][0], one[2]);
}

#[test]
fn seeds_that_diverged_are_named_and_the_others_go_on() {
    let out = Folder::new();
    let arguments = format!("{ONE} --seeds 2 --learning-rate 1000");
    assert_eq!(ictd(&out, &format!("{arguments} --check")).status.code(), Some(1));
    let text = text(&done(&out, &arguments));
    let line = "seed 1: parameters are NaN or infinite (diverged by task 10): lower --learning-rate, or \
         set --clip-norm";
    assert!(text.lines().any(|l| l == line), "{text}");
    let results = trained(&out).json("results.json");
    assert_eq!([&results["holds"], &results["seeds"][1]["diverged"]], [true, true]);
    let sequential = fresh(&format!("{FIVE} --layer-sharing sequential"))["seeds"][0].clone();
    assert_eq!(numbers(&sequential["p_bottom_right"]).len(), 3);
    assert!(sequential["diverged"].is_null() && sequential["ss"].is_f64(), "{sequential}");
    // One of two: its lane leaves the other's numbers and the mean matrices as they are.
    let arguments = "train --layer-sharing sequential --learning-rate 0.3 --tasks 200";
    let out = Folder::new();
    let both = json(&ictd(&out, &format!("{arguments} --seed 10 --seeds 2 --check --json")));
    let matrices = trained(&out).text("matrices.csv");
    assert!(matrices.lines().count() > 81 && !matrices.contains("NaN"));
    assert_eq!([&both["seeds"][0]["diverged"], &both["holds"]], [true, false]);
    assert_eq!(both["seeds"][1], fresh(&format!("{arguments} --seed 11"))["seeds"][0]);
    let clipped = fresh(&format!("{arguments} --seed 10 --clip-norm 1"))["seeds"][0].clone();
    assert!(clipped["diverged"].is_null() && clipped["ss"].is_f64(), "{clipped}");
}

#[test]
fn the_largest_shapes_train() {
    let smallest = "train --seeds 2 --tasks 1 --batches 1 --batch-size 2 --log-every 1";
    for shape in [
        "--dim 64 --states 32",
        "--layers 32",
        "--context-length 4096",
        "--context-range 1..4096 --layers 2",
        "--dim 33 --layers 17 --layer-sharing sequential --trace-decay 0.5 --context-length 9",
        "--network rnn --dim 64 --states 32",
        "--attention softmax --dim 16 --states 20 --layers 8 --context-length 256",
        "--attention softmax --dim 3 --layers 2 --layer-sharing sequential",
    ] {
        let out = Folder::new();
        let result = ran(&out, &format!("{smallest} {shape}"));
        let seeds = result["seeds"].as_array().unwrap();
        assert!(seeds.iter().all(|seed| seed["msve"].is_f64()), "{shape}: {result}");
        if shape.contains("sequential") || shape.contains("softmax") {
            let stored = format!("export {}", trained(&out).display());
            done(&out.join("model.ictd"), &stored);
        }
    }
    // The larger room changes no bit.
    let of = |n: usize| {
        let shape = format!("--context-range 1..10 --context-length {n}");
        fresh(&format!("train --tasks 3 --batch-size 8 {shape}"))["seeds"][0]["digest"].clone()
    };
    assert_eq!(of(4000), of(10));
}

#[test]
fn the_figure_and_the_table_have_what_was_recorded() {
    let shown = |arguments: &str| {
        let out = Folder::new();
        let text = text(&ictd(&out, &format!("{ONE} {arguments}")));
        let run = trained(&out);
        assert!(text.contains(run.to_str().unwrap()), "{text}");
        (text, run.text("train.svg"))
    };
    let (text, figure) = shown("");
    assert!(text.contains("IWS") && !text.contains("MSVE"), "{text}");
    assert!(figure.contains("value difference") && !figure.contains("Value error"));
    assert!(figure.contains("linear transformer, L = 3, d = 4, n = 10, task boyan, seeds: 1"));
    let (text, figure) = shown("--network rnn");
    assert!(!text.contains("IWS") && !text.contains("P[−1") && text.contains("MSVE"), "{text}");
    assert!(!figure.contains("value difference") && figure.contains("Value error"));
    let (text, figure) = shown("--task cartpole");
    assert!(text.contains("P[−1") && text.contains("loss") && !text.contains("MSVE"), "{text}");
    assert!(figure.contains("Loss") && !figure.contains("Value error"));
}

#[test]
fn a_trace_growing_contexts_and_families_in_turn_go_into_the_runs_files() {
    let out = Folder::new();
    let asked = "--trace-decay 0.5 --context-range 1..9 --gamma-range 0.5..0.9 --task boyan,loop";
    let result = ran(&out, &format!("{FIVE} {asked} --dim 3 --layers 5"));
    let run = trained(&out);
    let config = run.text("config.toml");
    let text =
        "trace-decay = 0.5|context-range = '1..9'|gamma-range = '0.5..0.9'|task = 'boyan,loop'";
    for line in text.replace('\'', "\"").split('|') {
        assert!(config.lines().any(|l| l == line), "{line} in {config}");
    }
    let again = format!("--config {}", run.join("config.toml").display());
    assert_eq!(fresh(&again)["seeds"], result["seeds"]);
    assert_eq!(fresh(&format!("{again} --seeds 1"))["seeds"][0], result["seeds"][0]);
    let params = run.text("seed_0/params.json");
    assert!(params.contains("\"lambda\":0.5"), "{params}");
    let model = out.join("model.ictd");
    ran(&model, &format!("export {}", run.display()));
    let inspected = fresh(&format!("inspect {}", model.display()));
    assert_eq!(inspected["trace_decay"], 0.5, "{inspected}");
}

#[test]
fn seeds_may_come_in_any_order_and_from_elsewhere() {
    let [whole, parts, elsewhere] = [0; 3].map(|_| Folder::new());
    let seeds = |out: &Path, seeds: &str| ran(out, &format!("{ONE} --seeds {seeds}"));
    let all = seeds(&whole, "5");
    let expected = contents(&trained(&whole));
    assert_eq!(seeds(&parts, "3,1")["seeds"].as_array().unwrap().len(), 2);
    let run = trained(&parts);
    let config = run.text("config.toml");
    assert!(config.contains("seeds = \"1,3\"\n"), "{config}");
    // Copied from where it was trained, a seed is one of the run.
    seeds(&elsewhere, "4..4");
    for (name, content) in contents(&trained(&elsewhere)) {
        if name.starts_with("seed_4/") {
            fs::create_dir_all(run.join("seed_4")).unwrap();
            run.put(name, content);
        }
    }
    assert_eq!(seeds(&parts, "0..2")["seeds"], all["seeds"]);
    assert!(contents(&run) == expected);
}
