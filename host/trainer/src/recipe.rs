//! What is trained, and how: every default is the paper's main experiment.

use crate::capacity;
use crate::options::{self, Span};
use clap::ValueEnum;
use clap::builder::{PossibleValue, TypedValueParser};
use ictd_core::UniversalModel;
use ictd_core::rnn::LayerInput;
use ictd_core::training::{AdamSettings, Loss, Optimizer, Settings};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::ffi::OsStr;
use std::fmt;
use std::ops::Bound;
use std::str::FromStr;

/// What each number may be.
mod range {
    use crate::capacity;
    use std::ops::{Bound, RangeInclusive};

    pub(super) const LAYERS: RangeInclusive<usize> = 1..=capacity::LAYERS;
    pub(super) const DIM: RangeInclusive<usize> = 1..=capacity::DIM;
    pub(super) const CONTEXT: RangeInclusive<usize> = 1..=capacity::CONTEXT;
    pub(super) const STATES: RangeInclusive<usize> = 2..=capacity::STATES;
    pub(super) const ACTIONS: RangeInclusive<usize> = 1..=ictd_core::tasks::MAX_ACTIONS;
    pub(super) const TASKS: RangeInclusive<usize> = 1..=100_000_000;
    pub(super) const WARM_UP: RangeInclusive<usize> = 0..=100_000_000;
    pub(super) const BATCHES: RangeInclusive<usize> = 1..=100_000;
    pub(super) const BATCH_SIZE: RangeInclusive<usize> = 1..=capacity::WINDOWS;

