use super::{FeatureTrajectory, Setting, update};
use crate::attention::{AverageReward, SoftmaxAttention};
use crate::error::Error;
use crate::gradient::{linear, softmax};
use crate::layer::{Layer, TwoHeadLayer};
use crate::linalg::dot;
use crate::mask::Mask;
use crate::prompt::Prompt;
use crate::scalar::Real;
use crate::statistic::Statistic;
use crate::training::Parameters as _;
use crate::transformer::Transformer;
use crate::transition::{Transition, query_token};
use nalgebra::SVector;

/// Returns the [`update()`] of a transformer with linear attention under a mask. C is the capacity for layers, stored
/// and passed, T that for a trajectory's feature vectors.
///
/// # Errors
/// As [`update()`]; [`Error::NonFinite`] if a derivative is not finite.
pub fn linear_update<R: Real, const D: usize, const K: usize, const C: usize, const T: usize>(
    theta: &Transformer<Layer<R, K>, C>,
    mask: &impl Mask<R>,
    gamma: R,
    trajectory: &FeatureTrajectory<R, D>,
) -> Result<Transformer<Layer<R, K>, C>, Error> {
    let statistic = |context: &[_], phi: &_| {
        Statistic::of_prompt(&Prompt::<R, K, T>::discounted(context, gamma, phi)?, mask)
    };
    let value = |context: &[_], phi: &SVector<R, D>| {
        Ok(-dot(&theta.readout(&statistic(context, phi)?), &query_token(phi)))
    };
    let gradient = |context: &[_], phi: &SVector<R, D>| {
        let (statistic, query) = (statistic(context, phi)?, query_token(phi));
        linear::value_and_parameter_gradient::<R, K, C, C>(theta, &statistic, &query)
            .map(|(_, gradient)| gradient)
    };
    update::<R, D, T, _>(trajectory, Setting::Discounted { gamma }, value, gradient)
}

/// As [`linear_update`], of softmax attention.
///
/// # Errors
/// As [`linear_update`].
pub fn softmax_update<R: Real, const D: usize, const K: usize, const C: usize, const T: usize>(
    theta: &Transformer<Layer<R, K>, C>,
    gamma: R,
    trajectory: &FeatureTrajectory<R, D>,
) -> Result<Transformer<Layer<R, K>, C>, Error> {
    let prompt = |context: &[_], phi: &_| Prompt::<R, K, T>::discounted(context, gamma, phi);
    let value = |context: &[_], phi: &_| theta.value(&prompt(context, phi)?, &SoftmaxAttention);
    let gradient = |context: &[_], phi: &_| {
        let prompt = prompt(context, phi)?;
        let gradient = softmax::value_and_gradient::<R, K, C, C, T>(theta, &prompt)?;
        Transformer::sequential(&gradient.layers)
    };
    update::<R, D, T, _>(trajectory, Setting::Discounted { gamma }, value, gradient)
}

/// Computes [`linear_update`] for the two heads of average-reward TD, with central differences for the gradient
/// ([`LinearNetwork`](crate::training::LinearNetwork) has it in closed form). Their step need not be small: a signed
/// permutation moves one entry of a matrix to one other, so that the differences change with theta as the gradient does.
///
/// # Errors
/// As [`linear_update`].
pub fn two_head_update<R: Real, const D: usize, const K: usize, const C: usize, const T: usize>(
    theta: &Transformer<TwoHeadLayer<R, K>, C>,
    trajectory: &FeatureTrajectory<R, D>,
) -> Result<Transformer<TwoHeadLayer<R, K>, C>, Error> {
    let value_of = |theta: &Transformer<_, C>, context: &[Transition<R, D>], phi: &_| {
        theta.value(&Prompt::<R, K, T>::average_reward(context, phi)?, &AverageReward)
    };
    let value = |context: &[_], phi: &_| value_of(theta, context, phi);
    let gradient = |context: &[_], phi: &_| {
        let h = R::from_f64(0.125 * 0.125 * 0.125);
        let (mut moved, mut gradient) = (theta.clone(), theta.zeros_like());
        for (i, (x, derivative)) in theta.numbers().zip(gradient.numbers_mut()).enumerate() {
            let mut at = |x| {
                moved.numbers_mut().nth(i).into_iter().for_each(|to| *to = x);
                value_of(&moved, context, phi)
            };
            *derivative = (at(*x + h)? - at(*x - h)?) / (h + h);
            moved.numbers_mut().nth(i).into_iter().for_each(|to| *to = *x);
        }
        Ok(gradient)
    };
    update::<R, D, T, _>(trajectory, Setting::AverageReward, value, gradient)
}
