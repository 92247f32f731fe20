//! Online TD(lambda).

use super::learner::{Learner, OnlineAlgorithm, in_place_of_a_model};
use super::trace_decay;
use crate::error::{Error, Result};
use crate::linalg::{arrays::add_scaled, dot_arrays};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::Token;
use crate::value_function::ValueFunction;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trace {
    Accumulating,
    Dutch,
}

/// Online TD(lambda), linear, in O(d) per transition (Sutton and Barto, *Reinforcement Learning*, 2nd edition, ch. 12),
/// with x = phi and z the trace, both 0 at an episode's start:
///
/// | trace | update |
/// |---|---|
/// | accumulating ([`OnlineTd::new`]) | z <- gamma lambda z + x, w <- w + alpha delta z, delta = R + gamma w^T x' - w^T x |
/// | dutch ([`OnlineTd::true_online`]) | z <- gamma lambda z + (1 - alpha gamma lambda z^T x) x, w <- w + alpha (delta + V - V_old) z - alpha (V - V_old) x, V = w^T x, V_old <- V' = w^T x' before the update |
///
/// The step size has units; 0.1 / (mean of |x|^2) is a good start. [`FeatureScaler`](crate::signal::FeatureScaler) divides features by their
/// root mean square, so that |x|^2 is about d.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineTd<S: Scalar = f32> {
    gamma: S,
    /// gamma lambda.
    decay: S,
    alpha: S,
    trace: Trace,
}

/// The settings of [`OnlineTd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OnlineTdSettings<S = f32> {
    /// The discount, in \[0, 1).
    pub gamma: S,
    /// Sutton and Barto's lambda, in \[0, 1\]: the trace decays by gamma lambda.
    pub lambda: S,
    /// The step size, above 0, in units of 1 / |x|^2.
    pub alpha: S,
}

impl<S: Scalar> OnlineTd<S> {
    /// Returns online TD with an accumulating trace, or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the setting.
    #[inline]
    pub fn new(settings: OnlineTdSettings<S>) -> Result<Self> {
        let OnlineTdSettings { gamma, lambda, alpha } = settings;
        let alpha = check_lanes(alpha, "alpha", |x| x > Scalar::ZERO, "above 0")?;
        let decay = trace_decay(gamma, lambda)?;
        Ok(OnlineTd { gamma, decay, alpha, trace: Trace::Accumulating })
    }

    /// Returns true online TD(lambda), with a dutch trace, or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the
    /// setting.
    pub fn true_online(settings: OnlineTdSettings<S>) -> Result<Self> {
        Ok(OnlineTd { trace: Trace::Dutch, ..Self::new(settings)? })
    }
}

in_place_of_a_model!(OnlineTd, Scalar);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineTdState<S, const D: usize> {
    weights: [S; D],
    trace: [S; D],
    old_value: S,
}

impl<S: Scalar> OnlineAlgorithm<S> for OnlineTd<S> {
    type State<const D: usize> = OnlineTdState<S, D>;
    const WEIGHTS: &'static str = "online TD's weights";

    fn empty<const D: usize>(&self) -> OnlineTdState<S, D> {
        OnlineTdState { weights: [S::ZERO; D], trace: [S::ZERO; D], old_value: S::ZERO }
    }

    fn learn<const D: usize>(&self, state: &mut OnlineTdState<S, D>, token: &Token<S, D, 1>) {
        let (x, OnlineTdState { weights: w, trace: z, old_value }) = (&token.phi, state);
        let taken = match self.trace {
            Trace::Accumulating => S::ONE,
            Trace::Dutch => S::ONE - self.alpha * (self.decay * dot_arrays(z, x)),
        };
        for i in 0..D {
            z[i] = self.decay * z[i] + taken * x[i];
        }
        let (value, next) = (dot_arrays(w, x), dot_arrays(w, &token.phi_next));
        let delta = token.rewards[0] + self.gamma * next - value;
        match self.trace {
            Trace::Accumulating => add_scaled(w, self.alpha * delta, z),
            Trace::Dutch => {
                let change = value - *old_value;
                add_scaled(w, self.alpha * (delta + change), z);
                add_scaled(w, -(self.alpha * change), x);
                *old_value = next;
            }
        }
    }

    fn end_episode<const D: usize>(&self, state: &mut OnlineTdState<S, D>) {
        (state.trace, state.old_value) = ([S::ZERO; D], S::ZERO);
    }

    fn numbers<const D: usize>(
        &self,
        state: &mut OnlineTdState<S, D>,
        visit: &mut impl FnMut(&mut S),
    ) {
        state.weights.iter_mut().chain(&mut state.trace).for_each(&mut *visit);
        visit(&mut state.old_value);
    }

    fn weights<const D: usize>(&self, state: &OnlineTdState<S, D>) -> Result<[S; D]> {
        Ok(state.weights)
    }
}
