//! What `ictd train` can be told: the trainer's recipe, its seeds, and how the run is watched.

use crate::error::Error;
use crate::options;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::path::PathBuf;
pub use trainer::recipe::{
    Attention, LossKind, Mode, Model, OptimizerKind, ParameterSet, Recipe, RnnInput, TaskKind,
    Tasks,
};

/// Trains by multi-task TD (Algorithm 1), many seeds side by side
///
/// Section 4 and App. "Experiment Setup". Each task is a new Markov reward process; on each, 5
/// fresh trajectories of 64 sliding windows are learned from with Adam, as in the authors' code.
/// Seeds share SIMD lanes and threads; neither changes a bit of any seed's result.
///
/// Every --log-every tasks the network is compared with batch TD in a fresh context of the last
/// task, from random numbers of their own: P and Q element-wise, and VD, IWS, SS.
///
/// While it runs, finished seeds are written at once and the others every few seconds; after
/// Ctrl-C or a crash the same command, or `ictd train --resume DIR`, goes on to the same final bytes.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Train {
    /// What is trained, and how.
    #[command(flatten)]
    #[serde(flatten)]
    pub recipe: Recipe,
    /// How many seeds (the paper: 30)
    #[arg(long, default_value = "1", value_parser = options::integer(1..=100_000))]
    pub seeds: usize,
    /// The first seed [default: --seed]
    #[arg(long, value_parser = options::seed)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seed: Option<u64>,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = options::real(0.0..=1e9))]
    #[serde(skip)]
    pub checkpoint_every: f64,
    /// Write event files for TensorBoard: metrics, P and Q, in each seed's folder
    #[arg(long)]
    #[serde(skip)]
    pub tensorboard: bool,
    /// Continue the run in this directory, with its own options
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
}

impl Default for Train {
    fn default() -> Self {
        options::parsed("")
    }
}

/// Beside the recipe, the keys of a `config.toml`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Seeds {
    seeds: usize,
    first_seed: Option<u64>,
}

impl Default for Seeds {
    fn default() -> Self {
        Seeds { seeds: 1, first_seed: None }
    }
}

impl<'a> Deserialize<'a> for Train {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        // Each part refuses keys that it does not know, which serde does not do for parts of one table.
        let mut recipe = toml::Table::deserialize(deserializer)?;
        let keys = ["seeds", "first-seed"];
        let seeds: toml::Table = keys.iter().filter_map(|key| recipe.remove_entry(*key)).collect();
        let Seeds { seeds, first_seed } = seeds.try_into().map_err(de::Error::custom)?;
        let recipe = recipe.try_into().map_err(de::Error::custom)?;
        Ok(Train { recipe, seeds, first_seed, ..Train::default() })
    }
}

impl From<Recipe> for Train {
    fn from(recipe: Recipe) -> Self {
        Train { recipe, ..Train::default() }
    }
}

impl Train {
    /// Refuses a recipe that cannot be trained, and seeds that are too large; the first seed is `seed` unless the
    /// options have their own.
    ///
    /// # Errors
    /// [`Error::Option`], naming the option and what is accepted.
    pub fn check(&self, seed: u64) -> Result<(), Error> {
        self.recipe.check()?;
        let (option, first) = match self.first_seed {
            Some(first) => ("--first-seed", first),
            None => ("--seed", seed),
        };
        let end = first.checked_add(self.seeds as u64);
        if end.is_none_or(|end| end > i64::MAX as u64) {
            let reason = format!("{first}: with --seeds {} all must stay below 2^63", self.seeds);
            return Err(Error::option(option, reason));
        }
        Ok(())
    }

    /// The seeds to train, of a session whose first seed is `seed`.
    pub fn seed_list(&self, seed: u64) -> Vec<u64> {
        let first = self.first_seed.unwrap_or(seed);
        (0..self.seeds as u64).map(|i| first + i).collect()
    }
}
