//! The sums that a context keeps beside G: second moments of features and rewards, or those of two traces.

use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::transition::Token;
use crate::vector::{Vector, close};

/// F = sum (phi phi^T + phi' phi'^T), of which the upper triangle is kept, and sum r_m^2 of C cumulants: a
/// context whose mask has a trace needs them beside G, to be read in units of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondMoments<S, const D: usize, const C: usize> {
    phi: [[S; D]; D],
    rewards: [[S; 1]; C],
}

/// A mask keeps these sums beside G; `()` keeps none.
pub trait Beside<S: Scalar, const D: usize, const C: usize>: Vector<S> {
    /// `f(sum, x, y)` for each sum of a product x y that is kept, of a token and the mask's factors.
    fn update(
        &mut self,
        factors: &(Token<S, D, C>, Token<S, D, C>),
        token: &Token<S, D, C>,
        f: impl FnMut(&mut S, S, S),
    );

    /// Adds column `index` of `full`, of F or behind it of the rewards, to this sum, of which `error` keeps
    /// the rounding errors, and leaves zeros in `full`.
    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize);

    /// F at (i, j), i <= j; none if G has it.
    #[inline(always)]
    fn phi(&self, _i: usize, _j: usize) -> Option<S> {
        None
    }

    /// sum r_m^2; none if G has it.
    #[inline(always)]
    fn rewards(&self, _m: usize) -> Option<S> {
        None
    }

    /// A number of column j of a trace's sums (0 or 1); 0 without traces.
    #[inline(always)]
    fn trace(&self, _trace: usize, _j: usize, _of: OfTrace) -> S {
        S::ZERO
    }
}

/// An entry names a sum over a trace e, in column j.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTrace {
    /// sum e_i phi_j.
    Phi(usize),
    /// sum e_i phi'_j.
    PhiNext(usize),
    /// sum (e_j - phi_j)^2: of the trace before this transition.
    Square,
    /// sum r e_j of a cumulant.
    Reward(usize),
}

/// The sums of two traces, column by column: A and b of TD(lambda) for every discount, and the traces' squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSums<S, const D: usize, const C: usize> {
    features: [[[S; D]; D]; 2],
    features_next: [[[S; D]; D]; 2],
    squares: [[S; D]; 2],
    rewards: [[[S; D]; C]; 2],
}

impl<S: Scalar, const D: usize, const C: usize> Beside<S, D, C> for TraceSums<S, D, C> {
    #[inline(always)]
    fn update(
        &mut self,
        factors: &(Token<S, D, C>, Token<S, D, C>),
        token: &Token<S, D, C>,
        mut f: impl FnMut(&mut S, S, S),
    ) {
        for (l, trace) in [&factors.0.phi, &factors.1.phi].into_iter().enumerate() {
            for j in 0..D {
                for i in 0..D {
                    f(&mut self.features[l][j][i], trace[i], token.phi[j]);
                }
                for i in 0..D {
                    f(&mut self.features_next[l][j][i], trace[i], token.phi_next[j]);
                }
                let before = trace[j] - token.phi[j];
                f(&mut self.squares[l][j], before, before);
            }
            for m in 0..C {
                for i in 0..D {
                    f(&mut self.rewards[l][m][i], trace[i], token.rewards[m]);
                }
            }
        }
    }

    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        for l in 0..2 {
            let parts = [
                (&mut self.features[l], &mut error.features[l], &mut full.features[l]),
                (
                    &mut self.features_next[l],
                    &mut error.features_next[l],
                    &mut full.features_next[l],
                ),
            ];
            for (total, error, full) in parts {
                let columns = (total.get_mut(index), error.get_mut(index), full.get_mut(index));
                if let (Some(total), Some(error), Some(full)) = columns {
                    close(total, error, full);
                }
            }
            if index == 0 {
                close(&mut self.squares[l], &mut error.squares[l], &mut full.squares[l]);
            }
            if let Some(m) = index.checked_sub(D) {
                let (total, error, full) =
                    (&mut self.rewards[l], &mut error.rewards[l], &mut full.rewards[l]);
                let columns = (total.get_mut(m), error.get_mut(m), full.get_mut(m));
                if let (Some(total), Some(error), Some(full)) = columns {
                    close(total, error, full);
                }
            }
        }
    }

    #[inline(always)]
    fn trace(&self, trace: usize, j: usize, of: OfTrace) -> S {
        let l = trace & 1;
        match of {
            OfTrace::Phi(i) => self.features[l][j][i],
            OfTrace::PhiNext(i) => self.features_next[l][j][i],
            OfTrace::Square => self.squares[l][j],
            OfTrace::Reward(m) => self.rewards[l].get(m).map_or(S::ZERO, |column| column[j]),
        }
    }
}

impl<S: Scalar, const D: usize, const C: usize> Vector<S> for TraceSums<S, D, C> {
    const ZERO: Self = TraceSums {
        features: [[[S::ZERO; D]; D]; 2],
        features_next: [[[S::ZERO; D]; D]; 2],
        squares: [[S::ZERO; D]; 2],
        rewards: [[[S::ZERO; D]; C]; 2],
    };

    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        for l in 0..2 {
            Vector::zip(&mut a.features[l], &mut b.features[l], &z.features[l], &mut f);
            Vector::zip(
                &mut a.features_next[l],
                &mut b.features_next[l],
                &z.features_next[l],
                &mut f,
            );
            Vector::zip(&mut a.squares[l], &mut b.squares[l], &z.squares[l], &mut f);
            Vector::zip(&mut a.rewards[l], &mut b.rewards[l], &z.rewards[l], &mut f);
        }
    }
}

impl<S: Scalar, const D: usize, const C: usize> Beside<S, D, C> for () {
    #[inline(always)]
    fn update(
        &mut self,
        _: &(Token<S, D, C>, Token<S, D, C>),
        _: &Token<S, D, C>,
        _: impl FnMut(&mut S, S, S),
    ) {
    }
    fn close_column(&mut self, _: &mut Self, _: &mut Self, _: usize) {}
}

impl<S: Scalar, const D: usize, const C: usize> Beside<S, D, C> for SecondMoments<S, D, C> {
    #[inline(always)]
    fn update(
        &mut self,
        _: &(Token<S, D, C>, Token<S, D, C>),
        token: &Token<S, D, C>,
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
        let columns = (self.phi.get_mut(index), error.phi.get_mut(index), full.phi.get_mut(index));
        if let (Some(total), Some(error), Some(full)) = columns {
            return close(total, error, full);
        }
        let m = index - D;
        let rewards = (self.rewards.get_mut(m), error.rewards.get_mut(m), full.rewards.get_mut(m));
        if let (Some(total), Some(error), Some(full)) = rewards {
            close(total, error, full);
        }
    }

    #[inline(always)]
    fn phi(&self, i: usize, j: usize) -> Option<S> {
        Some(self.phi[j][i])
    }

    #[inline(always)]
    fn rewards(&self, m: usize) -> Option<S> {
        self.rewards.get(m).map(|sum| sum[0])
    }
}

impl<S: Scalar, const D: usize, const C: usize> Vector<S> for SecondMoments<S, D, C> {
    const ZERO: Self = SecondMoments { phi: [[S::ZERO; D]; D], rewards: [[S::ZERO]; C] };

    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        for j in 0..D {
            Vector::zip(&mut a.phi[j], &mut b.phi[j], &z.phi[j], &mut f);
        }
        for m in 0..C {
            Vector::zip(&mut a.rewards[m], &mut b.rewards[m], &z.rewards[m], &mut f);
        }
    }
}
