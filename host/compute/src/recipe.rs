//! The recipe of a run: the network, its tasks and its training.

use crate::capacity;
pub use crate::mixture::{NamedTask, TaskMixture};
use crate::options::NumberRange;
use crate::own_tasks::{OwnData, OwnTasks};
pub use crate::settings::Recipe;
use crate::settings::{SETTINGS, SettingValue, setting};
pub use crate::words::{Fixed, InvalidSetting, NetworkKind, OptimizerKind};
use crate::words::{Word as _, invalid};
pub use ictd_core::model::{AttentionKind, LayerSharing};
use ictd_core::tasks::StateCounts;
pub use ictd_core::tasks::TaskSpec;
use ictd_core::training::{AdamSettings, Optimizer, TrainerSettings};
pub use ictd_core::training::{LayerInput as RnnInput, Loss};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::collections::BTreeMap;

impl Serialize for Recipe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.given())
    }
}

impl<'a> Deserialize<'a> for Recipe {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        let settings = BTreeMap::<String, SettingValue>::deserialize(deserializer)?;
        let settings: Vec<_> =
            settings.into_iter().map(|(name, x)| (name, x.to_string())).collect();
        let settings = settings.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        Recipe::default().with_settings(settings).map_err(D::Error::custom)
    }
}

/// Rejects a discount that single precision, in which tasks compute and models are stored, rounds to 1.
pub fn check_discount(setting: &'static str, gamma: f64) -> Result<(), InvalidSetting> {
    if (gamma as f32) < 1.0 {
        return Ok(());
    }
    invalid(setting, format!("{gamma}: expected less than 1 in single precision"))
}