    type Reals = (Bound<f64>, Bound<f64>);
    pub(super) const LR: Reals = (Bound::Excluded(0.0), Bound::Included(1000.0));
    pub(super) const GAIN: Reals = LR;
    pub(super) const WEIGHT_DECAY: Reals = (Bound::Included(0.0), Bound::Included(1000.0));
    pub(super) const GAMMA: Reals = (Bound::Included(0.0), Bound::Excluded(1.0));
    pub(super) const LAMBDA: Reals = (Bound::Included(0.0), Bound::Included(1.0));
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub struct Refused {
    /// Its name, as `ictd train` takes it after `--`.
    pub setting: &'static str,
    /// What is wrong, and what is accepted.
    pub reason: String,
}

/// How many rewards a sampled return has (`--loss monte-carlo`), as in the authors' code.
const HORIZON: u32 = 40;

/// The settings of a run, whatever its seeds: equal recipes and equal seeds give equal bits.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recipe {
    /// What is trained
    #[arg(long, value_enum, default_value = "transformer")]
    pub model: Model,
    /// The transformer's attention
    #[arg(long, value_enum, default_value = "linear")]
    pub attention: Attention,
    /// Heads of linear attention: 2 are those of average-reward TD, whose values are differential, and
    /// are trained by the differential TD error
    #[arg(long, default_value = "1", value_parser = options::one_of(&[1, 2]))]
    #[serde(skip_serializing_if = "is_one")]
    pub heads: usize,
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
    #[arg(long, default_value = "3", value_parser = options::integer(range::LAYERS))]
    pub layers: usize,
    /// Feature dimension d
    #[arg(long, default_value = "4", value_parser = options::integer(range::DIM))]
    pub dim: usize,
    /// Context length n
    #[arg(long, default_value = "30", value_parser = options::integer(range::CONTEXT))]
    pub context: usize,
    /// Context lengths MIN..MAX: a batch's windows then begin where its trajectory does and grow, with
    /// lengths drawn log-uniformly; --context is that of the metrics
    #[arg(long, value_name = "MIN..MAX", value_parser = options::span(options::integer(range::CONTEXT)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Span<usize>>,
    /// The distribution of tasks; of several, separated by commas, each in turn
    #[arg(long, value_name = "TASK[,TASK]", default_value = "boyan", value_parser = TaskList)]
    pub task: Tasks,
    /// States of a finite task
    #[arg(long, default_value = "10", value_parser = options::integer(range::STATES))]
    pub states: usize,
    /// What is the same in all tasks of a seed: that of its first
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    /// Actions of a random MDP (--task mdp)
    #[arg(long, default_value = "3", value_parser = options::integer(range::ACTIONS))]
    pub actions: usize,
    /// Tasks (Markov reward processes) trained on
    #[arg(long, default_value = "4000", value_parser = options::integer(range::TASKS))]
    pub mrps: usize,
    /// Batches per task, each a fresh trajectory
    #[arg(long, default_value = "5", value_parser = options::integer(range::BATCHES))]
    pub batches: usize,
    /// Windows (TD errors) per batch
    #[arg(long, default_value = "64", value_parser = options::integer(range::BATCH_SIZE))]
    pub batch_size: usize,
    /// Adam on each batch, or Algorithm 1 to the letter: plain TD after each window
    #[arg(long, value_enum, default_value = "adam")]
    pub optimizer: OptimizerKind,
    /// What the values are trained towards
    #[arg(long, value_enum, default_value = "td")]
    pub loss: LossKind,
    /// Learning rate (of Adam, or plain TD's step size)
    #[arg(long, default_value = "0.001", value_parser = options::real(range::LR))]
    pub lr: f64,
    /// Steps of Adam in which its learning rate rises linearly to --lr [0: none]
    #[arg(long, default_value = "0", value_parser = options::integer(range::WARM_UP))]
    #[serde(skip_serializing_if = "is_default")]
    pub warm_up: usize,
    /// L2 weight decay, added to Adam's gradient
    #[arg(long, default_value = "0.000001", value_parser = options::real(range::WEIGHT_DECAY))]
    pub weight_decay: f64,
    /// Discount factor gamma
    #[arg(long, default_value = "0.9", value_parser = options::real(range::GAMMA))]
    pub gamma: f64,
    /// Trace decay lambda of the mask of TD(lambda) [0: TD(0)'s mask]
    #[arg(long, default_value = "0", value_parser = options::real(range::LAMBDA))]
    #[serde(skip_serializing_if = "is_default")]
    pub lambda: f64,
    /// A discount for each task, uniform in A..B, instead of --gamma
    #[arg(long, value_name = "A..B", value_parser = options::span(options::real(range::GAMMA)))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gammas: Option<Span<f64>>,
    /// Gain of the initial parameters (Xavier normal) [default: 0.1, and 0.1 / L with --mode sequential]
    #[arg(long, value_parser = options::real(range::GAIN))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Tasks between two log points
    #[arg(long, default_value = "10", value_parser = options::integer(range::TASKS))]
    pub log_every: usize,
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

/// Whether the layers share their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Autoregressive: one pair (P, Q), used L times
    #[value(name = "auto")]
    #[serde(rename = "auto")]
    Autoregressive,
    /// L pairs (P_l, Q_l)
    Sequential,
}

/// The attention that the parameters were trained for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    /// Linear attention
    // `identity` in `params.json`.
    Linear,
    /// Softmax attention (App. "Nonlinear Attention")
    Softmax,
}

/// What is trained of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterSet {
    /// All numbers of P and Q
    #[default]
    Full,
    /// Ten numbers, the same for every feature dimension: P = [p1 I, p2 I; p3 I, p4 I] and p5 on the
    /// reward's row, Q likewise
    Equivariant,
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
    /// CartPole with one tiling of 256 tiles, so that features and rewards are uniform in (-1, 1)
    CartpoleUniform,
}

impl TaskKind {
    fn is_cart_pole(self) -> bool {
        use TaskKind::{Cartpole, CartpoleAuthors, CartpoleUniform};
        matches!(self, Cartpole | CartpoleAuthors | CartpoleUniform)
    }
}

/// What is the same in all tasks of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fixed {
    /// The start and the transitions (p_0, p); features and rewards are drawn anew
    Dynamics,
    /// The features phi; the start, the transitions and the rewards are drawn anew
    Features,
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
    /// The squared TD error, and its gradient through the bootstrap target, too
    ResidualGradient,
}

fn is_one(x: &usize) -> bool {
    *x == 1
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
            LossKind::ResidualGradient => Loss::ResidualGradient,
        }
    }
}

