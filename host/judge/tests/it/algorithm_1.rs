//! The example that writes Algorithm 1 out learns what the fast path learns.

use ictd_core::tasks::{FiniteTaskDistribution, FiniteTaskKind};
use ictd_core::training::{
    BatchTdReference, LinearNetwork, LinearShape, MultiTaskTd, TrainerSettings,
};

#[path = "../../../../core/examples/algorithm_1.rs"]
mod example;

#[test]
fn after_20_tasks_the_parameters_are_the_fast_paths() {
    const SEED: u64 = 3;
    let written_out = example::train(SEED, 20, |_, _| ());

    let network =
        LinearNetwork::<f64, Vec<f64>>::zeros(LinearShape::new(4, 1, 3), |len| vec![0.0; len]);
    let tasks =
        FiniteTaskDistribution::<10> { kind: FiniteTaskKind::BoyanChain, states: 10, dim: 4 };
    let mut trainer = MultiTaskTd::<f64, _, _, 4, 96>::new(
        TrainerSettings::default(),
        tasks,
        network.unwrap(),
        BatchTdReference::new(3, 0.0).unwrap(),
        &[SEED],
    )
    .unwrap();
    (0..20).for_each(|_| trainer.train_task().unwrap());

    for (m, written_out) in [written_out.p, written_out.q].iter().enumerate() {
        let fast = trainer.network().matrix(m).unwrap();
        assert_eq!(fast.len(), written_out.len());
        for (x, y) in written_out.iter().zip(fast) {
            assert!((x - y).abs() <= 1e-9 * written_out.amax(), "matrix {m}: {x} {y}");
        }
    }
}
