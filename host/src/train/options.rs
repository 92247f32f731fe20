//! What `ictd train` can be told: every default is the paper's main experiment.

use super::capacity;
use crate::error::Error;
pub use crate::formats::parameters::{Attention, Mode, ParameterSet};
use crate::options::{self, Span};
use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use ictd_core::UniversalModel;
use ictd_core::rnn::LayerInput;
use ictd_core::tasks::MAX_ACTIONS;
use ictd_core::training::{AdamSettings, Loss, Optimizer, Settings};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::ffi::OsStr;
use std::fmt;
use std::ops::Bound;
use std::path::PathBuf;
use std::str::FromStr;

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
    /// What is trained of each layer, with linear attention
    #[arg(long, value_enum, default_value = "full")]
    #[serde(skip_serializing_if = "is_default")]
    pub parameters: ParameterSet,
    /// Read contexts without units, in a scale and basis of their own, with linear attention
    #[arg(long)]
    #[serde(skip_serializing_if = "is_default")]
    pub normalise: bool,
    /// What an RNN's layers above the first read
    #[arg(long, value_enum, default_value = "current")]
    pub rnn_input: RnnInput,
    /// Layers L
    #[arg(long, default_value = "3", value_parser = options::integer(1..=capacity::LAYERS))]
    pub layers: usize,
    /// Feature dimension d
    #[arg(long, default_value = "4", value_parser = options::integer(1..=capacity::DIM))]
    pub dim: usize,
    /// Context length n
    #[arg(long, default_value = "30", value_parser = options::integer(1..=capacity::CONTEXT))]
    pub context: usize,
    /// Context lengths MIN..MAX: a batch's windows then begin where its trajectory does and grow, with
    /// lengths drawn log-uniformly; --context is that of the metrics
    #[arg(long, value_name = "MIN..MAX", value_parser = options::span(options::integer(1..=capacity::CONTEXT)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Span<usize>>,
    /// The distribution of tasks; of several, separated by commas, each in turn
    #[arg(long, value_name = "TASK[,TASK]", default_value = "boyan", value_parser = TaskList)]
    pub task: Tasks,
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
    #[arg(long, default_value = "64", value_parser = options::integer(1..=capacity::WINDOWS))]
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
    /// Trace decay lambda of the mask of TD(lambda) [0: TD(0)'s mask]
    #[arg(long, default_value = "0", value_parser = options::real(0.0..=1.0))]
    #[serde(skip_serializing_if = "is_default")]
    pub lambda: f64,
    /// A discount for each task, uniform in A..B, instead of --gamma
    #[arg(long, value_name = "A..B", value_parser = options::span(options::real(0.0..1.0)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gammas: Option<Span<f64>>,
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

/// Distributions of tasks, taken in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks(pub Vec<TaskKind>);

impl From<TaskKind> for Tasks {
    fn from(kind: TaskKind) -> Self {
        Tasks(vec![kind])
    }
}

impl fmt::Display for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(options::typed).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Tasks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kinds: Result<_, _> = text.split(',').map(|x| TaskKind::from_str(x, false)).collect();
        let all: Vec<_> = TaskKind::value_variants().iter().map(options::typed).collect();
        kinds.map(Tasks).map_err(|_| format!("accepted is a list of {}", all.join(", ")))
    }
}

/// Parses [`Tasks`]; help and completion know each of them.
#[derive(Clone)]
struct TaskList;

impl TypedValueParser for TaskList {
    type Value = Tasks;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Tasks, clap::Error> {
        Tasks::from_str.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(TaskKind::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

impl Serialize for Tasks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'a> Deserialize<'a> for Tasks {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
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

fn is_default<T: Default + PartialEq>(x: &T) -> bool {
    *x == T::default()
}

impl From<LossKind> for Loss {
    fn from(kind: LossKind) -> Self {
        match kind {
            LossKind::Td => Loss::TdError,
            LossKind::TrueValue => Loss::TrueValue,
            LossKind::MonteCarlo => Loss::MonteCarlo { horizon: HORIZON },
        }
    }
}

impl Default for Train {
    fn default() -> Self {
        options::parsed("")
    }
}

impl Train {
    /// Refuses options that no compiled network has, that do not fit together, or that would be
    /// ignored; the first seed is `seed` unless the options have their own.
    ///
    /// # Errors
    /// [`Error::Option`], naming the option and what is accepted.
    pub fn check(&self, seed: u64) -> Result<(), Error> {
        let Train { dim, layers, context, batch_size, seeds, weight_decay, lambda, .. } = self;
        let defaults = Train::default();
        let rnn = self.model == Model::Rnn;
        let softmax = self.attention == Attention::Softmax;
        let what = if rnn { "an RNN" } else { "softmax attention" };
        let is_cart_pole = |kind| matches!(kind, TaskKind::Cartpole | TaskKind::CartpoleAuthors);
        let cart_pole = self.task.0.iter().copied().any(is_cart_pole);
        let largest = self.lengths.map_or(0, |Span([_, largest])| largest);
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
                (rnn || softmax) && *dim != capacity::RNN_DIM,
                format!("{dim}: accepted for {what} is {}", capacity::RNN_DIM),
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
                "--layers",
                softmax && *layers > capacity::SOFTMAX_LAYERS,
                format!("{layers}: accepted for {what} is 1 to {}", capacity::SOFTMAX_LAYERS),
            ),
            (
                "--lambda",
                (rnn || softmax) && *lambda != 0.0,
                format!("{lambda}: accepted for {what} is 0"),
            ),
            (
                "--parameters",
                (rnn || softmax) && self.parameters != ParameterSet::Full,
                format!("equivariant: accepted for {what} is full"),
            ),
            ("--normalise", (rnn || softmax) && self.normalise, format!("accepted without {what}")),
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
                "--lengths",
                (rnn || softmax) && largest >= short,
                format!("up to {largest}: accepted for {what} is up to {}", short - 1),
            ),
            (
                "--context",
                context + batch_size > room,
                format!(
                    "{context} + --batch-size {batch_size}: accepted is a sum of at most {room}"
                ),
            ),
            (
                "--actions",
                self.actions != defaults.actions && !self.task.0.contains(&TaskKind::Mdp),
                format!("{}: accepted with --task mdp", self.actions),
            ),
            (
                "--states",
                self.states != defaults.states && self.task.0.iter().copied().all(is_cart_pole),
                format!("{}: accepted with a finite task, unlike CartPole", self.states),
            ),
            (
                "--loss",
                self.loss == LossKind::TrueValue && cart_pole,
                "true-value: CartPole's true values are not known".into(),
            ),
            (
                "--weight-decay",
                self.optimizer == OptimizerKind::Td && *weight_decay != defaults.weight_decay,
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

    /// n_0 of contexts that are read without units: that of the model that ships.
    pub fn prior_count(&self) -> Option<f64> {
        self.normalise.then_some(UniversalModel::<f32>::PRIOR_COUNT)
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
            lengths: self.lengths.map(|span| span.0),
            windows: self.batch_size,
            batches: self.batches,
            gamma: self.gamma,
            gammas: self.gammas.map(|span| span.0),
            loss: self.loss.into(),
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
