//! Other algorithms by the same layers: what they need is in the tokens.
//!
//! Layers with Theorem 1's weights, C = alpha I, run on a token (e; e - x; r), that is a transition with the features
//! phi = e and gamma phi' = e - x,
//!
//! ```text
//! theta <- theta + (alpha / m) sum (r - <x, theta>) e        over the m tokens
//! ```
//!
//! for any e and x. So each algorithm of this form is a choice of tokens, to be observed by an ordinary
//! [`Context`](crate::Context) under TD(0)'s mask, and read by [`Model::td0`](crate::model::Model::td0). Below, theta = (w; u)
//! has the weights w of the value function first, so a query is (phi; 0), and
//! delta = R + gamma <w, phi'> - <w, phi>.
//!
//! | | tokens | updates, with the sums' alpha left out |
//! |---|---|---|
//! | [`Emphasis`] | weighted | emphatic TD(0) (Sutton, Mahmood and White, 2016): w += F rho delta phi |
//! | [`gtd2`] | 2 | GTD2 (Sutton et al., 2009): w += <u, phi> (phi - gamma phi'), u += ratio (delta - <u, phi>) phi |
//! | [`tdc`] | 2 | TDC (the same): w += delta phi - gamma <u, phi> phi', u as in GTD2 |
//! | [`actor_critic`] | 1 | the critic w += delta phi, and the policy's parameters u += delta grad log pi(A\|S) |
//!
//! Theorem 1's m counts tokens, so two tokens for a transition need twice the alpha. Off-policy, observe each token
//! with its transition's importance ratio rho
//! ([`Context::observe_weighted`](crate::Context::observe_weighted)). Semi-gradient SARSA needs no tokens of its own: it is
//! TD(0) whose features are those of a state and an action.
//!
//! ```
//! use ictd_core::model::ConstructionSettings;
//! use ictd_core::td::encodings::tdc;
//! use ictd_core::{Context, Model, Transition};
//!
//! let (alpha, gamma) = (0.1, 0.5);
//! let mut context = Context::<4>::new();
//! let transition = Transition { phi: [1.0, 0.0].into(), reward: 1.0, phi_next: [0.0, 1.0].into() };
//! for token in tdc::<f32, 2, 4>(&transition, gamma, 2.0)? {
//!     context.observe_weighted(&token.phi, token.reward, &token.phi_next, 1.0)?;
//! }
//! let settings = ConstructionSettings::new(gamma).step_size(2.0 * alpha).depth(1);
//! let value = Model::<4>::td0(settings)?.value_function(&context)?;
//! assert_eq!(value.at(&[1.0, 0.0, 0.0, 0.0]), 0.1);
//! # Ok::<(), ictd_core::Error>(())
//! ```

use crate::error::Result;
use crate::linalg::{add_scaled, dot, zeros};
use crate::scalar::{Scalar, check_lanes};
use crate::transition::Transition;
use nalgebra::SVector;

/// The follow-on trace F of emphatic TD(0): F_t = 1 + gamma rho_{t-1} F_{t-1}.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Emphasis<S> {
    /// gamma rho F of the last transition; 0 where an episode begins.
    pub carried: S,
}

impl<S: Scalar> Emphasis<S> {
    /// Returns rho_t F_t, the weight with which the context observes this transition, and goes on to the next.
    pub fn weight(&mut self, rho: S, gamma: S) -> S {
        let weight = rho * (S::ONE + self.carried);
        self.carried = gamma * weight;
        weight
    }
}

/// Returns (upper; scale lower).
fn stack<S: Scalar, const D: usize, const A: usize, const E: usize>(
    upper: &SVector<S, D>,
    scale: S,
    lower: &SVector<S, A>,
) -> SVector<S, E> {
    const {
        assert!(E == D + A, "an encoded token has a feature for each of both vectors");
    }
    SVector::from_fn(|i, _| if i < D { upper[i] } else { scale * lower[i - D] })
}

