//! The guide: one page for each thing that people want to do with this project, or know of it.
//!
//! | page | |
//! |---|---|
//! | [`run_directory`] | what a run leaves behind, file by file, and who reads it |
//! | [`errors`] | exit codes, and what an error looks like |
//! | [`findings`] | what this project found about the paper, each with the command that shows it |
//! | [`same_bits`] | what "the same bits everywhere" covers, and what it does not |
//! | [`task`] | adding a task |
//! | [`algorithm`] | adding an algorithm |
//! | [`figure`] | adding a figure |
//! | [`platform`] | adding a platform |
//! | [`board`] | adding a board |
//! | [`testing`] | the tests that take longer: kills, fuzzing, soaks |

#[doc = include_str!("run_directory.md")]
pub mod run_directory {}

#[doc = include_str!("errors.md")]
pub mod errors {}

#[doc = include_str!("findings.md")]
pub mod findings {}

#[doc = include_str!("same_bits.md")]
pub mod same_bits {}

#[doc = include_str!("task.md")]
pub mod task {}

#[doc = include_str!("algorithm.md")]
pub mod algorithm {}

#[doc = include_str!("figure.md")]
pub mod figure {}

#[doc = include_str!("platform.md")]
pub mod platform {}

#[doc = include_str!("board.md")]
pub mod board {}

#[doc = include_str!("testing.md")]
pub mod testing {}
