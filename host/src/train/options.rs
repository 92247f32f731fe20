//! The options of `ictd train`: the trainer's recipe, its seeds, and how the run is watched.

use crate::error::{Error, InFile as _};
use crate::options;
use crate::run::{config, info};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
pub use compute::recipe::{
    AttentionKind, LayerSharing, Loss, NetworkKind, OptimizerKind, Recipe, RnnInput, TaskMixture,
    TaskSpec,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Train {
    #[serde(flatten)]
    pub recipe: Recipe,
    pub seeds: Seeds,
    #[serde(skip)]
    pub watch: Watching,
}

#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct Watching {
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = options::real(0.0..=1e9))]
    pub checkpoint_every: f64,
    /// Exit code 1 if a seed diverged
    #[arg(long)]
    pub check: bool,
    /// Continue the run in this directory, with its own options; with --tasks, train it longer, in a folder next to it
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// The number of tasks that was typed with `--resume`.
    #[arg(skip)]
    pub longer: Option<usize>,
}

#[derive(clap::Args)]
struct TypedSeeds {
    /// Number of seeds, starting at --seed (the paper: 30), or a list: 0..9,20
    #[arg(long, value_name = "N|LIST", default_value = "1")]
    seeds: Seeds,
}

impl Args for Train {
    fn augment_args(command: Command) -> Command {
        let command = TypedSeeds::augment_args(command.args(options::arguments()));
        // Set last: each part's `augment_args` would overwrite `about`.
        Watching::augment_args(command).about(ABOUT).long_about(LONG_ABOUT)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Train {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let TypedSeeds { seeds } = TypedSeeds::from_arg_matches(found)?;
        let (recipe, mut watch) = (options::recipe(found)?, Watching::from_arg_matches(found)?);
        let typed = found.value_source("tasks") == Some(ValueSource::CommandLine);
        watch.longer = (typed && watch.resume.is_some()).then_some(recipe.tasks);
        Ok(Train { recipe, seeds, watch })
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}

const ABOUT: &str = "Train by multi-task TD (Algorithm 1), many seeds side by side";

const LONG_ABOUT: &str = "\
Train by multi-task TD (Algorithm 1), many seeds side by side

Section 5 and App. \"Experiment Setup\": each task is a new Markov reward process. Every --log-every tasks the network is \
compared with batch TD in a fresh context of the last task: P and Q element-wise, and VD, IWS, SS. Seeds share SIMD lanes \
and threads; neither affects any seed's result.

A run is identified by its recipe (all options except the seeds), which names its folder in --out. Each seed's \
files are written as soon as it has finished, and its state every few seconds until then. After Ctrl-C or a crash, the same \
command, or `ictd train --resume DIR`, continues. A command with other seeds adds them, also at the same time from another \
process or machine. The final bytes are those of one run with all seeds. A seed that diverges is recorded as such.";

impl Default for Train {
    fn default() -> Self {
        options::parsed("")
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// This many seeds, starting at the first.
    Count(usize),
    List(BTreeSet<u64>),
}

impl Seeds {
    const MOST: usize = 100_000;

    /// Returns the first of some seeds, and the shortest text for all of them.
    pub fn of(seeds: &BTreeSet<u64>) -> (u64, Self) {
        let (Some(first), Some(last)) = (seeds.first(), seeds.last()) else {
            return (0, Seeds::Count(0));
        };
        let is_span = last - first == seeds.len() as u64 - 1;
        (*first, if is_span { Seeds::Count(seeds.len()) } else { Seeds::List(seeds.clone()) })
    }

    pub fn count(&self) -> usize {
        match self {
            Seeds::Count(count) => *count,
            Seeds::List(seeds) => seeds.len(),
        }
    }
}

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains([',', '.']) {
            return options::integer(1..=Self::MOST)(text).map(Seeds::Count);
        }
        let mut seeds = BTreeSet::new();
        for part in text.split(',') {
            let (from, to) = part.split_once("..").unwrap_or((part, part));
            let (from, to) = (options::seed(from.trim())?, options::seed(to.trim())?);
            if to < from || to - from >= (Self::MOST - seeds.len()) as u64 {
                return Err(format!("expected at most {} seeds, as FROM..TO in order", Self::MOST));
            }
            seeds.extend(from..=to);
        }
        Ok(Seeds::List(seeds))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let seeds = match self {
            Seeds::Count(count) => return write!(f, "{count}"),
            Seeds::List(seeds) => seeds,
        };
        let seeds: Vec<u64> = seeds.iter().copied().collect();
        let spans: Vec<&[u64]> = seeds.chunk_by(|a, b| a + 1 == *b).collect();
        let span = |span: &&[u64]| match span {
            [seed] if spans.len() > 1 => seed.to_string(),
            span => format!("{}..{}", span[0], span[span.len() - 1]),
        };
        f.write_str(&spans.iter().map(span).collect::<Vec<_>>().join(","))
    }
}

impl Serialize for Seeds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Seeds::Count(count) => serializer.serialize_u64(*count as u64),
            Seeds::List(_) => serializer.collect_str(self),
        }
    }
}

