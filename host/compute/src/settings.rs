//! The settings of a [`Recipe`](crate::Recipe) as a table: the command line, `config.toml`, the plan of a sweep and
//! Python take what is accepted from it, and so does the help.

use crate::capacity;
use crate::options::{integer, real, span};
use serde_json::{Value, json};
use std::ops::Bound;

/// A setting of a recipe.
pub struct Setting {
    /// Its name in files; the command line takes it after `--`.
    pub name: &'static str,
    /// The default, as typed; empty if it is not given.
    pub default: &'static str,
    /// The values that it accepts.
    pub accepts: Accepts,
    /// Its meaning, in a line or two.
    pub help: &'static str,
}

/// Words that are accepted.
pub type WordList = &'static [&'static str];

/// The values that a setting accepts.
#[derive(Clone, Copy)]
pub enum Accepts {
    /// True or false; on the command line it is given or not.
    Switch,
    /// An integer from one number to another.
    Integer(usize, usize),
    /// A number in a range.
    Real(Reals),
    /// Two integers from one number to another, in order: `A..B`.
    Integers(usize, usize),
    /// Two numbers in a range, in order: `A..B`.
    Span(Reals),
    /// One of a few words.
    Word(WordList),
    /// One or more of a few words, separated by commas.
    Words(WordList),
}

type Reals = (Bound<f64>, Bound<f64>);

/// The most words of a list.
const MOST_WORDS: usize = 1000;

const POSITIVE: Reals = (Bound::Excluded(0.0), Bound::Included(1000.0));
const NOT_NEGATIVE: Reals = (Bound::Included(0.0), Bound::Included(1000.0));
const DISCOUNT: Reals = (Bound::Included(0.0), Bound::Excluded(1.0));
const SHARE: Reals = (Bound::Included(0.0), Bound::Included(1.0));
const COUNT: Accepts = Accepts::Integer(1, 100_000_000);

const TASKS: WordList = &[
    "boyan",
    "boyan-representable",
    "mdp",
    "loop",
    "cartpole",
    "cartpole-authors",
    "cartpole-uniform",
];

const fn row(
    name: &'static str,
    default: &'static str,
    accepts: Accepts,
    help: &'static str,
) -> Setting {
    Setting { name, default, accepts, help }
}

