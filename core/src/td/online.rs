//! Algorithms that learn from each transition as it comes; online TD(lambda).

use super::trace_decay;
use crate::error::{Error, Result, ensure};
use crate::linalg::{arrays::add_scaled, dot_arrays};
use crate::scalar::{Scalar, check_lanes};
use crate::setters::setters;
use crate::transition::{FeatureVector, Token, Transition};
use crate::value_function::ValueFunction;
use core::fmt::Debug;

/// An algorithm that updates its weights with each transition: [`OnlineTd`] or
/// [`RecursiveLstd`](super::RecursiveLstd).
pub trait OnlineAlgorithm<S: Scalar>: Copy + Debug + PartialEq {
    /// The state that it keeps for D features.
    type State<const D: usize>: Clone + Debug + PartialEq;

    /// Returns the state before the first transition.
    fn empty<const D: usize>(&self) -> Self::State<D>;

    /// Takes a transition.
    fn learn<const D: usize>(&self, state: &mut Self::State<D>, token: &Token<S, D, 1>);

    /// Ends the episode: the next transition begins another one.
    fn end_episode<const D: usize>(&self, state: &mut Self::State<D>);

    /// Visits each number of the state, always in the same order; what a visitor changes is changed.
    fn numbers<const D: usize>(&self, state: &mut Self::State<D>, visit: &mut impl FnMut(&mut S));

    /// Returns finite weights; [`Error::Singular`] if they are not defined at the moment, [`Error::Diverges`] or
    /// [`Error::NonFinite`] if they blow up.
    fn weights<const D: usize>(&self, state: &Self::State<D>) -> Result<[S; D]>;
}

/// An algorithm and the weights that it has learned from a stream, whose episodes' transitions follow each other. It takes
/// the place of a context; but a context can be read for every discount and several cumulants, whereas a learner has one discount
/// and one reward.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner<const D: usize, A: OnlineAlgorithm<S>, S: Scalar = f32> {
    algorithm: A,
    state: A::State<D>,
    len: u64,
}

impl<const D: usize, A: OnlineAlgorithm<S>, S: Scalar> Learner<D, A, S> {
    /// Returns a learner that has seen nothing: its weights are 0.
    pub fn new(algorithm: A) -> Self {
        const {
            assert!(D > 0, "there is at least one feature");
        }
        Learner { algorithm, state: algorithm.empty(), len: 0 }
    }

    /// Learns from the transition from a state with features `phi`, (D), to one with features `phi_next`. What
    /// [`Transition::check`] refuses is not learned.
    pub fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        reward: S,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<()> {
        let (phi, phi_next) = (*phi.as_array(), *phi_next.as_array());
        let token = Token { phi, phi_next, rewards: [reward] };
        if !token.is_accepted(S::ZERO) {
            return token.refuse(S::ZERO);
        }
        self.algorithm.learn(&mut self.state, &token);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// Does what [`Learner::observe`] does, with the same errors.
    pub fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<()> {
        self.observe(&transition.phi, transition.reward, &transition.phi_next)
    }

    /// Does what [`Learner::observe`] does with the last transition of an episode: there is no next state, and its value
    /// counts as 0.
    pub fn observe_terminal(&mut self, phi: &impl FeatureVector<S, D>, reward: S) -> Result<()> {
        self.observe(phi, reward, &[S::ZERO; D])?;
        self.end_episode();
        Ok(())
    }

    /// Ends the episode: the trace starts again at 0, and the weights stay.
    pub fn end_episode(&mut self) {
        self.algorithm.end_episode(&mut self.state);
    }

    /// Returns how many transitions were observed.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true before the first transition.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::new(self.algorithm);
    }

