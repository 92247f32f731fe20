//! A user's own data and parameters, from the command line.

use crate::common::*;

/// A deterministic cycle of three states with rewards 1, 0, 0: v = (1, gamma^2, gamma) / (1 - gamma^3).
const CYCLE: &str = "phi_0,phi_1,phi_2,reward\n1,0,0,1\n0,1,0,0\n0,0,1,0\n1,0,0,\n";

/// The weights of the transformer, of the algorithm, and of LSTD.
fn weights(result: &Value) -> [Vec<f64>; 3] {
    let of = |i: usize| &result["estimators"][i]["weights"];
    [0, 1, 2].map(|i| if of(i).is_null() { Vec::new() } else { numbers(of(i)) })
}

#[test]
fn enough_layers_predict_the_true_values_of_a_users_states() {
    let here = &Folder::with("data.csv", CYCLE);
    here.put("ask.csv", "phi_0,phi_1,phi_2\n0,0,1\n");
    let more = "--queries ask.csv --gamma 0.5 --layers 2000 --alpha 0.9";
    let result = object(here, 0, &format!("evaluate --data data.csv {more}"));
    let v: Vec<f64> = [1.0, 0.25, 0.5].iter().map(|x| x / 0.875).collect();
    for (got, want) in weights(&result).iter().flat_map(|w| w.iter().zip(&v)) {
        assert!((got - want).abs() < 1e-12, "{got} against {want}");
    }
    assert!((numbers(&result["query_values"])[0] - v[2]).abs() < 1e-12);
    let values = here.text("results/evaluate/values.csv");
    assert_eq!(values.lines().count(), 1 + 4, "{values}");
}

#[test]
fn layers_that_diverge_are_refused() {
    let here = &Folder::with("data.csv", CYCLE.replace("1,0", "200,0").replace("0,1", "0,200"));
    let line = refused(here, "evaluate --data data.csv");
    assert!(line.contains("the layers diverge") && line.contains("--model universal"), "{line}");
    object(here, 0, "evaluate --data data.csv --model universal");
}

#[test]
fn lstd_takes_features_in_any_units() {
    // v / unit, whatever the units of the three features are.
    for units in [[1.0, 1.0, 1.0], [1e6, 1e-6, 1e3], [1e-12, 1e12, 1.0]] {
        let [a, b, c] = units;
        let rows = format!("{a},0,0,1\n0,{b},0,0\n0,0,{c},0\n{a},0,0,\n");
        let directory = Folder::with("data.csv", format!("phi_0,phi_1,phi_2,reward\n{rows}"));
        let line = "evaluate --data data.csv --gamma 0.5 --layers 1 --alpha 1e-30";
        let [_, _, lstd] = weights(&object(&directory, 0, line));
        for ((got, v), unit) in lstd.iter().zip([1.0, 0.25, 0.5]).zip(units) {
            assert!((got * unit - v / 0.875).abs() < 1e-12, "{units:?}: {lstd:?}");
        }
        assert_eq!(lstd.len(), 3);
    }
}

#[test]
fn nothing_crosses_the_end_of_an_episode() {
    let evaluate = |data: &str, more: &str, count: usize, want: [f64; 2]| {
        let directory = Folder::with("data.csv", data);
        let line = format!("evaluate --data data.csv --trace-decay 0.5 --gamma 0.5 {more}");
        let result = object(&directory, 0, &line);
        for (got, want) in weights(&result)[..count].iter().flat_map(|w| w.iter().zip(want)) {
            assert!((got - want).abs() < 1e-12, "{result}");
        }
        [&result["transitions"], &result["episodes"]].map(|x| x.as_u64().unwrap())
    };
    // Two episodes of two states: reward 1, then 2, then the end.
    let twice = "phi_0,phi_1,reward,terminal\n1,0,1,0\n0,1,2,1\n1,0,1,0\n0,1,2,1\n";
    assert_eq!(evaluate(twice, "--layers 2000 --alpha 0.5", 3, [2.0, 2.0]), [4, 2]);
    // One step from w = 0 is alpha/n sum_i r_i e_i, where e restarts with each episode.
    evaluate(twice, "--layers 1 --alpha 0.2", 2, [0.2, 0.2]);
    // The same cut short: no reward follows the second state, and no transition leaves it.
    let cut = "phi_0,phi_1,reward,end\n1,0,1,0\n0,1,,1\n1,0,1,0\n0,1,,1\n";
    assert_eq!(evaluate(cut, "--layers 1 --alpha 0.2", 2, [0.2, 0.0]), [2, 2]);
    let one = Folder::with("data.csv", "phi_0,reward\n1,1\n1,1\n1,\n");
    let said = text(&run(&one, "evaluate --data data.csv"));
    assert!(said.contains("2 transitions in 1 episode;"), "{said}");
}

