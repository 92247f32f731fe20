//! `ictd predict`: a user's signals, from the command line.

use crate::common::{self, *};
use ictd_core::rng::Rng;
use std::collections::BTreeMap;

/// A signal that is worth predicting: an oscillation of drifting frequency, and noise.
pub(crate) fn signal(rows: usize) -> Vec<f64> {
    let (mut noise, mut phase) = (1_u64, 0.0);
    let mut next = |t: usize| {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        phase += 0.3 + 0.1 * libm::sin(t as f64 / 500.0);
        let noise = (noise >> 40) as f64 / 16_777_216.0 - 0.5;
        ((libm::sin(phase) + 0.3 * noise) * 1000.0).round() / 1000.0
    };
    (0..rows).map(&mut next).collect()
}

pub(crate) fn csv(head: &str, rows: impl Iterator<Item = String>) -> String {
    std::iter::once(head.to_owned()).chain(rows).fold(String::new(), |text, row| text + &row + "\n")
}

/// Writes a file into a directory and predicts it.
pub(crate) fn predict(directory: &Folder, content: &str, arguments: &str) -> Output {
    directory.put("data.csv", content);
    let file = directory.join("data.csv");
    ictd(&directory.join("out"), &format!("predict {} {arguments}", file.display()))
}

/// The line of a refusal that leaves no files but a lock.
fn refused(content: impl AsRef<[u8]>, arguments: &str) -> String {
    let directory = Folder::with("data.csv", content);
    let line = common::refused(&directory, &format!("predict data.csv {arguments}"));
    let left = files(&directory.join("results"));
    assert!(left.iter().all(|file| file.ends_with(".lock")), "{left:?}");
    line
}

/// Lines of predictions.csv: the row, its return, and the rest by column.
type Lines = Vec<(u64, Option<f64>, BTreeMap<String, f64>)>;

/// Each line that belongs to a signal and a discount.
pub(crate) fn predictions(out: &Path, signal: &str, gamma: f64) -> Lines {
    let mut reader = csv::Reader::from_path(out.join("predict/predictions.csv")).unwrap();
    let head = reader.headers().unwrap().clone();
    assert_eq!(head.iter().take(4).collect::<Vec<_>>(), ["row", "signal", "gamma", "return"]);
    let records = reader.records().map(Result::unwrap);
    let of = records.filter(|r| &r[1] == signal && r[2].parse::<f64>().unwrap() == gamma);
    of.map(|r| {
        let numbers = head.iter().zip(&r).skip(4);
        let numbers = numbers.filter_map(|(name, x)| Some((name.to_owned(), x.parse().ok()?)));
        (r[0].parse().unwrap(), r[3].parse().ok(), numbers.collect())
    })
    .collect()
}

/// The [`predictions`] of a table's signal `x` at the discount 0.9, in a folder of their own.
pub(crate) fn predictions_of_x(content: &str, arguments: &str) -> Lines {
    let directory = Folder::new();
    let output = predict(&directory, content, arguments);
    assert!(output.status.success(), "{output:?}");
    predictions(&directory.join("out"), "x", 0.9)
}

/// A table of one column, `x`.
pub(crate) fn csv_of_x(x: &[f64]) -> String {
    csv("x", x.iter().map(f64::to_string))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-3)
}

