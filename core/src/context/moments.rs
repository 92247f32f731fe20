//! Sums of outer products of unscaled tokens, in blocks.

use crate::auxiliary::{AuxiliarySums, StatisticEntry};
use crate::entrywise::{close_at, entrywise};
use crate::linalg::keep_apart;
use crate::scalar::Scalar;
use crate::transition::{Token, TokenBlock};
use TokenBlock::{Phi, PhiNext, Reward};
use nalgebra::SMatrix;

/// G_u = sum left right^T over tokens, column by column: each column has the shape of a token. C cumulants share the feature
/// columns. Under a symmetric mask only the upper triangle is kept; under another B holds the second moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moments<S, B, const D: usize, const C: usize> {
    phi: [Token<S, D, C>; D],
    phi_next: [Token<S, D, C>; D],
    /// The column of each cumulant, with that cumulant alone.
    rewards: [Token<S, D, 1>; C],
    auxiliary: B,
}

/// Moments, or several moments that are read as their sum.
pub trait EntrySource<S: Scalar> {
    /// Returns a sum, of a cumulant.
    fn sum(&self, of: StatisticEntry, cumulant: usize) -> S;
}

impl<S: Scalar, P: EntrySource<S>> EntrySource<S> for &P {
    #[inline(always)]
    fn sum(&self, of: StatisticEntry, cumulant: usize) -> S {
        P::sum(self, of, cumulant)
    }
}

impl<S, B, const D: usize, const C: usize> EntrySource<S> for Moments<S, B, D, C>
where
    S: Scalar,
    B: AuxiliarySums<S, D, C>,
{
    #[inline(always)]
    fn sum(&self, of: StatisticEntry, cumulant: usize) -> S {
        if let Some(sum) = self.auxiliary.sum(of, cumulant) {
            return sum;
        }
        match of {
            StatisticEntry::G(row, column) => self.entry(row, column, cumulant),
            StatisticEntry::SquaredRewards => self.entry((Reward, 0), (Reward, 0), cumulant),
            // What no mask keeps that is asked for it.
            StatisticEntry::SecondMoment(..) | StatisticEntry::Trace(..) => S::ZERO,
        }
    }
}

impl<S: Scalar, B: AuxiliarySums<S, D, C>, const D: usize, const C: usize> Moments<S, B, D, C> {
    pub(super) const COLUMNS: usize = 2 * D + C;

    #[inline(always)]
    fn entry(
        &self,
        (row, i): (TokenBlock, usize),
        (column, j): (TokenBlock, usize),
        cumulant: usize,
    ) -> S {
        let entry = match column {
            Reward => self.rewards.get(cumulant).and_then(|column| column.entry(row, i, 0)),
            Phi => self.phi.get(j).and_then(|column| column.entry(row, i, cumulant)),
            PhiNext => self.phi_next.get(j).and_then(|column| column.entry(row, i, cumulant)),
        };
        entry.copied().unwrap_or(S::ZERO)
    }

    /// Calls `f(g, left_i, right_j)` for each entry that is kept, and for the auxiliary sums.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        factors: &(Token<S, D, C>, Token<S, D, C>),
        token: &Token<S, D, C>,
        symmetric: bool,
        f: impl Fn(&mut S, S, S),
    ) {
        let (left, right) = if symmetric { (token, token) } else { (&factors.0, &factors.1) };
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
        self.auxiliary.update(factors, token, f);
    }

    #[inline(always)]
    pub(super) fn add_outer(
        &mut self,
        factors: &(Token<S, D, C>, Token<S, D, C>),
        token: &Token<S, D, C>,
        symmetric: bool,
    ) {
        self.update(factors, token, symmetric, |g, left, right| *g += left * right);
    }

    /// Adds column `index` of `full` to this sum, adds the rounding errors to `error`, and sets the column in `full`
    /// to zeros.
    pub(super) fn close_column(&mut self, error: &mut Self, full: &mut Self, index: usize) {
        if index < D {
            close_at(&mut self.phi, &mut error.phi, &mut full.phi, index);
        } else if index < 2 * D {
            let at = index - D;
            return close_at(&mut self.phi_next, &mut error.phi_next, &mut full.phi_next, at);
        } else {
            close_at(&mut self.rewards, &mut error.rewards, &mut full.rewards, index - 2 * D);
        }
        let index = if index < D { index } else { index - D };
        self.auxiliary.close_column(&mut error.auxiliary, &mut full.auxiliary, index);
    }
}

/// G(gamma) = S G_u S of a cumulant, and the parts that it is the sum of.
#[derive(Clone, Copy)]
pub(crate) struct DiscountedView<S, P> {
    pub(super) parts: P,
    pub(super) symmetric: bool,
    pub(super) gamma: S,
    pub(super) cumulant: usize,
}

impl<S: Scalar, P: EntrySource<S>> DiscountedView<S, P> {
    /// Returns a sum without a discount.
    #[inline(always)]
    pub(crate) fn sum(&self, of: StatisticEntry) -> S {
        self.parts.sum(of, self.cumulant)
    }

    /// Writes G(gamma) into a matrix: all of it, or the rows and columns of phi alone.
    #[inline(always)]
    pub(super) fn to_columns<const D: usize, const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        of_phi_alone: bool,
    ) {
        let (gamma, one, all) = (self.gamma, S::ONE, !of_phi_alone);
        self.block(g, (Phi, Phi), [D, D], one);
        self.block(g, (Phi, PhiNext), [D, D], gamma);
        self.block(g, (Phi, Reward), [D, 1], one);
        if all {
            self.block(g, (PhiNext, PhiNext), [D, D], gamma * gamma);
            self.block(g, (PhiNext, Reward), [D, 1], gamma);
            self.block(g, (Reward, Reward), [1, 1], one);
        }
        if !self.symmetric {
            self.block(g, (PhiNext, Phi), [D, D], gamma);
            self.block(g, (Reward, Phi), [1, D], one);
            if all {
                self.block(g, (Reward, PhiNext), [1, D], gamma);
            }
        }
    }

    /// Writes a block, times `scale`, and if G is symmetric its mirror image.
    #[inline(always)]
    fn block<const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        (row, column): (TokenBlock, TokenBlock),
        [rows, columns]: [usize; 2],
        scale: S,
    ) {
        // d, whether K is 2 d + 1 or 2 d + 2.
        let d = (K - 1) / 2;
        let start = |block| match block {
            Phi => 0,
            PhiNext => d,
            Reward => 2 * d,
        };
        let (top, left) = (start(row), start(column));
        for j in 0..columns {
            let rows = if self.symmetric && row == column { j + 1 } else { rows };
            for i in 0..rows {
                let x = scale * self.sum(StatisticEntry::G((row, i), (column, j)));
                g.data.0[left + j][top + i] = x;
                if self.symmetric && (i != j || row != column) {
                    g.data.0[top + i][left + j] = x;
                }
            }
        }
    }
}

entrywise!(
    [S: Scalar, B: AuxiliarySums<S, D, C>, const D: usize, const C: usize] S,
    Moments<S, B, D, C> { phi, phi_next, rewards, auxiliary }
);
