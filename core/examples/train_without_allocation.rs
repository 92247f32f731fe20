//! Multi-task TD (Algorithm 1) in fixed memory: the trainer is one value on the stack, without a heap.
//!
//! ```sh
//! cargo run -p ictd-core --features research --example train_without_allocation
//! ```

use ictd_core::Error;
use ictd_core::tasks::{FiniteTaskDistribution, FiniteTaskKind};
use ictd_core::training::{
    BatchTdReference, LinearNetwork, LinearShape, MultiTaskTd, TrainerSettings,
};

/// A layer that is shared three times, for 2 features.
const SHAPE: LinearShape<f32> = LinearShape::new(2, 1, 3);
/// States of a trajectory: n + W + 2.
const TRAJECTORY: usize = 18;

fn main() -> Result<(), Error> {
    let network = LinearNetwork::new(SHAPE, [0.0; SHAPE.parameter_len()], [0.0; SHAPE.work_len()])?;
    let tasks = FiniteTaskDistribution::<5> { kind: FiniteTaskKind::BoyanChain, states: 5, dim: 2 };
    let settings = TrainerSettings::default().context_len(8).batch_size(8);
    let reference = BatchTdReference::new(SHAPE.depth, 0.0)?;
    let mut trainer =
        MultiTaskTd::<f32, _, _, 2, TRAJECTORY>::new(settings, tasks, network, reference, &[1])?;
    println!("{} bytes: network, Adam, gradient, task, trajectory", size_of_val(&trainer));
    for _ in 0..10 {
        (0..50).try_for_each(|_| trainer.train_task())?;
        // Matrix 0 is P, column by column.
        let corner = trainer.network().matrix(0).and_then(|p| p.last()).unwrap_or(&f32::NAN);
        println!("{:4} tasks: loss {:.3}, P[-1,-1] {corner:.3}", trainer.tasks_done, trainer.loss);
    }
    Ok(())
}