impl<'a> Deserialize<'a> for Train {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        // Each part rejects unknown keys, which serde does not do for parts of one table.
        let mut recipe = toml::Table::deserialize(deserializer)?;
        let seeds = match recipe.remove("seeds") {
            Some(toml::Value::String(text)) => text.parse(),
            Some(value) => value.to_string().parse(),
            None => Ok(Seeds::Count(1)),
        };
        let seeds = seeds.map_err(|e| de::Error::custom(format!("seeds: {e}")))?;
        let recipe = Recipe::deserialize(recipe).map_err(de::Error::custom)?;
        Ok(Train { seeds, ..Train::from(recipe) })
    }
}

impl From<Recipe> for Train {
    fn from(recipe: Recipe) -> Self {
        Train { recipe, ..Train::default() }
    }
}

impl Train {
    /// Returns the first seed and the options of a run, from the content of its `config.toml`.
    pub fn of_config(path: &Path, text: &str) -> Result<(u64, Self), Error> {
        let mut table = config::parse(text).in_file(path)?;
        if table.remove("command").is_none_or(|command| command.as_str() != Some("train")) {
            return Err(Error::file(path, "command: expected `train`"));
        }
        let seed = table.remove("seed").and_then(|seed| u64::try_from(seed.as_integer()?).ok());
        let seed = seed.ok_or("seed: expected an integer of at least 0".to_owned());
        let options = table.try_into().map_err(|e: toml::de::Error| e.message().to_owned());
        Ok((seed.in_file(path)?, options.in_file(path)?))
    }

    /// Rejects a recipe that cannot be trained, and seeds that are too large; a number of seeds starts at `first`.
    pub fn check(&self, first: u64) -> Result<(), Error> {
        self.recipe.check()?;
        match self.seeds {
            Seeds::Count(count) if first > i64::MAX as u64 - count as u64 => {
                let reason = format!("{first}: with --seeds {count} all must stay below 2^63");
                Err(Error::option("--seed", reason))
            }
            _ => Ok(()),
        }
    }

    /// Returns the seeds to train; a number of seeds starts at `first`.
    pub fn seed_set(&self, first: u64) -> BTreeSet<u64> {
        match &self.seeds {
            Seeds::Count(count) => (first..).take(*count).collect(),
            Seeds::List(seeds) => seeds.clone(),
        }
    }
}

/// Returns the folder of a recipe: a short description, then the first 8 hexadecimal digits of its digest.
pub fn folder_of(recipe: &Recipe) -> Result<String, Error> {
    let network = match (recipe.network, recipe.attention) {
        (NetworkKind::Rnn, _) => "rnn-",
        (_, AttentionKind::Softmax) => "softmax-",
        _ => "",
    };
    let mut tasks = recipe.task.named().iter().map(|task| task.name());
    let task = tasks.next().unwrap_or("own");
    let more = if tasks.len() > 0 { format!("+{}", tasks.len()) } else { String::new() };
    let digest = info::digest(recipe_text(recipe)?.as_bytes());
    Ok(format!("{network}{task}{more}-L{}-{}", recipe.layers, &digest[..8]))
}

pub fn recipe_text(recipe: &Recipe) -> Result<String, Error> {
    toml::to_string(recipe).map_err(|e| Error::Usage(e.to_string()))
}
