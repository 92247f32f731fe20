//! The settings of a [`Recipe`] as a table. The command line, its help, `config.toml`, sweep plans and Python all read and
//! write settings through it; the defaults are [`Recipe::default`]'s.

use crate::capacity;
use crate::options::{NumberRange, integer, real, span};
use crate::own_tasks::OwnTasks;
use crate::recipe::{
    Fixed, HORIZON, Loss, NetworkKind, OptimizerKind, Recipe, RnnInput, TaskMixture,
};
use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::tasks::{MAX_ACTIONS, TaskSpec};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Bound;

/// A setting of a recipe.
pub struct SettingSpec {
    /// The name in files; the command line has it after `--`.
    pub name: &'static str,
    /// Older names, which are still read.
    pub aliases: &'static [&'static str],
    /// The accepted values.
    pub values: Values,
    /// The meaning, in a line or two.
    pub help: &'static str,
    /// Returns the value, or `None` if it is not given.
    pub get: fn(&Recipe) -> Option<SettingValue>,
    /// Parses a typed value into a recipe; the error states the expected value.
    pub set: fn(&mut Recipe, &str) -> Result<(), String>,
}

/// The words that a setting accepts.
pub type WordList = &'static [&'static str];

type Reals = (Bound<f64>, Bound<f64>);

/// The values that a setting accepts.
#[derive(Clone, Copy)]
pub enum Values {
    /// An integer from one number to another.
    Integer(usize, usize),
    /// A number in a range.
    Real(Reals),
    /// Two integers from one number to another, in ascending order: `MIN..MAX`.
    Integers(usize, usize),
    /// Two numbers in a range, in ascending order: `A..B`.
    Range(Reals),
    /// One of a few words.
    Word(WordList),
    /// One or more of a few words, separated by commas.
    Words(WordList),
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

/// The type of a recipe's field.
trait Field: Sized {
    /// Parses a typed value.
    fn parse(values: Values, text: &str) -> Result<Self, String>;

    /// Returns the value, or `None` if it is not given.
    fn value(&self) -> Option<SettingValue>;
}

/// Implements [`Field`] for a type of numbers: the values that it accepts with their parser, and how it is stored.
macro_rules! numbers {
    ($type:ty: $values:pat => $parse:expr, $stored:expr) => {
        impl Field for $type {
            fn parse(values: Values, text: &str) -> Result<Self, String> {
                match values {
                    $values => $parse(text),
                    // A row of the table with values of another field; a test parses every row.
                    _ => Err("expected a setting whose values fit its field".into()),
                }
            }

            fn value(&self) -> Option<SettingValue> {
                Some($stored(self))
            }
        }
    };
}

numbers!(usize: Integer(low, high) => integer(low..=high), |n: &Self| SettingValue::Integer(*n));
numbers!(f64: Real(range) => real(range), |x: &Self| SettingValue::Real(*x));
numbers!(
    NumberRange<usize>: Integers(low, high) => span(integer(low..=high)),
    |range: &Self| SettingValue::Text(range.to_string())
);
numbers!(
    NumberRange<f64>: Range(range) => span(real(range)),
    |range: &Self| SettingValue::Text(range.to_string())
);

impl<T: Field> Field for Option<T> {
    fn parse(values: Values, text: &str) -> Result<Self, String> {
        T::parse(values, text).map(Some)
    }

    fn value(&self) -> Option<SettingValue> {
        self.as_ref().and_then(T::value)
    }
}

/// The largest number of task distributions in a mixture.
const MAX_MIXTURE: usize = 1000;

impl Field for TaskMixture {
    fn parse(_: Values, text: &str) -> Result<Self, String> {
        if let Some(own) = OwnTasks::named(text) {
            return Ok(TaskMixture::Own(own));
        }
        let specs = text.split(',').map(str::parse).collect::<Result<Vec<TaskSpec>, _>>();
        let expected = || format!("expected a list of {}, or FILE.npz", TaskSpec::NAMES.join(", "));
        let specs = specs.ok().filter(|specs| specs.len() <= MAX_MIXTURE);
        specs.map(TaskMixture::Named).ok_or_else(expected)
    }

    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Text(self.to_string()))
    }
}

