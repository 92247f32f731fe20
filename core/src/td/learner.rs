//! Algorithms that learn from each transition as it comes.

use crate::context::Rewards;
use crate::error::Error;
use crate::linalg::check_finite;
use crate::scalar::Scalar;
use crate::transition::{FeatureVector, Token, Transition};
use crate::value_function::ValueFunction;
use core::fmt::Debug;

/// An algorithm that updates its weights with each transition: [`OnlineTd`](super::OnlineTd) or
/// [`RecursiveLstd`](super::RecursiveLstd).
pub trait Algorithm<S: Scalar>: Copy + Debug + PartialEq {
    /// The state that it keeps for D features and C cumulants.
    type State<const D: usize, const C: usize>: Clone + Debug + PartialEq;

    /// The name of its weights in errors.
    const WEIGHTS: &'static str;

    /// Returns the state before the first transition.
    fn empty<const D: usize, const C: usize>(&self) -> Self::State<D, C>;

    /// Takes a transition.
    fn learn<const D: usize, const C: usize>(
        &self,
        state: &mut Self::State<D, C>,
        token: &Token<S, D, C>,
    );

    /// Ends the episode: the next transition begins another one.
    fn end_episode<const D: usize, const C: usize>(&self, state: &mut Self::State<D, C>);

    /// Returns the weights of each cumulant, or [`Error::Singular`] if there are none at the moment.
    fn weights<'a, const D: usize, const C: usize>(
        &self,
        state: &'a Self::State<D, C>,
    ) -> Result<&'a [[S; D]; C], Error>;
}

/// An algorithm and the weights that it has learned from a stream, whose episodes' transitions follow each other. It takes
/// the place of a context; but a context answers every discount, and here the algorithm's is part of what is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner<const D: usize, A: Algorithm<S>, S: Scalar = f32, const C: usize = 1> {
    algorithm: A,
    state: A::State<D, C>,
    len: u64,
}

impl<const D: usize, A: Algorithm<S>, S: Scalar> Learner<D, A, S> {
    /// Does what [`Learner::observe`] does, with the same errors.
    pub fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        self.observe(&transition.phi, transition.reward, &transition.phi_next)
    }
}

impl<const D: usize, A: Algorithm<S>, S: Scalar, const C: usize> Learner<D, A, S, C> {
    /// Returns a learner that has seen nothing: its weights are 0.
    ///
    /// ```
    /// use ictd_core::td::{Learner, OnlineTd};
    ///
    /// let td = OnlineTd::new(0.9, 0.5, 0.1)?;
    /// let mut three = Learner::<2, OnlineTd, f32, 3>::with(td); // three cumulants
    /// three.observe(&[1.0, 0.0], [0.25, -1.0, 8.0], &[0.0, 1.0])?;
    /// assert_eq!(td.value_function_of(&three, 2)?.at(&[1.0, 0.0]), 0.8);
    /// # Ok::<(), ictd_core::Error>(())
    /// ```
    pub fn with(algorithm: A) -> Self {
        const {
            assert!(D > 0 && C > 0, "there is at least one feature and one cumulant");
        }
        Learner { algorithm, state: algorithm.empty(), len: 0 }
    }

    /// Learns from the transition from a state with features `phi`, (D), to one with features `phi_next`. `rewards` is
    /// a number, or an array with one for each cumulant. What [`Transition::check`] refuses is not learned.
    pub fn observe(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
        phi_next: &impl FeatureVector<S, D>,
    ) -> Result<(), Error> {
        let rewards = rewards.to_array();
        let token = Token { phi: *phi.as_array(), phi_next: *phi_next.as_array(), rewards };
        if !token.is_accepted(S::ZERO) {
            return token.refuse(S::ZERO);
        }
        self.algorithm.learn(&mut self.state, &token);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    /// Does what [`Learner::observe`] does with the last transition of an episode: there is no next state, and its value
    /// counts as 0.
    pub fn observe_terminal(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
    ) -> Result<(), Error> {
        self.observe(phi, rewards, &[S::ZERO; D])?;
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
        *self = Self::with(self.algorithm);
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Returns the value function of one of the cumulants, for an algorithm's `value_function_of`.
    pub(super) fn value_function(
        &self,
        algorithm: &A,
        cumulant: usize,
    ) -> Result<ValueFunction<S, D>, Error> {
        if self.algorithm != *algorithm {
            return Err(Error::Mismatch { parameter: "the settings of algorithm and learner" });
        }
        if self.is_empty() {
            return Err(Error::Empty { parameter: "learner" });
        }
        let Some(weights) = self.algorithm.weights(&self.state)?.get(cumulant) else {
            let accepted = "0 to the number of cumulants - 1";
            return Err(Error::OutOfRange { parameter: "cumulant", accepted });
        };
        let weights = (*weights).into();
        check_finite(&weights, A::WEIGHTS)?;
        Ok(ValueFunction { weights })
    }
}

/// The methods by which an algorithm takes a model's place.
macro_rules! in_place_of_a_model {
    ($algorithm:ident, $scalar:ident) => {
        impl<S: $scalar> $algorithm<S> {
            /// Returns a learner that has seen nothing, for D features and one cumulant; [`Learner::with`] makes one for several.
            pub fn context<const D: usize>(&self) -> Learner<D, Self, S> {
                Learner::with(*self)
            }

            /// Returns the value function of the first cumulant, with the errors of `value_function_of`.
            pub fn value_function<const D: usize, const C: usize>(
                &self,
                learner: &Learner<D, Self, S, C>,
            ) -> Result<ValueFunction<S, D>, Error> {
                self.value_function_of(learner, 0)
            }

            /// Returns the value function of one of the context's cumulants (0 to C - 1).
            ///
            /// # Errors
            /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] for a learner with other settings;
            /// [`Error::OutOfRange`], naming `cumulant`; [`Error::NonFinite`] if the weights left the range of the
            /// scalar; [`Error::Singular`] if the transitions do not determine them (LSTD).
            pub fn value_function_of<const D: usize, const C: usize>(
                &self,
                learner: &Learner<D, Self, S, C>,
                cumulant: usize,
            ) -> Result<ValueFunction<S, D>, Error> {
                learner.value_function(self, cumulant)
            }
        }
    };
}
pub(super) use in_place_of_a_model;
