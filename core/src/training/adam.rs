use super::Parameters;
use super::settings::AdamSettings;
use crate::error::Error;
use crate::scalar::{Scalar, kernel};

/// Adam with L2 weight decay (torch.optim.Adam), for parameters stored as `P`:
///
/// ```text
/// g <- g + weight_decay theta
/// m <- m + (1 - beta_1) (g - m)            v <- beta_2 v + (1 - beta_2) g^2
/// theta <- theta - (step_size / (1 - beta_1^k)) m / (sqrt(v) / sqrt(1 - beta_2^k) + epsilon)
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
    /// Returns the state before the first step, or [`Error::OutOfRange`], naming the constant that is outside its range.
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

    /// Takes a step along the gradient of a loss.
    pub fn step<S: Scalar>(&mut self, parameters: &mut P, gradient: &P)
    where
        P: Parameters<S>,
    {
        let AdamSettings { step_size: learning_rate, beta1, beta2, epsilon, weight_decay } =
            self.settings;
        // A count that was restored may be anything.
        self.steps = self.steps.saturating_add(1);
        self.beta1_power *= beta1;
        self.beta2_power *= beta2;
        let step_size = learning_rate / (1.0 - self.beta1_power);
        let root_correction = Scalar::sqrt(1.0 - self.beta2_power);
        let (rest1, rest2) = (1.0 - beta1, 1.0 - beta2);
        let factors = [step_size, root_correction, rest1, rest2, beta2, epsilon, weight_decay]
            .map(S::from_f64);
        let numbers = parameters.slices_mut().zip(gradient.slices());
        let moments = self.mean.slices_mut().zip(self.square.slices_mut());
        for ((theta, g), (mean, square)) in numbers.zip(moments) {
            step(factors, theta, g, mean, square);
        }
    }
}

kernel! {
    fn step as Step<'a, S: Scalar>(
        factors: [S; 7],
        parameters: &'a mut [S],
        gradient: &'a [S],
        mean: &'a mut [S],
        square: &'a mut [S],
    ) {
        let [step_size, root_correction, rest1, rest2, beta2, epsilon, weight_decay] = factors;
        let numbers = parameters.iter_mut().zip(gradient);
        for ((theta, g), (m, v)) in numbers.zip(mean.iter_mut().zip(square)) {
            let g = *g + weight_decay * *theta;
            *m += rest1 * (g - *m);
            *v = beta2 * *v + rest2 * (g * g);
            *theta -= step_size * *m / (v.sqrt() / root_correction + epsilon);
        }
    }
}
