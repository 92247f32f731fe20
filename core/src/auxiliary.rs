//! The sums that a context keeps in addition to G: second moments of features and rewards, or those of a trace.

use crate::entrywise::{Entrywise, close_at, entrywise};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::transition::Token;

/// F = sum (phi phi^T + phi' phi'^T), whose upper triangle is kept, and sum r_m^2 of C cumulants: a
/// context whose mask has a trace needs them in addition to G, so that it can be normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondMoments<S, const D: usize, const C: usize> {
    /// 2 F, its upper triangle by columns.
    pub(crate) phi: [[S; D]; D],
    rewards: [[S; 1]; C],
}

/// The weight of a transition in the sums over transitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight<S> {
    /// sqrt(rho), which multiplies the transition's token; 1 if the transition has no importance weight.
    pub root: S,
    /// The root if the transition ends an episode in a terminal state, else 0; `None` says 0 too, to sums that a 0 need not
    /// change.
    pub at_end: Option<S>,
}

/// Auxiliary sums that a mask keeps in addition to G; `()` keeps none.
pub trait AuxiliarySums<S: Scalar, const D: usize, const C: usize>: Entrywise<S> {
    /// True if they distinguish transitions to a terminal state.
    const DISTINGUISHES_ENDS: bool = false;

    /// Calls `f(sum, x, y)` for each sum of products x y that is kept, of the mask's factors, a token and its weight.
    fn update(
        &mut self,
        factors: [&Token<S, D, C>; 3],
        weight: Weight<S>,
        f: impl FnMut(&mut S, S, S),
    );

    /// Adds column `index` of `full` (F's columns, then the rewards') to this sum, its rounding error to `error`, and
    /// zeroes it in `full`.
    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize);
}

/// The sums of a trace, column by column: A and b of TD(lambda) for every discount, and the trace's squares; and what a
/// level of the rewards changes in these and in G.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSums<S, const D: usize, const C: usize> {
    pub(crate) columns: [TraceColumn<S, D, C>; D],
    pub(crate) features: [FeatureSums<S>; D],
    /// sum r_m of each cumulant, over all transitions and over those that end an episode.
    pub(crate) rewards: [[S; 2]; C],
    pub(crate) weights: [WeightSums<S>; 1],
}

/// The sums of a feature: of phi_j and phi'_j over all transitions, and of phi_j over those that end an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FeatureSums<S> {
    pub(crate) phi: S,
    pub(crate) phi_next: S,
    pub(crate) at_end: S,
}

/// The sums of the transitions' weights rho, over all and over those that end an episode, and of rho^2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WeightSums<S> {
    pub(crate) all: S,
    pub(crate) at_end: S,
    pub(crate) squares: S,
}

/// Column j of a trace's sums: sum e phi_j and sum e phi'_j, (D), sum r e_j of each cumulant; sum (e_j - phi_j)^2, of the
/// trace before this transition; sum e_j over all transitions and over those that end an episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TraceColumn<S, const D: usize, const C: usize> {
    pub(crate) sums: Token<S, D, C>,
    pub(crate) square: S,
    pub(crate) all: S,
    pub(crate) at_end: S,
}

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for TraceSums<S, D, C> {
    const DISTINGUISHES_ENDS: bool = true;

    #[inline(always)]
    fn update(
        &mut self,
        [trace, _, token]: [&Token<S, D, C>; 3],
        Weight { root, at_end }: Weight<S>,
        mut f: impl FnMut(&mut S, S, S),
    ) {
        let trace = &trace.phi;
        for j in 0..D {
            let TraceColumn { sums, square, all, .. } = &mut self.columns[j];
            for i in 0..D {
                f(&mut sums.phi[i], trace[i], token.phi[j]);
            }
            for i in 0..D {
                f(&mut sums.phi_next[i], trace[i], token.phi_next[j]);
            }
            for m in 0..C {
                f(&mut sums.rewards[m], trace[j], token.rewards[m]);
            }
            let before = trace[j] - token.phi[j];
            f(square, before, before);
            f(all, trace[j], root);
        }
        for j in 0..D {
            let FeatureSums { phi, phi_next, .. } = &mut self.features[j];
            f(phi, token.phi[j], root);
            f(phi_next, token.phi_next[j], root);
        }
        for m in 0..C {
            f(&mut self.rewards[m][0], token.rewards[m], root);
        }
        let (rho, [weights]) = (root * root, &mut self.weights);
        f(&mut weights.all, root, root);
        f(&mut weights.squares, rho, rho);
        let Some(at_end) = at_end else { return };
        for j in 0..D {
            f(&mut self.columns[j].at_end, trace[j], at_end);
            f(&mut self.features[j].at_end, token.phi[j], at_end);
        }
        for m in 0..C {
            f(&mut self.rewards[m][1], token.rewards[m], at_end);
        }
        f(&mut weights.at_end, root, at_end);
    }

    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        close_at(&mut self.columns, &mut error.columns, &mut full.columns, index);
        close_at(&mut self.features, &mut error.features, &mut full.features, index);
        if index >= D {
            let m = index - D;
            close_at(&mut self.rewards, &mut error.rewards, &mut full.rewards, m);
            close_at(&mut self.weights, &mut error.weights, &mut full.weights, m);
        }
    }
}

entrywise!([S: Scalar, const D: usize, const C: usize] S, TraceColumn<S, D, C> { sums, square, all, at_end });
entrywise!([S: Scalar] S, FeatureSums<S> { phi, phi_next, at_end });
entrywise!([S: Scalar] S, WeightSums<S> { all, at_end, squares });
entrywise!([S: Scalar, const D: usize, const C: usize] S, TraceSums<S, D, C> {
    columns, features, rewards, weights
});
entrywise!([S: Scalar, const D: usize, const C: usize] S, SecondMoments<S, D, C> { phi, rewards });

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for () {
    #[inline(always)]
    fn update(&mut self, _: [&Token<S, D, C>; 3], _: Weight<S>, _: impl FnMut(&mut S, S, S)) {}
    fn close_column(&mut self, _: &mut Self, _: &mut Self, _: usize) {}
}

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for SecondMoments<S, D, C> {
    #[inline(always)]
    fn update(
        &mut self,
        [.., token]: [&Token<S, D, C>; 3],
        _: Weight<S>,
        mut f: impl FnMut(&mut S, S, S),
    ) {
        let Token { phi, phi_next, rewards } = token;
        for j in 0..D {
            for i in 0..=j {
                keep_apart::<S>();
                let products = phi[i] * phi[j] + phi_next[i] * phi_next[j];
                f(&mut self.phi[j][i], products, S::ONE);
            }
        }
        for m in 0..C {
            keep_apart::<S>();
            f(&mut self.rewards[m][0], rewards[m], rewards[m]);
        }
    }

    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        if index < D {
            return close_at(&mut self.phi, &mut error.phi, &mut full.phi, index);
        }
        close_at(&mut self.rewards, &mut error.rewards, &mut full.rewards, index - D);
    }
}
