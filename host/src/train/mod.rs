//! Training from the command line: what the crate [`compute`] trains, watched, and what a run leaves in its directory.
//!
//! | file | part |
//! |---|---|
//! | [`options`] | what can be asked for: the trainer's recipe, and its seeds |
//! | [`run`] | the trainer with progress, checkpoints and interruption |
//! | [`directory`] | a run's files |
//! | `seed_files` | those of a finished seed |

pub mod directory;
pub mod options;
pub mod run;
mod seed_files;

pub use compute::{Point, Recipe, SeedRun, capacity, checkpoint, group, log, shapes, tasks};
pub use options::Train;
pub use run::train;
