//! The settings of a [`Recipe`] as a table. The command line, its help, `config.toml`, sweep plans and Python all read and
//! write settings through it.

use crate::capacity;
use crate::mixture::{TaskMixture, mixture};
use crate::options::{NumberRange, integer, real, span};
use crate::words::{Fixed, NetworkKind, OptimizerKind, Word, WordList};
use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::tasks::{MAX_ACTIONS, TaskSpec};
use ictd_core::training::{LayerInput as RnnInput, Loss};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Bound;

pub struct SettingSpec {
    /// The name in files; the command line has it after `--`.
    pub name: &'static str,
    /// The accepted words; empty for numbers.
    pub words: WordList,
    /// The value's form in the help, if it is not the setting's name.
    pub form: Option<&'static str>,
    pub help: &'static str,
    /// Returns the value, or `None` if it is not given.
    pub get: fn(&Recipe) -> Option<SettingValue>,
    /// Parses a typed value into a recipe; the error states the expected value.
    pub set: fn(&mut Recipe, &str) -> Result<(), String>,
}

/// A value as stored in files; `Display` writes it as a user types it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    Integer(usize),
    Real(f64),
    Text(String),
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            SettingValue::Integer(n) => n.fmt(f),
            SettingValue::Real(x) => x.fmt(f),
            SettingValue::Text(text) => f.write_str(text),
        }
    }
}

trait Field {
    const ACCEPTED: WordList = &[];
    const FORM: Option<&'static str> = None;

    /// Returns the value, or `None` if it is not given.
    fn value(&self) -> Option<SettingValue>;
}

impl Field for usize {
    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Integer(*self))
    }
}

impl Field for f64 {
    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Real(*self))
    }
}

impl<T: fmt::Display> Field for NumberRange<T> {
    const FORM: Option<&'static str> = Some("MIN..MAX");

    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Text(self.to_string()))
    }
}

impl<T: Field> Field for Option<T> {
    const ACCEPTED: WordList = T::ACCEPTED;
    const FORM: Option<&'static str> = T::FORM;

    fn value(&self) -> Option<SettingValue> {
        self.as_ref().and_then(T::value)
    }
}

impl Field for TaskMixture {
    const ACCEPTED: WordList = TaskSpec::NAMES;
    const FORM: Option<&'static str> = Some("TASK[,TASK]");

    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Text(self.to_string()))
    }
}

impl<T: Word> Field for T {
    const ACCEPTED: WordList = T::WORDS;

    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Text(self.word().to_owned()))
    }
}

const POSITIVE: (Bound<f64>, Bound<f64>) = (Bound::Excluded(0.0), Bound::Included(1000.0));

/// Defines [`Recipe`], its default and [`SETTINGS`]. A row has the field, the name, the type and the default; then the parser
/// and the meaning.
macro_rules! recipe {
    ($($field:ident $name:literal: $type:ty = $default:expr,
        $parse:expr, $help:literal;)*) => {
        /// The settings of a run, apart from its seeds: equal recipes and equal seeds give equal bits. [`SETTINGS`] has the
        /// names and ranges of the fields; files hold a recipe by these names. Every default is the paper's main experiment.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Recipe {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl Default for Recipe {
            fn default() -> Self {
                Recipe { $($field: $default),* }
            }
        }

        /// Every setting, in the order of files and of the help.
        pub const SETTINGS: &[SettingSpec] = &[$(SettingSpec {
            name: $name,
            words: <$type as Field>::ACCEPTED,
            form: <$type as Field>::FORM,
            help: $help,
            get: |recipe| recipe.$field.value(),
            set: |recipe, text| {
                recipe.$field = $parse(text)?.into();
                Ok(())
            },
        }),*];
    };
}