/// A value that is one of a few words.
pub trait Word: Sized + Copy + PartialEq + Send + Sync + 'static {
    /// The words, in the order of help texts.
    const WORDS: WordList;

    /// Returns the value of a word.
    fn from_word(word: &str) -> Option<Self>;

    /// Returns the word.
    fn word(self) -> &'static str;

    /// Parses a word; the error states the expected words.
    fn parse_word(text: &str) -> Result<Self, String> {
        Self::from_word(text).ok_or_else(|| format!("expected one of {}", Self::WORDS.join(", ")))
    }
}

impl Word for TaskSpec {
    const WORDS: WordList = TaskSpec::NAMES;

    fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    fn word(self) -> &'static str {
        self.name()
    }
}

/// Implements [`Word`](crate::settings::Word) for an enum: each variant's word, then its aliases.
#[macro_export]
macro_rules! words {
    ($type:ident { $($variant:ident $({ $($field:tt)* })? = $word:literal $(| $alias:literal)*),* $(,)? }) => {
        impl $crate::settings::Word for $type {
            const WORDS: $crate::settings::WordList = &[$($word),*];

            fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word $(| $alias)* => Some($type::$variant $({ $($field)* })?),)*
                    _ => None,
                }
            }

            #[allow(unreachable_patterns, reason = "a type may have a variant without a word")]
            fn word(self) -> &'static str {
                match self {
                    $($type::$variant $({ $($field)* })? => $word,)*
                    _ => "",
                }
            }
        }
    };
}

impl<T: Word> Field for T {
    fn parse(_: Values, text: &str) -> Result<Self, String> {
        T::parse_word(text)
    }

    fn value(&self) -> Option<SettingValue> {
        Some(SettingValue::Text(self.word().to_owned()))
    }
}

words!(NetworkKind { Transformer = "transformer", Rnn = "rnn" });
words!(AttentionKind { Linear = "linear", Softmax = "softmax" });
words!(LayerSharing { Autoregressive = "autoregressive" | "auto", Sequential = "sequential" });
words!(RnnInput { Current = "current", Delayed = "delayed" });
words!(Fixed { Dynamics = "dynamics", Features = "features" });
words!(OptimizerKind { Adam = "adam", Td = "td" });
words!(Loss {
    TdError = "td-error" | "td",
    TrueValue = "true-value",
    MonteCarlo { horizon: HORIZON } = "monte-carlo",
    ResidualGradient = "residual-gradient",
});

const POSITIVE: Reals = (Bound::Excluded(0.0), Bound::Included(1000.0));
const NOT_NEGATIVE: Reals = (Bound::Included(0.0), Bound::Included(1000.0));
const DISCOUNT: Reals = (Bound::Included(0.0), Bound::Excluded(1.0));
const SHARE: Reals = (Bound::Included(0.0), Bound::Included(1.0));
const COUNT: Values = Integer(1, 100_000_000);

macro_rules! table {
    ($($field:ident $name:literal $(| $alias:literal)*: $values:expr, $help:expr;)*) => {
        &[$(SettingSpec {
            name: $name,
            aliases: &[$($alias),*],
            values: $values,
            help: $help,
            get: |recipe| recipe.$field.value(),
            set: |recipe, text| {
                recipe.$field = Field::parse($values, text)?;
                Ok(())
            },
        }),*]
    };
}

use Values::{Integer, Integers, Range, Real, Words};

