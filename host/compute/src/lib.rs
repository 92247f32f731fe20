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

mod array_checks;
pub mod capacity;
pub mod checkpoint;
pub mod group;
pub mod level;
pub mod log;
pub mod logged;
pub mod mixture;
pub mod networks;
pub mod options;
pub mod own_tasks;
pub mod recipe;
pub mod settings;
pub mod shapes;
pub mod tasks;
pub mod trainer;
pub mod transitions;
pub mod words;

pub use checkpoint::Checkpoint;
pub use log::{LogPoint, SeedRun};
pub use recipe::Recipe;
pub use trainer::{Observer, Stopped, Trainer};
pub use words::InvalidSetting;
