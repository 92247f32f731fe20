//! Logs of other programs: their arrays under the names of [`super::trajectory`].

use super::error::{names, one_of};
use super::npy::{Array, Data};
use super::npz::Npz;
use super::trajectory::{Arrays, Trajectory, is_npz};
use crate::error::{Error, InFile as _, Problem};
use crate::files::{self, limits::TABLE};
use crate::options;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::path::Path;

/// The names that a file's arrays have, or are given.
pub const NAMES: [&str; 7] = ["phi", "reward", "phi_next", "query", "terminal", "end", "rho"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Stable-Baselines3: the next observation is the next row's. It is not recorded how an episode ended, so its last row
    /// only closes it.
    Sb3,
    /// The package imitation: each episode has one observation more than rewards.
    Imitation,
    /// D4RL: `timeouts` are truncations. Without `next_observations` the next observation is the next row's.
    D4rl,
}

compute::words!(Layout { Sb3 = "sb3", Imitation = "imitation", D4rl = "d4rl" });

/// The arrays of a layout.
struct LayoutArrays {
    /// Our names and the layout's.
    named: &'static [(&'static str, &'static str)],
    /// The arrays that say where episodes end.
    ends: &'static [&'static str],
    /// The arrays that no value depends on.
    unused: &'static [&'static str],
}

impl Layout {
    fn arrays(self) -> LayoutArrays {
        match self {
            Layout::Sb3 => LayoutArrays {
                named: &[("phi", "obs"), ("reward", "rewards")],
                ends: &["episode_starts"],
                unused: &["actions", "episode_returns"],
            },
            Layout::Imitation => LayoutArrays {
                named: &[("phi", "obs"), ("reward", "rews")],
                ends: &["terminal", "indices"],
                unused: &["acts", "infos"],
            },
            Layout::D4rl => LayoutArrays {
                named: &[
                    ("phi", "observations"),
                    ("reward", "rewards"),
                    ("phi_next", "next_observations"),
                    ("terminal", "terminals"),
                    ("end", "timeouts"),
                ],
                ends: &[],
                unused: &["actions"],
            },
        }
    }

    /// Returns the layout that has all of these arrays.
    fn of(present: &[String]) -> Option<Self> {
        [Layout::Sb3, Layout::Imitation, Layout::D4rl].into_iter().find(|layout| {
            let LayoutArrays { named, ends, unused } = layout.arrays();
            let needed = named.iter().map(|(_, array)| array).take(2).chain(ends);
            let known = |name: &String| {
                let mut all = named.iter().map(|(_, array)| array).chain(ends).chain(unused);
                all.any(|array| array == name)
            };
            needed.into_iter().all(|array| present.iter().any(|name| name == array))
                && present.iter().all(known)
        })
    }
}

/// How the arrays of an `.npz` file are named.
#[derive(Clone, Debug, Default, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Naming {
    /// The program that wrote --data, an npz file: Stable-Baselines3, imitation or D4RL
    #[arg(long, requires = "data", value_parser = options::word::<Layout>())]
    #[serde(serialize_with = "word")]
    pub layout: Option<Layout>,
    /// An array of --data and our name for it, such as phi=observations; may be repeated
    #[arg(long, value_name = "NAME=ARRAY", requires = "data", value_parser = renamed)]
    pub array: Vec<String>,
    /// An array of --data to leave out; may be repeated
    #[arg(long, value_name = "ARRAY", requires = "data")]
    pub ignore: Vec<String>,
}

fn word<S: serde::Serializer>(layout: &Option<Layout>, to: S) -> Result<S::Ok, S::Error> {
    layout.map(options::Word::word).serialize(to)
}

fn renamed(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        Some((own, array)) if NAMES.contains(&own) && !array.is_empty() => Ok(text.to_owned()),
        _ => Err(format!("expected NAME=ARRAY, where NAME is one of {}", NAMES.join(", "))),
    }
}

