use crate::error::Error;
use crate::rng::{Rng, RngStream};
use crate::scalar::{Real, Scalar};

/// The loss that a batch's windows are trained with. Each is a squared error of v_t, the value that window
/// t's query gets, averaged over the windows; the target is a constant, except for the residual gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
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
    /// The squared TD error of differential values: target R_{t+n+2} - r-bar_{t+n+2} + v_{t+1}, with the mean
    /// r-bar of the rewards received so far; the loss of average-reward TD, which two heads are trained with.
    DifferentialTdError,
    /// The squared TD error and its whole gradient, through v_{t+1}, too: the residual gradient (Baird, 1995).
    ResidualGradient,
}

/// Adam's constants, as in torch.optim.Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AdamSettings {
    /// The learning rate, positive.
    pub learning_rate: f64,
    /// beta_1 in [0, 1): how slowly the mean of the gradients moves.
    pub beta1: f64,
    /// beta_2 in [0, 1): how slowly the mean of their squares moves.
    pub beta2: f64,
    /// epsilon > 0, added to the square root.
    pub epsilon: f64,
    /// L2 weight decay >= 0: this times the parameter is added to its gradient (not decoupled).
    pub weight_decay: f64,
    /// The learning rate of step k is k / `warm_up` of itself while k is less; 0 for a constant one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub warm_up: u64,
}

impl Default for AdamSettings {
    /// Returns the experiments' constants: 1e-3, 0.9, 0.999, 1e-8, 1e-6, and no warm-up.
    fn default() -> Self {
        AdamSettings {
            learning_rate: 1e-3,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay: 1e-6,
            warm_up: 0,
        }
    }
}

impl AdamSettings {
    /// Refuses constants outside their ranges.
    pub(super) fn check(&self) -> Result<(), Error> {
        let positive = |x: f64| x > 0.0 && x < f64::INFINITY;
        let fraction = |x: f64| (0.0..1.0).contains(&x);
        let decays = self.weight_decay >= 0.0 && self.weight_decay < f64::INFINITY;
        refuse_unless([
            (positive(self.learning_rate), "learning_rate", "a positive number"),
            (fraction(self.beta1), "beta1", "[0, 1)"),
            (fraction(self.beta2), "beta2", "[0, 1)"),
            (positive(self.epsilon), "epsilon", "a positive number"),
            (decays, "weight_decay", "at least 0"),
        ])
    }

    /// Returns the learning rate of step k, from 1.
    pub(super) fn rate_of(&self, k: u64) -> f64 {
        if k < self.warm_up {
            self.learning_rate * (k as f64 / self.warm_up as f64)
        } else {
            self.learning_rate
        }
    }
}

/// How a gradient changes the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Optimizer {
    /// One Adam step for each batch, on the batch's loss.
    Adam(AdamSettings),
    /// Algorithm 1 to the letter: after each window, theta += step_size delta_t grad v_t, with both
    /// v_t and v_{t+1} of the current theta.
    Td {
        /// The step size alpha, positive.
        step_size: f64,
    },
}

/// How to train.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Settings {
    /// n: transitions in a context.
    pub context_len: usize,
    /// If there are any, contexts that grow instead of sliding: the least and the largest length
    /// ([`Windows::growing`](super::Windows::growing)). n is then that of evaluations alone.
    pub lengths: Option<[usize; 2]>,
    /// W: windows (TD errors) in a batch.
    pub windows: usize,
    /// Batches for each task, each a fresh trajectory.
    pub batches: usize,
    /// The discount, in [0, 1).
    pub gamma: f64,
    /// If there are any, a discount for each task, uniform between these; gamma is then for nothing.
    pub gammas: Option<[f64; 2]>,
    /// The loss.
    pub loss: Loss,
    /// The optimiser.
    pub optimizer: Optimizer,
}

