//! Shards: the part of a plan that one process does.
//!
//! The seeds of a run train side by side in the lanes of a vector register, up to 16 for little more than the time of
//! one. So a plan is divided into groups of up to 16 seeds of one run, in the plan's order; which group is which does not
//! depend on the machine. Shard I of N takes the groups I, I + N, I + 2 N, ...; if there are fewer than N, they are
//! halved until there are as many, or each has one seed.

use super::plan::{Plan, Run};
use crate::error::Error;
use crate::files::{self, Kind};
use crate::train::directory::{SeedProgress, TrainDirectory};
use crate::train::options::Seeds;
use serde::Serialize;
use std::path::Path;
use std::str::FromStr;

/// The most seeds of a group: the lanes of the widest register.
const LANES: usize = 16;
/// The most shards.
const SHARDS: usize = 10_000_000;

/// One of the parts into which a plan is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// A number from 1 to `of`.
    pub number: usize,
    /// Into how many parts the plan is divided.
    pub of: usize,
}

impl Shard {
    /// Everything.
    pub const ALL: Shard = Shard { number: 1, of: 1 };
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        let fits = |shard: &Shard| shard.of <= SHARDS && (1..=shard.of).contains(&shard.number);
        parts.filter(fits).ok_or("accepted is I/N with I from 1 to N, for example 3/8".into())
    }
}

/// Seeds of one run, trained side by side.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Its place among the groups of the plan, from 1.
    pub number: usize,
    /// The run.
    pub run: &'a Run,
    /// In ascending order.
    pub seeds: &'a [u64],
}

impl Plan {
    /// Returns the groups of a shard.
    pub fn groups(&self, shard: Shard) -> Vec<Group<'_>> {
        let count = |lanes| self.runs.len() * self.seeds.len().div_ceil(lanes);
        let halves = std::iter::successors(Some(LANES), |lanes| Some(lanes / 2));
        let lanes = halves.take_while(|lanes| *lanes > 0).find(|lanes| count(*lanes) >= shard.of);
        let all = self
            .runs
            .iter()
            .flat_map(|run| self.seeds.chunks(lanes.unwrap_or(1)).map(move |seeds| (run, seeds)));
        let numbered = (1..).zip(all).map(|(number, (run, seeds))| Group { number, run, seeds });
        numbered.skip(shard.number - 1).step_by(shard.of).collect()
    }
}

/// A group, and how far it has come.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Its place among the groups: the I of `--shard I/N`, if N is their number.
    pub shard: usize,
    /// The folder of its run.
    pub run: String,
    /// The run's settings.
    pub settings: String,
    /// Its seeds, as `--seeds` takes them.
    pub seeds: String,
    /// How many.
    pub count: usize,
    /// How many have finished.
    pub finished: usize,
    /// `finished`, `in use`, `begun`, `new` or `unreadable`.
    pub state: &'static str,
    /// Who trains one of its seeds, or was killed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The seeds that cannot be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// Returns the groups of a shard, as they stand below `out`.
/// Errors: [`Error::Usage`] if a recipe has no TOML form; [`Error::File`] if its folder is a link.
pub fn list<'a>(plan: &'a Plan, shard: Shard, out: &Path) -> Result<Vec<Line>, Error> {
    // The groups of a run follow each other.
    let mut at: Option<(&'a Run, TrainDirectory, bool)> = None;
    let line = |group: Group<'a>| {
        if !at.as_ref().is_some_and(|(run, ..)| std::ptr::eq(*run, group.run)) {
            let directory = TrainDirectory::at(out.join(&group.run.folder), &group.run.recipe)?;
            let path = directory.path();
            let is_there = files::is_there(path, Kind::Folder).map_err(|e| Error::file(path, e))?;
            at = Some((group.run, directory, is_there));
        }
        let (mut finished, mut begun, mut by, mut unreadable) = (0, false, None, Vec::new());
        let there = at.as_ref().filter(|(.., is_there)| *is_there);
        let seeds = there
            .iter()
            .flat_map(|(_, directory, _)| group.seeds.iter().map(move |s| (directory, s)));
        for (directory, seed) in seeds {
            match directory.progress(*seed) {
                SeedProgress::New => {}
                SeedProgress::Begun => begun = true,
                SeedProgress::InUse(holder) => by = by.or(Some(holder)),
                SeedProgress::Finished => finished += 1,
                SeedProgress::Unreadable(reason) => unreadable.push(reason),
            }
        }
        let count = group.seeds.len();
        let state = match (&by, finished) {
            _ if !unreadable.is_empty() => "unreadable",
            _ if finished == count => "finished",
            (Some(_), _) => "in use",
            (None, 0) if !begun => "new",
            _ => "begun",
        };
        Ok(Line {
            shard: group.number,
            run: group.run.folder.clone(),
            settings: group.run.title(&plan.axes),
            seeds: Seeds::List(group.seeds.iter().copied().collect()).to_string(),
            count,
            finished,
            state,
            by,
            unreadable,
        })
    };
    plan.groups(shard).into_iter().map(line).collect()
}
