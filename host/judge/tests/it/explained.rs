//! The share of a value function that an algorithm explains.

use ictd_core::linalg::dot;
use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transition::Transition;
use judge::construction::Construction;
use judge::explained::{AlgorithmStep, Target, explained, tuned};
use nalgebra::SVector;

const ALL: [(Construction, f64); 5] = [
    (Construction::Td0, 0.0),
    (Construction::TdLambda, 0.6),
    (Construction::TdLambda, 0.9),
    (Construction::ResidualGradient, 0.0),
    (Construction::AverageReward, 0.0),
];
const LAYERS: usize = 3;

type Contexts = Vec<(Mrp<f64, 4, 10>, Vec<Transition<f64, 4>>)>;

fn contexts() -> Contexts {
    let mut rng = Rng::new(3);
    let one = |_| {
        let task: Mrp<f64, 4, 10> = boyan_chain(10, 4, &mut rng).unwrap();
        let context = task.trajectory::<30>(30, &mut rng).unwrap();
        (task, context.to_vec())
    };
    (0..80).map(one).collect()
}

fn iterations(contexts: &Contexts, algorithm: (Construction, f64)) -> Vec<AlgorithmStep<4>> {
    contexts.iter().map(|(_, c)| AlgorithmStep::new(algorithm, c, 0.9).unwrap()).collect()
}

fn targets(contexts: &Contexts, w: impl Fn(usize) -> SVector<f64, 4>) -> Vec<Target<4>> {
    let of = |(at, (task, _)): (usize, &(Mrp<f64, 4, 10>, _))| {
        let w = w(at);
        Target::over(task.feature_map()[..10].iter().map(|phi| (*phi, dot(&w, phi), 0.1)))
    };
    contexts.iter().enumerate().map(of).collect()
}

fn shares(contexts: &Contexts, targets: &[Target<4>]) -> Vec<f64> {
    let half = contexts.len() / 2;
    let of = |algorithm| explained(&iterations(contexts, algorithm), targets, LAYERS, half);
    ALL.map(|algorithm| of(algorithm).into_iter().sum::<f64>() / 2.0).to_vec()
}

#[test]
fn each_algorithm_explains_itself_and_no_other_does() {
    let contexts = contexts();
    for (truth, algorithm) in ALL.into_iter().enumerate() {
        let of = iterations(&contexts, algorithm);
        let targets = targets(&contexts, |at| of[at].weights(&[0.4, 0.3, 0.2]));
        let shares = shares(&contexts, &targets);
        for (i, share) in shares.iter().enumerate() {
            let as_expected = if i == truth { *share > 0.999 } else { *share < 0.95 };
            assert!(as_expected, "{algorithm:?}: {shares:?}");
        }
    }
}

#[test]
fn more_iterations_than_step_sizes_explain_themselves() {
    let contexts = contexts();
    let of = iterations(&contexts, ALL[0]);
    for (layers, alpha) in [(5, 0.2), (15, 0.2), (15, 0.13), (40, 0.27)] {
        let targets = targets(&contexts, |at| of[at].weights(&vec![alpha; layers]));
        let shares = explained(&of, &targets, layers, contexts.len() / 2);
        assert!(shares.iter().all(|share| *share > 1.0 - 1e-9), "{layers} {alpha}: {shares:?}");
    }
}

#[test]
fn what_is_not_linear_is_not_explained() {
    // Half of the energy is of no linear function: a value at features 0.
    let contexts = contexts();
    let of = iterations(&contexts, ALL[0]);
    let w = |at: usize| of[at].weights(&[0.3; LAYERS]);
    let mut targets = targets(&contexts, w);
    for target in &mut targets {
        target.energy *= 2.0;
    }
    let share = shares(&contexts, &targets)[0];
    assert!((share - 0.5).abs() < 1e-9, "{share}");
}

#[test]
fn what_is_tuned_does_not_diverge_in_other_contexts() {
    let contexts = contexts();
    let of = iterations(&contexts, ALL[0]);
    let truth: Vec<_> = (contexts.iter())
        .map(|(task, _)| {
            let values = task.true_value(0.9).unwrap();
            let states = task.feature_map().iter().zip(values.iter());
            Target::over(states.take(10).map(|(phi, v)| (*phi, *v, 0.1)))
        })
        .collect();
    for layers in [3, 20, 30, 40, 100] {
        let step_sizes = tuned(&of, &truth, layers);
        let tested = of.iter().zip(&truth).skip(contexts.len() / 2);
        let [error, zero] = tested
            .map(|(of, truth)| [truth.residual(&of.weights(&step_sizes)), truth.energy])
            .fold([0.0; 2], |sum, [a, b]| [sum[0] + a, sum[1] + b]);
        assert!(error < zero, "{layers}: {error} {zero}");
    }
}
