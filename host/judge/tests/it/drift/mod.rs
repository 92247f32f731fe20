//! How far contexts and recursive LSTD drift in `f32` over a long stream, against sums in `f64`, and whether the predictor
//! does: here, as this package is optimised. `cargo test -p judge --test it drift -- --nocapture` prints it over a million transitions; with
//! `ICTD_SOAK=100000000` over a hundred million (a few minutes), with the same bounds.

mod context;
mod lstd;
mod predictor;

use ictd_core::rng::Rng;
use ictd_core::tasks::{Mrp, Task, boyan_chain};
use ictd_core::transition::Transition;

const D: usize = 4;

/// The transitions of one long trajectory.
struct Stream {
    task: Mrp<f32, D, 10>,
    state: usize,
    rng: Rng,
}

impl Stream {
    fn new() -> Self {
        let mut rng = Rng::new(11);
        let task = boyan_chain(10, D, &mut rng).unwrap();
        let state = task.initial_state(&mut rng);
        Stream { task, state, rng }
    }

    fn next(&mut self) -> Transition<f32, D> {
        self.task.transition(&mut self.state, &mut self.rng)
    }
}

/// How many transitions: a million, unless `ICTD_SOAK` says otherwise.
fn soak() -> usize {
    std::env::var("ICTD_SOAK").map_or(1_000_000, |n| n.parse().expect("ICTD_SOAK is a number"))
}