impl Recipe {
    /// Returns the names and values of the settings that are given, in the table's order.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, SettingValue)> {
        SETTINGS.iter().filter_map(|setting| Some((setting.name, (setting.get)(self)?)))
    }

    /// Sets the value, as typed, of a setting.
    /// Returns [`InvalidSetting`] for an unknown name, or a value that the setting does not accept; the recipe as a whole is not
    /// checked ([`Recipe::check`]).
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), InvalidSetting> {
        let setting = setting(name).or_else(|reason| invalid("recipe", reason))?;
        (setting.set)(self, text)
            .or_else(|expected| invalid(setting.name, format!("{text}: {expected}")))
    }

    /// Returns this recipe with other values, as typed, of some settings.
    /// Returns [`InvalidSetting`] for an unknown name, a setting that is given twice, or a value that the setting does not accept.
    pub fn with_settings<'a>(
        mut self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, InvalidSetting> {
        let mut given = Vec::new();
        for (name, text) in settings {
            self.set(name, text)?;
            if given.contains(&name) {
                return invalid("recipe", format!("{name} is there twice; expected it once"));
            }
            given.push(name);
        }
        if given.contains(&"task") && !given.contains(&"states") {
            self.take_default_states();
        }
        Ok(self)
    }

    /// Takes the number of states that its tasks have unless another is given.
    pub fn take_default_states(&mut self) {
        self.states = self.task.default_states().unwrap_or(self.states);
    }

    /// Checks that every setting is in its range, that a compiled network has this shape, that the settings fit together,
    /// and that none would be ignored.
    /// Returns [`InvalidSetting`] for the first setting that fails, with the expected value.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        self.check_tasks()?;
        self.check_shape()
    }

    /// Checks all that [`Recipe::check`] does, apart from whether a compiled network has this shape.
    pub fn check_tasks(&self) -> Result<(), InvalidSetting> {
        let (mut parsed, defaults) = (self.clone(), Recipe::default());
        for (name, value) in self.given() {
            parsed.set(name, &value.to_string())?;
        }
        let rnn = self.network == NetworkKind::Rnn;
        let softmax = self.attention == AttentionKind::Softmax;
        let small = rnn || softmax;
        let named = self.task.named();
        let names = |fits: &dyn Fn(&NamedTask) -> bool| {
            let names: Vec<_> = NamedTask::all().filter(fits).map(|task| task.name()).collect();
            format!("{} among the tasks", names.join(", "))
        };
        let is_finite = |task: &NamedTask| task.states().is_some();
        let has_actions =
            |task: &NamedTask| task.spec().is_some_and(|spec| spec.finite(1) != spec.finite(2));
        // What depends on rewards alone can be drawn apart from the dynamics and from the features.
        let has_parts = |task: &NamedTask| {
            task.spec().is_some_and(|spec| spec.states().is_some() && !spec.is_representable())
        };
        let parts = names(&has_parts).replace(" among the tasks", "");
        // While the condition holds, these settings must keep their defaults.
        let conflicts: [(bool, &[&'static str], String); 8] = [
            (self.gamma_range.is_some(), &["gamma"], "no --gamma-range".into()),
            (rnn, &["layer-sharing", "attention"], "--network transformer".into()),
            (small, &["trace-decay", "gain"], "a transformer with linear attention".into()),
            (!rnn, &["rnn-input"], "--network rnn".into()),
            (!named.iter().any(has_actions), &["actions"], names(&has_actions)),
            (!named.iter().any(is_finite), &["states"], names(&is_finite)),
            (
                named.len() != 1 || !named.iter().all(has_parts),
                &["fixed"],
                format!("--task {parts}, whose rewards depend on nothing else"),
            ),
            (
                self.optimizer == OptimizerKind::Td,
                &["weight-decay", "clip-norm"],
                "--optimizer adam".into(),
            ),
        ];
        let changed: Vec<_> = self
            .given()
            .filter(|given| defaults.given().all(|default| default != *given))
            .collect();
        for (applies, names, needs) in conflicts {
            let changed = changed.iter().find(|(name, _)| applies && names.contains(name));
            if let Some((name, value)) = changed {
                return invalid(name, format!("{value}: it needs {needs}"));
            }
        }
        for (name, counts) in named.iter().filter_map(|task| Some((task.name(), task.states()?))) {
            let StateCounts { least, most, .. } = counts;
            if !(least..=most).contains(&self.states) {
                let expected =
                    if least == most { format!("{most}") } else { format!("{least} to {most}") };
                return invalid(
                    "states",
                    format!("{}: expected {expected} for {name}", self.states),
                );
            }
        }
        if let Some(own) = self.task.own() {
            let (dim, gamma) = (own.read()?.dim(), own.read()?.gamma());
            if dim != self.dim {
                return invalid("dim", format!("{}: the tasks have {dim}", self.dim));
            }
            if let Some(gamma) = gamma.filter(|g| *g != self.gamma || self.gamma_range.is_some()) {
                return invalid("gamma", format!("{}: the tasks have {gamma}", self.gamma));
            }
            self.check_log(own)?;
        }
        match self.gamma_range {
            Some(NumberRange([_, largest])) => check_discount("gamma-range", largest)?,
            None => check_discount("gamma", self.gamma)?,
        }
        if self.loss == Loss::TrueValue && !named.iter().all(is_finite) {
            return invalid("loss", "true-value: CartPole's true values are not known".into());
        }
        Ok(())
    }

    fn check_shape(&self) -> Result<(), InvalidSetting> {
        let rnn = self.network == NetworkKind::Rnn;
        let softmax = self.attention == AttentionKind::Softmax;
        let small = rnn || softmax;
        let largest = self.context_range.map_or(0, |NumberRange([_, largest])| largest);
        let trajectory = self.context_length + self.batch_size;
        let most = if softmax { capacity::SOFTMAX_CONTEXT } else { capacity::SHORT_CONTEXT };
        let bounds = [
            (softmax, "dim", self.dim, [1, capacity::SOFTMAX_DIM], ""),
            (rnn, "layers", self.layers, [capacity::RNN_LAYERS; 2], ""),
            (softmax, "layers", self.layers, [1, capacity::SOFTMAX_LAYERS], ""),
            (small, "context-length", self.context_length, [1, most], ""),
            (small, "context-range", largest, [0, most - 1], "up to "),
            (
                true,
                "context-length",
                trajectory,
                [2, capacity::TRAJECTORY - 2],
                "its sum with --batch-size is ",
            ),
        ];
        for (applies, name, value, [least, most], before) in bounds {
            if applies && !(least..=most).contains(&value) {
                let range =
                    if least == most { format!("{most}") } else { format!("{least} to {most}") };
                return invalid(name, format!("{before}{value}: expected {range} here"));
            }
        }
        Ok(())
    }

    /// Checks that a log has trajectories of the length that a batch needs, and that the loss needs no true values.
    fn check_log(&self, own: &OwnTasks) -> Result<(), InvalidSetting> {
        let OwnData::Log(log) = own.read()? else { return Ok(()) };
        if matches!(self.loss, Loss::TrueValue | Loss::MonteCarlo { .. }) {
            let reason = "the values of logged transitions are not known; expected td-error or \
                          residual-gradient";
            return invalid("loss", format!("{}: {reason}", self.loss.word()));
        }
        let needed = self.trainer_settings().trajectory_len();
        let (longest, task) = log.longest().unwrap_or_default();
        if longest < needed {
            let lengths = if self.context_range.is_some() { "range" } else { "length" };
            let reason = format!(
                "{}: task {task} has at most {longest} transitions in a row; expected {needed}, or \
                 less with a lower --context-{lengths} or --batch-size",
                own.place
            );
            return invalid("task", reason);
        }
        Ok(())
    }

    /// Returns this recipe for tasks given as data, which decide the features and may decide the discount.
    /// Returns [`InvalidSetting`] if the tasks cannot be read, or if `dim` or `gamma` was set to another value than theirs.
    pub fn with_own_tasks(self, own: OwnTasks) -> Result<Self, InvalidSetting> {
        let (dim, gamma) = (own.read()?.dim(), own.read()?.gamma().unwrap_or(self.gamma));
        let given = Recipe::default();
        if ![dim, given.dim].contains(&self.dim) {
            return invalid("dim", format!("{}: expected {dim}, as the tasks have", self.dim));
        }
        if ![gamma, given.gamma].contains(&self.gamma) {
            return invalid("gamma", format!("{}: expected {gamma}, the tasks' own", self.gamma));
        }
        Ok(Recipe { dim, gamma, task: TaskMixture::Own(own), ..self })
    }

    pub fn trainer_settings(&self) -> TrainerSettings {
        let adam =
            AdamSettings::default().step_size(self.learning_rate).weight_decay(self.weight_decay);
        TrainerSettings::default()
            .context_len(self.context_length)
            .context_len_range(self.context_range.map(|span| span.0))
            .batch_size(self.batch_size)
            .batches_per_task(self.batches)
            .gamma(self.gamma)
            .gamma_range(self.gamma_range.map(|span| span.0))
            .loss(self.loss)
            .clip_norm(self.clip_norm)
            .optimizer(match self.optimizer {
                OptimizerKind::Td => Optimizer::Td { step_size: self.learning_rate },
                OptimizerKind::Adam => Optimizer::Adam(adam),
                OptimizerKind::AdamByWindow => Optimizer::AdamByWindow(adam),
            })
    }
}
