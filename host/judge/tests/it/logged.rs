//! Training on logged transitions.

use compute::logged::Log;
use compute::own_tasks::{OwnTasks, TaskArrays};
use compute::recipe::{AttentionKind, LayerSharing, Recipe};
use compute::transitions::{EpisodeEnd, Transitions};
use compute::{SeedRun, Trainer};
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transition::Transition;
use judge::bridge::{contexts, judge_estimator};
use judge::estimator::{Estimator, Method};
use judge::parameters::{LayerParameters, Parameters};
use std::ops::Range;
use std::sync::Arc;

/// Returns transitions with two features, the number of the episode (from 1) and that of the step in it (from 1), and their
/// tasks: 400 episodes of 1 to 9 steps with random ends, of two tasks.
fn marked(rng: &mut Rng) -> (Transitions, Vec<f64>) {
    let (mut t, mut task) = (Transitions { d: 2, ..Transitions::default() }, Vec::new());
    for episode in 1..=400 {
        let (steps, end) = (1 + rng.below(9), [EpisodeEnd::Terminal, EpisodeEnd::End]);
        let end = end[usize::from(rng.below(4) == 0)];
        for step in 1..=steps {
            let last = step == steps;
            t.from.push(t.from.len());
            t.phi.extend([f64::from(episode), f64::from(step)]);
            t.reward.push(f64::from(1000 * episode + step as i32));
            t.marks.push(if last { end } else { EpisodeEnd::Continues });
            let next = [f64::from(episode), f64::from(step + 1)];
            t.phi_next.extend(if last && end == EpisodeEnd::Terminal { [0.0; 2] } else { next });
            task.push(if episode <= 200 { 7.0 } else { -1.0 });
        }
    }
    (t, task)
}

#[test]
fn trajectories_chain_terminated_episodes_and_never_cross_a_truncation_or_a_task() {
    let rng = &mut Rng::new(5);
    let (t, task) = marked(rng);
    let log = Arc::new(Log::new(t.clone(), &task, None).unwrap());
    let (longest, _) = log.longest().unwrap();
    assert!(longest > 20, "{longest}");
    let (mut ends, mut chained, mut starts, mut tasks) = (0, 0, vec![0; t.len()], [0, 0]);
    for _ in 0..20_000 {
        let len = 20;
        let drawn = log.draw(len, rng).unwrap();
        let trajectory = Task::<f64, 2>::trajectory::<20>(&drawn, len, rng).unwrap();
        let first: Vec<f64> = trajectory[0].phi.iter().copied().collect();
        starts[(0..t.len()).find(|i| t.phi[2 * i..][..2] == first).unwrap()] += 1;
        tasks[usize::from(first[0] <= 200.0)] += 1;
        for (k, Transition { phi, reward, phi_next }) in trajectory.iter().enumerate() {
            let [[episode, step], [next, step_next]]: [[f64; 2]; 2] =
                [(*phi).into(), (*phi_next).into()];
            if episode == 0.0 {
                // From the end of an episode to the first step of the next one in the log.
                assert_eq!((*reward, step_next), (0.0, 1.0));
                assert_eq!(next, trajectory[k - 1].phi[0] + 1.0);
                assert_eq!(next <= 200.0, first[0] <= 200.0);
                chained += 1;
            } else if next == 0.0 {
                assert_eq!(*reward, 1000.0 * episode + step);
            } else {
                assert_eq!((next, step_next), (episode, step + 1.0));
                assert_eq!(*reward, 1000.0 * episode + step);
                let row = (0..t.len()).find(|i| t.reward[*i] == *reward).unwrap();
                if t.marks[row] == EpisodeEnd::End {
                    assert_eq!(k + 1, len, "the next state of a truncated episode is the last one");
                    ends += 1;
                }
            }
        }
    }
    assert!(ends > 100 && chained > 10_000, "{ends} {chained}");
    // Each task has half of the trajectories (four standard deviations), and each possible start of a task as many.
    assert!(tasks.iter().all(|n| (9_717..10_283).contains(n)), "{tasks:?}");
    for (of, total) in [(200.0..=400.0, tasks[0]), (0.0..=200.0, tasks[1])] {
        let of = (0..t.len()).filter(|i| of.contains(&(t.phi[2 * i] - 0.5)) && starts[*i] > 0);
        let counts: Vec<i32> = of.map(|i| starts[i]).collect();
        let mean = f64::from(total) / counts.len() as f64;
        let squared = |n: &i32| (f64::from(*n) - mean) * (f64::from(*n) - mean);
        let chi2 = counts.iter().map(squared).sum::<f64>() / mean;
        let k = counts.len() as f64 - 1.0;
        assert!((chi2 - k).abs() < 4.0 * (2.0 * k).sqrt(), "{chi2} {k}");
    }
    assert!(log.draw(longest + 100, rng).is_err());
    // Beyond the end of a chain there are no numbers.
    let task = log.draw(1, rng).unwrap();
    let beyond = Task::<f64, 2>::trajectory::<999>(&task, 999, rng).unwrap();
    assert!(beyond.last().unwrap().reward.is_nan());
}