    /// Visits each number of the learner's state, always in the same order, to read or to replace it, and sets the number of
    /// transitions. A learner that is given another learner's numbers and length continues like that learner.
    pub fn visit_state(&mut self, len: u64, visit: &mut impl FnMut(&mut S)) {
        self.len = len;
        self.algorithm.numbers(&mut self.state, visit);
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Returns the value function that it has come to.
    /// Returns [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the weights left the range of the
    /// scalar; [`Error::Diverges`] if the step size is too large (TD); [`Error::Singular`] if the transitions do not
    /// determine them (LSTD).
    pub fn value_function(&self) -> Result<ValueFunction<S, D>> {
        ensure(!self.is_empty(), Error::Empty { parameter: "learner" })?;
        Ok(ValueFunction { weights: self.algorithm.weights(&self.state)?.into() })
    }
}

macro_rules! learner_methods {
    ($algorithm:ident, $scalar:ident) => {
        impl<S: $scalar> $algorithm<S> {
            /// Returns a learner that has seen nothing, for D features.
            pub fn context<const D: usize>(&self) -> Learner<D, Self, S> {
                Learner::new(*self)
            }

            /// Returns [`Learner::value_function`], with its errors, and [`Error::Mismatch`] for a learner with other settings.
            pub fn value_function<const D: usize>(
                &self,
                learner: &Learner<D, Self, S>,
            ) -> Result<ValueFunction<S, D>> {
                if learner.algorithm() != self {
                    return Err(Error::Mismatch {
                        parameter: "the settings of algorithm and learner",
                    });
                }
                learner.value_function()
            }
        }
    };
}
pub(super) use learner_methods;

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
#[non_exhaustive]
pub struct OnlineTdSettings<S = f32> {
    /// The discount, in \[0, 1).
    pub gamma: S,
    /// Sutton and Barto's lambda, in \[0, 1\]: the trace decays by gamma lambda.
    pub lambda: S,
    /// The step size, above 0, in units of 1 / |x|^2.
    pub step_size: S,
}

impl<S: Scalar> OnlineTdSettings<S> {
    /// Returns the settings of TD(0.9) with this discount and the step size 0.1.
    pub fn new(gamma: S) -> Self {
        OnlineTdSettings { gamma, lambda: S::from_f64(0.9), step_size: S::from_f64(0.1) }
    }

    setters! { gamma: S, lambda: S, step_size: S }
}

impl<S: Scalar> OnlineTd<S> {
    /// Returns online TD with an accumulating trace, or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the setting.
    #[inline]
    pub fn new(settings: OnlineTdSettings<S>) -> Result<Self> {
        let OnlineTdSettings { gamma, lambda, step_size: alpha } = settings;
        let alpha = check_lanes(alpha, "step_size", |x| x > Scalar::ZERO, "above 0")?;
        let decay = trace_decay(gamma, lambda)?;
        Ok(OnlineTd { gamma, decay, alpha, trace: Trace::Accumulating })
    }

    /// Returns true online TD(lambda), with a dutch trace, or [`Error::NonFinite`] or [`Error::OutOfRange`], naming the
    /// setting.
    pub fn true_online(settings: OnlineTdSettings<S>) -> Result<Self> {
        Ok(OnlineTd { trace: Trace::Dutch, ..Self::new(settings)? })
    }
}

learner_methods!(OnlineTd, Scalar);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnlineTdState<S, const D: usize> {
    weights: [S; D],
    trace: [S; D],
    old_value: S,
    /// The largest |R| and the largest |w^T x| so far.
    largest_reward: S,
    largest_value: S,
}

impl<S: Scalar> OnlineAlgorithm<S> for OnlineTd<S> {
    type State<const D: usize> = OnlineTdState<S, D>;

    fn empty<const D: usize>(&self) -> OnlineTdState<S, D> {
        let [weights, trace] = [[S::ZERO; D]; 2];
        let [old_value, largest_reward, largest_value] = [S::ZERO; 3];
        OnlineTdState { weights, trace, old_value, largest_reward, largest_value }
    }

    fn learn<const D: usize>(&self, state: &mut OnlineTdState<S, D>, token: &Token<S, D, 1>) {
        let OnlineTdState { weights: w, trace: z, old_value, .. } = state;
        let x = &token.phi;
        let taken = match self.trace {
            Trace::Accumulating => S::ONE,
            Trace::Dutch => S::ONE - self.alpha * (self.decay * dot_arrays(z, x)),
        };
        for i in 0..D {
            z[i] = self.decay * z[i] + taken * x[i];
        }
        let (value, next) = (dot_arrays(w, x), dot_arrays(w, &token.phi_next));
        let delta = token.rewards[0] + self.gamma * next - value;
        state.largest_reward = state.largest_reward.max(token.rewards[0].abs());
        state.largest_value = state.largest_value.max(value.abs()).max(next.abs());
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
        visit(&mut state.largest_reward);
        visit(&mut state.largest_value);
    }

    /// Returns [`Error::Diverges`] if a value was a hundred times larger than what the rewards could add up to.
    fn weights<const D: usize>(&self, state: &OnlineTdState<S, D>) -> Result<[S; D]> {
        let possible = state.largest_reward * S::from_f64(100.0);
        let excess = (S::ONE - self.gamma) * state.largest_value - possible;
        let diverges = (0..S::LANES).any(|lane| excess.lane(lane) > Scalar::ZERO);
        let is_finite = state.weights.iter().all(|w| w.is_finite());
        ensure(!diverges && is_finite, Error::Diverges)?;
        Ok(state.weights)
    }
}
