//! Value functions judged by the returns in the data, and features of raw observations.

use crate::common::*;
use compute::recipe::Recipe;
use compute::transitions::{EpisodeEnd, Transitions};
use ictd::encoder::{Encoder, has_constant};
use ictd::returns::{Half, error, known};
use judge::bridge::{JudgedContext, contexts};
use judge::estimator::{Estimator, Method, on_large_stack, values_of};

const GAMMA: f64 = 0.9;

fn transitions(c: &JudgedContext, d: usize) -> Transitions {
    let n = c.rewards.len();
    Transitions {
        d,
        phi: c.features[..n * d].to_vec(),
        from: (0..n).collect(),
        reward: c.rewards.clone(),
        phi_next: c.features[d..].to_vec(),
        marks: vec![EpisodeEnd::Continues; n],
        rho: None,
    }
}

fn least(errors: &[f64]) -> usize {
    (0..errors.len()).min_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap()
}

#[test]
fn the_best_by_returns_is_the_best_by_true_values_more_often_than_not() {
    on_large_stack(rank).unwrap();
}

fn rank() {
    let universal = Box::new(ictd::model_file::shipped(GAMMA).unwrap());
    let models = [
        Method::Universal(universal),
        Method::Constructed { alpha: 0.2, trace_decay: 0.0 },
        Method::Constructed { alpha: 0.2, trace_decay: 0.81 },
        Method::Lstd { lambda: 0.9, ridge: 0.3 },
    ];
    let (mut cases, mut by_returns, mut by_td_error) = (0, 0, 0);
    for task in ["boyan", "boyan-representable", "mdp"] {
        for n in ["300", "1000"] {
            let settings = [("task", task), ("context-length", n)];
            let recipe = Recipe::default().with_settings(settings).unwrap();
            for c in contexts(&recipe, 30, 7).unwrap() {
                let data = transitions(&c, recipe.dim);
                let halves = Half::both(&data, GAMMA);
                let (mut truth, mut found, mut td) = (vec![], vec![], vec![]);
                for method in &models {
                    let read = |data: &Transitions, states: &[f64]| {
                        let estimator =
                            Estimator { method: method.clone(), gamma: GAMMA, layers: 15 };
                        let mut stream = estimator.stream(data.d, None).unwrap();
                        stream.observe_all(data).unwrap();
                        values_of(&*stream, data, states, GAMMA).unwrap()
                    };
                    let all = read(&data, &c.states);
                    let squares = all.queries.iter().zip(&c.values).zip(&c.weights);
                    truth.push(
                        squares.map(|((v, true_v), d)| d * (v - true_v) * (v - true_v)).sum(),
                    );
                    td.push(all.td_error);
                    let of = |k: usize| read(&halves[1 - k].transitions, &halves[k].states());
                    found.push(error(&halves, &[of(0).queries, of(1).queries]).unwrap().mean);
                }
                cases += 1;
                by_returns += usize::from(least(&found) == least(&truth));
                by_td_error += usize::from(least(&td) == least(&truth));
            }
        }
    }
    println!("of {cases} cases, {by_returns} by returns, {by_td_error} by the TD error");
    assert!(10 * by_returns >= 6 * cases, "{by_returns} of {cases}");
    assert!(by_td_error < by_returns / 2, "{by_td_error}");
}

#[test]
fn returns_stop_at_the_ends_of_episodes() {
    // A terminated episode, a truncated one, and one that goes on.
    let mut marks = vec![EpisodeEnd::Continues; 40];
    (marks[9], marks[19]) = (EpisodeEnd::Terminal, EpisodeEnd::End);
    let states: Vec<f64> = (0..41).map(f64::from).collect();
    let data = Transitions {
        d: 1,
        phi: states[..40].to_vec(),
        from: (0..40).collect(),
        reward: vec![1.0; 40],
        phi_next: states[1..].to_vec(),
        marks,
        rho: None,
    };
    let [first, second] = Half::both(&data, 0.5);
    // The return over k steps with reward 1; the mean reward, 1, for ever follows a truncation.
    let sum = |k: u32| (1.0 - f64::from(2_u32.pow(k)).recip()) / 0.5;
    for (i, found) in first.returns.iter().enumerate() {
        let expected = match i {
            0..=9 => Some(sum(10 - i as u32)),
            // 0.5^3 of the weight is left, 0.5^2 is too much.
            10..=17 => Some(2.0),
            _ => None,
        };
        assert_eq!(found.is_some(), expected.is_some(), "{i}");
        assert!((found.unwrap_or(0.0) - expected.unwrap_or(0.0)).abs() < 1e-12, "{i}: {found:?}");
    }
    assert_eq!(
        (first.episodes.clone(), second.episodes.clone()),
        (vec![0..10, 10..20], std::iter::once(0..20).collect())
    );
    let halves = [first, second];
    assert_eq!(known(&halves), [10 + 8 + 18, 3]);
    // The returns themselves have no error, and 0 has their root mean square.
    let returns = [0, 1].map(|k| halves[k].returns.iter().copied().flatten().collect::<Vec<_>>());
    let of = error(&halves, &returns).unwrap();
    assert_eq!((of.mean, of.low, of.high), (0.0, 0.0, 0.0));
    let squares: f64 = returns.iter().flatten().map(|x| x * x).sum();
    let zero = error(&halves, &[vec![0.0; 18], vec![0.0; 18]]).unwrap();
    assert!((zero.mean - (squares / 36.0).sqrt()).abs() < 1e-12 && zero.low < zero.mean);
}

