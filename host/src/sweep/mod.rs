//! Sweeps: many recipes with the same seeds, by any number of processes on any number of machines.
//!
//! A sweep keeps nothing of its own: it is a set of training runs, each in the folder of its recipe
//! ([`train::directory`](crate::train::directory)), and what is collected from them.
//!
//! | file | part |
//! |---|---|
//! | [`plan`] | which recipes and seeds: a TOML file |
//! | [`shards`] | what one process does of them, and how far it has come |
//! | [`work`] | trains them |
//! | [`collect`] | one table of all seeds |
//! | [`figure`] | a metric against each axis of the grid |

pub mod collect;
pub mod figure;
pub mod plan;
pub mod shards;
pub mod work;
