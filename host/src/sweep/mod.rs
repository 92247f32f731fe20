//! Sweeps: many recipes with the same seeds, by any number of processes on any number of machines.
//!
//! A sweep has no state of its own: it is a set of training runs, each in the folder of its recipe
//! ([`train::directory`](crate::train::directory)), and the results collected from them.

pub mod collect;
pub mod figure;
pub mod judged;
pub mod plan;
pub mod work;