#[test]
fn errors_are_those_of_the_predictions_and_of_what_the_file_says_followed() {
    let directory = Folder::new();
    // Columns that are no predictions of what follows.
    let others = ["predictor_low", "predictor_high", "surprise"];
    let x = signal(1500);
    let y: Vec<f64> = x.iter().map(|x| 5.0 - 2.0 * x * x).collect();
    let rows = x.iter().zip(&y).enumerate().map(|(t, (x, y))| format!("{t},{x},{y}"));
    let content = csv("time,x,y", rows);
    let output = predict(&directory, &content, "--time time --gamma 0.5 --horizon 20 --json");
    let result = json(&output);
    assert_eq!(result["rows"], 1500);
    let signals = result["signals"].as_array().unwrap();
    assert_eq!(signals.iter().map(|c| &c["name"]).collect::<Vec<_>>(), ["x", "y"]);
    // The logarithms of a setting's errors, of all signals and discounts.
    let mut of_settings: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (found, signal) in signals.iter().zip([x, y]) {
        let gammas = found["gammas"].as_array().unwrap();
        assert_eq!(gammas.len(), 2);
        let name = found["name"].as_str().unwrap();
        for found in gammas {
            let gamma = found["gamma"].as_f64().unwrap();
            let lines = predictions(&directory.join("out"), name, gamma);
            assert_eq!(lines.len(), signal.len());
            // What followed, from the file alone, at the end of which the last value stays.
            let last = signal[signal.len() - 1] / (1.0 - gamma);
            let mut returns = vec![last; signal.len()];
            for t in (0..signal.len() - 1).rev() {
                returns[t] = signal[t + 1] + gamma * returns[t + 1];
            }
            let mut judged = Vec::new();
            let mut errors: BTreeMap<&str, f64> = BTreeMap::new();
            for (t, (row, followed, numbers)) in lines.iter().enumerate() {
                assert_eq!(*row, t as u64 + 1);
                let known = libm::pow(gamma, (signal.len() - 1 - t) as f64) <= 1e-3;
                assert_eq!(followed.is_some(), known, "row {row}");
                let Some(followed) = followed else { continue };
                assert!((followed - returns[t]).abs() < 1e-5 * (1.0 + returns[t].abs()));
                if *row > 50 {
                    judged.push(*followed);
                    for (name, x) in
                        numbers.iter().filter(|(name, _)| !others.contains(&name.as_str()))
                    {
                        *errors.entry(name).or_default() += (x - followed) * (x - followed);
                    }
                }
            }
            assert_eq!(found["judged_rows"], judged.len());
            let mean = judged.iter().sum::<f64>() / judged.len() as f64;
            let squares: f64 = judged.iter().map(|x| (x - mean) * (x - mean)).sum();
            let deviation = libm::sqrt(squares / judged.len() as f64);
            assert!(close(found["standard_deviation"].as_f64().unwrap(), deviation));
            let estimators = found["estimators"].as_array().unwrap();
            assert_eq!(estimators.len(), errors.len());
            let mut of_algorithms: BTreeMap<&str, f64> = BTreeMap::new();
            for estimator in estimators {
                let column = estimator["column"].as_str().unwrap();
                let error = estimator["normalised_error"].as_f64().unwrap();
                assert!(close(error, errors[column] / squares), "{column}: {error}");
                of_settings.entry(column).or_default().push(libm::log(error));
                let least =
                    of_algorithms.entry(estimator["name"].as_str().unwrap()).or_insert(error);
                *least = least.min(error);
            }
            let names: Vec<_> = of_algorithms.keys().copied().collect();
            assert_eq!(
                names.join(" "),
                "ar ar32 average holt lstd persistence predictor td universal"
            );
            for name in ["universal", "td", "lstd"] {
                // What follows y for twenty rows is its mean, nearly. The universal model takes the first distances from an
                // average that is still on its way for a level of the rewards.
                let most = match (gamma == 0.5, name) {
                    (true, _) => 1.0,
                    (false, "universal") => 3.0,
                    (false, _) => 1.5,
                };
                assert!(of_algorithms[name] < most, "{name}: {found}");
            }
        }
    }
    let singles = result["single_settings"].as_array().unwrap();
    let means: Vec<_> = singles.iter().map(|s| s["geometric_mean"].as_f64().unwrap()).collect();
    assert!(means.is_sorted());
    for (single, expected) in singles.iter().zip(&means) {
        let of = &of_settings[single["column"].as_str().unwrap()];
        assert!(close(libm::exp(of.iter().sum::<f64>() / of.len() as f64), *expected));
        let [low, high] = numbers(&single["interval"])[..] else { panic!("{single}") };
        assert!(low < *expected && *expected < high, "{single}");
    }
}

#[test]
fn a_prediction_is_made_before_what_it_predicts_is_seen() {
    // Two files that are equal up to row 200 and have the same median, the level: so are the predictions up to there.
    let first = signal(400);
    let mut second = first.clone();
    second[200..].reverse();
    let [a, b] = [first, second].map(|x| predictions_of_x(&csv_of_x(&x), ""));
    for t in 0..400 {
        assert_eq!(a[t].2 == b[t].2, t < 200, "row {}", t + 1);
    }
}

