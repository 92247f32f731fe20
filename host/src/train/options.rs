//! What `ictd train` can be told: every default is the paper's main experiment.

use super::capacity;
use crate::error::Error;
pub use crate::formats::parameters::{Attention, Mode};
use crate::options;
use ictd_core::rnn::LayerInput;
use ictd_core::tasks::MAX_ACTIONS;
use ictd_core::training::{AdamSettings, Loss, Optimizer, Settings};
use serde::{Deserialize, Serialize};
use std::ops::Bound;
use std::path::PathBuf;

/// How many rewards a sampled return has (`--loss monte-carlo`), as in the authors' code.
const HORIZON: u32 = 40;

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
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Train {
    /// What is trained
    #[arg(long, value_enum, default_value = "transformer")]
    pub model: Model,
    /// The transformer's attention
    #[arg(long, value_enum, default_value = "linear")]
    pub attention: Attention,
    /// One pair (P, Q) for all layers, or one for each
    #[arg(long, value_enum, default_value = "auto")]
    pub mode: Mode,
    /// What an RNN's layers above the first read
    #[arg(long, value_enum, default_value = "current")]
    pub rnn_input: RnnInput,
    /// Layers L
    #[arg(long, default_value = "3", value_parser = options::integer(1..=capacity::LAYERS))]
    pub layers: usize,
    /// Feature dimension d
    #[arg(long, default_value = "4", value_parser = options::integer(1..=1000))]
    pub dim: usize,
    /// Context length n
    #[arg(long, default_value = "30", value_parser = options::integer(1..=capacity::TRAJECTORY))]
    pub context: usize,
    /// The distribution of tasks
    #[arg(long, value_enum, default_value = "boyan")]
    pub task: TaskKind,
    /// States of a finite task
    #[arg(long, default_value = "10", value_parser = options::integer(2..=capacity::STATES))]
    pub states: usize,
    /// Actions of a random MDP (--task mdp)
    #[arg(long, default_value = "3", value_parser = options::integer(1..=MAX_ACTIONS))]
    pub actions: usize,
    /// Tasks (Markov reward processes) trained on
    #[arg(long, default_value = "4000", value_parser = options::integer(1..=100_000_000))]
    pub mrps: usize,
    /// Batches per task, each a fresh trajectory
    #[arg(long, default_value = "5", value_parser = options::integer(1..=100_000))]
    pub batches: usize,
    /// Windows (TD errors) per batch
    #[arg(long, default_value = "64", value_parser = options::integer(1..=capacity::TRAJECTORY))]
    pub batch_size: usize,
    /// Adam on each batch, or Algorithm 1 to the letter: plain TD after each window
    #[arg(long, value_enum, default_value = "adam")]
    pub optimizer: OptimizerKind,
    /// What the values are trained towards
    #[arg(long, value_enum, default_value = "td")]
    pub loss: LossKind,
    /// Learning rate (of Adam, or plain TD's step size)
    #[arg(long, default_value = "0.001", value_parser = options::real((Bound::Excluded(0.0), Bound::Included(1000.0))))]
    pub lr: f64,
    /// L2 weight decay, added to Adam's gradient
    #[arg(long, default_value = "0.000001", value_parser = options::real(0.0..=1000.0))]
    pub weight_decay: f64,
    /// Discount factor gamma
    #[arg(long, default_value = "0.9", value_parser = options::real(0.0..1.0))]
    pub gamma: f64,
    /// How many seeds (the paper: 30)
    #[arg(long, default_value = "1", value_parser = options::integer(1..=100_000))]
    pub seeds: usize,
    /// The first seed [default: --seed]
    #[arg(long, value_parser = options::seed)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seed: Option<u64>,
    /// Tasks between two log points
    #[arg(long, default_value = "10", value_parser = options::integer(1..=100_000_000))]
    pub log_every: usize,
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

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A transformer
    Transformer,
    /// A tanh RNN with 4 hidden units per layer
    Rnn,
}

/// What an RNN's layers above the first read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RnnInput {
    /// The new state of the layer below
    Current,
    /// Its previous state, the paper's formula to the letter: 3 layers never see the query
    Delayed,
}

impl From<RnnInput> for LayerInput {
    fn from(input: RnnInput) -> Self {
        match input {
            RnnInput::Current => LayerInput::Current,
            RnnInput::Delayed => LayerInput::Delayed,
        }
    }
}

/// The distribution of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    /// Boyan's chain (Algorithm 2)
    Boyan,
    /// Boyan's chain with a representable value function (Algorithm 3)
    BoyanRepresentable,
    /// A random MDP under a random policy, value representable
    Mdp,
    /// The Loop MRP of the authors' code, value representable
    Loop,
    /// CartPole with tile coding (Algorithm 4)
    Cartpole,
    /// CartPole as in the authors' code: one grid of 16 cells, reward of the next state
    CartpoleAuthors,
}

