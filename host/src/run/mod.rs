//! The parts of a run, whatever it computes.
//!
//! | file | part |
//! |---|---|
//! | [`session`] | the seed, the place and the threads that a command is given |
//! | [`config`] | `config.toml`, which repeats a run |
//! | [`records`] | the files that a run leaves, written all or none |
//! | [`transaction`] | several files that change together |
//! | [`lock`] | the claim of one process on a run directory |
//! | [`info`] | `run.json`, how a run went |
//! | [`report`] | what a command found |
//! | [`progress`] | bars on stderr, and Ctrl-C |

pub mod config;
pub mod info;
pub mod lock;
pub mod progress;
pub mod records;
pub mod report;
pub mod session;
pub mod transaction;
