//! Algorithms that learn from each transition as it comes.

use crate::error::{Error, Result, ensure};
use crate::linalg::check_finite;
use crate::scalar::Scalar;
use crate::transition::{FeatureVector, Token, Transition};
use crate::value_function::ValueFunction;
use core::fmt::Debug;
use nalgebra::SVector;

/// An algorithm that updates its weights with each transition: [`OnlineTd`](super::OnlineTd) or
/// [`RecursiveLstd`](super::RecursiveLstd).
pub trait OnlineAlgorithm<S: Scalar>: Copy + Debug + PartialEq {
    /// The state that it keeps for D features.
    type State<const D: usize>: Clone + Debug + PartialEq;

    /// The name of its weights in errors.
    const WEIGHTS: &'static str;

    /// Returns the state before the first transition.
    fn empty<const D: usize>(&self) -> Self::State<D>;

    /// Takes a transition.
    fn learn<const D: usize>(&self, state: &mut Self::State<D>, token: &Token<S, D, 1>);

    /// Ends the episode: the next transition begins another one.
    fn end_episode<const D: usize>(&self, state: &mut Self::State<D>);

    /// Visits each number of the state, always in the same order; what a visitor changes is changed.
    fn numbers<const D: usize>(&self, state: &mut Self::State<D>, visit: &mut impl FnMut(&mut S));

    /// Returns the weights, or [`Error::Singular`] if they are not defined at the moment.
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

    /// Visits each number of the learner's state, always in the same order. A learner that is given another learner's numbers
    /// and number of transitions continues like that learner.
    pub fn restore(&mut self, len: u64, visit: &mut impl FnMut(&mut S)) {
        self.len = len;
        self.algorithm.numbers(&mut self.state, visit);
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Returns the value function that it has come to.
    /// Returns [`Error::Empty`] before the first transition; [`Error::NonFinite`] if the weights left the range of the
    /// scalar; [`Error::Singular`] if the transitions do not determine them (LSTD).
    pub fn value_function(&self) -> Result<ValueFunction<S, D>> {
        ensure(!self.is_empty(), Error::Empty { parameter: "learner" })?;
        let weights = SVector::from(self.algorithm.weights(&self.state)?);
        check_finite(&weights, A::WEIGHTS)?;
        Ok(ValueFunction { weights })
    }
}

macro_rules! in_place_of_a_model {
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
pub(super) use in_place_of_a_model;
