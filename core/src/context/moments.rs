//! Sums of outer products of unscaled tokens, in blocks.

use super::Entries;
use crate::linalg::keep_apart;
use crate::mask::Vector;
use crate::scalar::Scalar;
use crate::transition::Token;

/// G_u = sum left right^T over tokens, column by column: each column has the shape of a token.
///
/// C cumulants share the feature columns, so that it takes (2 D)^2 + C (4 D + 1) numbers. Products of
/// two different cumulants are nobody's. Under a symmetric mask only the upper triangle is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments<S, const D: usize, const C: usize> {
    phi: [Token<S, D, C>; D],
    phi_next: [Token<S, D, C>; D],
    /// Of its own cumulant alone.
    rewards: [Token<S, D, 1>; C],
}

impl<S: Scalar, const D: usize, const C: usize> Moments<S, D, C> {
    /// How many columns there are.
    pub(super) const COLUMNS: usize = 2 * D + C;

    /// `f(g, left_i, right_j)` for each entry that is kept.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        (left, right): &(Token<S, D, C>, Token<S, D, C>),
        symmetric: bool,
        f: impl Fn(&mut S, S, S),
    ) {
        let f = |g: &mut S, left: S, right: S| {
            keep_apart::<S>();
            f(g, left, right);
        };
        for j in 0..D {
            let rows = if symmetric { j + 1 } else { D };
            let (phi, phi_next) = (&mut self.phi[j], &mut self.phi_next[j]);
            for i in 0..rows {
                f(&mut phi.phi[i], left.phi[i], right.phi[j]);
            }
            for i in 0..D {
                f(&mut phi_next.phi[i], left.phi[i], right.phi_next[j]);
            }
            for i in 0..rows {
                f(&mut phi_next.phi_next[i], left.phi_next[i], right.phi_next[j]);
            }
            if !symmetric {
                for i in 0..D {
                    f(&mut phi.phi_next[i], left.phi_next[i], right.phi[j]);
                }
                for m in 0..C {
                    f(&mut phi.rewards[m], left.rewards[m], right.phi[j]);
                    f(&mut phi_next.rewards[m], left.rewards[m], right.phi_next[j]);
                }
            }
        }
        for m in 0..C {
            let (column, r) = (&mut self.rewards[m], right.rewards[m]);
            for i in 0..D {
                f(&mut column.phi[i], left.phi[i], r);
            }
            for i in 0..D {
                f(&mut column.phi_next[i], left.phi_next[i], r);
            }
            f(&mut column.rewards[0], left.rewards[m], r);
        }
    }

    /// += left right^T.
    #[inline(always)]
    pub(super) fn add_outer(
        &mut self,
        factors: &(Token<S, D, C>, Token<S, D, C>),
        symmetric: bool,
    ) {
        self.update(factors, symmetric, |g, left, right| *g += left * right);
    }

    fn feature_column(&mut self, index: usize) -> Option<&mut Token<S, D, C>> {
        self.phi.iter_mut().chain(&mut self.phi_next).nth(index)
    }

    fn reward_column(&mut self, index: usize) -> Option<&mut Token<S, D, 1>> {
        self.rewards.get_mut(index.checked_sub(2 * D)?)
    }

    /// Adds column `index` of `full` to this sum, of which `error` keeps the rounding errors, and
    /// leaves zeros in `full`.
    pub(super) fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        let features = self.feature_column(index).zip(error.feature_column(index));
        if let Some(((total, error), full)) = features.zip(full.feature_column(index)) {
            return close(total, error, full);
        }
        let rewards = self.reward_column(index).zip(error.reward_column(index));
        if let Some(((total, error), full)) = rewards.zip(full.reward_column(index)) {
            close(total, error, full);
        }
    }

    /// Shows the entries of G(gamma) = S G_u S of a cumulant, where an entry of G_u is `sum` of the entries
    /// of its parts. False if it overflowed, or there is no such cumulant.
    #[must_use]
    #[inline(always)]
    pub(super) fn read<const N: usize>(
        parts: [&Self; N],
        sum: impl Fn([S; N]) -> S,
        symmetric: bool,
        gamma: S,
        cumulant: usize,
        out: &mut impl Entries<S>,
    ) -> bool {
        if cumulant >= C {
            return false;
        }
        let mut zero = S::ZERO;
        let mut put = |row: usize, column: usize, x: S| {
            // A finite number times 0 is 0, NaN and infinities give NaN: one comparison for all.
            zero += x * S::ZERO;
            out.put(row, column, x);
            if symmetric && row != column {
                out.put(column, row, x);
            }
        };
        let gamma_square = gamma * gamma;
        for j in 0..D {
            let rows = if symmetric { j + 1 } else { D };
            for i in 0..rows {
                put(i, j, sum(parts.map(|g| g.phi[j].phi[i])));
            }
            for i in 0..D {
                put(i, D + j, gamma * sum(parts.map(|g| g.phi_next[j].phi[i])));
            }
            for i in 0..rows {
                put(D + i, D + j, gamma_square * sum(parts.map(|g| g.phi_next[j].phi_next[i])));
            }
            if !symmetric {
                for i in 0..D {
                    put(D + i, j, gamma * sum(parts.map(|g| g.phi[j].phi_next[i])));
                }
                put(2 * D, j, sum(parts.map(|g| g.phi[j].rewards[cumulant])));
                put(2 * D, D + j, gamma * sum(parts.map(|g| g.phi_next[j].rewards[cumulant])));
            }
        }
        for i in 0..D {
            put(i, 2 * D, sum(parts.map(|g| g.rewards[cumulant].phi[i])));
        }
        for i in 0..D {
            put(D + i, 2 * D, gamma * sum(parts.map(|g| g.rewards[cumulant].phi_next[i])));
        }
        put(2 * D, 2 * D, sum(parts.map(|g| g.rewards[cumulant].rewards[0])));
        zero.is_finite()
    }
}

impl<S: Scalar, const D: usize, const C: usize> Vector<S> for Moments<S, D, C> {
    const ZERO: Self =
        Moments { phi: [Token::ZERO; D], phi_next: [Token::ZERO; D], rewards: [Token::ZERO; C] };

    fn zip(a: &mut Self, b: &mut Self, z: &Self, mut f: impl FnMut(&mut S, &mut S, S)) {
        for j in 0..D {
            Token::zip(&mut a.phi[j], &mut b.phi[j], &z.phi[j], &mut f);
        }
        for j in 0..D {
            Token::zip(&mut a.phi_next[j], &mut b.phi_next[j], &z.phi_next[j], &mut f);
        }
        for m in 0..C {
            Token::zip(&mut a.rewards[m], &mut b.rewards[m], &z.rewards[m], &mut f);
        }
    }
}

/// total += full, each rounding error into `error` (TwoSum, Knuth); full = 0.
fn close<S: Scalar, V: Vector<S>>(total: &mut V, error: &mut V, full: &mut V) {
    V::zip(total, error, full, |total, error, x| {
        let sum = *total + x;
        let x_part = sum - *total;
        let total_part = sum - x_part;
        *error += (*total - total_part) + (x - x_part);
        *total = sum;
    });
    *full = V::ZERO;
}