recipe! {
    network "network": NetworkKind = NetworkKind::Transformer,
        NetworkKind::parse_word, "A transformer, or a tanh RNN with 4 hidden units per layer";
    attention "attention": AttentionKind = AttentionKind::Linear,
        AttentionKind::parse_word, "The transformer's attention (softmax: App. \"Nonlinear Attention\")";
    layer_sharing "layer-sharing": LayerSharing = LayerSharing::Autoregressive,
        LayerSharing::parse_word,
        "Whether all layers share one pair (P, Q), or each of the L layers has its own";
    rnn_input "rnn-input": RnnInput = RnnInput::Current,
        RnnInput::parse_word,
        "The input of an RNN's layers above the first: the layer below's new state, or its previous state, exactly as in the \
         paper's formula, with which 3 layers never see the query";
    layers "layers": usize = 3,
        integer(1..=capacity::LAYERS), "Number of layers L";
    dim "dim": usize = 4,
        integer(1..=capacity::DIM), "Feature dimension d";
    context_length "context-length": usize = 30,
        integer(1..=capacity::CONTEXT), "Context length n";
    context_range "context-range": Option<NumberRange<usize>> = None,
        span(integer(1..=capacity::CONTEXT)),
        "Range of context lengths, drawn log-uniformly: all windows of a batch then start at the beginning of its trajectory \
         and get longer. --context-length is then that of the metrics";
    task "task": TaskMixture = TaskSpec::BoyanChain.into(),
        mixture,
        "Distribution of tasks: Boyan's chain (Algorithm 2), also with a representable value function (Algorithm 3); a random \
         MDP under a random policy, and the Loop MRP of the authors' code, both representable; CartPole with tile coding \
         (Algorithm 4), as in the authors' code (one grid of 16 cells, reward of the next state), or with one tiling of 256 \
         tiles, so that features and rewards are uniform in (-1, 1). Several tasks, separated by commas, are used in turn. \
         FILE.npz: tasks of your own (p, reward, phi; p0, terminal, gamma) or logged transitions (phi, reward; phi_next, \
         terminal, end, task, gamma), drawn with equal probability";
    states "states": usize = 10,
        integer(1..=capacity::OWN), "Number of states of a finite task";
    fixed "fixed": Option<Fixed> = None,
        Fixed::parse_word,
        "What all tasks of a seed share with its first task, while the rest is redrawn for each: the start and the transitions \
         (p_0, p), or the features phi";
    actions "actions": usize = 3,
        integer(1..=MAX_ACTIONS), "Number of actions of a random MDP (--task mdp)";
    tasks "tasks": usize = 4000,
        integer(1..=100_000_000), "Number of tasks (Markov reward processes) to train on";
    batches "batches": usize = 5,
        integer(1..=100_000), "Batches per task, each a fresh trajectory";
    batch_size "batch-size": usize = 64,
        integer(1..=capacity::WINDOWS), "Windows (TD errors) per batch";
    optimizer "optimizer": OptimizerKind = OptimizerKind::Adam,
        OptimizerKind::parse_word,
        "Adam on each batch, or Algorithm 1 exactly: plain TD, or Adam, after each window";
    loss "loss": Loss = Loss::TdError,
        Loss::parse_word,
        "The loss: the squared TD error, the squared error against the true value or against a sampled return of 40 rewards, \
         or the squared TD error with its gradient also through the bootstrap target";
    learning_rate "learning-rate": f64 = 0.001,
        real(POSITIVE), "Learning rate (of Adam, or plain TD's step size)";
    weight_decay "weight-decay": f64 = 0.000001,
        real(0.0..=1000.0), "L2 weight decay, added to Adam's gradient";
    clip_norm "clip-norm": Option<f64> = None,
        real(POSITIVE),
        "Largest norm of a gradient: Adam takes a larger one scaled to it, and none that overflowed";
    gamma "gamma": f64 = 0.9,
        real(0.0..1.0), "Discount factor gamma";
    trace_decay "trace-decay": f64 = 0.0,
        real(0.0..=1.0), "Trace decay of the mask, the paper's lambda [0: TD(0)'s mask]";
    gamma_range "gamma-range": Option<NumberRange<f64>> = None,
        span(real(0.0..1.0)),
        "Range of discounts: each task draws its own uniformly, instead of --gamma";
    gain "gain": Option<f64> = None,
        real(POSITIVE),
        "Gain of the initial parameters (Xavier normal) [default: 0.1, and 0.1 / L with --layer-sharing sequential]";
    log_every "log-every": usize = 10,
        integer(1..=100_000_000), "Number of tasks between two log points";
}

/// Returns the setting with this name; the error lists all names.
pub fn setting(name: &str) -> Result<&'static SettingSpec, String> {
    SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| {
        let all: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
        let begin: String = name.chars().take(40).collect();
        format!("{begin} is not a setting: expected {}", all.join(", "))
    })
}