/// How a gradient changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerKind {
    /// Adam, one step per batch
    Adam,
    /// Plain TD, one step per window
    Td,
}

/// What the values are trained towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// The squared TD error
    Td,
    /// The squared error against the true value
    TrueValue,
    /// The squared error against a sampled return of 40 rewards
    MonteCarlo,
}

impl Default for Train {
    fn default() -> Self {
        options::parsed("")
    }
}

impl Train {
    /// What is asked for, in words, and the feature dimensions it is compiled for ([`shapes`](super::shapes)).
    pub fn dims(&self) -> (&'static str, &'static [usize]) {
        match (self.model, self.attention, self.mode) {
            (Model::Rnn, ..) => ("an RNN", &[capacity::RNN_DIM]),
            (_, Attention::Softmax, _) => ("softmax attention", &[4]),
            (_, Attention::Linear, Mode::Autoregressive) => ("linear attention", &[2, 4, 8]),
            (_, Attention::Linear, Mode::Sequential) => ("sequential linear attention", &[4]),
        }
    }

    /// Refuses options that no compiled network has, that do not fit together, or that would be
    /// ignored; the first seed is `seed` unless the options have their own.
    ///
    /// # Errors
    /// [`Error::Option`], naming the option and what is accepted.
    pub fn check(&self, seed: u64) -> Result<(), Error> {
        let Train { dim, layers, context, batch_size, seeds, weight_decay, .. } = self;
        let (what, dims) = self.dims();
        let dims_in_words: Vec<_> = dims.iter().map(usize::to_string).collect();
        let rnn = self.model == Model::Rnn;
        let softmax = self.attention == Attention::Softmax;
        let cart_pole = matches!(self.task, TaskKind::Cartpole | TaskKind::CartpoleAuthors);
        let (short, room) = (capacity::SHORT_CONTEXT, capacity::TRAJECTORY - 2);
        let (first_option, first) = match self.first_seed {
            Some(first) => ("--first-seed", first),
            None => ("--seed", seed),
        };
        let end = first.checked_add(*seeds as u64);
        // What is refused, if it is so, and why.
        let rules = [
            (
                "--dim",
                !dims.contains(dim),
                format!("{dim}: accepted for {what} is one of {}", dims_in_words.join(", ")),
            ),
            (
                "--mode",
                rnn && self.mode == Mode::Sequential,
                "sequential: an RNN's layers always have their own parameters".into(),
            ),
            (
                "--attention",
                rnn && softmax,
                "softmax: accepted with --model transformer; an RNN has no attention".into(),
            ),
            (
                "--layers",
                rnn && *layers != capacity::RNN_LAYERS,
                format!("{layers}: accepted for an RNN is {}", capacity::RNN_LAYERS),
            ),
            (
                "--rnn-input",
                !rnn && self.rnn_input == RnnInput::Delayed,
                "delayed: accepted with --model rnn".into(),
            ),
            (
                "--context",
                (rnn || softmax) && *context > short,
                format!("{context}: accepted for {what} is 1 to {short}"),
            ),
            (
                "--context",
                context + batch_size > room,
                format!(
                    "{context} + --batch-size {batch_size}: accepted is a sum of at most {room}"
                ),
            ),
            (
                "--loss",
                self.loss == LossKind::TrueValue && cart_pole,
                "true-value: CartPole's true values are not known".into(),
            ),
            (
                "--weight-decay",
                self.optimizer == OptimizerKind::Td
                    && *weight_decay != Train::default().weight_decay,
                format!("{weight_decay}: accepted with --optimizer adam"),
            ),
            (
                first_option,
                end.is_none_or(|end| end > i64::MAX as u64),
                format!("{first}: with --seeds {seeds} all must stay below 2^63"),
            ),
        ];
        match rules.into_iter().find(|(_, refused, _)| *refused) {
            Some((option, _, reason)) => Err(Error::Option { option, reason }),
            None => Ok(()),
        }
    }

    /// The seeds to train, of a session whose first seed is `seed`.
    pub fn seed_list(&self, seed: u64) -> Vec<u64> {
        let first = self.first_seed.unwrap_or(seed);
        (0..self.seeds as u64).map(|i| first + i).collect()
    }

    /// The core's settings.
    pub fn settings(&self) -> Settings {
        Settings {
            context_len: self.context,
            windows: self.batch_size,
            batches: self.batches,
            gamma: self.gamma,
            loss: match self.loss {
                LossKind::Td => Loss::TdError,
                LossKind::TrueValue => Loss::TrueValue,
                LossKind::MonteCarlo => Loss::MonteCarlo { horizon: HORIZON },
            },
            optimizer: match self.optimizer {
                OptimizerKind::Td => Optimizer::Td { step_size: self.lr },
                OptimizerKind::Adam => Optimizer::Adam(AdamSettings {
                    learning_rate: self.lr,
                    weight_decay: self.weight_decay,
                    ..Default::default()
                }),
            },
        }
    }
}