impl Default for Recipe {
    fn default() -> Self {
        options::parsed("")
    }
}

impl Recipe {
    /// Refuses settings that are out of range, that no compiled network has, that do not fit together, or that
    /// would be ignored.
    ///
    /// # Errors
    /// The first such setting, with what is accepted.
    pub fn check(&self) -> Result<(), Refused> {
        self.check_ranges()?;
        let Recipe { dim, layers, context, batch_size, weight_decay, lambda, .. } = self;
        let defaults = Recipe::default();
        let rnn = self.model == Model::Rnn;
        let softmax = self.attention == Attention::Softmax;
        let two_heads = self.heads == 2;
        let what = if rnn { "an RNN" } else { "softmax attention" };
        let cart_pole = self.task.0.iter().any(|kind| kind.is_cart_pole());
        let largest = self.lengths.map_or(0, |Span([_, largest])| largest);
        let (short, room) = (capacity::SHORT_CONTEXT, capacity::TRAJECTORY - 2);
        // What is refused, if it is so, and why.
        let rules = [
            (
                "dim",
                (rnn || softmax) && *dim != capacity::RNN_DIM,
                format!("{dim}: accepted for {what} is {}", capacity::RNN_DIM),
            ),
            (
                "mode",
                rnn && self.mode == Mode::Sequential,
                "sequential: an RNN's layers always have their own parameters".into(),
            ),
            (
                "attention",
                rnn && softmax,
                "softmax: accepted with --model transformer; an RNN has no attention".into(),
            ),
            (
                "layers",
                rnn && *layers != capacity::RNN_LAYERS,
                format!("{layers}: accepted for an RNN is {}", capacity::RNN_LAYERS),
            ),
            (
                "layers",
                softmax && *layers > capacity::SOFTMAX_LAYERS,
                format!("{layers}: accepted for {what} is 1 to {}", capacity::SOFTMAX_LAYERS),
            ),
            (
                "lambda",
                (rnn || softmax) && *lambda != 0.0,
                format!("{lambda}: accepted for {what} is 0"),
            ),
            (
                "parameters",
                (rnn || softmax) && self.parameters != ParameterSet::Full,
                format!("equivariant: accepted for {what} is full"),
            ),
            ("normalise", (rnn || softmax) && self.normalise, format!("accepted without {what}")),
            ("heads", (rnn || softmax) && two_heads, format!("2: accepted for {what} is 1")),
            (
                "dim",
                two_heads && *dim > capacity::TWO_HEAD_DIM,
                format!("{dim}: accepted for two heads is 1 to {}", capacity::TWO_HEAD_DIM),
            ),
            (
                "lambda",
                two_heads && *lambda != 0.0,
                format!("{lambda}: accepted with --heads 1; two heads have masks of their own"),
            ),
            (
                "parameters",
                two_heads && self.parameters != ParameterSet::Full,
                "equivariant: accepted with --heads 1".into(),
            ),
            ("normalise", two_heads && self.normalise, "accepted with --heads 1".into()),
            (
                "loss",
                two_heads && self.loss != LossKind::Td,
                format!("{}: accepted for two heads is td", options::typed(&self.loss)),
            ),
            (
                "gamma",
                two_heads && self.gamma != defaults.gamma,
                format!("{}: accepted with --heads 1; differential values have none", self.gamma),
            ),
            ("gammas", two_heads && self.gammas.is_some(), "accepted with --heads 1".into()),
            (
                "rnn-input",
                !rnn && self.rnn_input == RnnInput::Delayed,
                "delayed: accepted with --model rnn".into(),
            ),
            (
                "context",
                (rnn || softmax) && *context > short,
                format!("{context}: accepted for {what} is 1 to {short}"),
            ),
            (
                "lengths",
                (rnn || softmax) && largest >= short,
                format!("up to {largest}: accepted for {what} is up to {}", short - 1),
            ),
            (
                "context",
                context + batch_size > room,
                format!(
                    "{context} + --batch-size {batch_size}: accepted is a sum of at most {room}"
                ),
            ),
            (
                "actions",
                self.actions != defaults.actions && !self.task.0.contains(&TaskKind::Mdp),
                format!("{}: accepted with --task mdp", self.actions),
            ),
            (
                "states",
                self.states != defaults.states
                    && self.task.0.iter().all(|kind| kind.is_cart_pole()),
                format!("{}: accepted with a finite task, unlike CartPole", self.states),
            ),
            (
                "fixed",
                self.fixed.is_some() && self.task != TaskKind::Boyan.into(),
                "accepted with --task boyan, whose rewards depend on nothing else".into(),
            ),
            ("gain", (rnn || softmax) && self.gain.is_some(), format!("accepted without {what}")),
            ("gain", two_heads && self.gain.is_some(), "accepted with --heads 1".into()),
            (
                "loss",
                self.loss == LossKind::TrueValue && cart_pole,
                "true-value: CartPole's true values are not known".into(),
            ),
            (
                "weight-decay",
                self.optimizer == OptimizerKind::Td && *weight_decay != defaults.weight_decay,
                format!("{weight_decay}: accepted with --optimizer adam"),
            ),
            (
                "warm-up",
                self.optimizer == OptimizerKind::Td && self.warm_up != 0,
                format!("{}: accepted with --optimizer adam", self.warm_up),
            ),
        ];
        match rules.into_iter().find(|(_, refused, _)| *refused) {
            Some((setting, _, reason)) => Err(Refused { setting, reason }),
            None => Ok(()),
        }
    }

