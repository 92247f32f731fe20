//! `ictd bench`.

use crate::common::*;
use compute::words::Word as _;
use judge::bench::{BenchTask, DIM, LEN, errors, predicted, references, score};

#[test]
fn contexts_are_consistent_and_no_score_is_of_a_wrong_value() {
    for &task in BenchTask::ALL {
        let contexts: Vec<_> =
            task.seeds(6, 1).into_iter().map(|seed| task.context(seed).unwrap()).collect();
        for c in &contexts {
            let t = &c.transitions;
            assert_eq!((t.len(), t.d, t.phi_next.len()), (LEN, DIM, LEN * DIM));
            // One trajectory, as Python's arrays need.
            assert_eq!(t.phi[DIM..], t.phi_next[..(LEN - 1) * DIM], "{task:?}");
            assert_eq!(t.rho.is_some(), task == BenchTask::OffPolicy);
            assert!((c.weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{task:?}");
            let [zero, same] = errors(c, &vec![0.0; c.values.len()]);
            assert_eq!(zero, same);
            assert_eq!(errors(c, &c.values)[0], 0.0);
            // Divergence counts as ten times the error of predicting 0.
            let worst = [errors(c, &[]), errors(c, &vec![f64::NAN; c.values.len()])];
            assert_eq!(worst, [[10.0 * same, same]; 2]);
        }
        for (name, estimator) in references().unwrap() {
            let of: Vec<_> =
                contexts.iter().map(|c| errors(c, &predicted(&estimator, c).unwrap())).collect();
            let found = score(&of);
            assert!(
                found.mean < 2.0 && found.low < found.mean && found.mean < found.high,
                "{name}"
            );
        }
    }
}

#[test]
fn every_context_of_the_suite_can_be_drawn() {
    for &task in BenchTask::ALL {
        for of in task.seeds(200, 0) {
            assert!(task.context(of).is_ok(), "{task:?}, {of}");
        }
    }
}

#[test]
fn returns_of_the_log_and_of_cart_pole_are_those_of_their_rewards() {
    // In a log that goes on, the value of a state is the reward and the next value: LSTD with enough data finds nearly that.
    for (task, limit) in
        [(BenchTask::Log, 0.3), (BenchTask::Representable, 0.3), (BenchTask::CartPole, 0.8)]
    {
        let seeds = task.seeds(20, 3);
        let contexts: Vec<_> = seeds.into_iter().map(|seed| task.context(seed).unwrap()).collect();
        let lstd = &references().unwrap()[1].1;
        let of: Vec<_> = contexts.iter().map(|c| errors(c, &predicted(lstd, c).unwrap())).collect();
        assert!(score(&of).mean < limit, "{task:?}: {:?}", score(&of));
    }
}

#[test]
fn models_are_entered_and_the_numbers_do_not_depend_on_threads() {
    let here = &Folder::new();
    let small = "train --tasks 4 --context-length 8 --seeds 1";
    let trained = |options: &str, out: &str| {
        object(here, 0, &format!("{small} {options} --out {out}"));
        fs::read_dir(here.join(out)).unwrap().flatten().next().unwrap().path()
    };
    let (wide, soft) = (trained("--dim 3", "wide"), trained("--attention softmax", "soft"));
    let refused = refused(here, &format!("bench --model {}", wide.display()));
    assert!(refused.contains("d = 3; expected 4"), "{refused}");
    let command = format!("bench --contexts 4 --model {}", soft.display());
    let found = object(here, 0, &format!("{command} --threads 1"));
    let scores = found["scores"].as_object().unwrap();
    assert_eq!(scores.len(), 6);
    assert!(scores.values().all(|of| of["boyan"]["mean"].as_f64().unwrap() > 0.0));
    let of_soft = &scores[&soft.display().to_string()];
    assert!(of_soft["off-policy"].is_null() && of_soft["mean"].is_null(), "{of_soft}");
    let before = fs::read(here.join("results/bench/results.json")).unwrap();
    object(here, 0, &format!("{command} --threads 2"));
    assert!(fs::read(here.join("results/bench/results.json")).unwrap() == before);
}
