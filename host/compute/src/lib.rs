//! Trains by multi-task TD (Algorithm 1), many seeds in parallel in SIMD lanes and on threads. It uses no files, terminal or
//! signals; programs follow the training through their own [`Observer`]s.
//!
//! A [`Recipe`] defines the training; a [`Trainer`] runs it with seeds. Lanes, threads and interruptions change no bit of any
//! seed's result.
//!
//! ```
//! use compute::{Recipe, Trainer};
//!
//! let recipe = Recipe { dim: 2, tasks: 20, ..Recipe::default() };
//! let runs = Trainer::new(recipe, [3, 8])?.run(&())?; // or with an observer of the losses
//! assert!(runs.iter().all(|run| run.diverged().is_none()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
// Only the module `level` calls functions compiled for the processor's SIMD instructions.
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
pub mod logged;
pub mod measure;
pub mod off_policy;
pub mod options;
pub mod own_tasks;
pub mod parameters;
pub mod predict;
pub mod pretraining_loss;
pub mod recipe;
pub mod rows;
pub mod settings;
pub mod shapes;
pub mod stored;
pub mod tasks;
pub mod times;
pub mod trainer;
pub mod universal;
pub mod value_error;
pub mod verify;

pub use checkpoint::Checkpoint;
pub use log::{LogPoint, SeedRun};
pub use recipe::{InvalidSetting, Recipe};
pub use trainer::{Observer, Stopped, Trainer};
