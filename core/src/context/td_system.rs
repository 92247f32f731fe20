//! The system that TD solves, read from a statistic: A and b.

use super::{Block, Entry, Of, Read};
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
    #[inline(always)]
    pub(crate) fn of(read: &Read<S, impl Entry<S>>) -> Self {
        let mut system = TdSystem { a: [[S::ZERO; D]; D], b: [S::ZERO; D], squares: [S::ZERO; D] };
        for j in 0..D {
            for i in 0..D {
                system.a[j][i] += read.entry((Block::Phi, i), (Block::Phi, j));
                system.a[j][i] -= read.gamma * read.entry((Block::PhiNext, i), (Block::Phi, j));
            }
            system.b[j] += read.entry((Block::Reward, 0), (Block::Phi, j));
            system.squares[j] = read.sum(Of::SecondMoment(j, j));
        }
        system
    }
}
