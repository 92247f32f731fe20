//! Training from the command line: what the [`trainer`] trains, watched, and what a run leaves in its directory.
//!
//! | file | part |
//! |---|---|
//! | [`options`] | what can be asked for: the trainer's recipe, and its seeds |
//! | [`run`] | the trainer with progress, checkpoints and interruption |
//! | [`directory`] | a run's files |
//! | `seed_files` | those of a finished seed |
//! | [`events`] | the log for TensorBoard |
//! | [`terminal_view`] | the view on a terminal |

pub mod directory;
pub mod events;
pub mod options;
pub mod run;
mod seed_files;
pub mod terminal_view;

pub use options::Train;
pub use run::train;
pub use trainer::{
    Point, Recipe, SeedRun, capacity, checkpoint, group, log, schedule, shapes, tasks,
};