/// Returns the transition whose token is (e; e - x; r), or an error that names `gamma` if it is not in (0, 1).
fn encoded<S: Scalar, const E: usize>(
    e: SVector<S, E>,
    x: SVector<S, E>,
    reward: S,
    gamma: S,
) -> Result<Transition<S, E>> {
    let within = |g| g > Scalar::ZERO && g < Scalar::ONE;
    let gamma = check_lanes(gamma, "gamma", within, "(0, 1)")?;
    let phi_next = SVector::from_fn(|i, _| (e[i] - x[i]) / gamma);
    Ok(Transition { phi: e, reward, phi_next })
}

/// Returns the tokens of GTD2 for a transition; E = 2 D. `ratio` is the step size of u over that of w, above 0.
/// Returns an error that names `gamma`, which is in (0, 1) here, or `ratio`.
pub fn gtd2<S: Scalar, const D: usize, const E: usize>(
    transition: &Transition<S, D>,
    gamma: S,
    ratio: S,
) -> Result<[Transition<S, E>; 2]> {
    gradient(transition, gamma, ratio, &zeros())
}

/// Returns the tokens of TDC for a transition, as [`gtd2`] does.
pub fn tdc<S: Scalar, const D: usize, const E: usize>(
    transition: &Transition<S, D>,
    gamma: S,
    ratio: S,
) -> Result<[Transition<S, E>; 2]> {
    gradient(transition, gamma, ratio, &transition.phi)
}

/// Returns the token that adds delta - <u, phi> times (upper; phi), and the one that adds <u, phi> (phi - gamma phi'; 0).
fn gradient<S: Scalar, const D: usize, const E: usize>(
    transition: &Transition<S, D>,
    gamma: S,
    ratio: S,
    upper: &SVector<S, D>,
) -> Result<[Transition<S, E>; 2]> {
    let ratio = check_lanes(ratio, "ratio", |x| x > Scalar::ZERO, "above 0")?;
    // u is stored divided by this root, so that one step size serves both.
    let (root, phi, zero) = (ratio.sqrt(), &transition.phi, zeros::<S, D, 1>());
    let mut difference = *phi;
    add_scaled(&mut difference, -gamma, &transition.phi_next);
    let corrected = stack(upper, root, phi);
    Ok([
        encoded(corrected, stack(&difference, root, phi), transition.reward, gamma)?,
        encoded(stack(&difference, S::ONE, &zero), stack(&zero, -root, phi), S::ZERO, gamma)?,
    ])
}

/// Returns the token of actor-critic for a transition with grad log pi(A|S), the gradient of the policy at the parameters that
/// chose the action; E = D + A. Each layer takes a step of the critic, and a step of the actor with the critic's error; read the
/// policy's parameters from the last A weights.
/// Returns an error that names `gamma`, which is in (0, 1) here.
pub fn actor_critic<S: Scalar, const D: usize, const A: usize, const E: usize>(
    transition: &Transition<S, D>,
    gradient: &SVector<S, A>,
    gamma: S,
) -> Result<Transition<S, E>> {
    let mut difference = transition.phi;
    add_scaled(&mut difference, -gamma, &transition.phi_next);
    let e = stack(&transition.phi, S::ONE, gradient);
    encoded(e, stack(&difference, S::ZERO, gradient), transition.reward, gamma)
}

/// Returns the transition from whose token layers go on from the weights `w`: they compute what is added to w. (Layers
/// start at 0; the error of w is in the reward instead.)
pub fn starting_from<S: Scalar, const D: usize>(
    w: &SVector<S, D>,
    transition: &Transition<S, D>,
    gamma: S,
) -> Transition<S, D> {
    let Transition { phi, reward, phi_next } = transition;
    Transition { reward: *reward + gamma * dot(w, phi_next) - dot(w, phi), ..*transition }
}