/// Every setting, in the order of files and of the help.
pub const SETTINGS: &[SettingSpec] = table! {
    network "network" | "model": Values::Word(NetworkKind::WORDS),
        "A transformer, or a tanh RNN with 4 hidden units per layer";
    attention "attention": Values::Word(AttentionKind::WORDS),
        "The transformer's attention (softmax: App. \"Nonlinear Attention\")";
    layer_sharing "layer-sharing" | "mode": Values::Word(LayerSharing::WORDS),
        "Whether all layers share one pair (P, Q), or each of the L layers has its own";
    rnn_input "rnn-input": Values::Word(RnnInput::WORDS),
        "The input of an RNN's layers above the first: the layer below's new state, or its previous state, exactly as in the \
         paper's formula, with which 3 layers never see the query";
    layers "layers": Integer(1, capacity::LAYERS), "Number of layers L";
    dim "dim": Integer(1, capacity::DIM), "Feature dimension d";
    context_length "context-length" | "context": Integer(1, capacity::CONTEXT), "Context length n";
    context_range "context-range" | "lengths": Integers(1, capacity::CONTEXT),
        "Range of context lengths, drawn log-uniformly: all windows of a batch then start at the beginning of its trajectory \
         and get longer. --context-length is then that of the metrics";
    task "task": Words(TaskSpec::NAMES),
        "Distribution of tasks: Boyan's chain (Algorithm 2), also with a representable value function (Algorithm 3); a random \
         MDP under a random policy, and the Loop MRP of the authors' code, both representable; CartPole with tile coding \
         (Algorithm 4), as in the authors' code (one grid of 16 cells, reward of the next state), or with one tiling of 256 \
         tiles, so that features and rewards are uniform in (-1, 1). Several tasks, separated by commas, are used in turn. \
         FILE.npz: tasks of your own (p, reward, phi; p0, terminal, gamma) or logged transitions (phi, reward; phi_next, \
         terminal, end, task, gamma), drawn with equal probability";
    states "states": Integer(2, capacity::STATES), "Number of states of a finite task";
    fixed "fixed": Values::Word(Fixed::WORDS),
        "What all tasks of a seed share with its first task, while the rest is redrawn for each: the start and the transitions \
         (p_0, p), or the features phi";
    actions "actions": Integer(1, MAX_ACTIONS), "Number of actions of a random MDP (--task mdp)";
    tasks "tasks" | "mrps": COUNT, "Number of tasks (Markov reward processes) to train on";
    batches "batches": Integer(1, 100_000), "Batches per task, each a fresh trajectory";
    batch_size "batch-size": Integer(1, capacity::WINDOWS), "Windows (TD errors) per batch";
    optimizer "optimizer": Values::Word(OptimizerKind::WORDS),
        "Adam on each batch, or Algorithm 1 exactly: plain TD after each window";
    loss "loss": Values::Word(Loss::WORDS),
        "The loss: the squared TD error, the squared error against the true value or against a sampled return of 40 rewards, \
         or the squared TD error with its gradient also through the bootstrap target";
    learning_rate "learning-rate" | "lr": Real(POSITIVE), "Learning rate (of Adam, or plain TD's step size)";
    weight_decay "weight-decay": Real(NOT_NEGATIVE), "L2 weight decay, added to Adam's gradient";
    gamma "gamma": Real(DISCOUNT), "Discount factor gamma";
    trace_decay "trace-decay": Real(SHARE),
        "Trace decay of the mask, the paper's lambda [0: TD(0)'s mask]";
    gamma_range "gamma-range" | "gammas": Range(DISCOUNT),
        "Range of discounts: each task draws its own uniformly, instead of --gamma";
    gain "gain": Real(POSITIVE),
        "Gain of the initial parameters (Xavier normal) [default: 0.1, and 0.1 / L with --layer-sharing sequential]";
    log_every "log-every": COUNT, "Number of tasks between two log points";
};

/// Returns the setting with this name or alias.
pub fn setting(name: &str) -> Option<&'static SettingSpec> {
    SETTINGS.iter().find(|setting| setting.name == name || setting.aliases.contains(&name))
}

impl Values {
    /// Returns the accepted words; empty for a setting that accepts numbers.
    pub fn words(self) -> WordList {
        match self {
            Values::Word(words) | Words(words) => words,
            _ => &[],
        }
    }
}
