//! The second moments of features and rewards, which say what their units are.

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

/// Second moments that are kept, or `()`, which are not.
pub trait Beside<S: Scalar, const D: usize, const C: usize>: Vector<S> {
    /// `f(sum, x, y)` for each sum of a product x y that is kept.
    fn update(&mut self, token: &Token<S, D, C>, f: impl FnMut(&mut S, S, S));

    /// Adds column `index` of `full`, of F or behind it of the rewards, to this sum, of which `error` keeps
    /// the rounding errors, and leaves zeros in `full`.
    fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize);

    /// F at (i, j), i <= j; none if it is not kept.
    fn phi(&self, i: usize, j: usize) -> Option<S>;

    /// sum r_m^2; none if it is not kept.
    fn rewards(&self, m: usize) -> Option<S>;
}

impl<S: Scalar, const D: usize, const C: usize> Beside<S, D, C> for () {
    #[inline(always)]
    fn update(&mut self, _: &Token<S, D, C>, _: impl FnMut(&mut S, S, S)) {}
    fn close_column(&mut self, _: &mut Self, _: &mut Self, _: usize) {}
    #[inline(always)]
    fn phi(&self, _: usize, _: usize) -> Option<S> {
        None
    }
    #[inline(always)]
    fn rewards(&self, _: usize) -> Option<S> {
        None
    }
}

impl<S: Scalar, const D: usize, const C: usize> Beside<S, D, C> for SecondMoments<S, D, C> {
    #[inline(always)]
    fn update(&mut self, token: &Token<S, D, C>, mut f: impl FnMut(&mut S, S, S)) {
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