fn chain(seed: u64) -> (Mrp<f64, 4, 10>, OwnTasks) {
    let mrp: Mrp<f64, 4, 10> = boyan_chain(10, 4, &mut Rng::new(seed)).unwrap();
    let rows = |s: usize| mrp.transition_from(s).as_slice().to_vec();
    let arrays = TaskArrays {
        states: 10,
        dim: 4,
        p0: mrp.initial().as_slice().to_vec(),
        p: (0..10).flat_map(rows).collect(),
        reward: mrp.reward().as_slice().to_vec(),
        phi: mrp.feature_map().iter().flat_map(|phi| phi.as_slice().to_vec()).collect(),
        terminal: vec![false; 10],
        gamma: None,
    };
    let own = OwnTasks::new(arrays).unwrap();
    (mrp, own)
}

/// Returns a log of n transitions of a process.
fn logged(mrp: &Mrp<f64, 4, 10>, n: usize, seed: u64) -> OwnTasks {
    let mut t = Transitions { d: 4, ..Transitions::default() };
    let rng = &mut Rng::new(seed);
    let mut state = mrp.initial_state(rng);
    for i in 0..n {
        let transition = mrp.transition(&mut state, rng);
        t.from.push(i);
        t.phi.extend(transition.phi.iter());
        t.reward.push(transition.reward);
        t.phi_next.extend(transition.phi_next.iter());
        t.marks.push(EpisodeEnd::Continues);
    }
    Log::new(t, &[], None).unwrap().into()
}

/// Trains 8 seeds on 600 tasks.
fn train(own: &OwnTasks) -> Vec<SeedRun> {
    let recipe = Recipe { tasks: 600, ..Recipe::default() }.with_own_tasks(own.clone()).unwrap();
    Trainer::new(recipe, 0..8).unwrap().run(&()).unwrap()
}

/// Returns the value error of trained models in fresh contexts of a process, relative to that of predicting 0.
fn value_errors(runs: &[SeedRun], process: &OwnTasks) -> Vec<f64> {
    let recipe = Recipe::default().with_own_tasks(process.clone()).unwrap();
    let contexts = contexts(&recipe, 40, 9).unwrap();
    let error = |run: &SeedRun| {
        let layer = &run.last().unwrap().layers[0];
        let parameters = Parameters {
            token_size: run.token_size,
            layers: vec![LayerParameters { p: layer.p.clone(), q: layer.q.clone() }],
            layer_sharing: LayerSharing::Autoregressive,
            depth: None,
            attention: None,
            gamma: None,
            context_length: None,
            trace_decay: 0.0,
        };
        let method =
            Method::Trained { parameters: Box::new(parameters), attention: AttentionKind::Linear };
        let [error, zero, ..] =
            judge_estimator(&recipe, &contexts, &Estimator { method, gamma: 0.9, layers: 3 })
                .unwrap()
                .msve;
        error / zero
    };
    runs.iter().map(error).collect()
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    (of[3] + of[4]) / 2.0
}

#[test]
fn a_model_trained_on_a_log_is_the_one_trained_on_its_process() {
    // Medians over 8 seeds; the baseline is trained on another process. Measured for the two chains: parameters at 0.28 and
    // 0.23 of the baseline's distance; value errors 0.70 and 0.24 on the process and on the log, 1.15 and 1.27 elsewhere (the
    // seeds lie within 0.03 of the median); the TD error falls from 0.28 to 0.24 and from 0.48 to 0.46.
    for seed in [2, 3] {
        let (mrp, process) = chain(seed);
        let [on_process, on_log, elsewhere] =
            [process.clone(), logged(&mrp, 20_000, 4), chain(seed + 10).1].map(|own| train(&own));
        let distance = |runs: &[SeedRun]| {
            let squared = |(a, b): (&SeedRun, &SeedRun)| -> f64 {
                let both = a.parameters.iter().zip(&b.parameters);
                both.map(|(x, y)| f64::from((x - y) * (x - y))).sum()
            };
            median(runs.iter().zip(&on_process).map(squared).collect()).sqrt()
        };
        assert!(distance(&on_log) < 0.4 * distance(&elsewhere), "{}", distance(&on_log));
        let errors = |runs: &[SeedRun]| median(value_errors(runs, &process));
        let (found, expected) = (errors(&on_log), errors(&on_process));
        assert!((found - expected).abs() < 0.03 && found < 0.8 * errors(&elsewhere), "{found}");
        let losses = |runs: &[SeedRun], points: Range<usize>| {
            let mean =
                |run: &SeedRun| run.points[points.clone()].iter().map(|p| p.loss).sum::<f64>();
            median(runs.iter().map(mean).collect()) / points.len() as f64
        };
        let (first, last) = (losses(&on_log, 0..10), losses(&on_log, 50..60));
        assert!(last < first && last < 1.1 * losses(&on_process, 50..60), "{first} {last}");
        // No true value is known, so no value error is reported.
        let mut points = on_log.iter().flat_map(|run| &run.points);
        assert!(points.all(|p| p.msve.is_nan() && p.vd.is_nan()));
    }
}