#[test]
fn a_stream_is_read_to_the_same_predictions_in_any_pieces() {
    // More rows than are read at a time, and than wait for their returns, against the first of them alone.
    let x = signal(20_000);
    let directory = Folder::new();
    let result = json(&predict(&directory, &csv_of_x(&x), "--json"));
    let lines = predictions(&directory.join("out"), "x", 0.9);
    assert_eq!(lines.len(), x.len());
    let of_short = predictions_of_x(&csv_of_x(&x[..9000]), "--threads 1");
    for (a, b) in lines.iter().zip(&of_short) {
        assert_eq!((a.0, &a.2), (b.0, &b.2));
        assert!(b.1.is_none() || (a.1.unwrap() - b.1.unwrap()).abs() < 1e-2);
    }
    assert_eq!(result["signals"][0]["gammas"][0]["judged_rows"], 20_000 - 50 - 66);
}

#[test]
fn gaps_are_named_or_skipped() {
    let mut cells: Vec<String> = signal(400).iter().map(f64::to_string).collect();
    cells[99] = "nan".into();
    cells[199] = String::new();
    let rows = |cells: &[String]| csv("x,y", cells.iter().map(|x| format!("{x},1")));
    let line = refused(rows(&cells), "");
    assert!(line.contains("data.csv: row 100 (line 101), column `x`: a gap; expected"), "{line}");
    assert!(line.contains("--skip-gaps"));
    let directory = Folder::new();
    let result =
        json(&predict(&directory, &rows(&cells), "--column x --skip-gaps --gamma 0.5 --json"));
    assert_eq!(result["signals"][0]["gaps"], 2);
    let lines = predictions(&directory.join("out"), "x", 0.5);
    assert_eq!(lines.len(), 398);
    assert!(lines.iter().all(|(row, ..)| ![100, 200].contains(row)));
    // What follows row 90 is known up to the gap alone.
    assert_eq!([88, 89].map(|i| lines[i].1.is_some()), [true, false]);
    // Another column has no gap.
    assert!(predict(&directory, &rows(&cells), "--column y --json").status.success());
}

