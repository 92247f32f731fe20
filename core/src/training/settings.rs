use crate::error::{Error, Result, ensure};
use crate::rng::{Rng, RngStream};
use crate::scalar::{Real, Scalar};
use crate::setters::setters;

/// The loss that a batch's windows are trained with. Each is a squared error of v_t, the value that window
/// t's query gets, averaged over the windows; the target is a constant, except for the residual gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Loss {
    /// The squared TD error: target R_{t+n+2} + gamma v_{t+1} (Algorithm 1).
    #[default]
    TdError,
    /// The squared value error: target v(S_{t+n+1}), the true value of the query's state.
    TrueValue,
    /// The squared error against one sampled return from the query's state, cut off after `horizon`
    /// rewards (the authors' code: 40).
    MonteCarlo {
        /// How many rewards the return has.
        horizon: u32,
    },
    /// The squared TD error and its whole gradient, through v_{t+1}, too: the residual gradient (Baird, 1995).
    ResidualGradient,
}

/// Adam's constants, as in torch.optim.Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct AdamSettings {
    /// The step size, positive.
    pub step_size: f64,
    /// beta_1 in [0, 1): how slowly the mean of the gradients moves.
    pub beta1: f64,
    /// beta_2 in [0, 1): how slowly the mean of their squares moves.
    pub beta2: f64,
    /// epsilon > 0, added to the square root.
    pub epsilon: f64,
    /// L2 weight decay >= 0: this times the parameter is added to its gradient (not decoupled).
    pub weight_decay: f64,
}

impl Default for AdamSettings {
    /// Returns the experiments' constants: 1e-3, 0.9, 0.999, 1e-8, 1e-6.
    fn default() -> Self {
        AdamSettings {
            step_size: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 1e-6,
        }
    }
}

impl AdamSettings {
    setters! { step_size: f64, beta1: f64, beta2: f64, epsilon: f64, weight_decay: f64 }

    pub(super) fn check(&self) -> Result<()> {
        let fraction = |x: f64| (0.0..1.0).contains(&x);
        let decays = self.weight_decay >= 0.0 && self.weight_decay < f64::INFINITY;
        refuse_unless([
            (positive(self.step_size), "step_size", "a positive number"),
            (fraction(self.beta1), "beta1", "[0, 1)"),
            (fraction(self.beta2), "beta2", "[0, 1)"),
            (positive(self.epsilon), "epsilon", "a positive number"),
            (decays, "weight_decay", "at least 0"),
        ])
    }
}

/// How a gradient changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Optimizer {
    /// One Adam step for each batch, on the batch's loss.
    Adam(AdamSettings),
    /// Algorithm 1 to the letter: after each window, theta += step_size delta_t grad v_t, with both v_t and v_{t+1}
    /// of the current theta.
    Td {
        /// The step size, positive (the paper's alpha).
        step_size: f64,
    },
    /// One Adam step after each window, on its own loss: Algorithm 1 with the optimiser that the paper's appendix names.
    AdamByWindow(AdamSettings),
}

/// The settings of a [`MultiTaskTd`](super::MultiTaskTd).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TrainerSettings {
    /// n: transitions in a context.
    pub context_len: usize,
    /// If set, contexts grow instead of sliding, with lengths in this range, ends included
    /// ([`Windows::growing`](super::Windows::growing)); `context_len` then only counts in evaluations.
    pub context_len_range: Option<[usize; 2]>,
    /// W: windows (TD errors) in a batch.
    pub batch_size: usize,
    /// Batches for each task, each from a fresh trajectory.
    pub batches_per_task: usize,
    /// The discount, in [0, 1).
    pub gamma: f64,
    /// If set, each task draws its discount uniformly from this range, and `gamma` is ignored.
    pub gamma_range: Option<[f64; 2]>,
    /// The loss that training minimises.
    pub loss: Loss,
    /// The rule that applies gradients to the parameters.
    pub optimizer: Optimizer,
    /// If set, a gradient with a larger norm than this is scaled to it before Adam takes it, and one that overflowed counts
    /// as 0: parameters stay finite. Above 0, and not for plain TD.
    pub clip_norm: Option<f64>,
}

impl Default for TrainerSettings {
    /// Returns the paper's main experiment: n = 30, 5 batches of 64 windows, gamma 0.9, Adam on the TD error.
    fn default() -> Self {
        TrainerSettings {
            context_len: 30,
            context_len_range: None,
            batch_size: 64,
            batches_per_task: 5,
            gamma: 0.9,
            gamma_range: None,
            loss: Loss::TdError,
            optimizer: Optimizer::Adam(AdamSettings::default()),
            clip_norm: None,
        }
    }
}

impl TrainerSettings {
    setters! {
        context_len: usize,
        context_len_range: Option<[usize; 2]>,
        batch_size: usize,
        batches_per_task: usize,
        gamma: f64,
        gamma_range: Option<[f64; 2]>,
        loss: Loss,
        optimizer: Optimizer,
        clip_norm: Option<f64>,
    }

