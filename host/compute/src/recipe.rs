//! The recipe of a run: what is trained, and how. Every default is the paper's main experiment.

use crate::capacity;
use crate::options::Span;
use crate::settings::{SETTINGS, setting};
pub use ictd_core::training::LayerInput as RnnInput;
pub use ictd_core::training::ParameterSet;
use ictd_core::training::{AdamSettings, Loss, Optimizer, Settings};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub struct Refused {
    /// Its name, as `ictd train` takes it after `--`.
    pub setting: &'static str,
    /// The reason, and what is accepted.
    pub reason: String,
}

/// The number of rewards of a sampled return (`--loss monte-carlo`), as in the authors' code.
const HORIZON: u32 = 40;

/// The settings of a run, whatever its seeds: equal recipes and equal seeds give equal bits. [`SETTINGS`] says of
/// each what it is and what it accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recipe {
    pub model: Model,
    pub attention: Attention,
    #[serde(skip_serializing_if = "is_one")]
    pub heads: usize,
    pub mode: Mode,
    #[serde(skip_serializing_if = "is_default")]
    pub parameters: ParameterSet,
    #[serde(skip_serializing_if = "is_default")]
    pub normalise: bool,
    pub rnn_input: RnnInput,
    pub layers: usize,
    pub dim: usize,
    pub context: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Span<usize>>,
    pub task: Tasks,
    pub states: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Fixed>,
    pub actions: usize,
    pub mrps: usize,
    pub batches: usize,
    pub batch_size: usize,
    pub optimizer: OptimizerKind,
    pub loss: LossKind,
    pub lr: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub warm_up: usize,
    pub weight_decay: f64,
    pub gamma: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub lambda: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gammas: Option<Span<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    pub log_every: usize,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            model: Model::Transformer,
            attention: Attention::Linear,
            heads: 1,
            mode: Mode::Autoregressive,
            parameters: ParameterSet::Full,
            normalise: false,
            rnn_input: RnnInput::Current,
            layers: 3,
            dim: 4,
            context: 30,
            lengths: None,
            task: TaskKind::Boyan.into(),
            states: 10,
            fixed: None,
            actions: 3,
            mrps: 4000,
            batches: 5,
            batch_size: 64,
            optimizer: OptimizerKind::Adam,
            loss: LossKind::Td,
            lr: 0.001,
            warm_up: 0,
            weight_decay: 0.000001,
            gamma: 0.9,
            lambda: 0.0,
            gammas: None,
            gain: None,
            log_every: 10,
        }
    }
}

/// The kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    Transformer,
    Rnn,
}

/// The layers' parameters: shared by all of them, or each layer's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One pair (P, Q), used L times.
    #[serde(rename = "auto")]
    Autoregressive,
    /// L pairs (P_l, Q_l).
    Sequential,
}

/// The attention that the parameters were trained for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attention {
    Linear,
    Softmax,
}

/// The distribution of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskKind {
    Boyan,
    BoyanRepresentable,
    Mdp,
    Loop,
    Cartpole,
    CartpoleAuthors,
    CartpoleUniform,
}

impl TaskKind {
    fn is_cart_pole(self) -> bool {
        use TaskKind::{Cartpole, CartpoleAuthors, CartpoleUniform};
        matches!(self, Cartpole | CartpoleAuthors | CartpoleUniform)
    }
}

/// The part of a task that is the same in all tasks of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fixed {
    /// The start and the transitions (p_0, p).
    Dynamics,
    /// The features phi.
    Features,
}

/// Distributions of tasks, taken in turn; their names, separated by commas, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks(pub Vec<TaskKind>);

impl From<TaskKind> for Tasks {
    fn from(kind: TaskKind) -> Self {
        Tasks(vec![kind])
    }
}

impl std::fmt::Display for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.0.iter().map(typed).collect::<Vec<_>>().join(","))
    }
}

impl Serialize for Tasks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'a> Deserialize<'a> for Tasks {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let kind = |name: &str| serde_json::from_value(Value::String(name.to_owned()));
        let kinds = text.split(',').map(kind).collect::<Result<_, _>>();
        kinds.map(Tasks).map_err(de::Error::custom)
    }
}

/// The rule by which a gradient changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerKind {
    Adam,
    Td,
}

/// The target that the values are trained towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    Td,
    TrueValue,
    MonteCarlo,
    ResidualGradient,
}

/// Returns a word of a setting as it is typed, and as files have it.
pub fn typed(value: &impl Serialize) -> String {
    text(&serde_json::to_value(value).unwrap_or_default())
}

fn refuse<T>(setting: &'static str, reason: String) -> Result<T, Refused> {
    Err(Refused { setting, reason })
}

