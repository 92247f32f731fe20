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

    /// Before the first transition.
    fn empty<const D: usize, const C: usize>(&self) -> Self::State<D, C>;

    /// Takes a transition.
    fn learn<const D: usize, const C: usize>(
        &self,
        state: &mut Self::State<D, C>,
        token: &Token<S, D, C>,
    );

    /// The next transition begins another episode.
    fn end_episode<const D: usize, const C: usize>(&self, state: &mut Self::State<D, C>);

    /// Returns the weights of each cumulant.
    ///
    /// # Errors
    /// [`Error::Singular`] if there are none at the moment.
    fn weights<'a, const D: usize, const C: usize>(
        &self,
        state: &'a Self::State<D, C>,
    ) -> Result<&'a [[S; D]; C], Error>;
}

/// An algorithm and the weights that it has learned from a stream. It takes the place of a context, with D features,
/// scalars S and C cumulants; memory and time per transition do not depend on how many there were. Transitions of an
/// episode must follow each other.
///
/// A context answers every discount; here the algorithm's is part of what is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct Learner<const D: usize, A: Algorithm<S>, S: Scalar = f32, const C: usize = 1> {
    algorithm: A,
    state: A::State<D, C>,
    len: u64,
}

impl<const D: usize, A: Algorithm<S>, S: Scalar> Learner<D, A, S> {
    /// [`Learner::observe`] of a transition.
    /// Errors: as [`Learner::observe`].
    pub fn observe_transition(&mut self, transition: &Transition<S, D>) -> Result<(), Error> {
        self.observe(&transition.phi, transition.reward, &transition.phi_next)
    }
}

impl<const D: usize, A: Algorithm<S>, S: Scalar, const C: usize> Learner<D, A, S, C> {
    /// One that has seen nothing: its weights are 0.
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
    /// a number, or an array with one for each cumulant.
    ///
    /// # Errors
    /// As [`Transition::check`]; nothing is learned.
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

    /// [`Learner::observe`] of the last transition of an episode: there is no next state, whose value counts as 0, and
    /// the next transition observed begins another episode.
    /// Errors: as [`Learner::observe`].
    pub fn observe_terminal(
        &mut self,
        phi: &impl FeatureVector<S, D>,
        rewards: impl Rewards<S, C>,
    ) -> Result<(), Error> {
        self.observe(phi, rewards, &[S::ZERO; D])?;
        self.end_episode();
        Ok(())
    }

    /// The next transition observed begins another episode: the trace starts again at 0, the weights stay.
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
            /// One that has seen nothing, for D features and one cumulant; [`Learner::with`] for several.
            pub fn context<const D: usize>(&self) -> Learner<D, Self, S> {
                Learner::with(*self)
            }

            /// Returns the value function of the first cumulant.
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($algorithm), "::value_function_of`].")]
            pub fn value_function<const D: usize, const C: usize>(
                &self,
                learner: &Learner<D, Self, S, C>,
            ) -> Result<ValueFunction<S, D>, Error> {
                self.value_function_of(learner, 0)
            }

            /// Returns the value function of one of the cumulants (0 to C - 1).
            ///
            /// # Errors
            /// [`Error::Empty`] before the first transition; [`Error::Mismatch`] for a learner with other
            /// settings; [`Error::OutOfRange`], naming `cumulant`; [`Error::NonFinite`] if the weights left the
            /// range of the scalar; [`Error::Singular`] if the transitions do not determine them (LSTD).
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

#[cfg(test)]
mod tests {
    use super::super::{BatchTd, Lstd, OnlineTd, RecursiveLstd};
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn each_cumulant_is_bit_for_bit_the_learner_of_its_reward_alone() {
        fn check(algorithm: impl Algorithm<f32>) {
            let mut together = Learner::<2, _, f32, 3>::with(algorithm);
            let mut alone = [(); 3].map(|()| Learner::<2, _>::with(algorithm));
            let rng = &mut Rng::new(7);
            let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
            for t in 0..100 {
                let (phi, phi_next) = ([number(), number()], [number(), number()]);
                let rewards = [(); 3].map(|()| number());
                let learn = |l: &mut Learner<2, _>, r: f32| match t % 10 {
                    9 => l.observe_terminal(&phi, r),
                    _ => l.observe(&phi, r, &phi_next),
                };
                match t % 10 {
                    9 => together.observe_terminal(&phi, rewards).unwrap(),
                    _ => together.observe(&phi, rewards, &phi_next).unwrap(),
                }
                for (learner, reward) in alone.iter_mut().zip(rewards) {
                    learn(learner, reward).unwrap();
                }
            }
            for (m, learner) in alone.iter().enumerate() {
                let of = |l: Result<ValueFunction<f32, 2>, Error>| l.unwrap();
                let want = of(learner.value_function(&algorithm, 0));
                assert_eq!(of(together.value_function(&algorithm, m)), want);
            }
            let refused = together.value_function(&algorithm, 3).unwrap_err();
            assert!(matches!(refused, Error::OutOfRange { parameter: "cumulant", .. }));
        }
        check(OnlineTd::new(0.9, 0.5, 0.1).unwrap());
        check(OnlineTd::true_online(0.9, 0.5, 0.1).unwrap());
        check(RecursiveLstd::new(0.9, 0.5, 0.99, 5.0).unwrap());
    }

