//! The settings that are words, and the error of a setting.

use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::training::{LayerInput, Loss};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub struct InvalidSetting {
    /// The setting's name, which `ictd train` accepts after `--`.
    pub setting: &'static str,
    pub reason: String,
}

/// The number of rewards of a sampled return (`--loss monte-carlo`), as in the authors' code.
pub(crate) const HORIZON: u32 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkKind {
    Transformer,
    Rnn,
}

/// What all tasks of a seed share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// The start and the transitions (p_0, p).
    Dynamics,
    Features,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimizerKind {
    Adam,
    Td,
    AdamByWindow,
}

pub(crate) fn invalid<T>(setting: &'static str, reason: String) -> Result<T, InvalidSetting> {
    Err(InvalidSetting { setting, reason })
}

pub type WordList = &'static [&'static str];

pub trait Word: Copy + PartialEq + Send + Sync + 'static {
    /// The words, in the order of help texts.
    const WORDS: WordList;
    const VALUES: &'static [(Self, &'static str)];
    /// All values, in the order of the words.
    const ALL: &'static [Self];

    fn from_word(word: &str) -> Option<Self> {
        Self::VALUES.iter().find(|(_, own)| *own == word).map(|(value, _)| *value)
    }

    /// Returns the word; empty for a value without one.
    fn word(self) -> &'static str {
        Self::VALUES.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| *word)
    }

    /// Parses a word; the error states the expected words.
    fn parse_word(text: &str) -> Result<Self, String> {
        Self::from_word(text).ok_or_else(|| format!("expected one of {}", Self::WORDS.join(", ")))
    }
}

/// Implements [`Word`](crate::words::Word) for an enum: each variant with its word.
#[macro_export]
macro_rules! words {
    ($type:ident { $($variant:ident $({ $($field:tt)* })? = $word:literal),* $(,)? }) => {
        impl $crate::words::Word for $type {
            const WORDS: $crate::words::WordList = &[$($word),*];
            const VALUES: &'static [(Self, &'static str)] =
                &[$(($type::$variant $({ $($field)* })?, $word)),*];
            const ALL: &'static [Self] = &[$($type::$variant $({ $($field)* })?),*];
        }
    };
}

words!(NetworkKind { Transformer = "transformer", Rnn = "rnn" });
words!(AttentionKind { Linear = "linear", Softmax = "softmax" });
words!(LayerSharing { Autoregressive = "autoregressive", Sequential = "sequential" });
words!(LayerInput { Current = "current", Delayed = "delayed" });
words!(Fixed { Dynamics = "dynamics", Features = "features" });
words!(OptimizerKind { Adam = "adam", Td = "td", AdamByWindow = "adam-by-window" });
words!(Loss {
    TdError = "td-error",
    TrueValue = "true-value",
    MonteCarlo { horizon: HORIZON } = "monte-carlo",
    ResidualGradient = "residual-gradient",
});