fn text(value: &Value) -> String {
    match value {
        // JSON has no other numbers.
        Value::Null => "NaN or infinite".to_owned(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn is_one(x: &usize) -> bool {
    *x == 1
}

fn is_default<T: Default + PartialEq>(x: &T) -> bool {
    *x == T::default()
}

impl Recipe {
    /// Refuses settings that are out of range, that no compiled network has, that do not fit together, or that
    /// would be ignored.
    /// Errors: the first such setting, with what is accepted.
    pub fn check(&self) -> Result<(), Refused> {
        let (all, defaults) = (self.to_value(), Recipe::default().to_value());
        for setting in SETTINGS {
            // Those that are left out are not given, or the default.
            if let Some(value) = all.get(setting.name).map(text)
                && let Err(accepted) = setting.accepts.parse(&value)
            {
                return refuse(setting.name, format!("{value}: {accepted}"));
            }
        }
        let (rnn, softmax) = (self.model == Model::Rnn, self.attention == Attention::Softmax);
        let (short, two_heads) = (rnn || softmax, self.heads == 2);
        let cart_pole = |kind: &TaskKind| kind.is_cart_pole();
        // Settings that have to be the default unless something else is as it is said.
        let alone: [(bool, &[&str], &str); 9] = [
            (self.gammas.is_some(), &["gamma"], "without --gammas"),
            (rnn, &["mode", "attention"], "with --model transformer"),
            (
                short,
                &["lambda", "parameters", "normalise", "heads", "gain"],
                "for a transformer of linear attention",
            ),
            (
                two_heads,
                &["lambda", "parameters", "normalise", "loss", "gamma", "gammas", "gain"],
                "with --heads 1",
            ),
            (!rnn, &["rnn-input"], "with --model rnn"),
            (!self.task.0.contains(&TaskKind::Mdp), &["actions"], "with --task mdp"),
            (self.task.0.iter().all(cart_pole), &["states"], "with a finite task, unlike CartPole"),
            (
                self.task != TaskKind::Boyan.into(),
                &["fixed"],
                "with --task boyan, whose rewards depend on nothing else",
            ),
            (
                self.optimizer == OptimizerKind::Td,
                &["weight-decay", "warm-up"],
                "with --optimizer adam",
            ),
        ];
        for (applies, settings, what) in alone {
            let differs = |name: &&&str| all.get(**name) != defaults.get(**name);
            if let Some(name) = settings.iter().filter(|_| applies).find(differs) {
                return refuse(name, format!("{}: accepted {what}", text(&all[*name])));
            }
        }
        let largest = self.lengths.map_or(0, |Span([_, largest])| largest);
        let sum = self.context + self.batch_size;
        let most = capacity::SHORT_CONTEXT;
        let bounds = [
            (short, "dim", self.dim, [capacity::RNN_DIM; 2], ""),
            (rnn, "layers", self.layers, [capacity::RNN_LAYERS; 2], ""),
            (softmax, "layers", self.layers, [1, capacity::SOFTMAX_LAYERS], ""),
            (short, "context", self.context, [1, most], ""),
            (short, "lengths", largest, [0, most - 1], "up to "),
            (two_heads, "dim", self.dim, [1, capacity::TWO_HEAD_DIM], ""),
            (true, "context", sum, [2, capacity::TRAJECTORY - 2], "with --batch-size "),
        ];
        for (applies, name, value, [least, most], before) in bounds {
            if applies && !(least..=most).contains(&value) {
                let range =
                    if least == most { format!("{most}") } else { format!("{least} to {most}") };
                return refuse(name, format!("{before}{value}: accepted here is {range}"));
            }
        }
        if self.loss == LossKind::TrueValue && self.task.0.iter().any(cart_pole) {
            return refuse("loss", "true-value: CartPole's true values are not known".into());
        }
        Ok(())
    }

    fn to_value(&self) -> Value {
        // A struct of numbers and words.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns this recipe with other values, as typed, of the settings that are named.
    /// Errors: the first value that its setting does not accept; the recipe as a whole is not looked at.
    pub fn with<'a>(
        &self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Refused> {
        let mut all = self.to_value();
        for (name, text) in settings {
            let Some(setting) = setting(name) else {
                return refuse("recipe", format!("{name}: no setting"));
            };
            match setting.accepts.parse(text) {
                Ok(value) => all[setting.name] = value,
                Err(accepted) => return refuse(setting.name, format!("{text}: {accepted}")),
            }
        }
        serde_json::from_value(all).or_else(|e| refuse("recipe", e.to_string()))
    }

    /// Returns n_0, that of the model that ships, for contexts that are read without units; none for others.
    pub fn prior_count(&self) -> Option<f64> {
        self.normalise.then_some(5.0)
    }

    /// Returns the core's settings.
    pub fn settings(&self) -> Settings {
        Settings {
            context_len: self.context,
            lengths: self.lengths.map(|span| span.0),
            windows: self.batch_size,
            batches: self.batches,
            gamma: self.gamma,
            gammas: self.gammas.map(|span| span.0),
            loss: match self.loss {
                _ if self.heads == 2 => Loss::DifferentialTdError,
                LossKind::Td => Loss::TdError,
                LossKind::TrueValue => Loss::TrueValue,
                LossKind::MonteCarlo => Loss::MonteCarlo { horizon: HORIZON },
                LossKind::ResidualGradient => Loss::ResidualGradient,
            },
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
