//! The sums that a context keeps in addition to G: second moments of features and rewards, or those of two traces.

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

/// Auxiliary sums that a mask keeps in addition to G; `()` keeps none.
pub trait AuxiliarySums<S: Scalar, const D: usize, const C: usize>: Entrywise<S> {
    /// Calls `f(sum, x, y)` for each sum of products x y that is kept, of the mask's factors and a token.
    fn update(&mut self, factors: [&Token<S, D, C>; 3], f: impl FnMut(&mut S, S, S));

    /// Adds column `index` of `full` (F's columns, then the rewards') to this sum, its rounding error to `error`, and
    /// zeroes it in `full`.
    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize);
}

/// The sums of two traces, column by column: A and b of TD(lambda) for every discount, and the traces' squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSums<S, const D: usize, const C: usize> {
    pub(crate) columns: [[TraceColumn<S, D, C>; D]; 2],
}

/// Column j of a trace's sums: sum e phi_j and sum e phi'_j, (D), sum r e_j of each cumulant; and sum (e_j - phi_j)^2, of the
/// trace before this transition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TraceColumn<S, const D: usize, const C: usize> {
    pub(crate) sums: Token<S, D, C>,
    pub(crate) square: S,
}

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for TraceSums<S, D, C> {
    #[inline(always)]
    fn update(
        &mut self,
        [low, high, token]: [&Token<S, D, C>; 3],
        mut f: impl FnMut(&mut S, S, S),
    ) {
        for (columns, trace) in self.columns.iter_mut().zip([&low.phi, &high.phi]) {
            for j in 0..D {
                let TraceColumn { sums, square } = &mut columns[j];
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
            }
        }
    }

    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        let sums = self.columns.iter_mut().zip(&mut error.columns).zip(&mut full.columns);
        for ((total, error), full) in sums {
            close_at(total, error, full, index);
        }
    }
}

entrywise!([S: Scalar, const D: usize, const C: usize] S, TraceColumn<S, D, C> { sums, square });
entrywise!([S: Scalar, const D: usize, const C: usize] S, TraceSums<S, D, C> { columns });
entrywise!([S: Scalar, const D: usize, const C: usize] S, SecondMoments<S, D, C> { phi, rewards });

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for () {
    #[inline(always)]
    fn update(&mut self, _: [&Token<S, D, C>; 3], _: impl FnMut(&mut S, S, S)) {}
    fn close_column(&mut self, _: &mut Self, _: &mut Self, _: usize) {}
}

impl<S: Scalar, const D: usize, const C: usize> AuxiliarySums<S, D, C> for SecondMoments<S, D, C> {
    #[inline(always)]
    fn update(&mut self, [.., token]: [&Token<S, D, C>; 3], mut f: impl FnMut(&mut S, S, S)) {
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
