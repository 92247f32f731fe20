use super::Parameters;
use crate::error::Error;
use crate::scalar::{Scalar, kernel};

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
    ///
    /// # Errors
    /// [`Error::OutOfRange`], naming the constant.
    pub fn check(&self) -> Result<(), Error> {
        let positive = |x: f64| x > 0.0 && x < f64::INFINITY;
        let fraction = |x: f64| (0.0..1.0).contains(&x);
        let checks = [
            (positive(self.learning_rate), "learning_rate", "a positive number"),
            (fraction(self.beta1), "beta1", "[0, 1)"),
            (fraction(self.beta2), "beta2", "[0, 1)"),
            (positive(self.epsilon), "epsilon", "a positive number"),
            (
                self.weight_decay >= 0.0 && self.weight_decay < f64::INFINITY,
                "weight_decay",
                "at least 0",
            ),
        ];
        for (ok, parameter, accepted) in checks {
            if !ok {
                return Err(Error::OutOfRange { parameter, accepted });
            }
        }
        Ok(())
    }

    /// Returns the learning rate of step k, from 1.
    fn rate_of(&self, k: u64) -> f64 {
        if k < self.warm_up {
            self.learning_rate * (k as f64 / self.warm_up as f64)
        } else {
            self.learning_rate
        }
    }
}

/// Adam with L2 weight decay (torch.optim.Adam), for parameters stored as `P`:
///
/// ```text
/// g <- g + weight_decay theta
/// m <- m + (1 - beta_1) (g - m)            v <- beta_2 v + (1 - beta_2) g^2
/// theta <- theta - (lr_k / (1 - beta_1^k)) m / (sqrt(v) / sqrt(1 - beta_2^k) + epsilon)
/// ```
///
/// The powers of beta_1 and beta_2 are running products in `f64`, one multiplication a step, so that
/// 1 - beta^k keeps its precision for `f32` parameters and the order of roundings is fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam<P> {
    pub(super) settings: AdamSettings,
    pub(super) mean: P,
    pub(super) square: P,
    pub(super) steps: u64,
    pub(super) beta1_power: f64,
    pub(super) beta2_power: f64,
}

impl<P> Adam<P> {
    /// Before the first step.
    /// Errors: as [`AdamSettings::check`].
    pub fn new<S: Scalar>(settings: AdamSettings, parameters: &P) -> Result<Self, Error>
    where
        P: Parameters<S>,
    {
        settings.check()?;
        Ok(Adam {
            settings,
            mean: parameters.zeros_like(),
            square: parameters.zeros_like(),
            steps: 0,
            beta1_power: 1.0,
            beta2_power: 1.0,
        })
    }

    /// One step along the gradient of a loss.
    pub fn step<S: Scalar>(&mut self, parameters: &mut P, gradient: &P)
    where
        P: Parameters<S>,
    {
        let AdamSettings { beta1, beta2, epsilon, weight_decay, .. } = self.settings;
        // A count that was restored may be anything.
        self.steps = self.steps.saturating_add(1);
        self.beta1_power *= beta1;
        self.beta2_power *= beta2;
        let rate = self.settings.rate_of(self.steps);
        let step_size = S::from_f64(rate / (1.0 - self.beta1_power));
        let root_correction = S::from_f64(Scalar::sqrt(1.0 - self.beta2_power));
        let (rest1, rest2) = (S::from_f64(1.0 - beta1), S::from_f64(1.0 - beta2));
        let beta2 = S::from_f64(beta2);
        let (epsilon, weight_decay) = (S::from_f64(epsilon), S::from_f64(weight_decay));
        let factors =
            Factors { step_size, root_correction, rest1, rest2, beta2, epsilon, weight_decay };
        let numbers = parameters.slices_mut().zip(gradient.slices());
        let moments = self.mean.slices_mut().zip(self.square.slices_mut());
        for ((theta, g), (mean, square)) in numbers.zip(moments) {
            step(factors, theta, g, mean, square);
        }
    }
}

/// The factors of a step, in the parameters' numbers.
#[derive(Clone, Copy)]
struct Factors<S> {
    step_size: S,
    root_correction: S,
    rest1: S,
    rest2: S,
    beta2: S,
    epsilon: S,
    weight_decay: S,
}

kernel! {
    fn step as Step<'a, S: Scalar>(
        factors: Factors<S>,
        parameters: &'a mut [S],
        gradient: &'a [S],
        mean: &'a mut [S],
        square: &'a mut [S],
    ) {
        let Factors { step_size, root_correction, rest1, rest2, beta2, epsilon, weight_decay } =
            factors;
        let numbers = parameters.iter_mut().zip(gradient);
        for ((theta, g), (m, v)) in numbers.zip(mean.iter_mut().zip(square)) {
            let g = *g + weight_decay * *theta;
            *m += rest1 * (g - *m);
            *v = beta2 * *v + rest2 * (g * g);
            *theta -= step_size * *m / (v.sqrt() / root_correction + epsilon);
        }
    }
}