impl Naming {
    /// Reads a file of transitions, and returns the names of the arrays in it that were left out.
    pub fn open(&self, file: &Path) -> Result<(Trajectory, Vec<String>), Error> {
        if is_npz(file) {
            return self.read(&mut Npz::open(file)?);
        }
        let options = [
            ("--layout", self.layout.is_some()),
            ("--array", !self.array.is_empty()),
            ("--ignore", !self.ignore.is_empty()),
        ];
        match options.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Error::option(option, "it is for an .npz file")),
            None => {
                let source = files::open(file, TABLE).in_file(file)?;
                Ok((Trajectory::from_csv(file, source)?, Vec::new()))
            }
        }
    }

    pub fn read<R: Read + Seek>(
        &self,
        npz: &mut Npz<R>,
    ) -> Result<(Trajectory, Vec<String>), Error> {
        let present = npz.names();
        let LayoutArrays { named, ends, unused } = match self.layout {
            Some(layout) => layout.arrays(),
            None => LayoutArrays { named: &[], ends: &[], unused: &[] },
        };
        let mut sources: BTreeMap<&str, &str> = match self.layout {
            Some(_) => named.iter().copied().collect(),
            None => NAMES.into_iter().map(|name| (name, name)).collect(),
        };
        sources.extend(self.array.iter().filter_map(|text| text.split_once('=')));
        sources.retain(|_, source| !self.ignore.iter().any(|name| name == source));
        let is_unused = |name: &String| self.ignore.contains(name) || unused.contains(&&**name);
        let is_used = |name: &String| {
            ends.contains(&&**name) || sources.values().any(|source| source == name)
        };
        if let Some(absent) = self.ignore.iter().find(|name| !present.contains(name)) {
            let reason = format!("{absent}: the file holds {}", names(&present));
            return Err(Error::option("--ignore", reason));
        }
        let of_training =
            ["task", "gamma"].into_iter().find(|name| present.iter().any(|of| of == name));
        if let Some(name) = of_training.filter(|name| !is_unused(&name.to_string())) {
            let expected = "a file without it (`train --task` reads it); the discount is --gamma";
            let problem = Problem::array(name, "not of one task's transitions", expected);
            return Err(problem.in_file(&npz.file));
        }
        if let Some(unknown) = present.iter().find(|name| !is_used(name) && !is_unused(name)) {
            return Err(self.unknown(unknown, &present).in_file(&npz.file));
        }
        let mut arrays = Arrays::new();
        for name in NAMES {
            let Some(source) = sources.get(name) else { continue };
            let is_typed =
                self.array.iter().any(|text| text.split_once('=') == Some((name, source)));
            let found = match is_typed || ["phi", "reward"].contains(&name) {
                true => Some(npz.array(source)?),
                false => npz.optional_array(source)?,
            };
            arrays.extend(found.map(|array| (name, array)));
        }
        match self.layout {
            Some(Layout::Sb3) => {
                let starts = npz.array("episode_starts")?;
                sb3(&mut arrays, &starts).in_file(&npz.file)?;
            }
            Some(Layout::Imitation) => {
                let (terminal, indices) = (npz.array("terminal")?, npz.array("indices")?);
                imitation(&mut arrays, &terminal, &indices).in_file(&npz.file)?;
            }
            Some(Layout::D4rl) | None => {}
        }
        let trajectory = Trajectory::of_arrays(&arrays).in_file(&npz.file)?.0;
        Ok((trajectory, present.into_iter().filter(is_unused).collect()))
    }

    fn unknown(&self, unknown: &str, present: &[String]) -> Problem {
        let more =
            format!("--array NAME={unknown} gives it a name, --ignore {unknown} leaves it out");
        let expected = match Layout::of(present).filter(|_| self.layout.is_none()) {
            Some(layout) => {
                format!("these names, or --layout {}", options::Word::word(layout))
            }
            None if self.layout.is_some() => format!("the arrays of the layout; {more}"),
            None => one_of(unknown, &NAMES) + "; " + &more,
        };
        Problem::array(unknown, "unknown", expected)
    }
}

/// Returns an array of marks.
fn marks(of: &[bool]) -> Array {
    Array { shape: vec![of.len()], data: Data::I64(of.iter().map(|x| (*x).into()).collect()) }
}

/// Adds `end` to the arrays of Stable-Baselines3: the row before a start only closes its episode.
fn sb3(arrays: &mut Arrays, starts: &Array) -> Result<(), Problem> {
    let starts = starts.numbers("episode_starts")?;
    let ends: Vec<bool> = (1..=starts.len()).map(|i| starts.get(i) == Some(&1.0)).collect();
    arrays.insert("end", marks(&ends));
    Ok(())
}

/// Replaces the arrays of imitation by those in which every row has an observation: the last row of an episode only closes it.
fn imitation(arrays: &mut Arrays, terminal: &Array, indices: &Array) -> Result<(), Problem> {
    let terminal = terminal.numbers("terminal")?;
    let (cuts, reward) = (indices.numbers("indices")?, arrays["reward"].numbers("rews")?);
    let n = reward.len();
    let is_cut = |x: &f64| (1.0..n as f64).contains(x) && x.fract() == 0.0;
    if terminal.len() != cuts.len() + 1 || !cuts.iter().all(is_cut) || !cuts.is_sorted() {
        let expected = format!("the {} ascending cuts of {n} rewards", terminal.len().max(1) - 1);
        return Err(Problem::array("indices", indices.describe(), expected));
    }
    if arrays["phi"].shape.first() != Some(&(n + terminal.len())) {
        let expected = format!("{} rows, one more in each episode", n + terminal.len());
        return Err(Problem::array("obs", arrays["phi"].describe(), expected));
    }
    let (mut rewards, mut terminals, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut first = 0;
    for (episode, is_terminal) in terminal.iter().enumerate() {
        let last = cuts.get(episode).map_or(n, |cut| *cut as usize);
        for row in first..last {
            rewards.push(reward[row]);
            terminals.push(row + 1 == last && *is_terminal == 1.0);
            ends.push(false);
        }
        rewards.push(0.0);
        terminals.push(false);
        ends.push(true);
        first = last;
    }
    let rows = rewards.len();
    arrays.insert("reward", Array { shape: vec![rows], data: Data::F64(rewards) });
    arrays.insert("terminal", marks(&terminals));
    arrays.insert("end", marks(&ends));
    Ok(())
}
