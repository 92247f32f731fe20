//! Training by multi-task TD (Algorithm 1), many seeds side by side in SIMD lanes and on threads: without files,
//! terminal or signals, for programs that watch it with [`Observer`]s of their own.
//!
//! A [`Recipe`] says what is trained, a [`Trainer`] trains it with seeds. Neither lanes nor threads nor
//! interruptions change a bit of any seed's result.
//!
//! ```
//! use compute::{Observer, LogPoint, Recipe, Trainer};
//!
//! /// Prints the loss on the way.
//! struct Losses;
//!
//! impl Observer for Losses {
//!     type Error = std::convert::Infallible;
//!
//!     fn logged(&self, seed: u64, point: &LogPoint) -> Result<(), Self::Error> {
//!         println!("seed {seed} after {} tasks: {}", point.tasks, point.loss);
//!         Ok(())
//!     }
//! }
//!
//! let recipe = Recipe { dim: 2, tasks: 20, ..Recipe::default() };
//! let runs = Trainer::new(recipe, [3, 8])?.run(&Losses)?;
//! assert!(runs.iter().all(|run| run.diverged().is_none()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Only the module `level` calls functions by the processor's instructions.
#![deny(unsafe_code)]

pub mod bridge;
pub mod capacity;
pub mod cells;
pub mod checkpoint;
pub mod construction;
pub mod control;
pub mod estimator;
pub mod explained;
pub mod group;
pub mod invariant;
pub mod judge;
pub mod level;
pub mod log;
pub mod measure;
pub mod options;
pub mod own_tasks;
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
pub mod value_error;
pub mod verify;

pub use checkpoint::Checkpoint;
pub use log::{LogPoint, SeedRun};
pub use recipe::{InvalidSetting, Recipe};
pub use trainer::{Observer, Stopped, Trainer};
