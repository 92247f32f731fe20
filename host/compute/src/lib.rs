//! Training by multi-task TD (Algorithm 1), many seeds side by side in SIMD lanes and on threads: without files,
//! terminal or signals, for programs that watch it with [`Observer`]s of their own.
//!
//! A [`Recipe`] says what is trained, a [`Trainer`] trains it with seeds. Neither lanes nor threads nor
//! interruptions change a bit of any seed's result.
//!
//! A task and a metric of one's own:
//!
//! ```
//! use ictd_core::{Error, rng::Rng};
//! use std::sync::{Arc, Mutex};
//! use compute::tasks::{OwnState, OwnTask, OwnTasks};
//! use compute::{Learner, Observer, Point, Recipe, Trainer};
//!
//! const STATES: usize = 5;
//!
//! #[derive(Debug)]
//! struct Rings;
//!
//! /// A walk around a ring that goes on or stays; the last state pays 1.
//! #[derive(Debug)]
//! struct Ring {
//!     features: Vec<f32>,
//!     stay: f32,
//! }
//!
//! impl OwnTasks for Rings {
//!     fn draw(&self, dim: usize, _gamma: f32, rng: &mut Rng) -> Result<Arc<dyn OwnTask>, Error> {
//!         let features = (0..STATES * dim).map(|_| 2.0 * rng.uniform::<f32>() - 1.0).collect();
//!         Ok(Arc::new(Ring { features, stay: rng.uniform() }))
//!     }
//! }
//!
//! impl OwnTask for Ring {
//!     fn initial_state(&self, rng: &mut Rng) -> OwnState {
//!         [rng.below(STATES as u32) as f32, 0.0, 0.0, 0.0, 0.0, 0.0]
//!     }
//!
//!     fn step(&self, mut state: OwnState, rng: &mut Rng) -> (f32, OwnState) {
//!         let reward = if state[0] as usize == STATES - 1 { 1.0 } else { 0.0 };
//!         if rng.uniform::<f32>() >= self.stay {
//!             state[0] = (state[0] + 1.0) % STATES as f32;
//!         }
//!         (reward, state)
//!     }
//!
//!     fn features(&self, state: OwnState, phi: &mut [f32]) {
//!         let at = state[0] as usize * phi.len();
//!         phi.copy_from_slice(&self.features[at..at + phi.len()]);
//!     }
//! }
//!
//! /// The value of the first of two states in a context where it always leads to the second, which pays 1.
//! struct Prediction(Mutex<Vec<(u64, u64, f32)>>);
//!
//! impl Observer for Prediction {
//!     type Error = Error;
//!
//!     fn logged(&self, learner: &Learner<'_>, point: &Point) -> Result<(), Error> {
//!         let (first, second) = ([1.0, 0.0], [0.0, 1.0]);
//!         let value = learner.value(&[&first, &second, &first], &[0.0, 1.0], 0.9, &first)?;
//!         self.0.lock().unwrap().push((learner.seed(), point.tasks, value));
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let recipe = Recipe { dim: 2, mrps: 20, ..Recipe::default() };
//!     let predictions = Prediction(Mutex::default());
//!     let runs = Trainer::new(recipe, [3, 8])?.on(Rings).run(&predictions)?;
//!     for (seed, tasks, value) in predictions.0.into_inner()? {
//!         println!("seed {seed} after {tasks} tasks: {value}");
//!     }
//!     assert!(runs.iter().all(|run| run.diverged().is_none()));
//!     Ok(())
//! }
//! ```
// Only the module `level` calls functions by the processor's instructions.
#![deny(unsafe_code)]

pub mod capacity;
pub mod checkpoint;
pub mod construction;
pub mod digest;
pub mod estimator;
pub mod explained;
pub mod figure_1;
pub mod group;
pub mod invariant;
pub mod judge;
pub mod level;
pub mod log;
pub mod measure;
pub mod options;
pub mod parameters;
pub mod predict;
pub mod recipe;
pub mod rows;
pub mod settings;
pub mod shapes;
pub mod stored;
pub mod tasks;
pub mod trainer;
pub mod universal;
pub mod verify;

pub use checkpoint::Checkpoint;
pub use log::{Point, SeedRun};
pub use recipe::{Recipe, Refused};
pub use trainer::{Learner, Observer, Stopped, Trainer};
