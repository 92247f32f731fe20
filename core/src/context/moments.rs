//! Sums of outer products of unscaled tokens, in blocks.

use super::{Memory, MemorySums};
use crate::auxiliary::{AuxiliarySums, Weight};
use crate::entrywise::{close_at, entrywise};
use crate::linalg::keep_apart;
use crate::mask::Mask;
use crate::scalar::Scalar;
use crate::transition::Token;
use nalgebra::SMatrix;

/// G_u = sum left right^T over tokens, column by column: each column has the shape of a token. C cumulants share the feature
/// columns. Under a symmetric mask only the upper triangle is kept; under another B holds the second moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments<S, B, const D: usize, const C: usize> {
    pub(super) phi: [Token<S, D, C>; D],
    pub(super) phi_next: [Token<S, D, C>; D],
    /// The column of each cumulant, with that cumulant alone.
    pub(super) rewards: [Token<S, D, 1>; C],
    pub(super) auxiliary: B,
}

impl<S: Scalar, B: AuxiliarySums<S, D, C>, const D: usize, const C: usize> Moments<S, B, D, C> {
    pub(super) const COLUMNS: usize = 2 * D + C;

    /// Calls `f(g, left_i, right_j)` for each entry that is kept, and for the auxiliary sums: of the mask's factors, or of
    /// the token alone if G is symmetric; the token has been multiplied by the root of the weight.
    #[inline(always)]
    pub(super) fn update(
        &mut self,
        factors @ [left, right, token]: [&Token<S, D, C>; 3],
        weight: Weight<S>,
        symmetric: bool,
        f: impl Fn(&mut S, S, S),
    ) {
        let (left, right) = if symmetric { (token, token) } else { (left, right) };
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
        self.auxiliary.update(factors, weight, f);
    }

    #[inline(always)]
    pub(super) fn add_outer(
        &mut self,
        factors: [&Token<S, D, C>; 3],
        weight: Weight<S>,
        symmetric: bool,
    ) {
        self.update(factors, weight, symmetric, |g, left, right| *g += left * right);
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

/// G(gamma) = S G_u S of a cumulant, to be read from a context's sums.
pub(crate) struct DiscountedView<
    'a,
    S: Scalar,
    M: Mask<S>,
    Mem: Memory<S>,
    const D: usize,
    const C: usize,
> {
    pub(super) sums: &'a Mem::Sums<M, D, C>,
    /// The moments, if the sums do not keep them.
    pub(super) recomputed: <Mem::Sums<M, D, C> as MemorySums<S, M, D, C>>::Recomputed,
    pub(super) gamma: S,
    pub(super) cumulant: usize,
}

impl<S: Scalar, M: Mask<S>, Mem: Memory<S>, const D: usize, const C: usize>
    DiscountedView<'_, S, M, Mem, D, C>
{
    /// Returns an entry of G_u, by its place in moments; 0 for a place that is none.
    #[inline(always)]
    pub(super) fn sum(
        &self,
        place: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>) -> Option<&S>,
    ) -> S {
        let number = |moments: &_| place(moments).copied().unwrap_or(S::ZERO);
        self.sums.sum(&self.recomputed, number)
    }

    /// Writes G(gamma) into a matrix: all of it, or the rows and columns of phi alone.
    #[inline(always)]
    pub(super) fn write_columns<const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        of_phi_alone: bool,
    ) {
        // d, whether K is 2 d + 1 or 2 d + 2.
        let (gamma, one, all, d) = (self.gamma, S::ONE, !of_phi_alone, (K - 1) / 2);
        let r = self.cumulant;
        let (phi, next, reward) = ((0, D), (d, D), (2 * d, 1));
        self.block(g, [phi, phi], one, |m, i, j| m.phi.get(j)?.phi.get(i));
        self.block(g, [phi, next], gamma, |m, i, j| m.phi_next.get(j)?.phi.get(i));
        self.block(g, [phi, reward], one, |m, i, _| m.rewards.get(r)?.phi.get(i));
        if all {
            self.block(g, [next, next], gamma * gamma, |m, i, j| {
                m.phi_next.get(j)?.phi_next.get(i)
            });
            self.block(g, [next, reward], gamma, |m, i, _| m.rewards.get(r)?.phi_next.get(i));
            self.block(g, [reward, reward], one, |m, _, _| m.rewards.get(r)?.rewards.first());
        }
        if !M::IS_GRAM {
            self.block(g, [next, phi], gamma, |m, i, j| m.phi.get(j)?.phi_next.get(i));
            self.block(g, [reward, phi], one, |m, _, j| m.phi.get(j)?.rewards.get(r));
            if all {
                self.block(g, [reward, next], gamma, |m, _, j| m.phi_next.get(j)?.rewards.get(r));
            }
        }
    }

    /// Writes a block, its first row or column and their number given for both, times `scale`, and if G is symmetric its
    /// mirror image.
    #[inline(always)]
    fn block<const K: usize>(
        &self,
        g: &mut SMatrix<S, K, K>,
        [(top, rows), (left, columns)]: [(usize, usize); 2],
        scale: S,
        entry: impl Fn(&Moments<S, M::Auxiliary<D, C>, D, C>, usize, usize) -> Option<&S>,
    ) {
        for j in 0..columns {
            let rows = if M::IS_GRAM && top == left { j + 1 } else { rows };
            for i in 0..rows {
                let x = scale * self.sum(|m| entry(m, i, j));
                g.data.0[left + j][top + i] = x;
                if M::IS_GRAM && (i != j || top != left) {
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