#[test]
fn weights_ask_for_the_values_of_another_policy() {
    // A coin was tossed for the reward, 1 or 0; the policy asked about takes 1 with probability 0.9.
    let tosses = "1,1,1.8,1\n1,0,0.2,1\n".repeat(50);
    let directory = Folder::with("data.csv", format!("phi_0,reward,rho,phi_next_0\n{tosses}"));
    let line = "evaluate --data data.csv --gamma 0.5 --layers 2000 --alpha 0.5";
    for w in weights(&object(&directory, 0, line)) {
        assert!((w[0] - 0.9 / 0.5).abs() < 1e-9, "{w:?}");
    }
    // A trace has the products of the weights.
    let line = "evaluate --data data.csv --gamma 0.5 --layers 5 --trace-decay 0.3";
    let result = object(&directory, 0, line);
    assert!(result["estimators"][1]["difference"].as_f64().unwrap() < 1e-14, "{result}");
    assert!((weights(&result)[2][0] - 1.8).abs() < 0.1, "{result}");
}

#[test]
fn a_run_is_repeated_bit_for_bit_from_its_config() {
    let here = &Folder::with("data.csv", CYCLE);
    object(here, 0, "evaluate --data data.csv --out a");
    object(here, 0, "--config a/evaluate/config.toml --out b");
    assert_same(&here.join("a"), &here.join("b"));
}

#[test]
fn a_run_means_the_folder_of_its_seed_wherever_a_model_is_read() {
    let here = &Folder::with("data.csv", "phi_0,phi_1,reward\n1,0,1\n0,1,0\n1,0,\n");
    let short = "--dim 2 --tasks 20 --batches 1 --batch-size 8 --context-length 10";
    object(here, 0, &format!("train {short} --seeds 2"));
    as_train(&here.join("results"));
    let results = ["results/train", "results/train/seed_1"].map(|source| {
        let mut result =
            object(here, 0, &format!("evaluate --data data.csv --seed 1 --model {source}"));
        (result["config"], result["seconds"]) = Default::default();
        result
    });
    assert_eq!(results[0], results[1]);
    let line = refused(here, "evaluate --data data.csv --model results/train --seed 7");
    assert!(line.contains("has no seed 7; expected one of 0, 1"), "{line}");
}

#[test]
fn models_that_stream_are_opened_in_one_way() {
    let rows: String = (0..150_u32).map(|i| format!("{}\n", i * i % 17)).collect();
    let here = &Folder::with("x.csv", format!("x\n{rows}"));
    for more in ["run", "softmax --attention softmax"] {
        let short = "train --tasks 3 --batches 1 --batch-size 8 --context-length 10 --log-every 1 --seeds 2";
        object(here, 0, &format!("{short} --out {more}"));
        as_train(&here.join(more.split(' ').next().unwrap()));
    }
    // What one of the two refuses, the other does, too.
    let (predict, demo) = ("predict x.csv --model", "demo --tasks 2 --max-context 5 --dim");
    for (model, d, reason) in [
        ("run/train", 5, "d = 4; expected 5"),
        ("softmax/train", 4, "softmax attention; expected linear attention"),
    ] {
        let lines = [format!("{demo} {d} --model {model}"), format!("{predict} {model} --dim {d}")];
        for line in lines.map(|line| refused(here, &line)) {
            assert!(line.contains("--model: ") && line.contains(reason), "{line}");
        }
    }
    let line = refused(here, &format!("{demo} 4 --model run/train --alpha 3"));
    assert!(line.contains("--alpha: ") && line.contains("cannot be used with --model"), "{line}");
    let line = refused(here, &format!("{demo} 4 --model run/train --gamma 0.3"));
    assert!(line.contains("--model: gamma = 0.9 in the model, 0.3 here"), "{line}");
    // Layers that share their parameters can be applied any number of times.
    let at_depth = |layers: &str| {
        let one_length = "demo --tasks 2 --max-context 1 --dim 4 --model run/train";
        object(here, 0, &format!("{one_length} {layers}"));
        here.text("results/demo/records.csv")
    };
    let [own, same, more] = ["", "--layers 3", "--layers 6"].map(at_depth);
    assert!(own == same && own != more);

    // predict takes the seed of --seed, demo all of them, or that of the folder.
    let of_seed = |model: &str, more: &str| -> Vec<String> {
        object(here, 0, &format!("{predict} {model} {more}"));
        let text = here.text("results/predict/predictions.csv");
        let mut rows = text.lines().map(|line| line.split(','));
        let place = rows.next().unwrap().position(|name| name == model).unwrap();
        rows.map(|mut row| row.nth(place).unwrap().to_owned()).collect()
    };
    let second = of_seed("run/train", "--seed 1");
    assert_eq!(of_seed("run/train/seed_1", ""), second);
    assert_ne!(of_seed("run/train", ""), second);
    let demo_of = |model: &str| {
        // Three tasks of training make no claim hold.
        numbers(&object(here, 1, &format!("{demo} 4 --model {model}"))["msve_mean"])
    };
    let [first, second, all] = ["run/train/seed_0", "run/train/seed_1", "run/train"].map(demo_of);
    assert_ne!(first, second);
    for ((first, second), mean) in first.iter().zip(&second).zip(&all) {
        assert!(((first + second) / 2.0 - mean).abs() < 1e-12 * mean.abs());
    }
    let rows = here.text("results/demo/records.csv");
    assert_eq!(rows.lines().count(), 1 + 2 * 3 * all.len());
}