    #[test]
    fn what_cannot_be_learned_or_asked_is_refused_by_name() {
        let td = OnlineTd::new(0.9_f32, 0.5, 10.0).unwrap();
        let mut learner = td.context::<1>();
        assert_eq!(td.value_function(&learner), Err(Error::Empty { parameter: "learner" }));
        assert!(learner.observe(&[f32::NAN], 0.0, &[0.0]).is_err() && learner.is_empty());
        for _ in 0..100 {
            learner.observe(&[10.0], 1.0, &[10.0]).unwrap();
        }
        let diverged = Err(Error::NonFinite { parameter: "online TD's weights" });
        assert_eq!(td.value_function(&learner), diverged);
        let other = OnlineTd::true_online(0.9, 0.5, 10.0).unwrap();
        assert!(matches!(other.value_function(&learner), Err(Error::Mismatch { .. })));
        learner.clear();
        assert_eq!(learner, td.context());
        for parameter in ["gamma", "lambda", "alpha"] {
            let [gamma, lambda, alpha] =
                ["gamma", "lambda", "alpha"].map(|p| match p == parameter {
                    true => -1.0_f32,
                    false => 0.5,
                });
            for refused in [
                OnlineTd::new(gamma, lambda, alpha).map(|_| ()),
                BatchTd::new(gamma, lambda, alpha, 3).map(|_| ()),
            ] {
                assert!(
                    matches!(refused, Err(Error::OutOfRange { parameter: p, .. }) if p == parameter)
                );
            }
        }
        assert!(Lstd::new(0.5_f32, 0.5, -1.0).is_err() && Lstd::new(0.5_f32, 0.5, 0.0).is_ok());
    }

    #[test]
    fn batch_algorithms_agree_and_refuse_what_does_not_determine_their_weights() {
        let lstd = Lstd::new(0.5_f64, 0.0, 0.0).unwrap();
        let td = BatchTd::new(0.5_f64, 0.0, 0.5, 200).unwrap();
        let mut context = lstd.context::<2>();
        assert_eq!(lstd.value_function(&context), Err(Error::Empty { parameter: "context" }));
        context.observe(&[1.0, 0.0], 1.0, &[0.0, 1.0]).unwrap();
        assert!(matches!(lstd.value_function(&context), Err(Error::Singular { .. })));
        context.observe(&[0.0, 1.0], 0.0, &[1.0, 0.0]).unwrap();
        // A ring of two states: 1 / (1 - gamma^2), gamma / (1 - gamma^2).
        for value in [lstd.value_function(&context).unwrap(), td.value_function(&context).unwrap()]
        {
            for (got, want) in value.weights.iter().zip([4.0 / 3.0, 2.0 / 3.0]) {
                assert!((got - want).abs() < 1e-9, "{value:?}");
            }
        }
        let mismatch = Lstd::new(0.5_f64, 0.25, 0.0).unwrap().value_function(&context);
        assert!(matches!(mismatch, Err(Error::Mismatch { .. })));
    }

    #[test]
    fn units_of_features_change_no_value_of_lstd() {
        let lstd = Lstd::new(0.9_f32, 0.5, 0.25).unwrap();
        let [mut a, mut b] = [lstd.context::<2>(), lstd.context::<2>()];
        let rng = &mut Rng::new(3);
        let mut number = || rng.uniform_in::<f32>(-1.0, 1.0);
        let units = |phi: [f32; 2]| [1024.0 * phi[0], phi[1] / 256.0];
        for _ in 0..50 {
            let (phi, reward, next) = ([number(), 1.0], number(), [number(), 1.0]);
            a.observe(&phi, reward, &next).unwrap();
            b.observe(&units(phi), reward, &units(next)).unwrap();
            let [v, w] = [&a, &b].map(|context| lstd.value_function(context).unwrap());
            assert_eq!(v.at(&phi), w.at(&units(phi)));
        }
    }
}