/// Every setting, in the order of files and of the help.
pub const SETTINGS: &[Setting] = &{
    use Accepts::{Integer, Integers, Real, Span, Switch, Word, Words};
    [
        row(
            "model",
            "transformer",
            Word(&["transformer", "rnn"]),
            "A transformer, or a tanh RNN with 4 hidden units per layer",
        ),
        row(
            "attention",
            "linear",
            Word(&["linear", "softmax"]),
            "The transformer's attention (softmax: App. \"Nonlinear Attention\")",
        ),
        row(
            "heads",
            "1",
            Integer(1, 2),
            "Heads of linear attention: 2 are those of average-reward TD, whose values are differential, and are \
             trained by the differential TD error",
        ),
        row(
            "mode",
            "auto",
            Word(&["auto", "sequential"]),
            "One pair (P, Q), used L times (autoregressive), or L pairs",
        ),
        row(
            "parameters",
            "full",
            Word(&["full", "equivariant"]),
            "The numbers of a layer of linear attention that are trained: all of P and Q, or ten numbers, the same for every \
             feature dimension: P = [p1 I, p2 I; p3 I, p4 I] and p5 on the reward's row, Q likewise",
        ),
        row(
            "normalise",
            "false",
            Switch,
            "Read contexts without units, in a scale and basis of their own, with linear attention",
        ),
        row(
            "rnn-input",
            "current",
            Word(&["current", "delayed"]),
            "The input of an RNN's layers above the first: the new state of the layer below, or its previous one, which is the \
             paper's formula to the letter: 3 layers never see the query",
        ),
        row("layers", "3", Integer(1, capacity::LAYERS), "Layers L"),
        row("dim", "4", Integer(1, capacity::DIM), "Feature dimension d"),
        row("context", "30", Integer(1, capacity::CONTEXT), "Context length n"),
        row(
            "lengths",
            "",
            Integers(1, capacity::CONTEXT),
            "Context lengths MIN..MAX: a batch's windows then begin where its trajectory does and grow, with lengths \
             drawn log-uniformly; --context is that of the metrics",
        ),
        row(
            "task",
            "boyan",
            Words(TASKS),
            "The distribution of tasks: Boyan's chain (Algorithm 2), also with a representable value function (Algorithm 3); a \
             random MDP under a random policy, and the Loop MRP of the authors' code, both representable; CartPole with \
             tile coding (Algorithm 4), as in the authors' code (one grid of 16 cells, reward of the next state), or with \
             one tiling of 256 tiles, so that features and rewards are uniform in (-1, 1). Of several, separated by \
             commas, each in turn",
        ),
        row("states", "10", Integer(2, capacity::STATES), "States of a finite task"),
        row(
            "fixed",
            "",
            Word(&["dynamics", "features"]),
            "The part of a seed's first task that all its tasks have, while the rest is drawn anew: the start and the transitions \
             (p_0, p), or the features phi",
        ),
        row(
            "actions",
            "3",
            Integer(1, ictd_core::tasks::MAX_ACTIONS),
            "Actions of a random MDP (--task mdp)",
        ),
        row("mrps", "4000", COUNT, "Tasks (Markov reward processes) trained on"),
        row("batches", "5", Integer(1, 100_000), "Batches per task, each a fresh trajectory"),
        row("batch-size", "64", Integer(1, capacity::WINDOWS), "Windows (TD errors) per batch"),
        row(
            "optimizer",
            "adam",
            Word(&["adam", "td"]),
            "Adam on each batch, or Algorithm 1 to the letter: plain TD after each window",
        ),
        row(
            "loss",
            "td",
            Word(&["td", "true-value", "monte-carlo", "residual-gradient"]),
            "The loss that is trained on: the squared TD error, the squared error against the true value or against a \
             sampled return of 40 rewards, or the squared TD error with its gradient through the bootstrap target, too",
        ),
        row("lr", "0.001", Real(POSITIVE), "Learning rate (of Adam, or plain TD's step size)"),
        row(
            "warm-up",
            "0",
            Integer(0, 100_000_000),
            "Steps of Adam in which its learning rate rises linearly to --lr [0: none]",
        ),
        row(
            "weight-decay",
            "0.000001",
            Real(NOT_NEGATIVE),
            "L2 weight decay, added to Adam's gradient",
        ),
        row("gamma", "0.9", Real(DISCOUNT), "Discount factor gamma"),
        row(
            "lambda",
            "0",
            Real(SHARE),
            "Trace decay lambda of the mask of TD(lambda) [0: TD(0)'s mask]",
        ),
        row(
            "gammas",
            "",
            Span(DISCOUNT),
            "A discount for each task, uniform in A..B, instead of --gamma",
        ),
        row(
            "gain",
            "",
            Real(POSITIVE),
            "Gain of the initial parameters (Xavier normal) [default: 0.1, and 0.1 / L with --mode sequential]",
        ),
        row("log-every", "10", COUNT, "Tasks between two log points"),
    ]
};

/// Returns the setting of a name.
pub fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

impl Accepts {
    /// Returns the value that a text says, as a recipe's JSON has it.
    /// Errors: the phrase that says what is accepted.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Accepts::Switch => match text {
                "true" => Ok(json!(true)),
                "false" => Ok(json!(false)),
                _ => Err("accepted is true or false".into()),
            },
            Accepts::Integer(least, most) => integer(least..=most)(text).map(|n| json!(n)),
            Accepts::Real(range) => real(range)(text).map(|x| json!(x)),
            Accepts::Integers(least, most) => span(integer(least..=most))(text).map(|s| json!(s)),
            Accepts::Span(range) => span(real(range))(text).map(|s| json!(s)),
            Accepts::Word(words) if words.contains(&text) => Ok(json!(text)),
            Accepts::Words(words) => {
                let is_list = text.split(',').all(|part| words.contains(&part))
                    && text.split(',').count() <= MOST_WORDS;
                let accepted = || format!("accepted is a list of {}", words.join(", "));
                if is_list { Ok(json!(text)) } else { Err(accepted()) }
            }
            Accepts::Word(words) => Err(format!("accepted is one of {}", words.join(", "))),
        }
    }

    /// Returns the words that it accepts; none of a number.
    pub fn words(self) -> WordList {
        match self {
            Accepts::Word(words) | Accepts::Words(words) => words,
            _ => &[],
        }
    }
}