#[test]
fn what_cannot_be_predicted_is_one_line() {
    let x = csv_of_x(&signal(200));
    let gaps = csv("x", (0..200).map(|t| if t % 7 == 0 { "nan".into() } else { t.to_string() }));
    for (content, arguments, part) in [
        (x.as_str(), "--horizon 0.5", "--horizon 0.5: expected a number in [1, 10000]"),
        (&x, "--period 0", "--period 0: expected an integer from 1 to 100000"),
        (&x, "--gamma 1", "--gamma 1: expected a number in [0, 0.9999]"),
        (&x, "--retention 0", "--retention 0: expected a number in (0, 1)"),
        (&x, "--dim 17", "--dim 17: expected an integer from 1 to 16"),
        (&x, "--separator 5", "--separator 5: expected one character that no number has"),
        (&x, "--model nothing", "nothing: "),
        (&x, "--gamma 0.99", "column `x`: at most 200 rows without a gap; expected 739"),
        ("x\n1\n", "", "column `x`: at most 1 rows without a gap; expected 117"),
        ("x\n1\n1e38\n1\n", "", "row 2, column `x`: value is out of range"),
        (&gaps, "--skip-gaps", "at most 6 rows without a gap; expected"),
    ] {
        let line = refused(content, arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
    let line = common::refused(&Folder::new(), "predict /nowhere.csv");
    assert!(line.contains("/nowhere.csv: No such file"), "{line}");
}

#[test]
fn a_constant_column_has_an_answer() {
    let directory = Folder::new();
    let result = json(&predict(&directory, &csv("x,y", (0..300).map(|_| "5,0".into())), "--json"));
    let [five, zero] = [0, 1].map(|i| &result["signals"][i]);
    assert_eq!((five["constant"].as_f64(), zero["constant"].as_f64()), (Some(5.0), Some(0.0)));
    for constant in [five, zero] {
        let estimators = constant["gammas"][0]["estimators"].as_array().unwrap();
        assert!(estimators.iter().all(|e| e["normalised_error"].is_null()), "{constant}");
    }
    let said = |cell: &dyn Fn(usize) -> String| {
        text(&predict(&directory, &csv("x", (0..300).map(cell)), ""))
    };
    let zero = said(&|_| "0".into());
    assert!(zero.contains("`x` is 0 in every row"), "{zero}");
    for (power, is_said) in [("e-30", true), ("e-9", false), ("e9", false), ("e20", true)] {
        let text = said(&|i| format!("{}{power}", i % 7));
        assert_eq!(text.contains("changes by"), is_said, "{text}");
    }
    for (level, is_said) in [(1e3, false), (1e9, true)] {
        let text = said(&|i| (level + (i % 7) as f64).to_string());
        assert_eq!(text.contains("coarser than a tenth"), is_said, "{text}");
    }
}

#[test]
fn a_model_of_ones_own_is_judged_beside_the_one_that_ships() {
    let directory = Folder::new();
    let content = csv_of_x(&signal(400));
    let model = directory.join("universal.ictd");
    done(&model, "export universal");
    let model = model.display().to_string();
    let arguments = format!("--column x --gamma 0.5 --gamma 0.9 --dim 6 --model {model} --json");
    let result = json(&predict(&directory, &content, &arguments));
    let written = "config.toml predictions.csv predictions.svg results.json run.json shown.csv";
    assert_eq!(files(&directory.join("out/predict"))[1..].join(" "), written);
    // From a file in f32: nearly the same predictions.
    for found in result["signals"][0]["gammas"].as_array().unwrap() {
        let [shipped, given] = [0, 1].map(|i| &found["estimators"][i]);
        assert_eq!([&shipped["name"], &given["name"]], ["universal", &model]);
        assert!(given["normalised_error"].as_f64().unwrap() < 2.0, "{given}");
    }
}

#[test]
fn a_constant_added_changes_no_error_and_no_coverage() {
    let (mut rng, mut x) = (Rng::new(3), 0.0);
    let mut next = || {
        x = 0.9 * x + rng.normal::<f64>();
        x
    };
    let x: Vec<f64> = (0..1500).map(|_| next()).collect();
    let run_with = |level: f64, is_glitch: bool| {
        let cells = x.iter().enumerate().map(|(t, x)| match t {
            700 => String::new(),
            0 if is_glitch => "0".to_owned(),
            _ => (x + level).to_string(),
        });
        let content = format!("x,y\n{}\n", cells.map(|x| x + ",1").collect::<Vec<_>>().join("\n"));
        let result =
            json(&predict(&Folder::new(), &content, "--column x --column x --skip-gaps --json"));
        assert_eq!(result["signals"].as_array().unwrap().len(), 1);
        result["signals"][0]["gammas"][0].clone()
    };
    let run = |level: f64| {
        let found = run_with(level, false);
        let mut numbers = vec![found["coverage"].as_f64().unwrap()];
        let estimators = found["estimators"].as_array().unwrap();
        numbers.extend(estimators.iter().map(|e| e["normalised_error"].as_f64().unwrap()));
        numbers
    };
    let at_0 = run(0.0);
    for level in [20.0, 1e4, 1e6] {
        for (a, b) in run(level).iter().zip(&at_0) {
            assert!((a - b).abs() <= 1e-3 * b.abs(), "{level}: {a} {b}");
        }
    }
    // Nor does a first value of 0 make the rest of them rounding.
    let persistence = |found: Value| {
        let mut estimators = found["estimators"].as_array().unwrap().iter();
        let error = &estimators.find(|e| e["name"] == "persistence").unwrap()["normalised_error"];
        [error, &found["standard_deviation"]].map(|x| x.as_f64().unwrap())
    };
    let [expected, found] = [(0.0, false), (1e8, true)].map(|(a, b)| persistence(run_with(a, b)));
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-3 * b, "{a} {b}");
    }
}

#[test]
fn neither_what_is_read_nor_what_no_run_wrote_is_replaced() {
    let directory = Folder::new();
    let content = csv_of_x(&signal(300));
    predict(&directory, &content, "");
    let own = directory.join("out/predict/predictions.csv");
    let before = fs::read(&own).unwrap();
    let line = common::refused(&directory, &format!("predict {} --out out", own.display()));
    assert!(line.contains("it lies in the folder that this command writes"), "{line}");
    assert_eq!(fs::read(&own).unwrap(), before);
    // A user keeps a file of his own in the folder; a later version writes one of that name.
    let out = directory.join("out/predict");
    let manifest = out.text("run.json");
    let without = manifest.replace("shown.csv", "other.csv");
    assert_ne!(manifest, without);
    out.put("run.json", without);
    out.put("shown.csv", "mine");
    let line = common::refused(&directory, "predict data.csv --out out");
    assert!(line.contains("shown.csv: no run wrote it"), "{line}");
    assert_eq!(out.text("shown.csv"), "mine");
}