impl Default for Settings {
    /// Returns the paper's main experiment: n = 30, 5 batches of 64 windows, gamma 0.9, Adam on the TD error.
    fn default() -> Self {
        Settings {
            context_len: 30,
            lengths: None,
            windows: 64,
            batches: 5,
            gamma: 0.9,
            gammas: None,
            loss: Loss::TdError,
            optimizer: Optimizer::Adam(AdamSettings::default()),
        }
    }
}

impl Settings {
    /// Returns the discount of a task, by its number: the same for every seed, so that lanes stay equal to seeds
    /// alone.
    pub fn gamma_of(&self, task: u64) -> f64 {
        match self.gammas {
            None => self.gamma,
            Some([low, high]) => Rng::stream(task, RngStream::Schedule).uniform_in(low, high),
        }
    }

    /// Returns the lengths of a batch's contexts: log-uniform between the least and the largest, one from
    /// each of as many equal parts as there are windows, so that they ascend. None if contexts slide.
    pub(super) fn write_lengths(&self, task: u64, batch: usize, lengths: &mut [usize]) -> bool {
        let Some([least, largest]) = self.lengths else { return false };
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
            *length = (n as usize).clamp(least, largest);
        }
        true
    }

    /// Refuses settings outside their ranges, and trajectories longer than `capacity` feature vectors.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::CapacityExceeded`], naming the setting.
    pub fn check(&self, capacity: usize) -> Result<(), Error> {
        let [least, largest] = self.lengths.unwrap_or([1, 1]);
        let [low, high] = self.gammas.unwrap_or_default();
        let (adam, step_size) = match self.optimizer {
            Optimizer::Adam(adam) => (adam, 1.0),
            Optimizer::Td { step_size } => (AdamSettings::default(), step_size),
        };
        refuse_unless([
            (self.context_len > 0, "context_len", "at least 1"),
            (self.windows > 0, "windows", "at least 1"),
            (self.batches > 0, "batches", "at least 1"),
            (1 <= least && least <= largest, "lengths", "1 or more, the least before the largest"),
            (
                low >= 0.0 && low <= high && high < 1.0,
                "gammas",
                "[0, 1), the least before the largest",
            ),
            (self.gamma >= 0.0 && self.gamma < 1.0, "gamma", "[0, 1)"),
            (self.loss != Loss::MonteCarlo { horizon: 0 }, "horizon", "at least 1"),
            (step_size > 0.0 && step_size < f64::INFINITY, "step_size", "a positive number"),
        ])?;
        adam.check()?;
        // In the user's terms: how long a context fits beside this many windows.
        for (len, parameter) in [
            (largest.saturating_add(3), "lengths + 3"),
            (
                self.context_len.saturating_add(self.windows).saturating_add(2),
                "context_len + windows + 2",
            ),
        ] {
            if len > capacity {
                return Err(Error::CapacityExceeded { parameter, capacity });
            }
        }
        Ok(())
    }
}

/// Refuses the first parameter that is not as accepted.
pub(super) fn refuse_unless<const N: usize>(
    checks: [(bool, &'static str, &'static str); N],
) -> Result<(), Error> {
    match checks.into_iter().find(|(accepted, ..)| !accepted) {
        None => Ok(()),
        Some((_, parameter, accepted)) => Err(Error::OutOfRange { parameter, accepted }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_discounts_fill_their_ranges() {
        let settings =
            Settings { lengths: Some([1, 13]), gammas: Some([0.5, 0.95]), ..Default::default() };
        let mut seen = [false; 14];
        for task in 0..20 {
            let mut lengths = [0; 8];
            assert!(settings.write_lengths(task, 1, &mut lengths));
            assert!(lengths.is_sorted() && lengths[0] == 1 && lengths[7] >= 10, "{lengths:?}");
            lengths.iter().for_each(|n| seen[*n] = true);
            assert!((0.5..0.95).contains(&settings.gamma_of(task)));
        }
        assert!(seen[1..].iter().all(|seen| *seen));
        assert!(settings.gamma_of(0) != settings.gamma_of(1));
    }
}