#[test]
fn encoders_are_their_formulas_and_have_a_constant() {
    let rows: Vec<f64> = (0..60).map(number).collect();
    let standard = Encoder::fit("standard", &rows, 2).unwrap().encode(&rows);
    for i in 0..2 {
        let column = || standard.iter().skip(i).step_by(3);
        assert!(column().sum::<f64>().abs() < 1e-12);
        assert!((column().map(|x| x * x).sum::<f64>() - 30.0).abs() < 1e-12);
    }
    assert!(standard.iter().skip(2).step_by(3).all(|x| *x == 1.0));
    let json = r#"{"kind": "fourier", "low": [0.0, -1.0], "high": [2.0, 1.0], "order": 2}"#;
    let fourier = Encoder::from_json(json).unwrap().encode(&[0.5, 0.5]);
    for (at, found) in fourier.iter().enumerate() {
        let angle = (at % 3) as f64 * 0.25 + (at / 3) as f64 * 0.75;
        assert!((found - libm::cos(std::f64::consts::PI * angle)).abs() < 1e-12);
    }
    let json = r#"{"kind": "tiles", "low": [0.0], "high": [4.0], "tiles": 4, "tilings": 4}"#;
    let tiles = Encoder::from_json(json).unwrap();
    // At 1.5 the tilings, shifted by quarters, are in tiles 1, 1, 2, 2; outside, a state is at the edge.
    let expected: Vec<f64> = (0..21)
        .map(|i| {
            if i == 20 {
                1.0
            } else if [4, 5, 10, 11].contains(&i) {
                0.5
            } else {
                0.0
            }
        })
        .collect();
    let places = |x: f64| {
        let phi = tiles.encode(&[x]);
        (0..20).filter(|i| phi[*i] == 0.5).map(|i| (i / 5, i % 5)).collect::<Vec<_>>()
    };
    assert_eq!(places(1.5), [(0, 1), (1, 1), (2, 2), (3, 2)]);
    assert_eq!(places(99.0), places(4.0));
    assert_eq!(expected.iter().filter(|x| **x == 0.5).count(), 4);
    for kind in ["standard", "tiles", "fourier"] {
        let encoder = Encoder::fit(kind, &rows, 2).unwrap();
        assert!(has_constant(&encoder.encode(&rows), encoder.features()), "{kind}");
        assert_eq!(Encoder::from_json(&encoder.to_json()).unwrap(), encoder);
    }
    assert!(!has_constant(&rows, 2) && has_constant(&[1.0, 0.0, 0.0, 1.0, 1.0, 0.0], 2));
    // More numbers than there is room for.
    assert!(Encoder::fit("fourier", &[0.5; 7], 7).is_err());
    assert!(Encoder::fit("standard", &vec![0.5; 64], 64).is_err());
    assert_eq!(Encoder::fit("tiles", &[0.5; 10], 10).unwrap().features(), 64);
}

#[test]
fn a_log_of_raw_observations_gives_values_with_features_that_are_stored() {
    // A walk in degrees, with a level, in episodes of 30 steps as Stable-Baselines3 stores them.
    let x: Vec<f64> = (0..120).map(|i| 300.0 + 20.0 * number(i)).collect();
    let starts = (0..120).map(|i| f64::from(u8::from(i % 30 == 0)));
    let arrays = [
        ("obs", array(&[120, 1], x)),
        ("rewards", array(&[120], (0..120).map(|i| number(3 * i + 1)))),
        ("episode_starts", array(&[120], starts)),
    ];
    let here = &Folder::with("log.npz", npz_of(&arrays));
    let line = "evaluate --data log.npz --layout sb3";
    assert!(refused(here, line).contains("the layers diverge"));
    let raw = text(&run(here, &format!("{line} --model universal")));
    assert!(raw.contains("the features have no constant"), "{raw}");
    for kind in ["standard", "tiles", "fourier"] {
        let found =
            object(here, 0, &format!("{line} --features {kind} --model universal --out {kind}"));
        assert_eq!(found["constant_feature"], true);
        assert!(found["estimators"][0]["return_error"].as_f64().unwrap() > 0.0);
        let stored = format!(
            "{line} --features {kind}/evaluate/features.json --model universal --out again"
        );
        object(here, 0, &stored);
        assert_eq!(
            here.text("again/evaluate/values.csv"),
            here.text(format!("{kind}/evaluate/values.csv"))
        );
        object(here, 0, &format!("--config {kind}/evaluate/config.toml --out repeated"));
        assert_same(&here.join(kind), &here.join("repeated"));
    }
    let refuse = |more: &str, expected: &str| {
        let said = refused(here, &format!("{line} {more}"));
        assert!(said.contains(expected), "{said}");
    };
    refuse(
        "--features tile",
        "--features: tile: expected one of standard, tiles, fourier, or a file",
    );
    here.put("other.json", r#"{"kind": "standard", "level": [0, 0], "scale": [1, 1]}"#);
    refuse("--features other.json", "--features: of 2 numbers; expected 1, as in the data");
    here.put("bad.json", r#"{"kind": "standard", "level": [0], "scale": [0]}"#);
    refuse("--features bad.json", "bad.json: features: expected level and scale above 0");
    refuse("--array rewards=rewards", "--array rewards=rewards: expected NAME=ARRAY");
    here.put("data.csv", "phi_0,reward\n1,1\n2,1\n");
    let said = refused(here, "evaluate --data data.csv --layout sb3");
    assert!(said.contains("--layout: it is for an .npz file"), "{said}");
}