    /// Refuses a number that the command line would not take, and a list without a task.
    fn check_ranges(&self) -> Result<(), Refused> {
        let [fewest, most] = self.lengths.map_or([1, 1], |span| span.0);
        let integers = [
            ("heads", self.heads, 1..=2),
            ("layers", self.layers, range::LAYERS),
            ("dim", self.dim, range::DIM),
            ("context", self.context, range::CONTEXT),
            ("lengths", fewest, range::CONTEXT),
            ("lengths", most, fewest..=capacity::CONTEXT),
            ("states", self.states, range::STATES),
            ("actions", self.actions, range::ACTIONS),
            ("mrps", self.mrps, range::TASKS),
            ("warm-up", self.warm_up, range::WARM_UP),
            ("batches", self.batches, range::BATCHES),
            ("batch-size", self.batch_size, range::BATCH_SIZE),
            ("log-every", self.log_every, range::TASKS),
            ("task", self.task.0.len(), 1..=1000),
        ];
        for (setting, n, range) in integers {
            options::integer(range)(&n.to_string())
                .map_err(|accepted| Refused { setting, reason: format!("{n}: {accepted}") })?;
        }
        let [least, greatest] = self.gammas.map_or([0.0, 0.0], |span| span.0);
        let reals = [
            ("lr", self.lr, range::LR),
            ("weight-decay", self.weight_decay, range::WEIGHT_DECAY),
            ("gain", self.gain.unwrap_or(0.1), range::GAIN),
            ("gamma", self.gamma, range::GAMMA),
            ("lambda", self.lambda, range::LAMBDA),
            ("gammas", least, range::GAMMA),
            ("gammas", greatest, (Bound::Included(least), Bound::Excluded(1.0))),
        ];
        for (setting, x, range) in reals {
            options::real(range)(&x.to_string())
                .map_err(|accepted| Refused { setting, reason: format!("{x}: {accepted}") })?;
        }
        Ok(())
    }

    /// n_0 of contexts that are read without units: that of the model that ships.
    pub fn prior_count(&self) -> Option<f64> {
        self.normalise.then_some(UniversalModel::<f32>::PRIOR_COUNT)
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
            loss: if self.heads == 2 { Loss::DifferentialTdError } else { self.loss.into() },
            optimizer: match self.optimizer {
                OptimizerKind::Td => Optimizer::Td { step_size: self.lr },
                OptimizerKind::Adam => Optimizer::Adam(AdamSettings {
                    learning_rate: self.lr,
                    weight_decay: self.weight_decay,
                    warm_up: self.warm_up as u64,
                    ..Default::default()
                }),
            },
        }
    }
}
