//! Training from the command line: options, the networks that are compiled, groups of seeds in
//! lanes and on threads, logs, checkpoints, and what a run leaves in its directory.
//!
//! | file | part |
//! |---|---|
//! | [`capacity`] | how large what is compiled is |
//! | [`options`] | what can be asked for |
//! | [`shapes`] | which networks are compiled, chosen at run time |
//! | [`tasks`] | every distribution of tasks as one type |
//! | [`group`] | seeds that train side by side in the lanes of a register |
//! | [`log`] | what is measured along the way |
//! | [`schedule`] | which seeds share a group |
//! | [`run`] | groups on threads, with progress, checkpoints and interruption |
//! | [`checkpoint`] | a seed's state as a file |
//! | [`directory`] | a run's files |
//! | [`events`] | the log for TensorBoard |
//! | [`terminal_view`] | the view on a terminal |

pub mod capacity;
pub mod checkpoint;
pub mod directory;
pub mod events;
pub mod group;
pub mod log;
pub mod options;
pub mod run;
pub mod schedule;
pub mod shapes;
pub mod tasks;
pub mod terminal_view;

pub use log::{Point, SeedRun};
pub use options::Train;
pub use run::train;
