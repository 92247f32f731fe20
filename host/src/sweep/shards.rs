//! Shards: the parts of a plan for separate processes.
//!
//! The seeds of a run train in parallel in the lanes of a vector register, up to 16 for little more than the time of one. So a
//! plan is divided into groups of up to 16 seeds of one run, in the plan's order, independently of the machine. Shard I of N
//! takes the groups I, I + N, I + 2 N, ...; if there are fewer than N groups, they are halved until there are N, or each has
//! one seed.

use super::plan::{Plan, PlannedRun};
use std::str::FromStr;

/// The largest number of seeds of a group: the lanes of the widest register.
const LANES: usize = 16;
const SHARDS: usize = 10_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// A number from 1 to `of`.
    pub number: usize,
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let fits = |shard: &Shard| shard.of <= SHARDS && (1..=shard.of).contains(&shard.number);
        parts.filter(fits).ok_or("expected I/N with I from 1 to N, for example 3/8".into())
    }
}

/// Seeds of one run that train in parallel.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    pub run: &'a PlannedRun,
    pub seeds: &'a [u64],
}

impl Plan {
    pub fn groups(&self, shard: Shard) -> Vec<Group<'_>> {
        let count = |lanes: &usize| self.runs.len() * self.seeds.len().div_ceil(*lanes);
        let lanes = [LANES, 8, 4, 2].into_iter().find(|lanes| count(lanes) >= shard.of);
        let of_run =
            |run| self.seeds.chunks(lanes.unwrap_or(1)).map(move |seeds| Group { run, seeds });
        self.runs.iter().flat_map(of_run).skip(shard.number - 1).step_by(shard.of).collect()
    }
}