    /// Returns the discount of a task, by its number. It is the same for every seed, so that a seed in a lane gets the
    /// bits that it gets alone.
    pub fn gamma_of(&self, task: u64) -> f64 {
        match self.gamma_range {
            None => self.gamma,
            Some([low, high]) => Rng::stream(task, RngStream::Schedule).uniform_in(low, high),
        }
    }

    /// Writes the context lengths of a batch in ascending order, log-uniform in their range: the range has one equal part for
    /// each window, and each part gives one length. Writes nothing if contexts slide.
    pub(super) fn write_lengths(&self, task: u64, batch: usize, lengths: &mut [usize]) {
        let Some([least, largest]) = self.context_len_range else { return };
        let mut rng = Rng::stream(task, RngStream::Schedule);
        // The first number is the discount's.
        for _ in 0..=batch * lengths.len() {
            rng.next_u64();
        }
        let ratio = (largest as f64 + 1.0) / least as f64;
        let (doublings, parts) = (Real::ln(ratio) / core::f64::consts::LN_2, lengths.len() as f64);
        for (part, length) in lengths.iter_mut().enumerate() {
            let u = (part as f64 + rng.uniform::<f64>()) / parts;
            let n = least as f64 * Scalar::exp2(u * doublings);
            *length = (n as usize).max(least).min(largest);
        }
    }

    /// Returns the number of transitions of a batch's trajectory: n + 1 + W, or 2 more than the largest context length.
    pub fn trajectory_len(&self) -> usize {
        match self.context_len_range {
            None => self.context_len + 1 + self.batch_size,
            Some([_, largest]) => largest + 2,
        }
    }

    /// Checks the settings' ranges, and that a trajectory has at most `capacity` feature vectors.
    /// Returns [`Error::OutOfRange`] or [`Error::CapacityExceeded`], naming the setting that does not fit.
    pub fn check(&self, capacity: usize) -> Result<()> {
        let [least, largest] = self.context_len_range.unwrap_or([1, 1]);
        let [low, high] = self.gamma_range.unwrap_or_default();
        let (adam, step_size) = match self.optimizer {
            Optimizer::Adam(adam) | Optimizer::AdamByWindow(adam) => (adam, 1.0),
            Optimizer::Td { step_size } => (AdamSettings::default(), step_size),
        };
        let discounts = low >= 0.0 && low <= high && high < 1.0;
        refuse_unless([
            (self.context_len > 0, "context_len", "at least 1"),
            (self.batch_size > 0, "batch_size", "at least 1"),
            (self.batches_per_task > 0, "batches_per_task", "at least 1"),
            (1 <= least && least <= largest, "context_len_range", "1 or more, in ascending order"),
            (discounts, "gamma_range", "[0, 1), in ascending order"),
            (self.gamma >= 0.0 && self.gamma < 1.0, "gamma", "[0, 1)"),
            (self.loss != Loss::MonteCarlo { horizon: 0 }, "horizon", "at least 1"),
            (positive(step_size), "step_size", "a positive number"),
            (self.clip_norm.is_none_or(positive), "clip_norm", "a positive number"),
            (
                self.clip_norm.is_none() || !matches!(self.optimizer, Optimizer::Td { .. }),
                "clip_norm",
                "none for plain TD",
            ),
        ])?;
        adam.check()?;
        // The limits in terms of the settings.
        let sliding = self.context_len.saturating_add(self.batch_size).saturating_add(2);
        let growing = largest.saturating_add(3);
        ensure(growing <= capacity, Error::capacity("context_len_range + 3", capacity))?;
        ensure(sliding <= capacity, Error::capacity("context_len + batch_size + 2", capacity))
    }
}

fn positive(x: f64) -> bool {
    x > 0.0 && x < f64::INFINITY
}

/// Returns an error that names the first parameter whose check is false.
pub(super) fn refuse_unless<const N: usize>(
    checks: [(bool, &'static str, &'static str); N],
) -> Result<()> {
    match checks.into_iter().find(|(expected, ..)| !expected) {
        None => Ok(()),
        Some((_, parameter, expected)) => Err(Error::OutOfRange { parameter, expected }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_discounts_fill_their_ranges() {
        let settings = TrainerSettings {
            context_len_range: Some([1, 13]),
            gamma_range: Some([0.5, 0.95]),
            ..Default::default()
        };
        let mut seen = [false; 14];
        for task in 0..20 {
            let mut lengths = [0; 8];
            settings.write_lengths(task, 1, &mut lengths);
            assert!(lengths.is_sorted() && lengths[0] == 1 && lengths[7] >= 10, "{lengths:?}");
            lengths.iter().for_each(|n| seen[*n] = true);
            assert!((0.5..0.95).contains(&settings.gamma_of(task)));
        }
        assert!(seen[1..].iter().all(|seen| *seen));
        assert!(settings.gamma_of(0) != settings.gamma_of(1));
    }
}
