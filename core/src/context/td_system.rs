//! The system that TD solves, read from a statistic: A and b.

use super::{Block, Blocks, Entries, Entry, Of, Read};
use crate::scalar::Scalar;

/// A = sum e (phi - gamma phi')^T, row by row, b = sum r e, and 2 F_ii: of each entry of G its part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TdSystem<S, const D: usize> {
    pub(crate) a: [[S; D]; D],
    pub(crate) b: [S; D],
    /// sum (phi_i^2 + phi'_i^2).
    pub(crate) squares: [S; D],
}

impl<S: Scalar, const D: usize> TdSystem<S, D> {
    /// The system of no transition.
    pub(crate) const ZERO: Self =
        TdSystem { a: [[S::ZERO; D]; D], b: [S::ZERO; D], squares: [S::ZERO; D] };
}

impl<S: Scalar, const D: usize> Entries<S, D> for TdSystem<S, D> {
    type Output = Self;

    fn take(mut self, read: &Read<'_, S, impl Entry<S>>) -> Self {
        read.blocks(D, &mut self);
        for i in 0..D {
            self.squares[i] = read.sum(Of::SecondMoment(i, i));
        }
        self
    }
}

impl<S: Scalar, const D: usize> Blocks<S> for TdSystem<S, D> {
    fn wants(&self, _row: Block, column: Block) -> bool {
        column == Block::Phi
    }

    fn put(&mut self, (row, i): (Block, usize), (_, j): (Block, usize), x: S) {
        match row {
            Block::Phi => self.a[j][i] += x,
            Block::PhiNext => self.a[j][i] -= x,
            Block::Reward => self.b[j] += x,
        }
    }
}
