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

/// A block of rows or columns of G_u.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Block {
    Phi,
    PhiNext,
    Reward,
}
use Block::{Phi, PhiNext, Reward};

/// Moments, or parts of which they are the sum.
pub(super) trait Entry<S: Scalar> {
    /// The entry of a cumulant's G_u at a row and a column.
    fn entry(&self, row: (Block, usize), column: (Block, usize), cumulant: usize) -> S;
}

impl<S: Scalar, const D: usize, const C: usize> Entry<S> for Moments<S, D, C> {
    #[inline(always)]
    fn entry(&self, (row, i): (Block, usize), (column, j): (Block, usize), cumulant: usize) -> S {
        let features = match column {
            Phi => &self.phi[j],
            PhiNext => &self.phi_next[j],
            Reward => {
                let Some(column) = self.rewards.get(cumulant) else { return S::ZERO };
                return match row {
                    Phi => column.phi[i],
                    PhiNext => column.phi_next[i],
                    Reward => column.rewards[0],
                };
            }
        };
        match row {
            Phi => features.phi[i],
            PhiNext => features.phi_next[i],
            Reward => match features.rewards.get(cumulant) {
                Some(x) => *x,
                None => S::ZERO,
            },
        }
    }
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
}

/// Shows the entries of G(gamma) = S G_u S of a cumulant. False if it overflowed.
#[must_use]
#[inline(always)]
pub(super) fn read<S: Scalar, const D: usize>(
    parts: &impl Entry<S>,
    symmetric: bool,
    gamma: S,
    cumulant: usize,
    out: &mut impl Entries<S>,
) -> bool {
    let mut read = Read { parts, symmetric, cumulant, out, zero: S::ZERO };
    read.block::<D, D, D>(Phi, Phi, S::ONE);
    read.block::<D, D, D>(Phi, PhiNext, gamma);
    read.block::<D, D, D>(PhiNext, PhiNext, gamma * gamma);
    read.block::<D, D, 1>(Phi, Reward, S::ONE);
    read.block::<D, D, 1>(PhiNext, Reward, gamma);
    read.block::<D, 1, 1>(Reward, Reward, S::ONE);
    if !symmetric {
        read.block::<D, D, D>(PhiNext, Phi, gamma);
        read.block::<D, 1, D>(Reward, Phi, S::ONE);
        read.block::<D, 1, D>(Reward, PhiNext, gamma);
    }
    read.zero.is_finite()
}

/// Moments on their way into a matrix.
struct Read<'a, P, E, S> {
    parts: &'a P,
    symmetric: bool,
    cumulant: usize,
    out: &'a mut E,
    /// A finite number times 0 is 0, NaN and infinities give NaN: one comparison for all.
    zero: S,
}

impl<P: Entry<S>, E: Entries<S>, S: Scalar> Read<'_, P, E, S> {
    /// Shows a block of ROWS rows and COLUMNS columns, times `scale`, and if G is symmetric its mirror
    /// image.
    #[inline(always)]
    fn block<const D: usize, const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        row: Block,
        column: Block,
        scale: S,
    ) {
        for j in 0..COLUMNS {
            let rows = if self.symmetric && row == column { j + 1 } else { ROWS };
            for i in 0..rows {
                let x = scale * self.parts.entry((row, i), (column, j), self.cumulant);
                self.zero += x * S::ZERO;
                let (i, j) = (i + row.start::<D>(), j + column.start::<D>());
                self.out.put(i, j, x);
                if self.symmetric && i != j {
                    self.out.put(j, i, x);
                }
            }
        }
    }
}

impl Block {
    /// The first row or column of G that belongs to the block.
    #[inline(always)]
    const fn start<const D: usize>(self) -> usize {
        match self {
            Phi => 0,
            PhiNext => D,
            Reward => 2 * D,
        }
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
#[inline(never)]
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
